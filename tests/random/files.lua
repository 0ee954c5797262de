--- Random messages with files, in all forms and places; each file is in one place, and each message that has some
--- says so in a text of its own. Texts, pictures, sounds, films and documents lie in a folder, or are the host's.
---
---     local files = dofile("tests/random/files.lua").new(core, roll, root)
---     chat:append(files:exchange())

local files = {}

local Files = {}
Files.__index = Files

local KINDS = { "text", "image", "image", "audio", "video", "document" }
local EXTENSIONS = { text = "txt", image = "png", audio = "wav", video = "mp4", document = "pdf" }
local FOLDER = 12        -- of each kind, so many are in the folder

local function unsigned(number) return string.pack(">I4", number) end

--- The bytes of a file; no two have the same.
local MAKERS = {
  text = function(number) return ("正文【%d】一二三四"):format(number):rep(1 + number % 4 * 5) end,
  image = function(number)
    return "\137PNG\r\n\26\n" .. unsigned(13) .. "IHDR" .. unsigned(40 + number * 53 % 900) .. unsigned(300)
      .. "\8\2\0\0\0" .. ("picture%d."):format(number)
  end,
  audio = function(number) return "RIFF\60\0\0\0WAVEfmt " .. ("sound%d."):format(number):rep(9) end,
  video = function(number) return "\0\0\0\24ftypmp42" .. ("film%d."):format(number):rep(9) end,
  document = function(number) return "%PDF-1.4\n" .. ("page%d."):format(number):rep(30) .. "\n%%EOF" end,
}

local function name_of(kind, number) return ("档案%s%d.%s"):format(kind, number, EXTENSIONS[kind]) end

--- The files of the folder, by their names.
---@return table<string, string>
function files.of_folder()
  local list = {}
  for kind, make in pairs(MAKERS) do
    for number = 1, FOLDER do list[name_of(kind, number)] = make(number) end
  end
  return list
end

--- Answers the service `asset`: the name is the id without its "id-".
function files.asset(request)
  local kind, number = tostring(request.id):match "^id%-档案(%l+)(%d+)%."
  if not kind then return nil end
  return { bytes = MAKERS[kind](math.tointeger(number)), name = request.id:sub(4) }
end

local function one_of(roll, list) return list[roll(#list)] end

function files.new(core, roll)
  return setmetatable({ core = core, roll = roll, used = {}, messages = 0, next = {} }, Files)
end

--- A file that nothing has named yet.
function Files:take()
  local kind = one_of(self.roll, KINDS)
  local number = (self.next[kind] or 0) + 1
  self.next[kind] = number
  local file = { kind = kind, name = name_of(kind, number), bytes = MAKERS[kind](number) }
  file.is_here = number <= FOLDER and self.roll(3) > 1
  file.base64, file.digest = self.core.base64.encode(file.bytes), self.core.sha256(file.bytes)
  self.used[#self.used + 1] = file
  return file
end

--- Makes the entry for a file in a list of attachments.
function Files:entry(file, member)
  local form, id = self.roll(4), "id-" .. file.name
  if not file.is_here then return form == 1 and { assetId = id, type = file.kind } or { id = id, name = file.name } end
  if form == 1 or form == 4 and member == "attachments" then return { path = file.name } end
  if form == 2 then return { id = id, path = file.name, name = file.name } end
  if form == 3 then return { assetId = file.name, name = file.name } end
  return { id = file.name }
end

--- A part that names it alone.
function Files:part(file)
  local form, word = self.roll(3), file.is_here and file.name or "id-" .. file.name
  if form == 1 then return { type = "asset_reference", assetId = word } end
  if form == 2 then return { type = "asset", id = word } end
  return { type = "asset", attachment = file.is_here and { path = word } or { id = word } }
end

--- A part that names an entry by one of its names.
function Files:part_of(entry)
  local words = {}
  for _, member in ipairs { "id", "assetId", "path" } do words[#words + 1] = entry[member] end
  local word = one_of(self.roll, words)
  if word == entry.path then return { type = "asset", path = word } end
  return { type = one_of(self.roll, { "asset_reference", "asset" }), assetId = word }
end

--- Content with parts, and a list of entries that some of the parts name.
---@param member? string         of the entries; nil: only parts hold files
function Files:content(text, member)
  local parts, entries, held = { { type = "text", text = text } }, {}, {}
  for _ = 1, self.roll(3) do
    local file = self:take()
    held[#held + 1] = file
    local place = member and self.roll(3) or 1
    local entry = place > 1 and self:entry(file, member) or nil
    entries[#entries + 1] = entry
    local part = place == 1 and self:part(file) or place == 2 and self:part_of(entry) or nil
    if part then table.insert(parts, self.roll(#parts + 1), part) end
  end
  return parts, entries, held
end

--- A message with files; `held` of it are expected wherever its `text` is.
---@return table message
function Files:message(role)
  self.messages = self.messages + 1
  local text = ("〔信%s〕看看"):format(string.char(96 + self.messages % 26) .. ("z"):rep(self.messages // 26))
  local member = one_of(self.roll, { "attachments", "_attachments" })
  local parts, entries, held = self:content(text, member)
  local is_bare = #parts == 1 and self.roll(2) == 1
  local message = { role = role, content = is_bare and text or parts }
  if entries[1] then message[member] = entries end
  for _, file in ipairs(held) do file.text, file.role = text, role end
  return message
end

--- Some messages: a user's with files, at times a call and its result, and a reply.
---@return table[]
function Files:exchange()
  local list = { self:message "user" }
  if self.roll(3) == 1 then
    local id = "file" .. self.messages
    list[2] = { role = "assistant", content = "我查。", tool_calls = {
      { id = id, type = "function", ["function"] = { name = "look", arguments = '{"at":"档案"}' } } } }
    list[3] = { role = "tool", tool_call_id = id, content = "晴" }
    if self.roll(2) == 1 then
      list[3] = self:message "tool"
      list[3].tool_call_id = id
    end
  end
  list[#list + 1] = self.roll(6) == 1 and self:message "assistant" or { role = "assistant", content = "好的，看到了。" }
  return list
end

--- A preset with files in its content, somewhere.
function Files:preset()
  local parts = self:content "〔预设〕"
  return { role = one_of(self.roll, { "system", "user", "assistant" }), content = parts,
    injectionStrategy = self.roll(2) == 1 and { type = "depth", depth = self.roll(0, 4) } or nil }
end

return files
