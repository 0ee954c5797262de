--- Trim policy: the AI SDK's pruneMessages: reasoning and tool calls go, texts stay.
--
-- A tool call is dropped with its results, whichever message holds them. Where a message
-- keeps other content, a message without the calls takes the place of the unit:
--
--     assistant "I look."  calls a, b        assistant "I look."  calls b
--     result a                           ->  result b
--     result b
--
-- Calls, answers and approvals in the kept tail protect their partners before it.

local core = require "ebb.support.core"
local idle = require "ebb.support.idle"
local parts = require "ebb.conversation.parts"

local NOTHING = {}
local APPROVAL = { ["tool-approval-request"] = true, ["tool-approval-response"] = true }

---@class ebb.PruneRule
---@field tail integer                  newest messages that stay as they are
---@field tools? table<string, boolean> the tools it is about; nil: all
---@field ids table<string, boolean>        calls that the tail protects
---@field approvals table<string, boolean>  approvals that it protects

---- Rules ----

local TAILS = { none = math.huge, all = 0, before_last_message = 1 }

--- Returns how many newest messages a word keeps, math.huge for all of them; nil if it is no such word.
local function tail_of(word)
  local name = tostring(word):gsub("-", "_")
  local n = TAILS[name] or tonumber(name:match "^before_last_(%d+)_messages$")
  return n == 0 and name ~= "all" and math.huge or n   -- "before the last 0" has always meant: prune nothing
end

--- An entry of `tool_calls` as {type = word, tools = names}.
local function entry_of(item) return type(item) == "table" and item or { type = item } end

--- Returns a complaint about the first bad entry of `tool_calls`, or nil if all are valid.
local function complaint_about(entries)
  local expected = "tool_calls: expected none, all, before_last_message or before_last_<n>_messages, got '%s'"
  for _, item in ipairs(entries) do
    local entry = entry_of(item)
    if not tail_of(entry.type) then return expected:format(tostring(entry.type)) end
    if entry.tools ~= nil and type(entry.tools) ~= "table" then
      return ("tool_calls: expected a list of tools, got %s"):format(tostring(entry.tools))
    end
  end
end

--- The rules that prune something.
local function rules_of(entries, count)
  local rules = {}
  for _, item in ipairs(entries) do
    local rule = entry_of(item)
    local tail, tools = tail_of(rule.type), rule.tools and {}
    for _, tool in ipairs(rule.tools or {}) do
      tools[tool] = true
    end
    if tail < count then rules[#rules + 1] = { tail = tail, tools = tools, ids = {}, approvals = {} } end
  end
  return rules
end

--- True if one of the rules prunes this call, result or approval.
---@param kind "ids"|"approvals"
local function is_pruned(rules, after, kind, id, name)
  for _, rule in ipairs(rules) do
    local ours = rule.tools == nil or rule.tools[name] or kind == "approvals" and name == nil
    if after >= rule.tail and ours and not rule[kind][id] then return true end
  end
  return false
end

---- Looking ----

---@class ebb.PruneView
---@field rules ebb.PruneRule[]
---@field by_name boolean                 a rule names tools
---@field everything boolean              a rule prunes all calls and results
---@field tail integer                   messages of the longest tail
---@field after table<integer, integer>   messages after one, by its seq; those that no tail reaches are missing
---@field approvals table<string, string> approval id -> tool

--- The approvals among a message's parts: pairs of an id and its part.
local function approvals_of(message)
  local list = {}
  for _, part in ipairs(message.parts) do
    if part.kind == "other" and APPROVAL[part.value.type] then list[#list + 1] = part.value end
  end
  return list
end

--- Collects for each rule the ids of calls and approvals in its newest messages, which its pruning leaves alone.
local function note_protected(rule, message)
  for _, call in ipairs(message.calls) do
    if call.id then rule.ids[call.id] = true end
  end
  for _, id in ipairs(message.answers) do
    rule.ids[id] = true
  end
  for _, part in ipairs(approvals_of(message)) do
    rule.approvals[part.approvalId] = true
  end
end

--- Numbers the newest messages, as many as a tail or `reasoning` asks for.
local function note_tails(draft, view)
  local after = 0
  for _, rule in ipairs(view.rules) do
    view.tail = math.max(view.tail, rule.tail)
  end
  for message in draft:messages { from = "newest" } do
    if after == math.max(1, view.tail) then return end
    view.after[message.seq] = after
    for _, rule in ipairs(view.rules) do
      if after < rule.tail then note_protected(rule, message) end
    end
    after = after + 1
  end
end

--- The tool of each call in a list of messages, by its id.
local function names_of(messages)
  local names = {}
  for _, message in ipairs(messages) do
    for _, call in ipairs(message.calls) do
      if call.id then names[call.id] = call.name end
    end
  end
  return names
end

local function note_approvals(draft, view)
  for unit in draft:units { has = "other" } do
    local messages = unit.messages
    local names = names_of(messages)
    for _, message in ipairs(messages) do
      for _, part in ipairs(approvals_of(message)) do
        if part.type == "tool-approval-request" then view.approvals[part.approvalId] = names[part.toolCallId] end
      end
    end
  end
end

---@return ebb.PruneView
local function look(draft, rules)
  local view = { rules = rules, by_name = false, everything = false, tail = 0, after = {}, approvals = {} }
  for _, rule in ipairs(rules) do
    view.by_name = view.by_name or rule.tools ~= nil
    view.everything = view.everything or rule.tail == 0 and not rule.tools
  end
  note_tails(draft, view)
  if #rules > 0 then note_approvals(draft, view) end
  return view
end

--- Returns the kinds of message parts that the options allow to prune.
local function kinds_to_prune(rules, options)
  local kinds = options.reasoning ~= "none" and { "reasoning" } or {}
  return #rules > 0 and table.move({ "tool_use", "tool_result", "other" }, 1, 3, #kinds + 1, kinds) or kinds
end

---- Pruning one message ----

---@class ebb.PruneItem       A message that has something to prune
---@field message ebb.Message
---@field whole table         its JSON, from which parts are taken
---@field after integer       messages after it, or infinity

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
  if type(parts.content(whole)) == "table" then parts.set_content(whole, parts.only(parts.list(whole), stays)) end
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

--- Reasoning without its calls, which were dropped, is useless, and providers refuse it.
local function drop_lone_reasoning(item)
  local whole = item.whole
  for _, part in ipairs(parts.list(whole)) do
    if not parts.is_reasoning(part) then return end
  end
  local content = parts.content(whole)
  if type(content) == "string" and content ~= "" or whole.tool_calls then return end
  if type(content) == "table" then parts.set_content(whole, core.json.array {}) end
  whole.reasoning_content = nil
end

--- True if `mode`, the option `reasoning`, lets the message's reasoning go.
local function loses_reasoning(item, mode)
  return mode ~= "none" and item.message.role == "assistant" and (mode == "all" or item.after > 0)
end

--- Takes out reasoning; true if there was any.
local function prune_reasoning(item, mode)
  local whole, message = item.whole, item.message
  if not loses_reasoning(item, mode) then return false end
  local without = message:without "reasoning"
  local changed = whole.reasoning_content ~= nil and whole.reasoning_content ~= core.json.null
  if #parts.list(without) < #parts.list(whole) then
    parts.set_content(whole, core.json.array(parts.list(without)))
    changed = true
  end
  whole.reasoning_content = nil
  return changed
end

--- True if nothing of the message stays: a result, or calls without a text, and the rules prune all of them. This
--- needs no look at its JSON.
local function goes_whole(view, message, names)
  local content = message.content
  if type(content) == "table" then return false end
  local is_result = message.role == "tool" and message.spelling ~= "function"   -- a legacy result has no id
  if is_result and view.everything then return true end
  if not is_result and content ~= nil and content ~= "" then return false end
  local ids = message.answers
  for _, call in ipairs(is_result and NOTHING or message.calls) do
    if not call.id then return false end
    ids[#ids + 1] = call.id
  end
  local after = view.tail > 0 and view.after[message.seq] or math.huge
  for _, id in ipairs(ids) do
    if not is_pruned(view.rules, after, "ids", id, names[id]) then return false end
  end
  return #ids > 0
end

local function all_go_whole(view, messages, names)
  for _, message in ipairs(messages) do
    if not goes_whole(view, message, names) then return false end
  end
  return true
end

--- True if an item of OpenAI's Responses is dropped: it is one call, one result, or reasoning.
local function item_goes(view, item, names, mode)
  local message = item.message
  if item.whole.type == "reasoning" then return loses_reasoning(item, mode) end
  local id = message.answers[1] or message.calls[1] and message.calls[1].id
  return id ~= nil and is_pruned(view.rules, item.after, "ids", id, names[id])
end

--- Adds the rest of a message to a pruned unit; returns the fields of one that only loses its reasoning.
local function prune_message(view, pruned, message, names, options)
  local removes, whole = options.empty_messages == "remove", message:totable()
  local item = { message = message, whole = whole, after = view.after[message.seq] or math.huge }
  if parts.is_item(whole) and not message.window then
    if item_goes(view, item, names, options.reasoning) then pruned.framed = true
    else pruned.messages[#pruned.messages + 1] = whole end
    return nil
  end
  local lighter = prune_reasoning(item, options.reasoning)
  local framed = prune_tools(view, item, names)
  if framed then drop_lone_reasoning(item) end
  local gone = not message.window and parts.is_empty(whole)
    and (removes or parts.content(whole) == nil and message.role == "tool")    -- a result without its id has no form
  if not gone then pruned.messages[#pruned.messages + 1] = whole end
  pruned.framed = pruned.framed or framed or gone
  return lighter and { content = parts.content(whole), reasoning_content = message.reasoning and core.json.null }
end

--- The unit, or an empty one where all that stays are items of reasoning: the calls that they led to were dropped.
---@param pruned ebb.PrunedUnit
local function without_lone_reasoning(pruned)
  for _, whole in ipairs(pruned.messages) do
    if whole.type ~= "reasoning" then return pruned end
  end
  pruned.messages = {}
  return pruned
end

--- Drops a unit of which nothing stays, takes reasoning out of one that loses nothing else, and gives one that must be
--- made again.
---@return ebb.PrunedUnit?
local function prune_unit(draft, view, unit, options)
  local messages = unit.messages
  local names = view.by_name and names_of(messages) or NOTHING
  if options.empty_messages == "remove" and all_go_whole(view, messages, names) then
    draft:drop(unit, "pruned")
    return nil
  end
  local pruned, edits = { unit = unit, messages = {}, framed = false }, {}
  for _, message in ipairs(messages) do
    edits[message] = prune_message(view, pruned, message, names, options) or nil
  end
  if pruned.framed then return without_lone_reasoning(pruned) end
  for _, message in ipairs(messages) do
    if edits[message] then draft:replace(message, edits[message], "reasoning pruned") end
  end
end

--- The units of a list that lie within no unit that stays; the others stay, too.
local function free_units(draft, list)
  local by_first, reach, free = {}, 0, {}      -- reach: where the units that stay end
  for _, pruned in ipairs(list) do
    by_first[pruned.unit.first] = pruned
  end
  for unit in draft:units {} do
    local pruned = by_first[unit.first]
    if pruned and unit.first > reach then
      free[#free + 1] = pruned
    else
      if pruned then draft:note(("message %d lies within another unit and stays"):format(unit.first)) end
      reach = math.max(reach, unit.count == 1 and unit.first or unit.messages[unit.count].index)
    end
  end
  return free
end

--- Returns for each pruned unit its position in the list once all of them are dropped.
local function places_of(list)
  local gone, places, at, before = {}, {}, 1, 0
  for _, pruned in ipairs(list) do
    for _, message in ipairs(pruned.unit.messages) do
      gone[message.index] = true
    end
  end
  for i, pruned in ipairs(list) do
    for index = at, pruned.unit.first - 1 do
      before = before + (gone[index] and 1 or 0)
    end
    at = pruned.unit.first
    places[i] = at - before
  end
  return places
end

--- A message of which no content and no call stays has an empty text.
local function fill(message)
  local content = parts.content(message)
  local silent = (content == nil or content == core.json.null) and not parts.is_item(message)
  if silent and message.tool_calls == nil and message.function_call == nil then message.content = "" end
  return message
end

--- Puts what stays of some units in their place. They are dropped first: a piece of a reply next to what replaces it
--- would be one unit with it.
local function remake_all(draft, list)
  local free = #list > 0 and free_units(draft, list) or list
  local places, positions, messages = places_of(free), {}, {}
  for i, pruned in ipairs(free) do
    for _, message in ipairs(pruned.messages) do
      positions[#positions + 1], messages[#messages + 1] = places[i], fill(message)
    end
  end
  for _, pruned in ipairs(free) do
    draft:drop(pruned.unit, "pruned")
  end
  if #messages > 0 then core.draft.insert_all(draft, positions, messages, "pruned") end
end

--- Drops messages that were empty before, but for those among calls and results.
local function drop_empty(draft)
  for unit in draft:units { droppable = true, empty = true } do
    if unit.count == 1 then draft:drop(unit, "pruned") end
  end
end

---@type ebb.Policy
return {
  name = "prune_messages",
  summary = "take out reasoning and tool calls (as the AI SDK's pruneMessages does)",
  options = {
    reasoning = { type = "choice", choices = { "none", "all", "before_last_message" }, default = "none",
      help = "reasoning of assistant messages to drop" },
    tool_calls = { type = "list", default = {},
      help = [[none, all, before_last_message, before_last_<n>_messages, or [{"type": ..., "tools": [...]}, ...] ]] },
    empty_messages = { type = "choice", choices = { "remove", "keep" }, default = "remove",
      help = "messages in which nothing is left" },
    idle = idle.OPTION,
  },
  help = [[
A call is dropped with its results. What the newest messages call, answer or approve
protects its partner in older ones; `before_last_0_messages` prunes nothing. The
budget plays no part, so another policy usually comes after it. With `idle` it
prunes only over the budget, and above half of it where the provider's cache is
cold anyway: so the cache lives from turn to turn.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 700 \
    --policy prune_messages:reasoning=all,tool_calls=before_last_3_messages]],

  check = function(options) return complaint_about(options.tool_calls) end,

  trim = function(draft, budget, options)
    if options.idle > 0 and draft:tokens() <= idle.budget(draft, budget, options.idle) then return end
    local rules = rules_of(options.tool_calls, #draft)
    local view, kinds, framed = look(draft, rules), kinds_to_prune(rules, options), {}
    for unit in draft:units { droppable = true, has = kinds } do
      if #kinds == 0 then break end
      framed[#framed + 1] = prune_unit(draft, view, unit, options)
    end
    remake_all(draft, framed)
    if options.empty_messages == "remove" then drop_empty(draft) end
  end,
}
