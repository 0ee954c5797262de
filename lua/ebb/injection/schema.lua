--- Preset messages as they are in agent files, and what becomes of them here: a
--- table {id, type, role, content, attachments, enabled, match, kind, depth, points, target,
--- side, order, title}.

local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local preset_schema = {}

local function text_field(help) return { type = "string", utf8 = true, help = help } end
local function flag_field(default, help) return { type = "boolean", default = default, help = help } end

local function texts_field(help)
  return { type = "list", items = { type = "string", utf8 = true }, default = {}, help = help }
end

---@type ebb.Schema
preset_schema.STRATEGY = { type = "object", camel = true, help = "its place; default: that in the list", fields = {
  type = { type = "choice", choices = { "default", "depth", "advanced_depth", "anchor" },
    help = "default: by the fields that are present" },
  depth = { type = "integer", min = 0, help = "before the last n messages of the history" },
  depthConfig = text_field "several depths: \"3, 10~5\" is 3, 10, 15, 20 ...",
  anchorTarget = text_field "the anchor that it is next to: chat_history, user_profile or one of the agent's",
  anchorPosition = { type = "choice", choices = { "before", "after" }, default = "after" },
  order = { type = "number", default = 100, help = "at one place, a larger one is nearer the newest message" },
} }

---@type ebb.Schema
preset_schema.MATCH = { type = "object", camel = true, help = "for which models the message is used", fields = {
  enabled = flag_field(true, "false: for all models"),
  mode = { type = "choice", choices = { "any", "all" }, default = "any", help = "how many patterns must match" },
  exclude = flag_field(false, "use it for the models that do not match"),
  patterns = texts_field "patterns of model names", profilePatterns = texts_field "patterns of profile names",
  matchProfileName = flag_field(false, "try the patterns on the profile's name, too"),
} }

local PLACES = { "path", "data", "url", "id", "assetId" }

--- A list of files, as messages of the history have it.
local FILES = { type = "list", help = "files that are sent with it: [{\"path\": \"plan.png\"}]", items = {
  type = "table", expected = "an object with path, data, url, id or assetId",
  check = function(file)
    for _, member in ipairs(PLACES) do
      if type(file[member]) == "string" and file[member] ~= "" then return nil end
    end
    return "expected path, data, url, id or assetId, a text", '{"path": "plan.png"}'
  end,
} }

---@type ebb.Schema
preset_schema.MESSAGE = {
  type = "object", camel = true, expected = "an object",
  fields = {
    id = text_field "how messages of the pipeline call it",
    type = { type = "string", utf8 = true, default = "message",
      help = "message, or an anchor: chat_history (the history is put here), user_profile (shown if there is one)" },
    role = { type = "choice", choices = { "system", "user", "assistant" }, default = "system" },
    content = {
      any_of = { { type = "string" }, { type = "list" } }, expected = "a text or a list of parts", default = "",
      help = "macros are expanded in it",
    },
    attachments = FILES, _attachments = FILES,
    isEnabled = flag_field(true, "false: it is left out"),
    modelMatch = preset_schema.MATCH, injectionStrategy = preset_schema.STRATEGY,
  },
  -- Further fields of message nodes, which have no meaning for injection.
  ignored = { name = true, parentId = true, childrenIds = true, status = true, timestamp = true, metadata = true },
}

--- The strategy that the given fields mean where none is named.
local function kind_of(strategy)
  if strategy.type then return strategy.type end
  if strategy.depthConfig and strategy.depthConfig ~= "" then return "advanced_depth" end
  if strategy.depth then return "depth" end
  return strategy.anchorTarget and strategy.anchorTarget ~= "" and "anchor" or "default"
end

--- The missing field of a strategy, or nil.
local function missing(kind, strategy)
  local needs = ({ depth = "depth", advanced_depth = "depthConfig", anchor = "anchorTarget" })[kind]
  if needs and strategy[needs] == nil then
    return { path = { "injectionStrategy", needs }, message = ("type '%s' needs it"):format(kind) }
  end
end

--- "3, 10~5": each {first, step}; step 0 is one depth. Anything else comes back as junk.
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

--- The name of a preset message in errors.
function preset_schema.title(source, place)
  local id = type(source) == "table" and source.id
  return type(id) == "string" and id ~= "" and ("preset message '%s'"):format(id) or ("preset message %d"):format(place)
end

--- The problem of a type, which is "message" or an anchor; or nil.
local function type_problem(record, anchors)
  if record.type == "message" or anchors[record.type] ~= nil then return nil end
  local names = tables.keys(anchors)
  names[#names + 1] = "message"
  local message = ("no anchor '%s'"):format(record.type)
  return { path = { "type" }, message = message, hint = suggest.hint(record.type, names) }
end

--- A checked preset message; or nil and the problem.
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
    attachments = record.attachments, _attachments = record._attachments,
    enabled = record.isEnabled, match = record.modelMatch,
    kind = kind, depth = strategy.depth, points = strategy.depthConfig,
    target = strategy.anchorTarget, side = strategy.anchorPosition, order = strategy.order,
  }
end

return preset_schema
