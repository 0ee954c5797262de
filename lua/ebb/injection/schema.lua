--- Preset messages as they stand in agent files, and what becomes of them here: a
--- table {id, type, role, content, enabled, match, kind, depth, points, target,
--- side, order, title}.

local fields = require "ebb.support.fields"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local schema = { say = fields.say }

schema.STRATEGY = {
  { "type", fields.choice("default", "depth", "advanced_depth", "anchor") },
  { "depth", fields.count },
  { "depthConfig", fields.text },
  { "anchorTarget", fields.text },
  { "anchorPosition", fields.choice("before", "after"), "after" },
  { "order", fields.number, 100 },
}

schema.MATCH = {
  { "enabled", fields.boolean, true },
  { "mode", fields.choice("any", "all"), "any" },
  { "exclude", fields.boolean, false },
  { "patterns", fields.list(fields.text), {} },
  { "profilePatterns", fields.list(fields.text), {} },
  { "matchProfileName", fields.boolean, false },
}

local function content(value)
  if type(value) == "string" then return value end
  local is_parts = type(value) == "table" and (value[1] ~= nil or next(value) == nil)
  return is_parts and value or nil, "a text or a list of parts"
end

schema.MESSAGE = {
  { "id", fields.text },
  { "type", fields.text, "message" },
  { "role", fields.choice("system", "user", "assistant"), "system" },
  { "content", content, "" },
  { "isEnabled", fields.boolean, true },
  { "modelMatch", fields.record(schema.MATCH) },
  { "injectionStrategy", fields.record(schema.STRATEGY) },
}

--- What a chat program's message nodes carry besides; none of it is about injection.
local CARRIED = {
  name = true, parentId = true, childrenIds = true, status = true, timestamp = true, metadata = true,
}

--- The strategy that the given fields mean where none is named.
local function kind_of(strategy)
  if strategy.type then return strategy.type end
  if strategy.depthConfig and strategy.depthConfig ~= "" then return "advanced_depth" end
  if strategy.depth then return "depth" end
  return strategy.anchorTarget and strategy.anchorTarget ~= "" and "anchor" or "default"
end

--- What the strategy lacks; nil if nothing.
local function missing(kind, strategy)
  local needs = ({ depth = "depth", advanced_depth = "depthConfig", anchor = "anchorTarget" })[kind]
  if needs and strategy[needs] == nil then
    return { field = "injectionStrategy." .. needs, message = ("type '%s' needs it"):format(kind) }
  end
end

--- "3, 10~5": each {first, step}; step 0 is one depth. What is no such thing comes back as junk.
---@param text string
---@return { first: integer, step: integer }[] points
---@return string[] junk
function schema.points(text)
  local points, junk = {}, {}
  for piece in (text .. ","):gmatch "(.-)," do
    local word = piece:match "^%s*(.-)%s*$"
    local first, step = word:match "^(%d+)%s*[~:]%s*(%d+)$"
    first = math.tointeger(tonumber(first or word:match "^%d+$"))
    if first then points[#points + 1] = { first = first, step = math.tointeger(tonumber(step or 0)) or 0 }
    elseif word ~= "" then junk[#junk + 1] = word end
  end
  return points, junk
end

--- What to call a preset message where something is wrong with it.
function schema.title(given, place)
  local id = type(given) == "table" and given.id
  return type(id) == "string" and id ~= "" and ("preset message '%s'"):format(id) or ("preset message %d"):format(place)
end

--- What is wrong with the type, which is "message" or an anchor; nil if nothing.
local function type_problem(record, anchors)
  if record.type == "message" or anchors[record.type] ~= nil then return nil end
  local names = tables.keys(anchors)
  names[#names + 1] = "message"
  return { field = "type", message = ("no anchor '%s'"):format(record.type), hint = suggest.hint(record.type, names) }
end

--- A checked preset message, or nil and what is wrong: {field, message, hint}.
---@param given any
---@param anchors table<string, boolean>     the anchors that there are: has it a template?
---@return table? message
---@return table? problem
function schema.message(given, anchors)
  if type(given) ~= "table" then return nil, { field = "message", message = "expected an object" } end
  local record, problem = fields.read(given, schema.MESSAGE, CARRIED)
  problem = problem or type_problem(record, anchors)
  if problem then return nil, problem end
  local strategy = record.injectionStrategy or { order = 100, anchorPosition = "after" }
  local kind = kind_of(strategy)
  problem = missing(kind, strategy)
  if problem then return nil, problem end
  return {
    id = record.id, type = record.type, role = record.role, content = record.content,
    enabled = record.isEnabled, match = record.modelMatch,
    kind = kind, depth = strategy.depth, points = strategy.depthConfig,
    target = strategy.anchorTarget, side = strategy.anchorPosition, order = strategy.order,
  }
end

return schema
