--- The page of limits.

local limits = require "ebb.cli.limits"
local markdown = require "reference.markdown"

local pages = {}

---@return string
function pages.page()
  local parts = { "What exceeds a limit is refused, and nothing has changed. `ebb limits` lists the same." }
  local rows, section
  local function finish()
    if section then
      parts[#parts + 1] = "## " .. section:gsub("^%l", string.upper) .. "\n"
      parts[#parts + 1] = markdown.table({ "limit", "", "raised by" }, rows)
    end
  end
  for _, limit in ipairs(limits.list()) do
    if limit.section ~= section then
      finish()
      section, rows = limit.section, {}
    end
    rows[#rows + 1] = { limit.what, limits.amount(limit), limit.raise or "" }
  end
  finish()
  return markdown.page("Limits", parts)
end

return pages
