--- JSON results: indented throughout, also where the bytes of a message or a ledger are
--- part of them. Numbers, strings and the order of keys stay as they are written.

local core = require "ebb.support.core"

local json_text = {}

local INDENT = "  "

--- The end of a string that begins at `at`.
local function string_end(json, at)
  local from = at + 1
  while true do
    local mark = json:find('["\\]', from)
    if json:byte(mark) == 34 then return mark end
    from = mark + 2
  end
end

--- Writes one bracket, comma or colon; returns the depth after it.
local function add_mark(pieces, mark, depth, is_empty)
  if mark == ":" then
    pieces[#pieces + 1] = ": "
  elseif mark == "," then
    pieces[#pieces + 1] = ",\n" .. INDENT:rep(depth)
  elseif mark == "{" or mark == "[" then
    pieces[#pieces + 1] = is_empty and mark or mark .. "\n" .. INDENT:rep(depth + 1)
    return depth + 1
  else
    local after_open = pieces[#pieces] == "{" or pieces[#pieces] == "["
    pieces[#pieces + 1] = after_open and mark or "\n" .. INDENT:rep(depth - 1) .. mark
    return depth - 1
  end
  return depth
end

--- Valid JSON with the white space of an indented text.
---@param json string
---@return string
function json_text.indent(json)
  local pieces, depth, at = {}, 0, 1
  while true do
    local start = json:find("[^ \t\r\n]", at)
    if not start then break end
    local mark = json:match('^[%[%]{}:,"]', start)
    if mark == '"' then
      at = string_end(json, start) + 1
      pieces[#pieces + 1] = json:sub(start, at - 1)
    elseif mark then
      depth = add_mark(pieces, mark, depth, json:find("^[ \t\r\n]*[%]}]", start + 1) ~= nil)
      at = start + 1
    else
      at = json:find("[ \t\r\n%[%]{}:,\"]", start) or #json + 1
      pieces[#pieces + 1] = json:sub(start, at - 1)
    end
  end
  return table.concat(pieces)
end

--- A value as indented JSON with a newline at its end.
---@param value any
---@return string
function json_text.of(value)
  return json_text.indent(core.json.encode(value)) .. "\n"
end

return json_text
