--- The content of a window as elements: what may stand in it, and how it is kept.
--
--     Lua                                    kept (JSON)
--     { "item", id = 1, "text", { "b" } }    ["item", {"id": 1}, "text", ["b", {}]]
--     { window = "todo" }                    {"window": "todo"}
--
-- A content is a list of nodes, or one element: a table whose first value is a
-- string is an element, its name.

local core = require "ebb.support.core"
local markup = require "ebb.windows.markup"
local refuse = require "ebb.support.refuse"

local elements = {}

elements.DEPTH_MAX = 60      -- of tables in a content; the markup around it stays below the reader's 64
elements.NODES_MAX = 10000   -- of one window, those in it included

local SCALARS = { string = true, number = true, boolean = true }

local function bad(message, ...)
  refuse("argument", ("content: " .. message):format(...))
end

local function check_scalar(value, what)
  if not SCALARS[type(value)] then
    bad("%s is a string, a number, true or false, not %s", what, type(value))
  end
  if value ~= value or value == math.huge or value == -math.huge then bad("%s is no number", what) end
  return value
end

local function copy_attributes(element, out)
  for name, value in next, element do
    if type(name) == "string" then
      if not markup.is_name(name) then bad("'%s' is no name of an attribute", name) end
      out[name] = check_scalar(value, "attribute " .. name)
    elseif math.type(name) ~= "integer" or name < 1 or name > rawlen(element) then
      bad("an element has attributes, and children from 2 on")
    end
  end
end

local function is_element(name)
  return markup.is_name(name) and name ~= "Window"
end

local copy_node

local function copy_element(element, state, depth)
  local name = element[1]
  if not is_element(name) then bad("'%s' is no name of an element", name) end
  local out = { name }
  copy_attributes(element, out)
  for i = 2, rawlen(element) do
    out[i] = copy_node(rawget(element, i), state, depth + 1)
  end
  return out
end

local function copy_list(list, state, depth)
  local out = {}
  for key in next, list do
    local is_place = math.type(key) == "integer" and key >= 1 and key <= rawlen(list)
    if not is_place then bad("a list has no field '%s'", tostring(key)) end
  end
  for i = 1, rawlen(list) do
    out[i] = copy_node(rawget(list, i), state, depth + 1)
  end
  return out
end

function copy_node(node, state, depth)
  state.nodes = state.nodes + 1
  if state.nodes > elements.NODES_MAX then bad("more than %d nodes", elements.NODES_MAX) end
  if type(node) ~= "table" then return check_scalar(node, "a node") end
  if depth > state.depth then state.depth = depth end
  if depth > elements.DEPTH_MAX then bad("more than %d levels deep", elements.DEPTH_MAX) end
  local window = rawget(node, "window")
  if window ~= nil and rawget(node, 1) == nil then
    local alone = type(window) == "string" and next(node, next(node)) == nil
    if not alone then bad("{ window = id } names a window, and nothing else") end
    state.nested = true
    return { window = window }
  end
  if type(rawget(node, 1)) == "string" then return copy_element(node, state, depth) end
  return copy_list(node, state, depth)
end

---@class ebb.ElementsSize
---@field nodes integer
---@field depth integer      of tables
---@field nested boolean     it names windows

--- A copy of a content that is a table; raises for what may not stand in it.
---@param content table
---@return table
---@return ebb.ElementsSize
function elements.copy(content)
  local size = { nodes = 0, depth = 0, nested = false }
  return copy_node(content, size, 1), size
end

---- Kept ----

local function pack(node)
  if type(node) ~= "table" or node.window then return node end
  if type(node[1]) ~= "string" then
    local list = core.json.array { core.json.null }   -- no name: a list
    for i, child in ipairs(node) do
      list[i + 1] = pack(child)
    end
    return list
  end
  local attributes, list = {}, core.json.array { node[1] }
  for name, value in pairs(node) do
    if type(name) == "string" then attributes[name] = value end
  end
  list[2] = attributes
  for i = 2, #node do
    list[i + 1] = pack(node[i])
  end
  return list
end

--- What was not written by `pack` (a state may be damaged) is no content.
local function unpack_node(node)
  if type(node) ~= "table" then return check_scalar(node, "a node") end
  if type(node.window) == "string" then return { window = node.window } end
  local is_list = node[1] == core.json.null
  local out = {}
  if not is_list then
    if not is_element(node[1]) or type(node[2]) ~= "table" then bad("no elements") end
    out[1] = node[1]
    for name, value in next, node[2] do
      if not markup.is_name(name) then bad("'%s' is no name of an attribute", name) end
      out[name] = check_scalar(value, "attribute " .. name)
    end
  end
  for i = is_list and 2 or 3, #node do
    out[#out + 1] = unpack_node(node[i])
  end
  return out
end

--- As JSON.
---@param content table     of elements.copy
---@return string
function elements.encode(content)
  return core.json.encode(pack(content))
end

--- The content again; raises where it is none.
---@param text string       of elements.encode
---@return table
function elements.decode(text)
  local value, problem = core.json.decode(text)
  if problem then refuse("shape", "content: " .. problem) end
  return unpack_node(value)
end

return elements
