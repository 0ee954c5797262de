--- The texts of tool results, and how policies make them smaller.
--
-- A result is in a message of its own, or as a part of one; its text is a string or a list of text parts:
--
--     {"role": "tool", "tool_call_id": "c1", "content": "text"}
--     {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "text"}]}
--
-- A text gives way only to one that has fewer tokens. What replaces it is decided from that text and its call
-- alone, and which results are old by their number in steps: so a request goes on as the one before it began.

local core = require "ebb.support.core"
local json_tree = require "ebb.support.json_tree"
local parts = require "ebb.conversation.parts"

local results = {}

local array = core.json.array

---@class ebb.ResultChoice    Which results
---@field keep? integer        newest messages with results that stay as they are; default: 0
---@field step? integer        number of others that become old at a time; default: 1
---@field users? boolean       texts of users are results, too
---@field from? "oldest"|"newest"   which come first; default: oldest
---@field held? boolean        those that a guard holds are looked at, too, and stay
---@field reason string        for the ledger

---@class ebb.Result
---@field id? string           of its call
---@field error boolean        it says of itself that it failed
---@field message ebb.Message
---@field calls? table         of a message with several results: what results.call_of has read

--- Options of policies that choose by age.
results.options = {
  keep = { type = "integer", default = 2, min = 0, help = "newest results that stay as they are" },
  step = { type = "integer", default = 2, min = 1,
    help = "results that become old together; a larger step keeps the beginning of requests longer" },
  users = { type = "boolean", default = false, help = "read user messages as results, too (agents without tools)" },
}

--- True if a text looks like the report of a failure, by its first words.
---@param text string
---@return boolean
function results.is_error(text)
  local first = text:sub(1, 200):lower()
  return first:find "^%W*[%w_.]*error[%s:\"]" ~= nil or first:find "^%W*[%w_.]*exception[%s:\"]" ~= nil
    or first:find "^%W*traceback" ~= nil or first:find "^%W*fatal[%s:]" ~= nil or first:find "^%W*panic[%s:]" ~= nil
    or first:find "^%W*failed?[%s:]" ~= nil
end

--- A note instead of a text: as it is, or as a JSON string instead of JSON.
---@param text string
---@param note string
---@return string
function results.note_for(text, note)
  return json_tree.is_json(text) and core.json.encode(note) or note
end

--- The call that a result answers; nil where its unit lacks it. The calls of a unit are read once for each message.
---@param result ebb.Result
---@return ebb.Call?
function results.call_of(result)
  local calls = result.calls
  if not calls then return result.message.call end
  if not calls.read then
    calls.read = true
    for _, message in ipairs(result.message.unit.messages) do
      for _, call in ipairs(message.calls) do
        calls[call.id or call.name or false] = call
      end
    end
  end
  return calls[result.id or false]
end

---- Rewriting ----

--- The smaller text that takes the place of another, or nil.
local function smaller(draft, text, result, rewrite)
  local new = rewrite(text, result)
  if not new or #new >= #text then return nil end
  local function tokens(content) return draft:cost { role = "user", content = content } end
  return tokens(new) < tokens(text) and new or nil
end

--- Rewrites the text parts of a list in place; true if one changed.
local function rewrite_list(draft, list, result, rewrite)
  local changed = false
  for _, part in ipairs(list) do
    local is_text = part.type == "text" or part.type == "input_text" or part.type == nil
    if is_text and type(part.text) == "string" then
      local new = smaller(draft, part.text, result, rewrite)
      part.text, changed = new or part.text, changed or new ~= nil
    end
  end
  return changed
end

--- Rewrites the results among the parts of a message; nil if nothing changed.
local function rewrite_parts(draft, message, choice, rewrite)
  local whole, changed, calls = message:totable(), false, {}
  local is_result = whole.tool_call_id ~= nil or whole.role == "function" or whole.role == nil or choice.users
  local list, newest = parts.list(whole), choice.from == "newest"
  for i = 1, #list do
    local part = list[newest and #list + 1 - i or i]
    local id, said, failed = parts.result_id(part), nil, false
    if id then said, failed = parts.result(part) end
    local result = { id = id, message = message, error = failed, calls = id and calls }
    if type(said) == "string" then
      local new = smaller(draft, said, result, rewrite)
      if new then parts.set_result(part, new) end
      changed = changed or new ~= nil
    elseif type(said) == "table" then
      changed = rewrite_list(draft, said, result, rewrite) or changed
    elseif is_result then
      changed = rewrite_list(draft, { part }, result, rewrite) or changed
    end
  end
  return changed and array(list) or nil
end

--- The messages that have the results of a choice.
---@param draft ebb.Draft
---@param choice ebb.ResultChoice
---@return fun(): ebb.Message?
local function chosen(draft, choice)
  local walk, count = choice.users and { role = { "user", "tool" } } or { has = "tool_result" }, 0
  walk.from, walk.droppable = choice.from, not choice.held
  if (choice.keep or 0) == 0 and (choice.step or 1) == 1 then return draft:messages(walk) end
  for _ in draft:messages(walk) do
    count = count + 1
  end
  local step = choice.step or 1
  walk.skip_last = count - math.max(0, count - (choice.keep or 0)) // step * step
  return draft:messages(walk)
end

local REMEMBERED_BYTES = 1 << 20       -- of texts and what became of them, over all policies
local remembered, remembered_bytes = {}, 0

local function remember(outcomes, text, new)
  remembered_bytes = remembered_bytes + #text + (type(new) == "string" and #new or #text)
  if remembered_bytes <= REMEMBERED_BYTES then
    outcomes[text] = new or false
  else
    remembered, remembered_bytes = {}, 0
  end
end

--- Memoizes `rewrite` by text and `key`. A conversation is trimmed before each of its requests, and each time policies
--- meet the same results.
---@generic T
---@param key string           what its answers hang on besides the text: a policy and its options
---@param rewrite fun(text: string): T?    a table is counted as long as its text
---@return fun(text: string): T?
function results.remembering(key, rewrite)
  return function(text)
    local outcomes = remembered[key] or {}
    remembered[key] = outcomes
    local new = outcomes[text]
    if new == nil then
      new = rewrite(text)
      remember(outcomes, text, new)
    end
    return new or nil
  end
end

--- Calls `rewrite(text, result)` for each text of the chosen results; what it gives takes the place of the text, if
--- that has fewer tokens then.
---@param draft ebb.Draft
---@param choice ebb.ResultChoice
---@param rewrite fun(text: string, result: ebb.Result): string?
function results.rewrite(draft, choice, rewrite)
  for message in chosen(draft, choice) do
    local content = message.content
    if type(content) == "string" then
      content = smaller(draft, content, { id = message.answers[1], message = message, error = false }, rewrite)
    elseif type(content) == "table" then
      content = rewrite_parts(draft, message, choice, rewrite)
    end
    if content and not (choice.held and message.unit.guarded) then
      draft:replace(message, { content = content }, choice.reason)
    end
  end
end

return results
