--- Places activated entries: as messages for the injection assembler, texts around presets, outlets.
--
--     before_char, after_char        one message where the preset of type lorebook_before or lorebook_after is;
--                                    else at the head, or before the history
--     examples_top, examples_bottom  one message around the preset of type examples; else before the history
--     note_top, note_bottom          added to the preset with the id authors_note; without it they are not sent
--     personality, scenario          added to the preset of that id
--     depth                          one message per depth and role
--     outlet                         texts by name, for {{outlet::name}}
--
-- At one place a larger order is nearer the newest message; of equal ones the later activated comes first.

local placement = {}

local HISTORY = "chat_history"

--- Anchors of the positions around the character, and where they are without them. Presets before the history
--- have order 100 if they say nothing.
local AROUND = {
  before_char = { anchor = "lorebook_before", side = "before", head = true },
  after_char = { anchor = "lorebook_after", side = "before", order = -1000 },
  examples_top = { anchor = "examples", side = "before", order = -999 },
  examples_bottom = { anchor = "examples", side = "after", order = -998 },
}

--- Presets that entries are added to: their ids, and the side.
local INTO = {
  note_top = { id = "authors_note", side = "before" }, note_bottom = { id = "authors_note", side = "after" },
  personality = { id = "personality", side = "after" }, scenario = { id = "scenario", side = "after" },
}

--- At one depth: the assistant's first, the system's nearest the newest message, all before presets of order 100.
local ROLE_ORDER = { assistant = 97, user = 98, system = 99 }

--- Orders of contents by place: "before_char", "depth 4 system", "outlet Name".
local function place_of(entry, depth)
  if entry.position == "depth" then return ("depth %d %s"):format(depth, entry.role) end
  return entry.position == "outlet" and "outlet " .. entry.outlet or entry.position
end

local function depth_of(entry, messages)
  return entry.reverse_depth and math.max(0, messages - entry.reverse_depth) or entry.depth
end

--- Active entries by place, the places in the order of their first ones.
local function by_place(active, messages)
  local list, places = {}, {}
  for i, each in ipairs(active) do
    local depth = depth_of(each.entry, messages)
    local name = place_of(each.entry, depth)
    if each.content:find "%S" then
      if not places[name] then
        places[name] = { entry = each.entry, depth = depth, items = {} }
        list[#list + 1] = places[name]
      end
      table.insert(places[name].items, { order = each.entry.order, rank = i, content = each.content })
    end
  end
  return list
end

local function joined(items)
  table.sort(items, function(a, b)
    if a.order ~= b.order then return a.order < b.order end
    return a.rank > b.rank
  end)
  local parts = {}
  for i, item in ipairs(items) do parts[i] = item.content end
  return table.concat(parts, "\n")
end

--- A message as the injection assembler takes it.
local function message(title, content, fields)
  local result = { id = title, title = title, type = "message", role = "system", content = content, enabled = true,
    order = 100 }
  for name, value in pairs(fields) do result[name] = value end
  return result
end

local function around(position, content, has_anchor)
  local place = AROUND[position]
  if has_anchor(place.anchor) then
    return message("lorebook " .. position, content, { kind = "anchor", target = place.anchor, side = place.side })
  elseif place.head then
    return message("lorebook " .. position, content, { kind = "default", head = true })
  end
  return message("lorebook " .. position, content,
    { kind = "anchor", target = HISTORY, side = "before", order = place.order })
end

---@class ebb.LorebookPlacement
---@field messages table[]      for the injection assembler
---@field around table<string, { before?: string, after?: string }>   by the id of a preset
---@field outlets table<string, string>
---@field disabled table<string, boolean>   ids of presets that are not sent
---@field lost string[]         positions whose preset does not exist

--- The placement of active entries.
---@param active ebb.LorebookActive[]
---@param options { messages: integer, has_anchor: (fun(type: string): boolean), has_preset: fun(id: string): boolean }
---@return ebb.LorebookPlacement
function placement.of(active, options)
  local result = { messages = {}, around = {}, outlets = {}, disabled = {}, lost = {} }
  for _, place in ipairs(by_place(active, options.messages)) do
    local entry, content = place.entry, joined(place.items)
    local into = INTO[entry.position]
    if into and not options.has_preset(into.id) then
      result.lost[#result.lost + 1] = entry.position
    elseif into then
      result.around[into.id] = result.around[into.id] or {}
      result.around[into.id][into.side] = content
    elseif entry.position == "outlet" then
      result.outlets[entry.outlet] = content
    elseif entry.position == "depth" then
      table.insert(result.messages, message(("lorebook depth %d"):format(place.depth), content,
        { kind = "depth", depth = place.depth, role = entry.role, order = ROLE_ORDER[entry.role] }))
    else
      table.insert(result.messages, around(entry.position, content, options.has_anchor))
    end
  end
  for _, each in ipairs(active) do
    for _, id in ipairs(each.entry.disables or {}) do result.disabled[id] = true end
  end
  return result
end

return placement
