--- Pages of the Lua API, one per file of annotations.

local annotations = require "reference.annotations"
local host = require "ebb.host"
local markdown = require "reference.markdown"
local read_file = require "reference.read_file"

local lua_api = {}

local code = markdown.code

--- The page of each class, for links between pages.
local page_of = {}

--- The name of a file's page.
---@param file { name: string, path: string }
---@return string
function lua_api.page_name(file) return ("lua-%s.md"):format(file.name) end

--- The annotation files: lua/ebb/meta/*.lua.
---@param root string
---@return { name: string, path: string }[]
function lua_api.files(root)
  local files = {}
  for _, entry in ipairs(host.entries(root .. "lua/ebb/meta") or {}) do
    local name = entry:match "^(.*)%.lua$"
    if name then files[#files + 1] = { name = (name:gsub("%.d$", "")), path = root .. "lua/ebb/meta/" .. entry } end
  end
  table.sort(files, function(a, b) return a.name < b.name end)
  for _, file in ipairs(files) do
    local page = lua_api.page_name(file)
    for class in read_file(file.path):gmatch "%-%-%-@class (ebb%.%w+)" do page_of[class] = page end
  end
  return files
end

---- One item ----

local function value_rows(values)
  local rows = {}
  for i, value in ipairs(values) do
    local name = value.name and code(value.name .. (value.optional and value.name ~= "..." and "?" or "")) or ""
    local type = value.type
    if not type:find "^fun%(" then type = type:gsub("%?$", "") end   -- the ? after a function is its result's
    rows[i] = { name, code(type), value.text }
  end
  return rows
end

local function heading_of(item)
  local names = {}
  for i, parameter in ipairs(item.parameters) do names[i] = parameter.name end
  local owner = item.owner:match "^ebb%.(%u.*)$" or item.owner
  return ("%s%s%s(%s)"):format(owner, item.separator, item.name, table.concat(names, ", "))
end

--- "- `budget?` `integer`: tokens of the request"; results have an arrow before them.
local function value_lines(lines, values, arrow)
  for _, value in ipairs(values) do
    local name = value.name and code(value.name .. (value.optional and not arrow and value.name ~= "..." and "?" or ""))
    local text = value.text ~= "" and ": " .. value.text:gsub("\n", " ") or ""
    lines[#lines + 1] = ("- %s%s%s%s"):format(arrow and "→ " or "", name and name .. " " or "", code(value.type), text)
  end
end

local function render_function(item)
  local parts, lines = { ("#### `%s`\n"):format(heading_of(item)) }, {}
  if item.text ~= "" then parts[#parts + 1] = item.text .. "\n" end
  value_lines(lines, item.parameters, false)
  value_lines(lines, item.results, true)
  parts[#parts + 1] = table.concat(lines, "\n")
  return parts
end

local function render_class(item)
  local parts = { ("### %s\n"):format(item.name) }
  if item.text ~= "" then parts[#parts + 1] = item.text .. "\n" end
  if item.parent then
    parts[#parts + 1] = ("Has all that %s has, too.\n"):format(markdown.link(item.parent, page_of[item.parent]))
  end
  parts[#parts + 1] = markdown.table({ "field", "type", "" }, value_rows(item.fields))
  return parts
end

local function render_alias(item)
  local parts, rows = { ("### %s\n"):format(item.name) }, {}
  for i, entry in ipairs(item.values) do rows[i] = { code(entry.value), entry.text } end
  if item.text ~= "" then parts[#parts + 1] = item.text .. "\n" end
  if item.type ~= "" then parts[#parts + 1] = code(item.type) .. "\n" end
  parts[#parts + 1] = markdown.table({ "value", "" }, rows)
  return parts
end

local RENDER = { class = render_class, alias = render_alias, ["function"] = render_function }

---- A page ----

--- Classes and aliases with the functions of each after them, in the order of the file; functions of a class that
--- another file declares come under a heading of their own.
local function grouped(items)
  local groups, by_name = {}, {}
  local function group(name)
    if not by_name[name] then
      by_name[name] = { name = name, functions = {} }
      groups[#groups + 1] = by_name[name]
    end
    return by_name[name]
  end
  for _, item in ipairs(items) do
    if item.kind == "function" then
      local functions = group(item.owner).functions
      functions[#functions + 1] = item
    else
      group(item.name).item = item
    end
  end
  return groups
end

--- The anchor of each group and function.
local function anchors_of(groups)
  local anchors, anchor_of = {}, markdown.anchors()
  for _, each in ipairs(groups) do
    anchors[each] = anchor_of(each.name)
    for _, item in ipairs(each.functions) do anchors[item] = anchor_of(heading_of(item)) end
  end
  return anchors
end

local function contents(groups)
  local rows, anchors = {}, anchors_of(groups)
  for _, each in ipairs(groups) do
    local names = {}
    for i, item in ipairs(each.functions) do names[i] = ("[`%s`](#%s)"):format(item.name, anchors[item]) end
    rows[#rows + 1] = { ("[%s](#%s)"):format(each.name, anchors[each]), table.concat(names, " ") }
  end
  return markdown.table({ "type", "functions" }, rows)
end

--- Links to the classes of a file that have functions.
---@param file { name: string, path: string }
---@return string
function lua_api.summary(file)
  local links = {}
  for _, each in ipairs(grouped((annotations.read(read_file(file.path))))) do
    if #each.functions > 0 then links[#links + 1] = markdown.link(each.name, lua_api.page_name(file)) end
  end
  return table.concat(links, ", ")
end

---@param file { name: string, path: string }
---@return string
function lua_api.page(file)
  local items, introduction = annotations.read(read_file(file.path))
  local groups = grouped(items)
  local parts = { introduction, contents(groups) }
  for _, each in ipairs(groups) do
    local blocks = each.item and RENDER[each.item.kind](each.item) or { ("### %s\n"):format(each.name) }
    for _, item in ipairs(each.functions) do table.move(render_function(item), 1, 9, #blocks + 1, blocks) end
    table.move(blocks, 1, #blocks, #parts + 1, parts)
  end
  return markdown.page("Lua API: " .. file.name, parts)
end

return lua_api
