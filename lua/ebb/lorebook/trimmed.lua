--- A text without white space at its ends. Messages are trimmed where they are searched: once each.
---@param text string
---@return string
return function(text)
  local first, last = text:byte(1), text:byte(-1)
  if not first or first > 32 and last > 32 then return text end
  return text:find "%S" and text:match "^%s*(.*%S)" or ""   -- from the end: linear in the length
end
