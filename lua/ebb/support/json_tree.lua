--- JSON texts as trees that keep what the text had: the order of members, and each scalar as it was written.
--
--     {"b": 1.0, "a": ["x"]}   ->   { kind = "object", "b", "a", values = { "1.0", { kind = "array", '"x"' } } }
--
-- A node is a string, the JSON of a scalar, or a table: an array has its items at 1 to n; an object its keys, and the
-- value of each at the same place of `values`. Written again, it has no space between tokens.

local core = require "ebb.support.core"
local json_places = require "ebb.support.json_places"

local json_tree = {}

---@class ebb.JsonNode
---@field kind "array"|"object"
---@field values? (string|ebb.JsonNode)[]   of an object

local read_value

--- Reads the members of an object or the items of an array, after its bracket.
local function read_items(text, at, node)
  local closing = node.kind == "object" and "}" or "]"
  local n = 0
  at = text:match("^%s*()", at)
  if text:sub(at, at) == closing then return at + 1 end
  while true do
    n = n + 1
    if node.kind == "object" then
      node[n], at = read_value(text, at)
      at = text:match("^%s*:%s*()", at)
      node.values[n], at = read_value(text, at)
    else
      node[n], at = read_value(text, at)
    end
    local mark, past = text:match("^%s*([,%]}])%s*()", at)
    if mark == closing then return past end
    at = past
  end
end

--- Reads the value at `at` of valid JSON.
---@return string|ebb.JsonNode value
---@return integer past       the byte after it, and after space after a closing bracket
function read_value(text, at)
  local first = text:sub(at, at)
  if first == '"' then
    local past = json_places.string_end(text, at)
    return text:sub(at, past - 1), past
  elseif first == "{" or first == "[" then
    local node = first == "[" and { kind = "array" } or { kind = "object", values = {} }
    return node, read_items(text, at + 1, node)
  end
  local word, past = text:match("^([^%s,%]}]+)()", at)
  return word, past
end

--- Reads an array, object or string; nil for other texts.
---@param text string
---@return string|ebb.JsonNode|nil
function json_tree.read(text)
  if not json_tree.is_json(text) then return nil end
  return (read_value(text, text:match "^%s*()"))
end

--- True for an array, object or string as JSON.
---@param text string
---@return boolean
function json_tree.is_json(text)
  return text:find '^%s*[%[{"]' ~= nil and core.json.decode(text) ~= nil
end

local function write(node, out)
  if type(node) == "string" then
    out[#out + 1] = node
    return
  end
  local object = node.kind == "object"
  out[#out + 1] = object and "{" or "["
  for i, item in ipairs(node) do
    if i > 1 then out[#out + 1] = "," end
    write(item, out)
    if object then
      out[#out + 1] = ":"
      write(node.values[i], out)
    end
  end
  out[#out + 1] = object and "}" or "]"
end

--- The node as JSON.
---@param node string|ebb.JsonNode
---@return string
function json_tree.text(node)
  local out = {}
  write(node, out)
  return table.concat(out)
end

return json_tree
