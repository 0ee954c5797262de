--- Lorebooks by themselves: world info of SillyTavern, and lorebook_v3 of the Character Card V3 specification.

local agents = require "ebb.import.agents.agents"
local fields = require "ebb.import.fields"
local lore = require "ebb.import.agents.lore"
local members = require "ebb.import.members"

local world = { name = "world", title = "lorebook", kind = "json" }

local function is_v3(value) return fields.is_object(value) and value.spec == "lorebook_v3" end

function world.recognise(sample) return is_v3(sample.value) or lore.is_world(sample.value) end

--- "world" of "some/world.json": the name of a book that has none.
local function stem(path) return path:match "([^/]+)$":gsub("%.json$", "") end

function world.read(source)
  local value, notes = source.value, agents.notes(source.report)
  local name = stem(source.path)
  local book
  if is_v3(value) then
    local from = members.of(value, "", notes)
    from:any "spec"
    members.required(members.required(value.data, "data", "an object").entries, "data.entries", "a list")
    book = lore.card_book(from:object "data", "data", notes, name)
    from:rest()
  else
    members.required(members.required(value, "lorebook", "an object").entries, "entries", "an object")
    book = lore.world(value, "", notes, name)
  end
  return agents.result({ lorebooks = { book } }, notes)
end

return world
