--- Trim policy: old tool results give way to a placeholder, as in Anthropic's
--- context editing (clear_tool_uses).

local core = require "ebb.support.core"
local parts = require "ebb.conversation.parts"

local encode = core.json.encode

---@class ebb.ToolUse         One result, and the call that it answers
---@field message ebb.Message
---@field id string
---@field name? string
---@field free boolean        nothing holds its message

--- All results, the oldest first.
local function tool_uses(draft)
  local free, uses = {}, {}
  for message in draft:messages { has = "tool_result", droppable = true } do
    free[message.seq] = true
  end
  for unit in draft:units { has = "tool_result" } do
    local names, messages = {}, unit.messages
    for _, message in ipairs(messages) do
      for _, call in ipairs(message.calls) do
        if call.id then names[call.id] = call.name end
      end
    end
    for _, message in ipairs(messages) do
      for _, id in ipairs(parts.answers(message:totable())) do
        uses[#uses + 1] = { message = message, id = id, name = names[id], free = free[message.seq] or false }
      end
    end
  end
  return uses
end

---- When ----

local MEASURES = { "input_tokens", "tool_uses", "messages" }

--- Does one condition hold? {type = ..., value = n}, or {measure = n, ...}, all of which must hold.
local function holds(condition, measured)
  if condition.type ~= nil then condition = { [condition.type] = condition.value } end
  for name, value in pairs(condition) do
    if measured[name] == nil or type(value) ~= "number" then
      error(("trigger: expected %s = a number, got %s = %s"):format(table.concat(MEASURES, " or "), tostring(name),
        tostring(value)), 0)
    end
    if measured[name] <= value then return false end
  end
  return true
end

--- One condition, or a list of them of which one must hold.
local function triggered(trigger, measured)
  if trigger[1] == nil then return holds(trigger, measured) end
  for _, condition in ipairs(trigger) do
    if holds(condition, measured) then return true end
  end
  return false
end

---- What ----

---@class ebb.Clearing        One message, and what of it is cleared
---@field message ebb.Message
---@field ids table<string, boolean>
---@field content any
---@field freed integer
---@field changed boolean     it was not cleared before

--- All but the newest `keep`, by message.
local function choose(draft, uses, options)
  local excluded, chosen, by_seq = {}, {}, {}
  for _, name in ipairs(options.exclude_tools) do
    excluded[name] = true
  end
  for i = 1, #uses - options.keep do
    local use = uses[i]
    if use.free and not excluded[use.name] then
      local clearing = by_seq[use.message.seq] or { message = use.message, ids = {} }
      if not by_seq[use.message.seq] then chosen[#chosen + 1] = clearing end
      by_seq[use.message.seq], clearing.ids[use.id] = clearing, true
    end
  end
  for _, clearing in ipairs(chosen) do
    local whole = clearing.message:totable()
    local before = encode(whole)
    whole.content = parts.cleared(whole, clearing.ids, options.placeholder)
    clearing.content, clearing.freed = whole.content, clearing.message.tokens - draft:cost(whole)
    clearing.changed = encode(whole) ~= before
  end
  return chosen
end

local function clear_inputs(draft, clearing)
  for _, message in ipairs(clearing.message.unit.messages) do
    local fields = #message.calls > 0 and parts.without_inputs(message:totable(), clearing.ids) or {}
    if next(fields) then draft:replace(message, fields, "old tool call") end
  end
end

---@type ebb.Policy
return {
  name = "clear_tool_uses",
  summary = "replace old tool results by a placeholder (as Anthropic's context editing does)",
  options = {
    trigger = { type = "table",
      help = [[when: {"input_tokens": n}, "tool_uses", "messages"; default: over the budget]] },
    keep = { type = "integer", default = 3, min = 0, help = "newest tool uses that stay as they are" },
    clear_at_least = { type = "integer", default = 0, min = 0,
      help = "tokens; if less would be freed, nothing is done" },
    exclude_tools = { type = "list", default = {}, help = "tools whose results stay" },
    clear_tool_inputs = { type = "boolean", default = false, help = "clear the arguments of these calls too" },
    placeholder = { type = "string", default = "[cleared]", help = "what stands in place of a result" },
  },
  help = [[
Acts once the trigger is passed: more than so many input_tokens, tool_uses or
messages; several in one table must all be passed, of a list of tables one. Then all
results but those of the newest `keep` tool uses are cleared, the oldest first, so
that calls and results stay together. Excluded tools still count among the newest.

Kept whatever happens: guarded messages (pinned, a call without its results). It may
leave more than the budget, so another policy usually comes after it.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 540 \
    --policy clear_tool_uses:keep=1,exclude_tools=read_file]],

  trim = function(draft, budget, options)
    local uses = tool_uses(draft)
    local measured = { input_tokens = draft:tokens(), tool_uses = #uses, messages = #draft }
    if not triggered(options.trigger or { input_tokens = budget }, measured) then return end

    local freed, chosen = 0, {}
    for _, clearing in ipairs(choose(draft, uses, options)) do
      if clearing.changed then freed, chosen[#chosen + 1] = freed + clearing.freed, clearing end
    end
    if options.clear_at_least > 0 and freed < options.clear_at_least then
      return draft:note(("only %d tokens could be cleared, less than %d"):format(freed, options.clear_at_least))
    end
    for _, clearing in ipairs(chosen) do
      draft:replace(clearing.message, { content = clearing.content }, "old tool result")
      if options.clear_tool_inputs then clear_inputs(draft, clearing) end
    end
  end,
}
