--- "line:byte" of a position in a text, both from 1.

---@param text string
---@param at integer
---@return string
return function(text, at)
  local before = text:sub(1, at - 1)
  local _, lines = before:gsub("\n", "")
  local line = before:match "^.*\n()" or 1
  return ("%d:%d"):format(lines + 1, at - line + 1)
end
