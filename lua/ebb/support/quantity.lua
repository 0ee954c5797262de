--- A count with its noun: "1 message", "2 messages".

---@param n integer
---@param noun string     with a plural that ends in s
---@return string
return function(n, noun)
  return ("%d %s%s"):format(n, noun, n == 1 and "" or "s")
end
