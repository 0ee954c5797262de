--- Reads LuaLS annotations: classes with their fields, aliases, functions.
--
-- A comment of text belongs to what follows it. Where classes are between a text and the
-- `@param` lines of a function, the text belongs to the function, whose options they describe.
-- Deeply indented lines continue the description above them.

local annotations = {}

---@class reference.Value      A field, a parameter or a result
---@field name? string
---@field type string
---@field optional boolean
---@field text string

---@class reference.Item       A class, an alias or a function, in the order of the file
---@field kind "class"|"alias"|"function"
---@field name string
---@field text string
---@field parent? string       of a class
---@field fields? reference.Value[]     of a class
---@field values? { value: string, text: string }[]   of an alias
---@field type? string         of an alias
---@field owner? string        of a function: the class, or "ebb"
---@field separator? string    of a function: "." or ":"
---@field parameters? reference.Value[]
---@field results? reference.Value[]

---- Types ----

local read_type

--- The position after one type without a union.
local function read_single(text, at)
  local next_at = text:match("^%b()()", at) or text:match("^%b{}()", at) or text:match('^"[^"]*"()', at)
  if text:find("^fun%(", at) then
    next_at = text:match("^fun%b()()", at)
    local results = text:match("^:%s*()", next_at)
    while results do
      next_at = read_type(text, results)
      results = text:match("^,%s*()", next_at)
    end
  end
  next_at = next_at or text:match("^[%w_.%-]+%b<>()", at) or text:match("^[%w_.%-]+()", at)
  while next_at and text:find("^[%[%]?]", next_at) do next_at = next_at + 1 end
  return next_at or at
end

--- The position after a type: singles joined by bars.
function read_type(text, at)
  local next_at = read_single(text, at)
  while text:find("^|", next_at) do next_at = read_single(text, next_at + 1) end
  return next_at
end

--- Splits "type   description" at the end of the type.
local function split_type(text)
  local past = read_type(text, 1)
  return text:sub(1, past - 1), (text:sub(past):gsub("^%s*#?%s*", ""))
end

---- Lines ----

local function join(before, line)
  return before == "" and line or before .. "\n" .. line
end

--- Two texts, the second in a paragraph of its own.
local function paragraphs(first, second)
  return first == "" and second or first:gsub("[^.!?]$", "%0.") .. "\n\n" .. second
end

---@class reference.Reader
---@field items reference.Item[]
---@field locals table<string, string>   local name -> class
---@field text string                    of the comment so far
---@field parameters reference.Value[]
---@field results reference.Value[]
---@field last? table                    whose description a continuation line extends
---@field class? reference.Item
local Reader = {}
Reader.__index = Reader

function Reader:value(list, body)
  local name, mark, rest = body:match "^([%w_.]+)(%??)%s+(.*)$"
  local kind, text = split_type(rest)
  local value = { name = name, type = kind, optional = mark == "?" or kind:find "%?$" ~= nil, text = text }
  list[#list + 1], self.last = value, value
end

Reader.tags = {
  class = function(self, body)
    local name, parent, text = body:match "^([%w_.]+):%s*([%w_.]+)%s*(.*)$"
    if not name then name, text = body:match "^([%w_.]+)%s*(.*)$" end
    local class = { kind = "class", name = name, parent = parent, text = text, fields = {}, before = self.text }
    self.items[#self.items + 1], self.class, self.last = class, class, class
    self.text = ""
  end,
  field = function(self, body) self:value(self.class.fields, body) end,
  alias = function(self, body)
    local name, rest = body:match "^([%w_.]+)%s*(.*)$"
    local kind, text = split_type(rest)
    local alias = { kind = "alias", name = name, type = kind, text = join(self.text, text), values = {} }
    self.items[#self.items + 1], self.last, self.alias, self.text = alias, alias, alias, ""
  end,
  param = function(self, body) self:value(self.parameters, body) end,
  ["return"] = function(self, body)
    local kind, rest = split_type(body)
    local name, text = rest:match "^([%w_]+)%s%s+(.*)$"
    if not name then name, text = rest:match "^([%w_]+)$", "" end
    if not name then text = rest end
    local value = { name = name, type = kind, optional = kind:find "%?$" ~= nil, text = text }
    self.results[#self.results + 1], self.last = value, value
  end,
}

function Reader:comment(line)
  local tag, body = line:match "^@(%a+)%s*(.*)$"
  if tag then
    local read = self.tags[tag]
    if read then read(self, body) end
  elseif line:find "^|" then
    local value, text = split_type(line:match "^|%s*(.*)$")
    local entry = { value = value, text = text }
    self.alias.values[#self.alias.values + 1], self.last = entry, entry
  elseif self.last and (line:find "^%s%s%s%s" or line:find "^%S") then
    self.last.text = join(self.last.text, line:match "^%s*(.*)$")
  else
    self.text, self.last = join(self.text, line:match "^%s?(.*)$"), nil
  end
end

--- Texts before classes, once it is clear whether a function follows them.
function Reader:settle(has_function)
  local first
  for i = #self.items, 1, -1 do
    local item = self.items[i]
    if item.settled then break end
    item.settled, first = true, item.before and item.before ~= "" and item or first
    if not has_function and item.before and item.before ~= "" then item.text = paragraphs(item.text, item.before) end
  end
  if has_function and first and self.text == "" then return first.before end
  if has_function and first then first.text = paragraphs(first.text, first.before) end
  return self.text
end

function Reader:done()
  self.text, self.parameters, self.results, self.last = "", {}, {}, nil
end

function Reader:declaration(line)
  local owner, separator, name = line:match "^function ([%w_.]-)([.:])([%w_]+)%("
  if owner then
    local text = self:settle(true)
    self.items[#self.items + 1] = { kind = "function", name = name, separator = separator,
      owner = self.locals[owner] or owner, text = text, parameters = self.parameters, results = self.results,
      settled = true }
  else
    self:settle(false)
    local variable = line:match "^local ([%w_]+) = {}" or line:match "^([%w_.]+) = {}"
    if variable and self.class then self.locals[variable] = self.class.name end
  end
  self:done()
end

--- The annotations of one file.
---@param source string
---@return reference.Item[] items
---@return string introduction      the comment under `---@meta`
function annotations.read(source)
  local reader = setmetatable({ items = {}, locals = {} }, Reader)
  local introduction
  reader:done()
  for line in (source .. "\n"):gmatch "(.-)\r?\n" do
    local comment = line:match "^%s*%-%-%-(.*)$"
    if comment and comment:find "^%-" then comment = nil end   -- a line of dashes
    if comment then
      reader:comment(comment)
    elseif line:find "^%s*$" or line:find "^%-%-" then
      introduction = introduction or reader.text
      reader:settle(false)
      reader:done()
    else
      introduction = introduction or ""
      reader:declaration(line)
    end
  end
  reader:settle(false)
  return reader.items, introduction or ""
end

return annotations
