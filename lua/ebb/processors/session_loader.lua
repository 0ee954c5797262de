--- Processor: the visible history as working copies.
--
-- Everything after it works on copies: the stored conversation is never touched.
-- Attachments stay references until the last stage. Windows that it shows come as what
-- they read now, with source = "window": rules and macros skip them. What has nothing to
-- say (a blank text without calls, attachments or anything else) is left out.

local core = require "ebb.support.core"
local quantity = require "ebb.support.quantity"

local null = core.json.null

--- Fields that say something where the content says nothing.
local SPEAKS = { "tool_calls", "function_call", "tool_call_id", "refusal", "audio", "attachments" }

local REASONING = { "reasoning_content", "reasoning", "reasoning_details" }

local REASONING_PARTS = { reasoning = true, thinking = true, redacted_thinking = true }

local function is_blank(message)
  local content = message.content
  if type(content) == "string" and content:find "%S" then return false end
  for _, field in ipairs(SPEAKS) do
    if message[field] ~= nil and message[field] ~= null then return false end
  end
  if type(content) == "string" then return true end
  if type(content) ~= "table" then return true end
  for _, part in ipairs(content) do
    if part.type ~= "text" or type(part.text) ~= "string" or part.text:find "%S" then return false end
  end
  return true
end

--- Makes results messages of the user, and removes their calls.
local function without_tools(message)
  if message.role == "tool" or message.role == "function" then
    message.role, message.tool_call_id, message.name = "user", nil, nil
  end
  message.tool_calls, message.function_call = nil, nil
  if message.content == nil or message.content == null then message.content = "" end
end

local function drop_reasoning(message)
  for _, field in ipairs(REASONING) do
    message[field] = nil
  end
  if type(message.content) ~= "table" then return end
  for i = #message.content, 1, -1 do
    local kind = message.content[i].type
    if REASONING_PARTS[kind] then table.remove(message.content, i) end
  end
end

local function keeps_reasoning(message, which)
  if which == "with_calls" then return message.tool_calls ~= nil or message.function_call ~= nil end
  return which == "all"
end

--- Drops blank messages. `odd`: positions to look at. Returns the messages and how many were dropped.
local function without_blank(messages, odd)
  local loaded, done, blank = {}, 0, 0
  for _, position in ipairs(odd) do
    if is_blank(messages[position]) then
      table.move(messages, done + 1, position - 1, #loaded + 1, loaded)
      done, blank = position, blank + 1
    end
  end
  if blank == 0 then return messages, 0 end
  return table.move(messages, done + 1, #messages, #loaded + 1, loaded), blank
end

local function positions(list)
  local result = {}
  for i = 1, #list do result[i] = i end
  return result
end

---@type ebb.Processor
return {
  id = "session-loader",
  name = "Session loader",
  description = "loads the visible history, as copies; attachments stay references",
  priority = 100,
  is_core = true,
  config_fields = {
    { key = "skip_blank", type = "boolean", default = true, label = "Leave out messages that say nothing" },
    { key = "tool_to_user", type = "boolean", default = false,
      label = "Tool results become user messages, and calls go: for models without tools" },
    { key = "reasoning", type = "select", default = "all", options = { "all", "with_calls", "none" },
      label = "Whose reasoning is sent: all, messages with tool calls, none" },
  },

  execute = function(context, config)
    local loaded, odd = context.run.request:history(context.run.is_lazy)
    if config.reasoning ~= "all" or config.tool_to_user then
      odd = nil
      for _, message in ipairs(loaded) do
        if not keeps_reasoning(message, config.reasoning) then drop_reasoning(message) end
        if config.tool_to_user then without_tools(message) end
      end
    end
    local blank = 0
    if config.skip_blank then loaded, blank = without_blank(loaded, odd or positions(loaded)) end
    context.messages = loaded
    context:log("info", quantity(#loaded, "message") .. " loaded")
    for _, id in ipairs(context:missing_windows()) do
      context:log("warn", ("window '%s' does not exist: its items are skipped"):format(id))
    end
    if blank > 0 then context:log("info", quantity(blank, "blank message") .. " left out") end
  end,
}
