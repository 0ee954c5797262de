-- Reads "key = value" lines.
local function parse(text)
  local found = {}
  for key, value in text:gmatch "(%w+)%s*=%s*(%w+)" do
    found[key] = value
  end
  return found
end

return parse
