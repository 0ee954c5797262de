--- Tables in text: columns as wide as what is in them, the last one cut to what
--- is left of the line.

local text = require "ebb.cli.text"

local grid = {}

local GAP = "  "
local LAST_MIN = 16   -- columns for the last one, however narrow the terminal

---@class ebb.cli.Column
---@field title string
---@field right? boolean      numbers stand at the right
---@field max? integer

local function widths_of(columns, rows)
  local widths = {}
  for i = 1, #columns - 1 do
    local widest = #columns[i].title
    for _, row in ipairs(rows) do
      local cell, used = text.cut(row[i], columns[i].max or math.maxinteger)
      row[i], row.used = cell, row.used or {}
      row.used[i] = used
      widest = math.max(widest, used)
    end
    widths[i] = widest
  end
  return widths
end

local function pad(cell, used, width, right)
  local space = (" "):rep(width - used)
  return right and space .. cell or cell .. space
end

local function line_of(columns, row, used, widths, left)
  local cells = {}
  for i = 1, #columns - 1 do
    cells[i] = pad(row[i], used[i], widths[i], columns[i].right)
  end
  cells[#columns] = text.cut(row[#columns], left)
  return (table.concat(cells, GAP):gsub(" +$", ""))
end

--- The table as lines. Rows are lists of texts and are used up; `paint(row, line)`
--- may colour a line.
---@param columns ebb.cli.Column[]
---@param rows table[]
---@param width integer      of the terminal
---@param paint? fun(row: table, line: string): string
---@return string
function grid.render(columns, rows, width, paint)
  local widths = widths_of(columns, rows)
  local left, titles, titles_used = width, {}, {}
  for i, column in ipairs(columns) do
    titles[i], titles_used[i] = column.title, #column.title
    if i < #columns then left = left - widths[i] - #GAP end
  end
  left = math.max(left, LAST_MIN)

  local lines = { line_of(columns, titles, titles_used, widths, left) }
  for _, row in ipairs(rows) do
    local line = line_of(columns, row, row.used or {}, widths, left)
    lines[#lines + 1] = paint and paint(row, line) or line
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

return grid
