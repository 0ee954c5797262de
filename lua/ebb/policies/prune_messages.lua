--- Trim policy: the AI SDK's pruneMessages: reasoning and tool calls go, texts stay.
--
-- A tool call goes with its results, whichever message holds them. Where a message
-- keeps other content, a message without the calls takes the place of the unit:
--
--     assistant "I look."  calls a, b        assistant "I look."  calls b
--     result a                           ->  result b
--     result b
--
-- What the kept tail calls, answers or approves protects its partner before it.

local core = require "ebb.support.core"
local parts = require "ebb.conversation.parts"

local APPROVAL = { ["tool-approval-request"] = true, ["tool-approval-response"] = true }

---@class ebb.PruneRule
---@field tail integer                  newest messages that stay as they are
---@field tools? table<string, boolean> the tools it is about; nil: all
---@field ids table<string, boolean>        calls that the tail protects
---@field approvals table<string, boolean>  approvals that it protects

---- Rules ----

--- How many newest messages a word keeps; nil if it prunes nothing.
local function tail_of(word, count)
  local name = tostring(word):gsub("-", "_")
  if name == "none" then return nil end
  if name == "all" then return 0 end
  if name == "before_last_message" then return 1 end
  local n = tonumber(name:match "^before_last_(%d+)_messages$")
  if not n then
    error(("tool_calls: expected none, all, before_last_message or before_last_<n>_messages, got '%s'"):format(word), 0)
  end
  return n > 0 and n or count   -- "before the last 0" has always meant: prune nothing
end

local function rules_of(entries, count)
  local rules = {}
  for _, item in ipairs(entries) do
    local rule = type(item) == "table" and item or { type = item }
    local tail, tools = tail_of(rule.type, count), nil
    for _, tool in ipairs(rule.tools or {}) do
      tools = tools or {}
      tools[tool] = true
    end
    if tail then rules[#rules + 1] = { tail = tail, tools = rule.tools and (tools or {}), ids = {}, approvals = {} } end
  end
  return rules
end

--- Is this call, result or approval pruned by one of the rules?
---@param kind "ids"|"approvals"
local function is_pruned(rules, after, kind, id, name)
  for _, rule in ipairs(rules) do
    local ours = rule.tools == nil or rule.tools[name] or kind == "approvals" and name == nil
    if after >= rule.tail and ours and not rule[kind][id] then return true end
  end
  return false
end

---- Looking ----

---@class ebb.PruneItem       A message that has something to prune
---@field message ebb.Message
---@field whole table
---@field after integer       messages after it

---@class ebb.PruneView
---@field items table<integer, ebb.PruneItem>   by seq
---@field names table<integer, table<string, string>>  per unit, by its first position: call id -> tool
---@field approvals table<string, string>       approval id -> tool
---@field rules ebb.PruneRule[]

--- Collects for each rule the ids of calls and approvals in its newest messages, which its pruning leaves alone.
local function note_protected(view, item)
  for _, rule in ipairs(view.rules) do
    if item.after < rule.tail then
      for _, call in ipairs(item.message.calls) do
        if call.id then rule.ids[call.id] = true end
      end
      for _, id in ipairs(parts.answers(item.whole)) do
        rule.ids[id] = true
      end
      for _, part in ipairs(parts.list(item.whole)) do
        if APPROVAL[part.type] then rule.approvals[part.approvalId] = true end
      end
    end
  end
end

--- The tool of each call in a unit, and of each approval that is asked for in it.
local function note_names(view, unit)
  local names = {}
  for _, message in ipairs(unit.messages) do
    local item = view.items[message.seq]
    for _, call in ipairs(message.calls) do
      if call.id then names[call.id] = call.name end
    end
    for _, part in ipairs(item and parts.list(item.whole) or {}) do
      if part.type == "tool-approval-request" then view.approvals[part.approvalId] = names[part.toolCallId] end
    end
  end
  view.names[unit.first] = names
end

local KINDS = { "tool_use", "tool_result", "reasoning", "other" }

local function look(draft, rules)
  local view = { items = {}, names = {}, approvals = {}, rules = rules }
  for _, kind in ipairs(KINDS) do
    for message in draft:messages { has = kind } do
      if not view.items[message.seq] then
        local item = { message = message, whole = message:totable(), after = #draft - message.index }
        view.items[message.seq] = item
        note_protected(view, item)
      end
    end
  end
  for unit in draft:units {} do
    note_names(view, unit)
  end
  return view
end

---- Pruning one message ----

local function prune_part(view, item, names, part)
  local id = parts.call_id(part) or parts.result_id(part)
  if id then return is_pruned(view.rules, item.after, "ids", id, names[id]) end
  if APPROVAL[part.type] then
    return is_pruned(view.rules, item.after, "approvals", part.approvalId, view.approvals[part.approvalId])
  end
  return false
end

--- Takes out calls, results and approvals; true if the frame of the message changed.
local function prune_tools(view, item, names)
  local whole, changed = item.whole, false
  local function stays(part)
    local prunes = prune_part(view, item, names, part)
    changed = changed or prunes
    return not prunes
  end
  if type(whole.content) == "table" then whole.content = parts.only(whole.content, stays) end
  if type(whole.tool_calls) == "table" then
    local calls = parts.only(whole.tool_calls, function(call)
      return not is_pruned(view.rules, item.after, "ids", call.id, names[call.id])
    end)
    changed = changed or #calls < #whole.tool_calls
    whole.tool_calls = #calls > 0 and calls or nil
  end
  local id = whole.tool_call_id
  if id and is_pruned(view.rules, item.after, "ids", id, names[id]) then
    whole.tool_call_id, whole.content, changed = nil, nil, true
  end
  return changed
end

--- Reasoning alone, of calls that went, is of no use, and providers refuse it.
local function drop_lone_reasoning(item)
  local whole = item.whole
  for _, part in ipairs(parts.list(whole)) do
    if part.type ~= "reasoning" and part.type ~= "thinking" and part.type ~= "redacted_thinking" then return end
  end
  if type(whole.content) == "string" and whole.content ~= "" or whole.tool_calls then return end
  if type(whole.content) == "table" then whole.content = core.json.array {} end
  whole.reasoning_content = nil
end

--- Takes out reasoning; true if there was any.
local function prune_reasoning(item, mode)
  local whole, message = item.whole, item.message
  if mode == "none" or message.role ~= "assistant" or mode ~= "all" and item.after == 0 then return false end
  local without = message:without "reasoning"
  local changed = whole.reasoning_content ~= nil and whole.reasoning_content ~= core.json.null
  if type(whole.content) == "table" and #parts.list(without) < #whole.content then
    whole.content, changed = core.json.array(without.content), true
  end
  whole.reasoning_content = nil
  return changed
end

---- Units ----

---@class ebb.PrunedUnit      What becomes of a unit
---@field unit ebb.Unit
---@field messages table[]    message tables that stay
---@field framed boolean      calls or results went: it must be made anew
---@field edits { message: ebb.Message, fields: table }[]

local function prune_unit(view, unit, options)
  local names = view.names[unit.first]
  local result = { unit = unit, messages = {}, framed = false, edits = {} }
  for _, message in ipairs(unit.messages) do
    local item = view.items[message.seq]
    local whole = item and item.whole or message:totable()
    local lighter = item and prune_reasoning(item, options.reasoning)
    local framed = item and prune_tools(view, item, names)
    if framed then drop_lone_reasoning(item) end
    local emptied = not message.window and parts.is_empty(whole)
      and (options.empty_messages == "remove" or whole.content == nil)
    if not emptied then result.messages[#result.messages + 1] = whole end
    if lighter then
      local fields = { content = whole.content, reasoning_content = message.reasoning and core.json.null }
      result.edits[#result.edits + 1] = { message = message, fields = fields }
    end
    result.framed = result.framed or framed or emptied
  end
  return (result.framed or #result.edits > 0) and result
end

--- Puts what stays of some units before each, and drops them; or false, and nothing has changed.
local function remake(draft, list)
  local positions, messages = {}, {}
  for _, pruned in ipairs(list) do
    local first = pruned.unit.first
    for _, message in ipairs(pruned.messages) do
      if message.content == nil and message.tool_calls == nil then message.content = "" end
      positions[#positions + 1], messages[#messages + 1] = first, message
    end
  end
  if #messages > 0 and not core.draft.insert_all(draft, positions, messages, "pruned") then return false end
  for _, pruned in ipairs(list) do
    draft:drop(pruned.unit, "pruned")
  end
  return true
end

--- All at once, for each insertion numbers the draft anew; one by one where another unit lies around one of them.
local function remake_all(draft, list)
  if remake(draft, list) then return end
  for _, pruned in ipairs(list) do
    local first = pruned.unit.first
    if not remake(draft, { pruned }) then
      draft:note(("message %d lies within another unit and stays"):format(first))
    end
  end
end

---@type ebb.Policy
return {
  name = "prune_messages",
  summary = "take out reasoning and tool calls (as the AI SDK's pruneMessages does)",
  options = {
    reasoning = { type = "choice", choices = { "none", "all", "before_last_message" }, default = "none",
      help = "reasoning of assistant messages that goes" },
    tool_calls = { type = "list", default = {},
      help = [[none, all, before_last_message, before_last_<n>_messages, or [{"type": ..., "tools": [...]}, ...] ]] },
    empty_messages = { type = "choice", choices = { "remove", "keep" }, default = "remove",
      help = "messages in which nothing is left" },
  },
  help = [[
A call goes with its results. What the newest messages call, answer or approve
protects its partner in older ones; `before_last_0_messages` prunes nothing. The
budget plays no part, so another policy usually comes after it.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 700 \
    --policy prune_messages:reasoning=all,tool_calls=before_last_3_messages]],

  trim = function(draft, _, options)
    local view = look(draft, rules_of(options.tool_calls, #draft))
    local framed, edits = {}, {}
    for unit in draft:units { droppable = true } do
      local pruned = prune_unit(view, unit, options)
      if pruned and pruned.framed then
        framed[#framed + 1] = pruned
      elseif pruned then
        table.move(pruned.edits, 1, #pruned.edits, #edits + 1, edits)
      end
    end
    for _, change in ipairs(edits) do
      draft:replace(change.message, change.fields, "reasoning pruned")
    end
    remake_all(draft, framed)
  end,
}
