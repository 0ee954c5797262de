--- References to files as seed programs write them, in Ebb's own form:
--
--     content   {type = "asset_reference", assetId = "a.png"}   {type = "asset", attachment = {id = .., path = ..}}
--               {type = "asset", path = "a.png"}
--     message   _attachments = {{id = .., name = .., type = "image", mimeType = ..}}      attachments = {{..}}
--
-- An id may be a path: a file of that name below the folder of attachments is taken, else the host is asked.

local array = require("ebb.support.core").json.array
local tables = require "ebb.support.tables"

local references = {}

local KINDS = { "text", "image", "audio", "video", "document" }

local function text_of(value, name)
  local text = value[name]
  return type(text) == "string" and text ~= "" and text or nil
end

--- The attachment that a reference names; nil if it names none.
local function attachment_of(reference)
  if type(reference) ~= "table" then return nil end
  local id, data = text_of(reference, "assetId") or text_of(reference, "id"), text_of(reference, "data")
  local url = text_of(reference, "url")
  local path = text_of(reference, "path") or not (data or url) and id or nil
  if not (path or data or url) then return nil end
  return { id = id, path = path, data = not path and data or nil, url = url, name = text_of(reference, "name"),
    mime = text_of(reference, "mimeType") or text_of(reference, "mime"),
    kind = tables.contains(KINDS, reference.type) and reference.type or nil }
end

--- The attachments of a list in which each element is a reference; nil for other lists.
local function attachments_of(list)
  if type(list) ~= "table" or list[1] == nil then return nil end
  local attachments = {}
  for i, each in ipairs(list) do
    attachments[i] = attachment_of(each)
    if not attachments[i] then return nil end
  end
  return attachments
end

local function is_reference(part)
  return type(part) == "table" and (part.type == "asset_reference" or part.type == "asset" and part.attachment == nil)
end

local function with_assets(content)
  local list, changed = array {}, false
  for i, part in ipairs(content) do
    local attachment = is_reference(part) and attachment_of(part)
    list[i] = attachment and { type = "asset", attachment = attachment } or part
    changed = changed or list[i] ~= part
  end
  return changed and list or content
end

--- Turns the references of a working copy into attachments.
---@param copy ebb.WorkingMessage
function references.take(copy)
  if type(copy.content) == "table" then copy.content = with_assets(copy.content) end
  local list = attachments_of(copy._attachments)
  if not list then return end
  copy._attachments = nil
  copy.attachments = table.move(list, 1, #list, #(copy.attachments or {}) + 1, copy.attachments or {})
end

return references
