--- Processor: attachments become parts in the provider's form. It is the last stage, so
-- that no other has to carry base64.
--
--     { content = "look", attachments = { photo.png } }
--         ->  { content = { {text "look"}, {image_url "data:image/png;base64,..."} } }
--
-- A file that is missing or may not be read is an error that names it. What the
-- model or its dialect has no place for is left out, with a line in the log, as is
-- every conversion. Files beyond the provider's limits are sent, and reported.

local array = require("ebb.support.core").json.array
local assets = require "ebb.processors.assets"
local content = require "ebb.processors.content"
local dialects = require "ebb.processors.asset_dialects"
local hints = require "ebb.support.hints"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"

local ABILITY = { image = "vision", audio = "audio", video = "video", document = "document" }
local PLURAL = { image = "images", audio = "sound", video = "film", document = "documents" }

---- One attachment ----

---@class ebb.AssetRun          State of one run of the processor
---@field context ebb.Context
---@field config table
---@field dialect ebb.AssetDialect
---@field target string
---@field count table<string, integer>   of each kind
---@field total integer         bytes of all

local function nothing_known(model, kind)
  local words = "nothing is known of whether %s takes %s; %s"
  return words:format(model and ("model '%s'"):format(model) or "the model", PLURAL[kind], hints.abilities)
end

--- Returns why the request has no place for an attachment; nil if it has one.
local function obstacle(run, role, kind, mime)
  if kind == "text" then return nil end
  local able = run.context.capabilities[ABILITY[kind]]
  if able == false then return ("the model takes no %s"):format(kind) end
  if not run.dialect.roles[role] then return ("messages of role %s hold no %s"):format(role, kind) end
  local targets = (run.dialect.targets or {})[kind]
  local has_form = run.dialect[kind] and (not targets or targets[run.target])
  if not has_form then return ("a request has no form for %s"):format(mime or kind) end
  if able == nil and ABILITY[kind] then return nothing_known(run.context.capabilities.model, kind) end
end

local function drop(run, name, why)
  run.context:log("warn", ("%s: left out: %s"):format(name, why), { attachment = name })
  if run.config.note == "" then return nil end
  return { type = "text", text = (run.config.note:gsub("{(%l+)}", { name = name })) }
end

local function report(run, asset, part)
  local limits = run.dialect.limits
  local most, size = limits.bytes[asset.kind], #asset.bytes
  if most and size > most then
    local words = ("%s: %d bytes; the provider takes %d of one %s"):format(asset.name, size, most, asset.kind)
    run.context:log("warn", words)
  end
  if asset.kind ~= "text" and not asset.recognised then
    run.context:log("warn", ("%s: its bytes do not look like %s"):format(asset.name, asset.mime or asset.kind))
  end
  run.count[asset.kind], run.total = (run.count[asset.kind] or 0) + 1, run.total + size
  run.context:log("info", ("%s: became %s, %d bytes"):format(asset.name, part.type, size),
    { attachment = asset.name, mime = asset.mime, bytes = size, as = part.type })
end

--- An address that the host has not resolved: the provider may fetch some.
local function by_address(run, attachment, role, problem)
  local url, kind = assets.url(attachment), assets.kind(attachment)
  local part = url and run.dialect.address and run.dialect.address(url, kind, run.config, run.target)
  if not part or problem.code ~= "absent" then return error(problem, 0) end
  local why = obstacle(run, role, kind)
  if why then return drop(run, assets.name(attachment), why) end
  run.context:log("info", ("%s: became %s, for the provider to fetch"):format(assets.name(attachment), part.type))
  return part
end

--- The part that an attachment becomes; nil: it is left out.
local function resolve(run, role, attachment)
  local kind = assets.kind(attachment)
  local why = kind ~= "file" and obstacle(run, role, kind)
  if why then return drop(run, assets.name(attachment), why) end
  local asset, problem = assets.read(run.context, attachment, run.config.max_bytes)
  if not asset then return by_address(run, attachment, role, problem) end
  why = obstacle(run, role, asset.kind, asset.mime)       -- its bytes may be of another kind
  local part
  if not why then part, why = run.dialect[asset.kind](asset, run.config, run.target) end
  if not part then return drop(run, asset.name, why) end
  report(run, asset, part)
  return part
end

---- One message ----

local function own_parts(message)
  local value = message.content
  if type(value) == "table" then return value end
  if type(value) == "string" and value:find "%S" then return { { type = "text", text = value } } end
  return {}
end

local function resolved(run, message)
  local count = 0
  local function find(attachment)
    local part = resolve(run, message.role, attachment)
    count = count + (part and 1 or 0)
    return part
  end
  local list = content.map_parts(own_parts(message), function(part)
    if assets.is_part(part) then return find(part.attachment) end
    return part
  end)
  if message.attachments then list = table.move(list, 1, #list, 1, array {}) end
  for _, attachment in ipairs(message.attachments or {}) do
    list[#list + 1] = find(attachment)
  end
  local is_text = type(message.content) ~= "table"
  if count == 0 and (is_text or #list == 0) then list = is_text and message.content or "" end
  local copy = content.changed(message, { content = list })
  copy.attachments = nil
  return copy
end

---- All ----

local function dialect_of(context)
  local name = context.capabilities.dialect or "openai"
  if dialects[name] then return dialects[name] end
  local names = tables.keys(dialects)
  return refuse("unknown_name", ("asset-resolver: attachments have no form in dialect '%s'"):format(tostring(name)),
    "known: " .. table.concat(names, ", "))
end

--- The dialect in which the request is sent.
local function find_target(context)
  local target = context.run and context.run.target
  return target and target.dialect or context.capabilities.dialect or "openai"
end

local function report_all(run)
  local limits = run.dialect.limits
  for kind, most in pairs(limits.count) do
    local count = run.count[kind] or 0
    if count > most then
      local words = ("%d attachments of kind %s; the provider takes %d in a request"):format(count, kind, most)
      run.context:log("warn", words)
    end
  end
  if run.total > limits.total then
    local words = ("attachments of %d bytes; the provider takes %d in a request"):format(run.total, limits.total)
    run.context:log("warn", words)
  end
end

---@type ebb.Processor
return {
  id = "asset-resolver",
  name = "Asset resolver",
  description = "attachments become what the provider takes: data URIs, sounds, files",
  priority = 10000,
  is_core = true,
  config_fields = {
    { key = "detail", type = "select", default = "auto", options = { "auto", "low", "high" },
      label = "How closely images are looked at" },
    { key = "max_bytes", type = "number", whole = true, min = 0, default = 20 << 20,
      label = "Bytes of one attachment, at most" },
    { key = "note", type = "text", default = "", label = "In the place of one that is left out; empty: nothing",
      placeholder = "[left out: {name}]" },
  },

  execute = function(context, config)
    if assets.none(context) then return end
    local run, result
    for i, message in ipairs(context.messages) do
      if assets.has(message) then
        run = run or { context = context, config = config, dialect = dialect_of(context), count = {}, total = 0,
          target = find_target(context) }
        result = result or table.move(context.messages, 1, #context.messages, 1, {})
        result[i] = resolved(run, message)
      end
    end
    if not result then return end
    context.messages = result
    report_all(run)
  end,
}
