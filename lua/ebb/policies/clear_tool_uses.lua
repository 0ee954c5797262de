--- Trim policy: old tool results give way to a placeholder, as in Anthropic's
--- context editing (clear_tool_uses).

local core = require "ebb.support.core"
local idle = require "ebb.support.idle"
local parts = require "ebb.conversation.parts"
local tables = require "ebb.support.tables"

local encode = core.json.encode

---- When ----

local MEASURES = { "input_tokens", "tool_uses", "messages" }

--- The conditions of a trigger, of which one must hold: it is one, or a list of them. Each is {measure = n, ...};
--- {type = measure, value = n} is another spelling.
local function conditions_of(trigger)
  local conditions = {}
  for i, condition in ipairs(trigger[1] == nil and { trigger } or trigger) do
    local is_spelled = type(condition) == "table" and condition.type ~= nil
    conditions[i] = is_spelled and { [condition.type] = condition.value } or condition
  end
  return conditions
end

--- Returns a complaint about the first bad condition of a trigger, or nil if all are valid.
local function complaint_about(trigger)
  local expected = ("trigger: expected %s = a number, got "):format(table.concat(MEASURES, " or "))
  for _, condition in ipairs(conditions_of(trigger)) do
    if type(condition) ~= "table" then return expected .. tostring(condition) end
    for name, value in pairs(condition) do
      if not tables.contains(MEASURES, name) or type(value) ~= "number" then
        return ("%s%s = %s"):format(expected, tostring(name), tostring(value))
      end
    end
  end
end

--- True if all measures of a condition are passed.
local function holds(condition, measured)
  for name, value in pairs(condition) do
    if measured[name] <= value then return false end
  end
  return true
end

local function is_triggered(trigger, measured)
  for _, condition in ipairs(conditions_of(trigger)) do
    if holds(condition, measured) then return true end
  end
  return false
end

---- What ----

--- Adds ids to the set of a message.
local function add(sets, message, ids)
  local set = sets[message.seq] or {}
  for _, id in ipairs(ids) do
    set[id] = true
  end
  sets[message.seq] = next(set) and set
end

--- The newest `keep` results, as sets of ids by the seqs of their messages.
local function newest_results(draft, keep)
  local sets = {}
  for message in draft:messages { has = "tool_result", from = "newest" } do
    if keep <= 0 then break end
    local ids = message.answers
    add(sets, message, table.move(ids, math.max(1, #ids - keep + 1), #ids, 1, {}))
    keep = keep - #ids
  end
  return sets
end

--- Adds the results of some tools to such sets.
local function add_results_of(draft, sets, tools)
  local excluded = {}
  for _, name in ipairs(tools) do
    excluded[name] = true
  end
  for unit in draft:units { has = "tool_result" } do
    local ids, messages = {}, unit.messages
    for _, message in ipairs(messages) do
      for _, call in ipairs(message.calls) do
        if call.id and excluded[call.name] then ids[call.id] = true end
      end
    end
    for _, message in ipairs(next(ids) and messages or {}) do
      local answers = message.answers
      for i = #answers, 1, -1 do
        if not ids[answers[i]] then table.remove(answers, i) end
      end
      add(sets, message, answers)
    end
  end
end

--- The ids of a message's results that are to be cleared, as a set.
local function clearable(kept, message)
  local stays, ids = kept[message.seq], {}
  for _, id in ipairs(message.answers) do
    ids[id] = not (stays and stays[id]) or nil
  end
  return ids
end

--- Returns the message's content with its old results replaced by the placeholder, or nil if nothing changes.
local function cleared_content(kept, message, placeholder)
  local content = message.content
  if content == placeholder then return nil end
  local is_one = type(content) ~= "table" and message.spelling ~= "function"      -- a legacy result has no id
  if is_one and not kept[message.seq] then return placeholder end
  local ids = clearable(kept, message)
  if next(ids) == nil then return nil end
  if is_one then return placeholder end
  local cleared = parts.cleared(message:totable(), ids, placeholder)
  return encode(cleared) ~= encode(content) and cleared or nil
end

--- Iterates over messages that have something to clear, each with its new content.
local function each_cleared(draft, kept, placeholder)
  local walk = draft:messages { has = "tool_result", droppable = true }
  return function()
    for message in walk do
      local content = cleared_content(kept, message, placeholder)
      if content then return message, content end
    end
  end
end

--- The tokens that all this frees.
local function freed_tokens(draft, kept, placeholder)
  local freed = 0
  for message, content in each_cleared(draft, kept, placeholder) do
    local whole = message:totable()
    parts.set_content(whole, content)
    freed = freed + message.tokens - draft:cost(whole)
  end
  return freed
end

--- Clears the arguments of the calls whose results are cleared; each message is read once.
local function clear_inputs(draft, kept, placeholder)
  for unit in draft:units { has = "tool_result", droppable = true } do
    local ids, messages = {}, unit.messages
    for _, message in ipairs(messages) do
      local clears = #message.answers > 0 and cleared_content(kept, message, placeholder)
      for id in pairs(clears and clearable(kept, message) or {}) do
        ids[id] = true
      end
    end
    for _, message in ipairs(next(ids) and messages or {}) do
      local fields = #message.calls > 0 and parts.without_inputs(message:totable(), ids) or {}
      if next(fields) then draft:replace(message, fields, "old tool call") end
    end
  end
end

--- Returns the figures that triggers are compared with. Counting the results visits each message that has one.
local function measure(draft)
  local uses = 0
  for message in draft:messages { has = "tool_result" } do
    uses = uses + #message.answers
  end
  return { input_tokens = draft:tokens(), tool_uses = uses, messages = #draft }
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
    placeholder = { type = "string", default = "[cleared]", help = "the text that replaces a result" },
    idle = idle.OPTION,
  },
  help = [[
Acts once the trigger is passed: more than so many input_tokens, tool_uses or
messages; several in one table must all be passed, of a list of tables one. Then all
results but those of the newest `keep` tool uses are cleared, the oldest first, so
that calls and results stay together. Excluded tools still count among the newest.
Without a trigger, `idle` makes it act above half of the budget (more with large
tools) where the provider's cache is cold anyway.

Kept whatever happens: guarded messages (pinned, a call without its results). It may
leave more than the budget, so another policy usually comes after it.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 540 \
    --policy clear_tool_uses:keep=1,exclude_tools=read_file]],

  check = function(options) return options.trigger and complaint_about(options.trigger) end,

  trim = function(draft, budget, options)
    local trigger = options.trigger
    if not trigger and draft:tokens() <= idle.budget(draft, budget, options.idle) then return end
    if trigger and not is_triggered(trigger, measure(draft)) then return end

    local kept, placeholder = newest_results(draft, options.keep), options.placeholder
    if #options.exclude_tools > 0 then add_results_of(draft, kept, options.exclude_tools) end
    local freed = options.clear_at_least > 0 and freed_tokens(draft, kept, placeholder)
    if freed and freed < options.clear_at_least then
      return draft:note(("only %d tokens could be cleared, less than %d"):format(freed, options.clear_at_least))
    end
    if options.clear_tool_inputs then clear_inputs(draft, kept, placeholder) end
    local fields = {}
    for message, content in each_cleared(draft, kept, placeholder) do
      fields.content = content
      draft:replace(message, fields, "old tool result")
    end
  end,
}
