--- Trim policy: LangChain's trim_messages, on units.
--
--     last     drop what comes after the last `end_on`; keep the longest end that
--              fits; then drop what comes before the first `start_on` in it
--     first    keep the longest beginning that fits; then drop what comes after
--              the last `end_on` in it
--
-- `allow_partial` also keeps a piece of the first message that does not fit.

local core = require "ebb.support.core"
local idle = require "ebb.support.idle"
local parts = require "ebb.conversation.parts"

---@class ebb.TrimMessages
---@field strategy "first"|"last"
---@field start_on string[]
---@field end_on string[]
---@field include_system boolean
---@field allow_partial boolean
---@field split_by "lines"|"words"|"characters"
---@field idle integer

local SPELLINGS = { human = "user", ai = "assistant", user = "user", assistant = "assistant", system = "system",
  tool = "tool" }

--- Returns a complaint about the first unknown role in a list, or nil if all are known.
local function complaint_about(names, option)
  for _, name in ipairs(names) do
    if not SPELLINGS[name] then return ("%s: unknown role '%s'"):format(option, tostring(name)) end
  end
end

--- The roles of a list as a set; nil for an empty one, which sets no condition.
local function roles_of(names)
  local set = {}
  for _, name in ipairs(names) do
    set[SPELLINGS[name]] = true
  end
  return next(set) and set
end

--- A window is read as a user's.
local function role_of(message)
  return message.role or "user"
end

--- The role of a unit's first message.
local function first_role(unit)
  return unit.role or "user"
end

--- The role of its last message.
local function last_role(unit)
  local count = unit.count
  return count == 1 and first_role(unit) or role_of(unit.messages[count])
end

--- Drops units from one end until one has a wanted role; what is guarded is passed over. `head` is the seq of a
--- message that is kept apart, and has no part in this.
local function drop_to(draft, from, roles, side, reason, head)
  if not roles then return end
  for unit in draft:units { from = from } do
    local apart = head and unit.messages[1].seq == head
    if not apart and roles[side(unit)] then return end
    if not unit.guarded then draft:drop(unit, reason) end
  end
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

--- The text next to one end of a message; nil if it has none.
local function text_of(message, from_end)
  local list = message.parts
  for i = 1, #list do
    local part = list[from_end and #list + 1 - i or i]
    if part.kind == "text" then return part.text end
  end
end

--- Cuts a message's content to as much as fits in `room` tokens; nil if nothing does.
local function piece_of(draft, message, room, options)
  local from_end, content, whole = options.strategy == "last", message.content, message:totable()
  local function fits(candidate)
    parts.set_content(whole, candidate)
    return draft:cost(whole) <= room
  end
  if type(content) == "table" then
    for n = #content - 1, 1, -1 do
      local some_parts = some(content, n, from_end)
      if fits(some_parts) then return some_parts end
    end
  end
  local text = text_of(message, from_end)
  if not text then return nil end
  local pieces = split(text, options.split_by)
  local n = largest(#pieces, function(n) return fits(table.concat(some(pieces, n, from_end))) end)
  return n > 0 and table.concat(some(pieces, n, from_end)) or nil
end

--- Cuts the one message at the border, if it is one that may be cut.
local function cut(draft, unit, room, options)
  local message = unit.messages[1]
  local plain = unit.count == 1 and (message.role == "user" or message.role == "assistant")
    and #message.calls == 0 and #message.answers == 0
  if not plain or message.content == nil then return false end
  local content = piece_of(draft, message, room, options)
  return content ~= nil and draft:replace(message, { content = content }, "cut to fit") ~= nil
end

---- Fitting ----

--- Drops the oldest droppable unit of an oversized draft that binds thinking. Thinking which that makes worthless
--- then costs nothing when the others are measured.
local function drop_first(draft, budget)
  if draft:tokens() <= budget or not core.draft.info(draft).binds_thinking then return end
  local next_unit, state, start = draft:units { droppable = true }
  local oldest = next_unit(state, start)
  if oldest then draft:drop(oldest, "does not fit") end
end

--- Keeps units from one end while they fit; the first that does not ends it.
local function fit(draft, from, budget, options, roles, side)
  if from == "newest" and not options.allow_partial then drop_first(draft, budget) end
  local room, full = budget - core.draft.guarded(draft), false
  for unit, tokens in draft:units { from = from, droppable = true } do
    local stays = not full and tokens <= room
    if not stays and not full then
      full = true
      stays = options.allow_partial and (not roles or roles[side(unit)]) and cut(draft, unit, room, options)
    end
    room = room - tokens
    if not stays then draft:drop(unit, "does not fit") end
  end
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
    idle = idle.OPTION,
  },
  help = [[
Differs from LangChain where that would break requests: a call and its results are kept
or dropped together, and neither system messages nor calls nor results are cut.
start_on and include_system go with the strategy `last` only. With `idle` half of the
budget (more with large tools) counts where the provider's cache is cold anyway.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message), also between dropped messages.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 300 --policy trim_messages:start_on=user]],

  check = function(options)
    if options.strategy == "first" then
      if #options.start_on > 0 then return "start_on goes with the strategy 'last' only" end
      if options.include_system then return "include_system goes with the strategy 'last' only" end
    end
    return complaint_about(options.start_on, "start_on") or complaint_about(options.end_on, "end_on")
  end,

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options ebb.TrimMessages
  trim = function(draft, budget, options)
    budget = idle.budget(draft, budget, options.idle)
    local start_on, end_on = roles_of(options.start_on), roles_of(options.end_on)
    if options.strategy == "first" then
      fit(draft, "oldest", budget, options, end_on, last_role)
      return drop_to(draft, "newest", end_on, last_role, "after the last end_on")
    end

    local head = options.include_system and #draft > 0 and draft[1].role == "system" and draft[1] or nil
    if head then draft:keep(head) end
    drop_to(draft, "newest", end_on, last_role, "after the last end_on")
    fit(draft, "newest", budget, options, start_on, first_role)
    drop_to(draft, "oldest", start_on, first_role, "before the first start_on", head and head.seq)
  end,
}
