--- Attachments: their names, and where their bytes come from.
--
--     data    a data URI                      decoded
--     path    a file of the agent's folder    read, below agent_config.asset_root only, which
--                                             lies below asset_base, if that is set; one that is absent
--                                             and is the id, too: the host's answer
--     else    an id or a URL                  the host's answer to "asset"; nothing is ever fetched here
--
-- The host answers "asset" {id, name, mime, path, url} with {bytes = ...} or {data =
-- a data URI}, and mime and name if it knows better.

local content = require "ebb.processors.content"
local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local media = require "ebb.support.media"
local refuse = require "ebb.support.refuse"
local traceback = require "ebb.support.traceback"

local assets = {}

local null = core.json.null

---@class ebb.Asset
---@field bytes string
---@field mime? string         normalized; nil: unknown
---@field kind string          text | image | audio | video | document | file
---@field name string
---@field recognised boolean   its bytes are those of its media type

local function field_of(attachment, field)
  local value = attachment[field]
  return type(value) == "string" and value ~= "" and value or nil
end

--- http, https and file addresses, wherever they are.
local function is_url(text) return text ~= nil and text:find "^%s*[%a][%w+.-]*://" ~= nil end

--- The address of an attachment that is one.
---@param attachment ebb.Attachment
---@return string?
function assets.url(attachment)
  for _, field in ipairs { "url", "path", "data" } do
    local value = field_of(attachment, field)
    if is_url(value) then return value end
  end
end

local NAME_SHOWN = 200   -- bytes

--- Returns the name of an attachment for messages: printable, and not too long.
---@param attachment ebb.Attachment
---@return string
function assets.name(attachment)
  local path = field_of(attachment, "path") or assets.url(attachment)
  local name = field_of(attachment, "name") or path or field_of(attachment, "id") or "attachment"
  if #name > NAME_SHOWN then name = name:sub(1, NAME_SHOWN) .. "..." end
  if not utf8.len(name) then name = name:gsub("[\128-\255]", "?") end
  return (name:gsub("%c", "?"))
end

--- The declared media type; nil for "bytes".
local function said_mime(attachment, declared)
  local mime = field_of(attachment, "mime") or declared
  mime = mime and mime ~= "" and media.normal(mime)
  if mime and mime ~= "application/octet-stream" then return mime end
  return media.of_name(field_of(attachment, "name") or "") or media.of_name(field_of(attachment, "path") or "")
    or media.of_name(assets.url(attachment) or "")
end

local KINDS = { text = true, image = true, audio = true, video = true, document = true }

--- The declared kind; nil if it is absent or unknown.
local function said_kind(attachment) return KINDS[attachment.kind] and attachment.kind or nil end

--- The kind of an attachment as far as it is said; "file" where nothing is.
---@param attachment ebb.Attachment
---@return string
function assets.kind(attachment)
  local kind = said_kind(attachment)
  if kind then return kind end
  local head = (field_of(attachment, "data") or ""):match "^[dD][aA][tT][aA]:([^;,]+)[;,]"
  return media.kind(said_mime(attachment, head))
end

---- Where bytes come from ----

local roots = setmetatable({}, { __mode = "k" })   -- by context: a run opens its folder once

--- The opened folder, and the prefix of paths in it.
local function root_of(context)
  local agent = context.agent_config
  local path, folder = agent.asset_root, ""
  if type(path) ~= "string" then return nil end
  if agent.asset_base then path, folder = agent.asset_base, path:gsub("/*$", "/", 1):gsub("^/$", "") end
  local opened = roots[context]
  if opened and opened.path == path then return opened.root, folder end
  local root, problem = core.root(path)
  if not root then refuse(problem.code, "asset_root: " .. problem.message) end
  roots[context] = { path = path, root = root }
  return root, folder
end

local function too_large(cap) return core.error("limit", ("it is larger than %d bytes"):format(cap)) end

local function from_uri(uri, cap)
  local file, problem = core.data_uri(uri, cap)
  if not file and problem.code == "limit" then return nil, too_large(cap) end
  if not file then return nil, core.error(problem.code, "a data URI, " .. problem.message) end
  return { bytes = file.bytes, mime = file.media ~= "" and file.media or "text/plain" }
end

local function from_file(root, folder, path, cap)
  if path:sub(1, 1) ~= "/" then path = folder .. path end   -- else it is refused as it is
  local bytes, problem = root:read(path, cap)
  if not bytes then return nil, problem end
  return { bytes = bytes }
end

local function from_host(context, attachment, cap)
  local request = { id = attachment.id, name = attachment.name, mime = attachment.mime, path = attachment.path,
    url = assets.url(attachment) }
  local answer, why = context:call("asset", request)
  if answer == nil or answer == null or answer == false then
    if request.url then why = why or "addresses are not fetched, and the host has not resolved it" end
    return nil, core.error("absent", why and traceback.text(why) or "there is no such attachment")
  end
  if type(answer) == "table" and type(answer.data) == "string" then
    local file, problem = from_uri(answer.data, cap)
    if file then file.mime, file.name = answer.mime or file.mime, answer.name end
    return file, problem
  end
  if type(answer) ~= "table" or type(answer.bytes) ~= "string" then
    return nil, core.error("host", "the host's answer is neither {bytes = ...} nor {data = ...}")
  end
  if #answer.bytes > cap then return nil, too_large(cap) end
  return answer
end

local function find(context, attachment, cap)
  local data, path = field_of(attachment, "data"), field_of(attachment, "path")
  if data and not is_url(data) then return from_uri(data, cap) end
  if not path or is_url(path) then return from_host(context, attachment, cap) end
  local root, folder = root_of(context)
  local file, problem
  if root then
    file, problem = from_file(root, folder, path, cap)
    if file or problem.code ~= "absent" or path ~= field_of(attachment, "id") then return file, problem end
    file = from_host(context, attachment, cap)
    return file, not file and problem or nil
  end
  file, problem = from_host(context, attachment, cap)
  if not file and problem.code == "absent" then
    local text = "no folder for attachments is set (assetRoot of the agent, or %s)"
    return nil, core.error("absent", text:format(hints.asset_root))
  end
  return file, problem
end

--- Reads the file of an attachment. Its bytes decide its type, then its declared type.
---@param context ebb.Context
---@param attachment ebb.Attachment
---@param cap integer          bytes, at most
---@return ebb.Asset?
---@return ebb.Error? problem  names the attachment; code: absent, forbidden, limit, syntax, io, host
function assets.read(context, attachment, cap)
  local name = assets.name(attachment)
  local file, problem = find(context, attachment, cap)
  if not file then return nil, core.error(problem.code, ("%s: %s"):format(name, problem.message)) end
  local mime, recognised = media.decide(file.bytes, said_mime(attachment, file.mime))
  local kind = media.kind(mime)
  if not recognised then kind = said_kind(attachment) or kind end
  if kind == "file" and not mime and not media.text_fault(file.bytes) then kind, mime = "text", "text/plain" end
  return { bytes = file.bytes, mime = mime, kind = kind, name = name, recognised = recognised }
end

--- Like `read`, but raises on failure.
---@param context ebb.Context
---@param attachment ebb.Attachment
---@param cap integer
---@return ebb.Asset
function assets.need(context, attachment, cap)
  local asset, problem = assets.read(context, attachment, cap)
  return asset or error(problem, 0)
end

--- The asset as text; raises unless it is valid UTF-8.
---@param asset ebb.Asset
---@return string
function assets.text(asset)
  local fault = media.text_fault(asset.bytes)
  if fault then refuse("encoding", ("%s: %s; a text in UTF-8 is expected"):format(asset.name, fault)) end
  return (asset.bytes:gsub("^\u{FEFF}", ""))
end

--- The file in base64, as a data URI.
---@param asset ebb.Asset
---@return string
function assets.data_uri(asset)
  return ("data:%s;base64,%s"):format(asset.mime or "application/octet-stream", core.base64.encode(asset.bytes))
end

--- True if no message of the run can refer to files: then none needs to be looked at. Where a processor of others ran,
--- any message can.
---@param context ebb.Context
---@return boolean
function assets.none(context)
  local run = context.run
  return run ~= nil and run.adds_only_texts and not run.request.refers
end

--- True if the part is an attachment.
---@param part table
---@return boolean
function assets.is_part(part) return part.type == "asset" and type(part.attachment) == "table" end

--- True if the message refers to files.
---@param message ebb.WorkingMessage
---@return boolean
function assets.has(message)
  if type(message.attachments) == "table" and message.attachments[1] ~= nil then return true end
  local has_part = false
  content.map_parts(message.content, function(part)
    has_part = has_part or assets.is_part(part)
    return part
  end)
  return has_part
end

return assets
