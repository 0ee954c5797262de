--- The page of limits.

local limits = require "ebb.cli.commands.limits"
local markdown = require "reference.markdown"

local pages = {}

---@return string
function pages.page()
  local parts = { "What exceeds a limit is refused, and nothing has changed. `ebb limits` lists the same." }
  for _, section in ipairs(limits.tables()) do
    local is_command = section.title:find "^ebb "
    local title = is_command and markdown.code(section.title) or section.title:gsub("^%l", string.upper)
    parts[#parts + 1] = "## " .. title .. "\n"
    parts[#parts + 1] = markdown.table({ "limit", "", "raised by" }, section.rows)
  end
  return markdown.page("Limits", parts)
end

return pages
