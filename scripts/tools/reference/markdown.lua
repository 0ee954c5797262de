--- Pieces of Markdown: tables, code, links to headings.

local markdown = {}

--- The first comment of every generated page.
markdown.NOTE = "<!-- Written by `make docs` from the sources; edit those. -->\n"

--- A text inside a table's cell: one line, with its bars escaped.
---@param text any
---@return string
function markdown.cell(text)
  return (tostring(text):gsub("%s*\n%s*", " "):gsub("|", "\\|"))
end

--- A code span, safe for texts that hold backticks; empty stays empty.
---@param text any
---@return string
function markdown.code(text)
  text = tostring(text):gsub("\n", " ")
  if text == "" then return "" end
  local fence = text:find("`", 1, true) and "``" or "`"
  local space = #fence > 1 and " " or ""
  return fence .. space .. text .. space .. fence
end

--- A phrase as a sentence: with a capital and a full stop.
---@param text string
---@return string
function markdown.sentence(text)
  return (text:gsub("^%l", string.upper):gsub("[^.!?]$", "%0."))
end

--- A fenced block.
---@param language string
---@param text string
---@return string
function markdown.block(language, text)
  return ("```%s\n%s\n```\n"):format(language, (text:gsub("%s+$", "")))
end

--- A table; empty without rows. Columns that are empty in all rows are left out.
---@param titles string[]
---@param rows string[][]
---@return string
function markdown.table(titles, rows)
  local used = {}
  for column = 1, #titles do
    for _, row in ipairs(rows) do
      if (row[column] or "") ~= "" then used[#used + 1] = column break end
    end
  end
  if #rows == 0 then return "" end
  local lines = {}
  local function add(row, map)
    local cells = {}
    for i, column in ipairs(used) do cells[i] = map(row[column] or "") end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  add(titles, markdown.cell)
  add(titles, function() return "---" end)
  for _, row in ipairs(rows) do add(row, markdown.cell) end
  return table.concat(lines, "\n") .. "\n"
end

--- The anchor that a heading gets on code hosts: lower case, spaces as dashes, no punctuation.
---@param heading string
---@return string
function markdown.anchor(heading)
  return (heading:lower():gsub("[^%w%s_%-\x80-\xFF]", ""):gsub("%s", "-"))
end

--- Anchors of a page's headings in order: code hosts number equal ones, from the second on.
---@return fun(heading: string): string
function markdown.anchors()
  local uses = {}
  return function(heading)
    local anchor = markdown.anchor(heading)
    local count = uses[anchor] or 0
    uses[anchor] = count + 1
    return count == 0 and anchor or ("%s-%d"):format(anchor, count)
  end
end

---@param heading string
---@param page? string       file of the page; without it the link stays on this one
---@return string
function markdown.link(heading, page)
  return ("[%s](%s#%s)"):format(heading, page or "", markdown.anchor(heading))
end

--- A page: its title, an introduction and its parts, an empty line between each.
---@param title string
---@param parts string[]
---@return string
function markdown.page(title, parts)
  local kept = { markdown.NOTE .. "\n# " .. title .. "\n" }
  for _, part in ipairs(parts) do
    if part ~= "" then kept[#kept + 1] = (part:gsub("\n*$", "\n")) end
  end
  return table.concat(kept, "\n")
end

return markdown
