--- The page of limits.

local limits = require "ebb.cli.limits"
local markdown = require "reference.markdown"

local pages = {}

---@return string
function pages.page()
  local parts = { "What exceeds a limit is refused, and nothing has changed. `ebb limits` lists the same." }
  for _, section in ipairs(limits.tables()) do
    parts[#parts + 1] = "## " .. section.title:gsub("^%l", string.upper) .. "\n"
    parts[#parts + 1] = markdown.table({ "limit", "", "raised by" }, section.rows)
  end
  return markdown.page("Limits", parts)
end

return pages
