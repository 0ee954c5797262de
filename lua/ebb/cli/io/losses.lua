--- Prints what a conversion leaves out or changes on standard error: a line per kind.

local failure = require "ebb.cli.failure"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local losses = {}

local PLACES_SHOWN = 5

--- Kinds whose subject is the id of a call: as many subjects as there are calls.
local OF_CALLS = { changed_id = true, changed_arguments = true, lost_error = true }

--- Groups losses by kind and subject, those of calls by kind alone, in their order.
local function groups_of(list)
  local groups, by_key = {}, {}
  for _, loss in ipairs(list) do
    local key = OF_CALLS[loss.code] and loss.code or loss.code .. "\0" .. loss.text
    local group = by_key[key]
    if not group then
      group = { loss = loss, places = {}, texts = {}, subjects = 0 }
      by_key[key], groups[#groups + 1] = group, group
    end
    if not group.texts[loss.text] then
      group.texts[loss.text], group.subjects = true, group.subjects + 1
    end
    local places = group.places
    if loss.index and places[#places] ~= loss.index then places[#places + 1] = loss.index end
  end
  return groups
end

--- "messages 2, 4, 5": the first ones.
local function places_of(group)
  local count = #group.places
  if count == 0 then return nil end
  local shown = table.concat(group.places, ", ", 1, math.min(count, PLACES_SHOWN))
  local more = count > PLACES_SHOWN and (" and %d more"):format(count - PLACES_SHOWN) or ""
  return ("%s %s%s"):format(count == 1 and "message" or "messages", shown, more)
end

--- " (and 3 more calls; messages 2, 4, 5)": further calls of the same kind, and where all of them are.
local function describe_extent(group)
  local others = group.subjects > 1 and "and " .. text.count(group.subjects - 1, "more call")
  local places = places_of(group)
  if not others and not places then return "" end
  return (" (%s)"):format(others and places and others .. "; " .. places or others or places)
end

--- Reports each kind once, with the messages that it concerns.
---@param list ebb.Loss[]
function losses.tell(list)
  for _, group in ipairs(groups_of(list)) do
    terminal.say(("%s: %s%s"):format(group.loss.code, group.loss.text, describe_extent(group)))
  end
end

--- Reports each by itself, with its message.
---@param list ebb.Loss[]
function losses.list(list)
  for _, loss in ipairs(list) do
    terminal.say(("%s: %s: %s"):format(loss.index and ("message %d"):format(loss.index) or "the request", loss.code,
      loss.text))
  end
end

--- Refuses if something is left out; changes of form are none.
---@param list ebb.Loss[]
---@param dialect string
function losses.refuse(list, dialect)
  local lost = 0
  for _, loss in ipairs(list) do
    if not loss.changed then lost = lost + 1 end
  end
  if lost == 0 then return end
  failure.raise(failure.REFUSED, ("%s cannot say all: %s left out"):format(dialect, text.count(lost, "thing")),
    "without --strict it is written all the same")
end

return losses
