--- Names in two spellings: Lua's snake_case, and the camelCase of JSON files.

local names = {}

--- "userPlaceholder" -> "user_placeholder"
---@param name string
---@return string
function names.snake(name)
  return (name:gsub("%u", function(letter) return "_" .. letter:lower() end):gsub("^_", ""))
end

--- "user_placeholder" -> "userPlaceholder"
---@param name string
---@return string
function names.camel(name)
  return (name:gsub("_(%w)", string.upper))
end

return names
