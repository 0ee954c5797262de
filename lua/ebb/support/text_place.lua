--- "line:byte" of a position in a text, both from 1.

---@param text string
---@param at integer
---@return string
return function(text, at)
  local before = text:sub(1, at - 1)
  local _, lines = before:gsub("\n", "")
  return ("%d:%d"):format(lines + 1, #before:match "[^\n]*$" + 1)
end
