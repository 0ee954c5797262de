--- Answers written piece by piece: no string of the Lua state holds all of them.

local emit = {}

--- A JSON list of what `encode` makes of each element.
---@param write fun(text: string)
---@param list any             a table, or what has a length and elements from 1
---@param encode fun(element: any): string
function emit.list(write, list, encode)
  local separator = "["
  for i = 1, #list do
    write(separator .. encode(list[i]))
    separator = ","
  end
  write(separator == "[" and "[]" or "]")
end

local CHUNK = 1000   -- numbers that are written at once

--- A JSON list of whole numbers.
---@param write fun(text: string)
---@param list any
---@param number fun(element: any): integer
function emit.numbers(write, list, number)
  local chunk, separator = {}, "["
  for i = 1, #list do
    chunk[#chunk + 1] = number(list[i])
    if #chunk == CHUNK or i == #list then
      write(separator .. table.concat(chunk, ","))
      chunk, separator = {}, ","
    end
  end
  write(separator == "[" and "[]" or "]")
end

return emit
