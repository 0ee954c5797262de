--- The content of a window as elements: its form in Lua, and in JSON as it is stored.
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
local math_type = math.type

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

--- Every key is a name, or the place of a child.
local function check_keys(element, count)
  for key in next, element do
    local is_place = math_type(key) == "integer" and key >= 1 and key <= count
    if type(key) ~= "string" and not is_place then bad("an element has attributes, and children from 2 on") end
  end
end

local function copy_attributes(element, out, count)
  local others = 0
  for name, value in next, element do
    if type(name) == "string" then
      if not markup.is_name(name) then bad("'%s' is no name of an attribute", name) end
      out[name] = check_scalar(value, "attribute " .. name)
    else
      others = others + 1
    end
  end
  if others ~= count then check_keys(element, count) end
end

local function is_element(name)
  return markup.is_name(name) and name ~= "Window"
end

local copy_node

local function copy_element(element, state, depth)
  local name = element[1]
  if not is_element(name) then bad("'%s' is no name of an element", name) end
  local out, count = { name, nil }, rawlen(element)   -- room for the usual child
  copy_attributes(element, out, count)
  for i = 2, count do
    out[i] = copy_node(rawget(element, i), state, depth + 1)
  end
  return out
end

local function check_places(list, count)
  for key in next, list do
    local is_place = math_type(key) == "integer" and key >= 1 and key <= count
    if not is_place then bad("a list has no field '%s'", tostring(key)) end
  end
end

local function copy_list(list, state, depth)
  local out, count, keys = {}, rawlen(list), 0
  for _ in next, list do
    keys = keys + 1
  end
  if keys ~= count then check_places(list, count) end
  for i = 1, count do
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
  local first, window = rawget(node, 1), rawget(node, "window")
  if window ~= nil and first == nil then
    local alone = type(window) == "string" and next(node, next(node)) == nil
    if not alone then bad("{ window = id } names a window, and nothing else") end
    state.nested = true
    return { window = window }
  end
  if type(first) == "string" then return copy_element(node, state, depth) end
  return copy_list(node, state, depth)
end

---@class ebb.ElementsSize
---@field nodes integer
---@field depth integer      of tables
---@field nested boolean     it names windows

--- A deep copy of a content; raises for values that are not allowed in it.
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

local unpack_node

local function unpack_element(node, state, depth)
  local name, attributes, count = node[1], node[2], #node
  if not is_element(name) or type(attributes) ~= "table" then bad("no elements") end
  local out = { name, nil }   -- room for the usual child
  for key, value in next, attributes do
    if not markup.is_name(key) then bad("'%s' is no name of an attribute", key) end
    out[key] = check_scalar(value, "attribute " .. key)
  end
  for i = 3, count do
    out[i - 1] = unpack_node(node[i], state, depth + 1)
  end
  return out
end

--- Reads a stored node; raises for anything that `pack` does not write, as in a damaged save.
function unpack_node(node, state, depth)
  state.nodes = state.nodes + 1
  if type(node) ~= "table" then return check_scalar(node, "a node") end
  if depth > state.depth then state.depth = depth end
  if type(node.window) == "string" then
    state.nested = true
    return { window = node.window }
  end
  if node[1] ~= core.json.null then return unpack_element(node, state, depth) end
  local out = {}
  for i = 2, #node do
    out[i - 1] = unpack_node(node[i], state, depth + 1)
  end
  return out
end

--- As JSON.
---@param content table     of elements.copy
---@return string
function elements.encode(content)
  return core.json.encode(pack(content))
end

--- Decodes a stored content; raises if it is not valid.
---@param text string       of elements.encode
---@return table
---@return ebb.ElementsSize
function elements.decode(text)
  local value, problem = core.json.decode(text)
  if problem then refuse("shape", "content: " .. problem.message) end
  local size = { nodes = 0, depth = 0, nested = false }
  return unpack_node(value, size, 1), size
end

return elements
