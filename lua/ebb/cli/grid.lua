--- Tables in text: columns as wide as what is in them, the last one cut to what
--- is left of the line. Where too little is left, those that have a `min` give way,
--- the last ones first.

local text = require "ebb.cli.text"

local grid = {}

local GAP = "  "
local LAST_MIN = 12   -- columns for the last one, however narrow the terminal

---@class ebb.cli.Column
---@field title string
---@field right? boolean      numbers stand at the right
---@field max? integer
---@field min? integer        it may shrink to so many columns

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

--- Takes from columns that may shrink what the last one lacks; answers what is left for it.
local function fit(columns, widths, width)
  local left = width
  for i = 1, #columns - 1 do
    left = left - widths[i] - #GAP
  end
  for i = #columns - 1, 1, -1 do
    local least = math.max(columns[i].min or math.maxinteger, #columns[i].title)
    local given = math.max(0, math.min(LAST_MIN - left, widths[i] - least))
    widths[i], left = widths[i] - given, left + given
  end
  return math.max(left, LAST_MIN)
end

local function pad(cell, used, width, right)
  local space = (" "):rep(width - used)
  return right and space .. cell or cell .. space
end

local function line_of(columns, row, used, widths, left)
  local cells = {}
  for i = 1, #columns - 1 do
    local cell, columns_used = row[i], used[i]
    if columns_used > widths[i] then cell, columns_used = text.cut(cell, widths[i]) end
    cells[i] = pad(cell, columns_used, widths[i], columns[i].right)
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
  local left, titles, titles_used = fit(columns, widths, width), {}, {}
  for i, column in ipairs(columns) do
    titles[i], titles_used[i] = column.title, #column.title
  end

  local lines = { line_of(columns, titles, titles_used, widths, left) }
  for _, row in ipairs(rows) do
    local line = line_of(columns, row, row.used or {}, widths, left)
    lines[#lines + 1] = paint and paint(row, line) or line
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

return grid
