--- The page of the C API, from the headers: comments, functions, types.
--
-- A comment belongs to the declarations right below it. Sections begin at `/* ---- name ---- */`.

local markdown = require "reference.markdown"

local header = {}

---- Reading ----

--- The text of a comment without its frame.
local function comment_text(raw)
  local lines = {}
  for line in (raw:gsub("^/%*+%s?", ""):gsub("%s*%*/$", "") .. "\n"):gmatch "(.-)\n" do
    local framed = line:match "^%s*%*%*%s?(.*)$"
    lines[#lines + 1] = framed or (line:gsub("^   ", ""))
  end
  while lines[1] and lines[1]:find "^%s*$" do table.remove(lines, 1) end
  while lines[#lines] and lines[#lines]:find "^%s*$" do lines[#lines] = nil end
  return table.concat(lines, "\n")
end

--- The position after a declaration: after its `;` and a comment on that line.
local function past_declaration(text, at)
  local depth, i = 0, at
  while i <= #text do
    local comment_end = text:match("^/%*.-%*/()", i)
    local letter = text:sub(i, i)
    if comment_end then
      i = comment_end - 1
    elseif letter == "{" then
      depth = depth + 1
    elseif letter == "}" then
      depth = depth - 1
    elseif letter == ";" and depth == 0 then
      return text:match("^[ \t]*/%*.-%*/()", i + 1) or i + 1
    end
    i = i + 1
  end
  return #text + 1
end

--- Lines that a reader of the page needs nothing of: guards, includes, what C++ and the compiler want.
local function is_plumbing(line)
  return line:find "^#%s*i[fn]" or line:find "^#%s*e" or line:find '^extern "C"' or line:find "^}%s*$"
    or line:find "^#define EBB_[%w_]*H%s*$" or line:find "^#define EBB_API%f[^%w_]"
end

---@class reference.Block      A comment with the declarations below it
---@field section string
---@field text string
---@field code string[]

local Scanner = {}
Scanner.__index = Scanner

function Scanner:open(section, text)
  self.block = { section = section, text = text, code = {} }
  self.blocks[#self.blocks + 1] = self.block
end

function Scanner:comment(raw)
  local name, rest = raw:match "^/%*%s*%-%-%-%-%s*(.-)%s*%-%-%-%-(.*)$"
  if name then
    self.section = name
    self:open(name, comment_text("/*" .. rest))
  else
    self:open(self.section, comment_text(raw))
  end
end

function Scanner:step(text, at)
  local blank = text:match("^%s*\n%s*\n()", at)
  if blank and self.block and #self.block.code > 0 then self.block = nil end
  at = text:match("^%s*()", at)
  local past = text:match("^/%*.-%*/()", at)
  if past then
    self:comment(text:sub(at, past - 1))
    return past
  end
  local line = text:match("^[^\n]*", at)
  if line == "" then return #text + 1 end
  if is_plumbing(line) then return at + #line end
  past = line:find "^#" and at + #line or past_declaration(text, at)
  if not self.block then self:open(self.section, "") end
  self.block.code[#self.block.code + 1] = text:sub(at, past - 1)
  return past
end

--- The blocks of a header.
---@param text string
---@return reference.Block[]
function header.read(text)
  local scanner, at = setmetatable({ blocks = {}, section = "overview" }, Scanner), 1
  while at <= #text do at = scanner:step(text, at) end
  return scanner.blocks
end

---- Writing ----

--- A comment as prose, with its drawings and tables (lines with a deep margin) kept as they are.
local function prose(text)
  local parts = {}
  for paragraph in (text .. "\n\n"):gmatch "(.-)\n%s*\n" do
    local is_drawing = paragraph:find "^%s%s%s+" or paragraph:find "\n%s%s+%S"
    if paragraph:find "%S" then
      parts[#parts + 1] = is_drawing and markdown.block("text", paragraph) or paragraph .. "\n"
    end
  end
  return table.concat(parts, "\n")
end

local function names_in(code)
  local names = {}
  for name in code:gmatch "%f[%w_](ebb_[%w_]+)%s*%(" do names[#names + 1] = name end
  return names
end

local function index(blocks)
  local rows, by_section = {}, {}
  for _, block in ipairs(blocks) do
    for _, code in ipairs(block.code) do
      local name = code:find "^EBB_API" and names_in(code)[1]
      local row = by_section[block.section]
      if name and not row then
        row = { block.section, {} }
        rows[#rows + 1], by_section[block.section] = row, row
      end
      if name then table.insert(row[2], ("`%s`"):format(name)) end
    end
  end
  for _, row in ipairs(rows) do row[1], row[2] = markdown.link(row[1]), table.concat(row[2], " ") end
  return markdown.table({ "section", "functions" }, rows)
end

---@param title string
---@param text string       of the header
---@return string
function header.page(title, text)
  local blocks, parts, section = header.read(text), {}, nil
  for _, block in ipairs(blocks) do
    if block.section ~= section then
      section = block.section
      parts[#parts + 1] = ("## %s\n"):format(section)
    end
    if #block.code > 0 then parts[#parts + 1] = markdown.block("c", table.concat(block.code, "\n")) end
    parts[#parts + 1] = prose(block.text)
  end
  return markdown.page(title, { index(blocks), table.unpack(parts) })
end

return header
