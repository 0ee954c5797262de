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

--- The attachments of a list in which each element is a reference; nil for other lists. Ebb's own stay as they are.
local function attachments_of(list, is_own)
  if type(list) ~= "table" or list[1] == nil then return nil end
  local attachments = {}
  for i, each in ipairs(list) do
    local has_place = is_own and type(each) == "table" and (each.path or each.data or each.id)
    attachments[i] = has_place and each or attachment_of(each)
    if not attachments[i] then return nil end
  end
  return attachments
end

---- Parts that name an attachment of their message ----

---@class ebb.references.Entry
---@field attachment ebb.Attachment
---@field written table         as the message has it
---@field is_taken? boolean     a part is this attachment

--- True if a member of the one has the value of a member of the other.
local function share_name(one, other, members)
  for _, member in ipairs(members) do
    local name = text_of(one, member)
    for _, each in ipairs(members) do
      if name and name == text_of(other, each) then return true end
    end
  end
  return false
end

local IDS, NAMES = { "assetId", "id" }, { "assetId", "id", "path" }

--- The entry that a reference names: by its id first, then by its path.
---@param entries ebb.references.Entry[]
---@return ebb.references.Entry?
local function entry_of(entries, reference)
  for _, members in ipairs { IDS, NAMES } do
    for _, entry in ipairs(entries) do
      if share_name(entry.written, reference, members) then return entry end
    end
  end
end

--- Where the bytes are, as it was written; an id alone says nothing of that.
local function has_place(reference)
  return (text_of(reference, "path") or text_of(reference, "data") or text_of(reference, "url")) ~= nil
end

--- The attachment of an entry, and of the part that names it what the entry does not say.
local function joined(entry, attachment, reference)
  local copy = tables.copy(entry.attachment)
  if not has_place(entry.written) and (has_place(reference) or not copy.path) then
    copy.path, copy.data, copy.url = attachment.path, attachment.data, attachment.url
  end
  for _, field in ipairs { "id", "name", "mime", "kind" } do
    copy[field] = copy[field] or attachment[field]
  end
  return copy
end

--- What a part refers to, and that as an attachment; nil for other parts.
local function reference_of(part)
  if type(part) ~= "table" then return nil end
  if part.type == "asset" and type(part.attachment) == "table" then return part.attachment, part.attachment end
  local is_reference = part.type == "asset_reference" or part.type == "asset" and part.attachment == nil
  local attachment = is_reference and attachment_of(part)
  if attachment then return part, attachment end
end

local function part_of(part, entries)
  local reference, attachment = reference_of(part)
  if not reference then return part end
  local entry = entry_of(entries, reference)
  if entry then
    entry.is_taken = true
    attachment = joined(entry, attachment, reference)
  end
  if attachment == part.attachment then return part end
  return { type = "asset", attachment = attachment }
end

local function with_assets(content, entries)
  local list, changed = array {}, false
  for i, part in ipairs(content) do
    list[i] = part_of(part, entries)
    changed = changed or list[i] ~= part
  end
  return changed and list or content
end

---- Messages ----

--- Adds the attachments of a list; one that an earlier list has is the same.
local function add_entries(entries, written, attachments)
  local earlier = table.move(entries, 1, #entries, 1, {})
  for i, each in ipairs(written) do
    if not entry_of(earlier, each) then entries[#entries + 1] = { attachment = attachments[i], written = each } end
  end
end

--- Takes the lists of attachments out of a working copy.
---@return ebb.references.Entry[]
local function take_entries(copy)
  local entries, own = {}, copy.own
  for _, holder in ipairs { copy, type(own) == "table" and own or nil } do
    local list = attachments_of(holder.attachments, true)
    if list then
      add_entries(entries, holder.attachments, list)
      holder.attachments = nil
    end
  end
  if type(own) == "table" and next(own) == nil then copy.own = nil end
  local list = attachments_of(copy._attachments)
  if list then
    add_entries(entries, copy._attachments, list)
    copy._attachments = nil
  end
  return entries
end

--- Turns the references of a working copy into attachments, and into parts of Ebb's own. A part that names an
--- attachment of the message is that attachment, which then stands there only.
---@param copy ebb.WorkingMessage
function references.take(copy)
  local entries, rest = take_entries(copy), {}
  if type(copy.content) == "table" then copy.content = with_assets(copy.content, entries) end
  for _, entry in ipairs(entries) do
    if not entry.is_taken then rest[#rest + 1] = entry.attachment end
  end
  if rest[1] then copy.attachments = rest end
end

--- The same for each of a list that may come from anywhere.
---@param messages ebb.WorkingMessage[]
function references.take_all(messages)
  for _, message in ipairs(messages) do
    if message._attachments or type(message.content) == "table" then references.take(message) end
  end
end

return references
