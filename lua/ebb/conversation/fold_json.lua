--- JSON, the same with fewer tokens: no space between tokens, tables instead of lists of objects, and of long
--- lists the ends and what differs.
--
--     [{"id": "A", "at": {"x": 1}}, {"id": "B", "at": {"x": 2}}]   ->   [["id","at.x"],["A",1],["B",2]]

local json_tree = require "ebb.support.json_tree"

local fold_json = {}

local FIRST, LAST = 10, 5     -- of a long list, what stays at its ends
local COMMON = 0.8            -- share of its items that have one form

local function is_kind(node, kind) return type(node) == "table" and node.kind == kind end

---- Long lists ----

--- Says which items are of one form: the keys of an object, or the kind of a value.
local function form_of(node)
  if type(node) == "string" then return node:sub(1, 1):gsub("[%d-]", "0") end
  return node.kind == "object" and table.concat(node, ",") or "array"
end

--- The form that most items have, if enough have one.
local function common_form(list)
  local counts, most = {}, nil
  for _, item in ipairs(list) do
    local form = form_of(item)
    counts[form] = (counts[form] or 0) + 1
    if not most or counts[form] > counts[most] then most = form end
  end
  return counts[most] >= COMMON * #list and most
end

--- The first items of a long list, the last, and those of another form; a note counts the others.
local function shortened(list)
  local common = common_form(list)
  if not common then return list end
  local out, left_out = { kind = "array" }, 0
  for i, item in ipairs(list) do
    local stays = i <= FIRST or i > #list - LAST or form_of(item) ~= common
    if stays and left_out > 0 then
      out[#out + 1], left_out = ('"[%d more items left out]"'):format(left_out), 0
    end
    if stays then out[#out + 1] = item else left_out = left_out + 1 end
  end
  return out
end

---- Tables ----

--- Adds the members of an object, those of objects in it under names with a dot.
local function flatten(object, prefix, keys, values)
  for i, key in ipairs(object) do
    local name, value = prefix .. key:sub(2, -2), object.values[i]
    if is_kind(value, "object") and #value > 0 then
      flatten(value, name .. ".", keys, values)
    else
      keys[#keys + 1], values[#values + 1] = name, value
    end
  end
end

--- An object as a row, and its names as one text; nil for other values.
local function row_of(node)
  if not is_kind(node, "object") or #node == 0 then return nil end
  local keys, row = {}, { kind = "array" }
  flatten(node, "", keys, row)
  return row, '"' .. table.concat(keys, '","') .. '"'
end

--- Rows of the items from the first on, if all have the same names; `names` are those of a list before.
local function rows_of(list, names)
  local rows = { kind = "array" }
  for i, item in ipairs(list) do
    local row, own = row_of(item)
    if not row or names and own ~= names then return nil end
    names, rows[i] = own, row
  end
  return rows, names
end

--- A list of objects as a table: the names, then a row for each. A list of such lists has the names once.
local function table_of(list)
  local rows, names = rows_of(list)
  if not rows then
    rows = { kind = "array" }
    for i, inner in ipairs(list) do
      if not is_kind(inner, "array") or #inner == 0 then return nil end
      rows[i], names = rows_of(inner, names)
      if not rows[i] then return nil end
    end
  end
  table.insert(rows, 1, ("[%s]"):format(names))
  return rows
end

local function fold(node, folding)
  if type(node) == "string" then return node end
  if node.kind == "object" then
    local object = { kind = "object", values = {} }
    for i, key in ipairs(node) do
      object[i], object.values[i] = key, fold(node.values[i], folding)
    end
    return object
  end
  local list = folding.tables > 0 and #node >= math.max(folding.tables, 2) and table_of(node) or node
  if folding.list > 0 and #list >= math.max(folding.list, FIRST + LAST + 2) then list = shortened(list) end
  local out = { kind = "array" }
  for i, item in ipairs(list) do
    out[i] = fold(item, folding)
  end
  return out
end

--- Folds JSON; nil for other texts.
---@param text string
---@param folding ebb.Folding
---@return string?
function fold_json.fold(text, folding)
  local tree = json_tree.read(text)
  return tree and json_tree.text(fold(tree, folding))
end

return fold_json
