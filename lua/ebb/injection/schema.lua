--- Preset messages as they stand in agent files, and what becomes of them here: a
--- table {id, type, role, content, enabled, match, kind, depth, points, target,
--- side, order, title}.

local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local preset_schema = {}

local TEXT = { type = "string", utf8 = true }
local TEXTS = { type = "list", items = TEXT, default = {} }
local ON, OFF = { type = "boolean", default = true }, { type = "boolean", default = false }

---@type ebb.Schema
preset_schema.STRATEGY = { type = "object", camel = true, fields = {
  type = { type = "choice", choices = { "default", "depth", "advanced_depth", "anchor" } },
  depth = { type = "integer", min = 0 }, depthConfig = TEXT, anchorTarget = TEXT,
  anchorPosition = { type = "choice", choices = { "before", "after" }, default = "after" },
  order = { type = "number", default = 100 },
} }

---@type ebb.Schema
preset_schema.MATCH = { type = "object", camel = true, fields = {
  enabled = ON, mode = { type = "choice", choices = { "any", "all" }, default = "any" }, exclude = OFF,
  patterns = TEXTS, profilePatterns = TEXTS, matchProfileName = OFF,
} }

---@type ebb.Schema
preset_schema.MESSAGE = {
  type = "object", camel = true, expected = "an object",
  fields = {
    id = TEXT, type = { type = "string", utf8 = true, default = "message" },
    role = { type = "choice", choices = { "system", "user", "assistant" }, default = "system" },
    content = {
      any_of = { { type = "string" }, { type = "list" } }, expected = "a text or a list of parts", default = "",
    },
    isEnabled = ON, modelMatch = preset_schema.MATCH, injectionStrategy = preset_schema.STRATEGY,
  },
  -- What a chat program's message nodes carry besides; none of it is about injection.
  ignored = { name = true, parentId = true, childrenIds = true, status = true, timestamp = true, metadata = true },
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
    return { path = { "injectionStrategy", needs }, message = ("type '%s' needs it"):format(kind) }
  end
end

--- "3, 10~5": each {first, step}; step 0 is one depth. What is no such thing comes back as junk.
---@param text string
---@return { first: integer, step: integer }[] points
---@return string[] junk
function preset_schema.points(text)
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
function preset_schema.title(given, place)
  local id = type(given) == "table" and given.id
  return type(id) == "string" and id ~= "" and ("preset message '%s'"):format(id) or ("preset message %d"):format(place)
end

--- What is wrong with the type, which is "message" or an anchor; nil if nothing.
local function type_problem(record, anchors)
  if record.type == "message" or anchors[record.type] ~= nil then return nil end
  local names = tables.keys(anchors)
  names[#names + 1] = "message"
  local message = ("no anchor '%s'"):format(record.type)
  return { path = { "type" }, message = message, hint = suggest.hint(record.type, names) }
end

--- A checked preset message, or nil and what is wrong.
---@param preset any
---@param anchors table<string, boolean>     known anchors: true if they have a template
---@return table? message
---@return ebb.SchemaProblem? problem
function preset_schema.message(preset, anchors)
  local record, problems = schema.read(preset_schema.MESSAGE, preset, { null = true })
  local problem = problems and problems[1] or type_problem(record, anchors)
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

return preset_schema
