--- References to files as seed programs write them, in Ebb's own form:
--
--     content   {type = "asset_reference", assetId = "a.png"}   {type = "asset", attachment = {id = .., path = ..}}
--               {type = "asset", path = "a.png"}
--     message   _attachments = {{id = .., name = .., type = "image", mimeType = ..}}      attachments = {{..}}
--
-- Parts may be in a result, too. An id may be a path: a file of that name below the folder of attachments is taken,
-- else the host is asked.

local content = require "ebb.processors.content"
local tables = require "ebb.support.tables"

local references = {}

local KINDS = { "text", "image", "audio", "video", "document" }

local function read_text(value, name)
  local text = value[name]
  return type(text) == "string" and text ~= "" and text or nil
end

--- The attachment that a reference names; nil if it names none.
local function read_attachment(reference)
  if type(reference) ~= "table" then return nil end
  local id, data = read_text(reference, "assetId") or read_text(reference, "id"), read_text(reference, "data")
  local url = read_text(reference, "url")
  local path = read_text(reference, "path") or not (data or url) and id or nil
  if not (path or data or url) then return nil end
  return { id = id, path = path, data = not path and data or nil, url = url, name = read_text(reference, "name"),
    mime = read_text(reference, "mimeType") or read_text(reference, "mime"),
    kind = tables.contains(KINDS, reference.type) and reference.type
      or tables.contains(KINDS, reference.kind) and reference.kind or nil }
end

--- The attachments of a list in which each element is a reference; nil for other lists. Ebb's own stay as they are.
local function read_attachments(list, is_own)
  if type(list) ~= "table" or list[1] == nil then return nil end
  local attachments = {}
  for i, each in ipairs(list) do
    local has_place = is_own and type(each) == "table" and (each.path or each.data or each.id)
    attachments[i] = has_place and each or read_attachment(each)
    if not attachments[i] then return nil end
  end
  return attachments
end

---- Parts that name an attachment of their message ----

---@class ebb.references.Entry
---@field attachment ebb.Attachment
---@field written table         as the message has it
---@field is_taken? boolean     a part is this attachment

local IDS, NAMES = { "assetId", "id" }, { "assetId", "id", "path" }

---@class ebb.references.Entries
---@field [integer] ebb.references.Entry      in their order
---@field ids table<string, ebb.references.Entry>     the first of each id
---@field names table<string, ebb.references.Entry>   the first of each id or path

--- Finds the entry that a reference names: by its id first, then by its path.
---@param entries ebb.references.Entries
---@return ebb.references.Entry?
local function find_entry(entries, reference)
  for _, by in ipairs { { IDS, entries.ids }, { NAMES, entries.names } } do
    for _, member in ipairs(by[1]) do
      local name = read_text(reference, member)
      if name and by[2][name] then return by[2][name] end
    end
  end
end

--- Adds an entry after the others.
local function add_entry(entries, entry)
  entries[#entries + 1] = entry
  for _, by in ipairs { { IDS, entries.ids }, { NAMES, entries.names } } do
    for _, member in ipairs(by[1]) do
      local name = read_text(entry.written, member)
      if name then by[2][name] = by[2][name] or entry end
    end
  end
end

--- True if a reference says where its bytes are; an id alone does not.
local function has_place(reference)
  return (read_text(reference, "path") or read_text(reference, "data") or read_text(reference, "url")) ~= nil
end

--- Returns an entry's attachment, completed with fields of the part that names it.
local function join_entry(entry, attachment, reference)
  local copy = tables.copy(entry.attachment)
  if not has_place(entry.written) and (has_place(reference) or not copy.path) then
    copy.path, copy.data, copy.url = attachment.path, attachment.data, attachment.url
  end
  for _, field in ipairs { "id", "name", "mime", "kind" } do
    copy[field] = copy[field] or attachment[field]
  end
  return copy
end

--- Returns a part's reference, and the reference as an attachment; nil for other parts.
local function find_reference(part)
  if type(part) ~= "table" then return nil end
  if part.type == "asset" and type(part.attachment) == "table" then return part.attachment, part.attachment end
  local is_reference = part.type == "asset_reference" or part.type == "asset" and part.attachment == nil
  local attachment = is_reference and read_attachment(part)
  if attachment then return part, attachment end
end

local function read_part(part, entries)
  local reference, attachment = find_reference(part)
  if not reference then return part end
  local entry = find_entry(entries, reference)
  if entry then
    entry.is_taken = true
    attachment = join_entry(entry, attachment, reference)
  end
  if attachment == part.attachment then return part end
  return { type = "asset", attachment = attachment }
end

---- Messages ----

--- Adds the attachments of a list; one that an earlier list has is the same.
local function add_entries(entries, written, attachments)
  local new = {}
  for i, each in ipairs(written) do
    if not find_entry(entries, each) then new[#new + 1] = { attachment = attachments[i], written = each } end
  end
  for _, entry in ipairs(new) do add_entry(entries, entry) end
end

--- Takes the lists of attachments out of a working copy.
---@return ebb.references.Entries
local function take_entries(copy)
  local entries, own = { ids = {}, names = {} }, copy.own
  for _, holder in ipairs { copy, type(own) == "table" and own or nil } do
    local list = read_attachments(holder.attachments, true)
    if list then
      add_entries(entries, holder.attachments, list)
      holder.attachments = nil
    end
  end
  if type(own) == "table" and next(own) == nil then copy.own = nil end
  local list = read_attachments(copy._attachments)
  if list then
    add_entries(entries, copy._attachments, list)
    copy._attachments = nil
  end
  return entries
end

--- Turns the references of a working copy into attachments, and into parts of Ebb's own. A part that names an
--- attachment of the message is that attachment, which then is there only.
---@param copy ebb.WorkingMessage
function references.take(copy)
  local entries, rest = take_entries(copy), {}
  copy.content = content.map_parts(copy.content, function(part) return read_part(part, entries) end)
  for _, entry in ipairs(entries) do
    if not entry.is_taken then rest[#rest + 1] = entry.attachment end
  end
  if rest[1] then copy.attachments = rest end
end

--- Takes the references of each message in a list, which may come from anywhere.
---@param messages ebb.WorkingMessage[]
function references.take_all(messages)
  for _, message in ipairs(messages) do
    local has_files = message.attachments or message._attachments
    if has_files or type(message.content) == "table" then references.take(message) end
  end
end

return references
