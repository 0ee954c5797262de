--- The text of a file; raises if it cannot be read.
---@param path string
---@return string
return function(path)
  local file = assert(io.open(path, "rb"))
  local text = assert(file:read "a")
  file:close()
  return text
end
