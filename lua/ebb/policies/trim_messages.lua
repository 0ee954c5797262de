--- Trim policy: LangChain's trim_messages, on units.
--
--     last     drop what stands after the last `end_on`; keep the longest end that
--              fits; then drop what stands before the first `start_on` in it
--     first    keep the longest beginning that fits; then drop what stands after
--              the last `end_on` in it
--
-- `allow_partial` also keeps a piece of the first message that does not fit.

---@class ebb.TrimMessages
---@field strategy "first"|"last"
---@field start_on string[]
---@field end_on string[]
---@field include_system boolean
---@field allow_partial boolean
---@field split_by "lines"|"words"|"characters"

local SPELLINGS = { human = "user", ai = "assistant", user = "user", assistant = "assistant", system = "system",
  tool = "tool" }

--- The roles of a list as a set; nil for an empty one, which sets no condition.
local function roles_of(names, option)
  local set = {}
  for _, name in ipairs(names) do
    set[SPELLINGS[name] or error(("%s: unknown role '%s'"):format(option, tostring(name)), 0)] = true
  end
  return next(set) and set
end

---@class ebb.TrimUnit
---@field unit ebb.Unit
---@field tokens integer
---@field guarded boolean
---@field first_role string
---@field last_role string

--- A window is read as a user's.
local function role_of(message)
  return message.role or "user"
end

--- The units that are there, in the order in which they are looked at.
local function list_units(draft, from)
  local list = {}
  for unit, tokens in draft:units { from = from } do
    local messages = unit.messages
    list[#list + 1] = { unit = unit, tokens = tokens, guarded = unit.guarded, first_role = role_of(messages[1]),
      last_role = role_of(messages[#messages]) }
  end
  return list
end

--- Drops units from one end until one has a wanted role; what is guarded is passed over.
local function drop_to(draft, list, roles, field, reason)
  if not roles then return list end
  local rest, reached = {}, false
  for _, each in ipairs(list) do
    reached = reached or roles[each[field]] == true
    if reached or each.guarded or not draft:drop(each.unit, reason) then rest[#rest + 1] = each end
  end
  return rest
end

---- Partial messages ----

--- The pieces of a text; together they are the text.
local function split(text, unit)
  local pieces = {}
  local pattern = unit == "characters" and utf8.charpattern or unit == "words" and "[^ ]* ?" or "[^\n]*\n?"
  for piece in text:gmatch(pattern) do
    if piece ~= "" then pieces[#pieces + 1] = piece end
  end
  return pieces
end

--- The largest n up to `most` for which `fits(n)`; 0 if there is none.
local function largest(most, fits)
  local low, high = 0, most
  while low < high do
    local middle = (low + high + 1) // 2
    if fits(middle) then low = middle else high = middle - 1 end
  end
  return low
end

--- n items of a list from the end that stays.
local function some(list, n, from_end)
  return table.move(list, from_end and #list - n + 1 or 1, from_end and #list or n, 1, {})
end

local function text_of(content, from_end)
  if type(content) == "string" then return content end
  for i = 1, #content do
    local part = content[from_end and #content + 1 - i or i]
    if part.type == "text" then return part.text end
  end
end

--- As much content of a message as fits in `room` tokens, or nil.
local function piece_of(draft, whole, room, options)
  local from_end, content = options.strategy == "last", whole.content
  local function fits(candidate)
    whole.content = candidate
    return draft:cost(whole) <= room
  end
  if type(content) == "table" then
    for n = #content - 1, 1, -1 do
      local some_parts = some(content, n, from_end)
      if fits(some_parts) then return some_parts end
    end
  end
  local text = text_of(content, from_end)
  if not text then return nil end
  local pieces = split(text, options.split_by)
  local n = largest(#pieces, function(n) return fits(table.concat(some(pieces, n, from_end))) end)
  return n > 0 and table.concat(some(pieces, n, from_end)) or nil
end

--- Cuts the one message at the border, if it is one that may be cut.
local function cut(draft, each, room, options)
  local message = each.unit.messages[1]
  local plain = each.unit.count == 1 and (message.role == "user" or message.role == "assistant") and #message.calls == 0
  if not plain or message.content == nil then return false end
  local content = piece_of(draft, message:totable(), room, options)
  return content ~= nil and draft:replace(message, { content = content }, "cut to fit") ~= false
end

---- Fitting ----

--- Keeps units while they fit; the first that does not ends it. Gives what is left, the border last.
local function fit(draft, list, budget, options, roles, field)
  local room, remaining, full = budget - draft:tokens(), {}, false
  for _, each in ipairs(list) do
    if not each.guarded then room = room + each.tokens end
  end
  for _, each in ipairs(list) do
    local stays = each.guarded
    if not stays and not full then
      full = each.tokens > room
      stays = not full
      if full and options.allow_partial and (not roles or roles[each[field]]) then
        stays = cut(draft, each, room, options)
      end
      room = room - each.tokens
    end
    if stays or not draft:drop(each.unit, "does not fit") then remaining[#remaining + 1] = each end
  end
  return remaining
end

local function reversed(list)
  local result = {}
  for i, item in ipairs(list) do
    result[#list + 1 - i] = item
  end
  return result
end

---@type ebb.Policy
return {
  name = "trim_messages",
  summary = "keep the longest end or beginning that fits (as LangChain's trim_messages does)",
  options = {
    strategy = { type = "choice", choices = { "last", "first" }, default = "last", help = "which end stays" },
    start_on = { type = "list", default = {}, help = "roles that may come first; human and ai are read, too" },
    end_on = { type = "list", default = {}, help = "roles that may come last" },
    include_system = { type = "boolean", default = false, help = "keep a system message at the beginning" },
    allow_partial = { type = "boolean", default = false, help = "keep a piece of the message that does not fit whole" },
    split_by = { type = "choice", choices = { "lines", "words", "characters" }, default = "lines",
      help = "where a message may be cut" },
  },
  help = [[
Differs from LangChain where that would break requests: a call and its results are kept
or dropped together, and neither system messages nor calls nor results are cut.
start_on and include_system go with the strategy `last` only.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message), also between dropped messages.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 300 --policy trim_messages:start_on=user]],

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options ebb.TrimMessages
  trim = function(draft, budget, options)
    local start_on, end_on = roles_of(options.start_on, "start_on"), roles_of(options.end_on, "end_on")
    if options.strategy == "first" then
      if start_on then error("start_on goes with the strategy 'last' only", 0) end
      if options.include_system then error("include_system goes with the strategy 'last' only", 0) end
      local remaining = fit(draft, list_units(draft, "oldest"), budget, options, end_on, "last_role")
      return drop_to(draft, reversed(remaining), end_on, "last_role", "after the last end_on")
    end

    if options.include_system and #draft > 0 and draft[1].role == "system" then draft:keep(draft[1]) end
    local list = drop_to(draft, list_units(draft, "newest"), end_on, "last_role", "after the last end_on")
    local remaining = fit(draft, list, budget, options, start_on, "first_role")
    drop_to(draft, reversed(remaining), start_on, "first_role", "before the first start_on")
  end,
}
