--- Tables in text: columns as wide as their cells, the last one as wide as the rest of
--- the line. Rows never exceed the width of the page:
--
--     1  columns with a `min` shrink, the widest first
--     2  columns with a `rank` go, the highest first
--     3  the last column is cut; with `wrap` it continues on further lines
--
-- On a page without a width nothing is cut, and a row is a line; cells of more than
-- PADDED_MAX stick out of their column, so that one of them does not lengthen all lines.
-- A column whose cells are all empty is not shown.

local text = require "ebb.cli.text"

local grid = {}

local GAP = "  "
local LAST_MIN = 16     -- cells of the last column before others shrink for it
local PADDED_MAX = 200  -- cells of a column on a page without a width
local WRAP_MIN = 24     -- cells of one that is wrapped; with less it stands below its row
local INDENT = "    "   -- of a cell below its row

---@class ebb.cli.Column
---@field title string
---@field right? boolean      numbers stand at the right
---@field max? integer        cells, on a page with a width
---@field min? integer        cells to which it may shrink
---@field rank? integer       it may go where the line is too narrow; the highest first
---@field wrap? boolean       the last one: it is broken into lines, not cut

---- Widths ----

--- The widest cell of each column but the last; of the last up to `room`.
local function natural_widths(columns, rows, whole, room)
  local widths = {}
  for i, column in ipairs(columns) do
    local max = i == #columns and room or not whole and column.max or math.maxinteger
    widths[i] = text.cells(column.title)
    for _, row in ipairs(rows) do
      local _, cells = text.cut(row[i], max)
      widths[i] = math.max(widths[i], whole and math.min(cells, PADDED_MAX) or cells)
    end
  end
  return widths
end

--- The cells that are left of the line for the last column.
local function rest_of(widths, width)
  local rest = width - #GAP * (#widths - 1)
  for i = 1, #widths - 1 do
    rest = rest - widths[i]
  end
  return rest
end

--- The widest column that may still shrink.
local function widest_of(columns, widths)
  local widest
  for i = 1, #columns - 1 do
    local shrinks = columns[i].min and widths[i] > columns[i].min
    if shrinks and (not widest or widths[i] > widths[widest]) then widest = i end
  end
  return widest
end

--- Shrinks columns until `enough` cells are left; returns how many are.
local function shrink(columns, widths, width, enough)
  local rest = rest_of(widths, width)
  while rest < enough do
    local i = widest_of(columns, widths)
    if not i then break end
    widths[i], rest = widths[i] - 1, rest + 1
  end
  return rest
end

local function highest_rank(columns)
  local highest
  for i, column in ipairs(columns) do
    if column.rank and (not highest or column.rank > columns[highest].rank) then highest = i end
  end
  return highest
end

--- The table without one of its columns.
local function without(columns, rows, index)
  columns = table.move(columns, 1, #columns, 1, {})
  table.remove(columns, index)
  for i, row in ipairs(rows) do
    local copy = table.move(row, 1, #row, 1, { colour = row.colour })
    table.remove(copy, index)
    rows[i] = copy
  end
  return columns
end

local function is_empty(rows, column)
  for _, row in ipairs(rows) do
    if row[column] ~= "" then return false end
  end
  return #rows > 0
end

--- The table without the columns that say nothing; the last one stays.
local function without_empty(columns, rows)
  for i = #columns - 1, 1, -1 do
    if is_empty(rows, i) then columns = without(columns, rows, i) end
  end
  return columns
end

---- Lines ----

---@class ebb.cli.Layout
---@field columns ebb.cli.Column[]
---@field rows table[]
---@field widths integer[]
---@field rest integer        cells of the last column
---@field wraps_below boolean     the last column stands below its row
---@field whole? boolean      no cell is cut

--- Chooses the columns that are shown and their widths.
---@return ebb.cli.Layout
local function lay_out(columns, rows, width)
  local wraps = columns[#columns].wrap
  while true do
    local widths = natural_widths(columns, rows, false, wraps and WRAP_MIN or LAST_MIN)
    local enough, wraps_below = widths[#columns], false
    local rest = shrink(columns, widths, width, enough)
    if rest < enough and wraps then
      widths, enough, wraps_below = natural_widths(columns, rows, false, 0), -#GAP, true
      rest = shrink(columns, widths, width, enough)
    end
    local dropped = rest < enough and highest_rank(columns)
    if not dropped then
      return { columns = columns, rows = rows, widths = widths, rest = rest, wraps_below = wraps_below }
    end
    columns = without(columns, rows, dropped)
  end
end

local function pad(cell, cells, width, right)
  local space = (" "):rep(width - cells)   -- none after a cell that sticks out
  return right and space .. cell or cell .. space
end

local function cells_of(layout, row, count)
  local cells = {}
  for i = 1, count do
    local cell, used = text.cut(row[i], layout.whole and math.maxinteger or layout.widths[i])
    cells[i] = pad(cell, used, layout.widths[i], layout.columns[i].right)
  end
  return table.concat(cells, GAP)
end

--- Adds a line, whose cells are printable already.
local function add_line(lines, page, colour, line)
  line = line:match "^.*[^ ]" or ""
  lines[#lines + 1] = page.paint(colour, page.width == math.maxinteger and line or (text.cut(line, page.width)))
end

--- One row with its last cell wrapped, beside the others or below them.
local function add_wrapped(lines, layout, page, row)
  local count = #layout.columns
  local head = cells_of(layout, row, count - 1)
  local indent = layout.wraps_below and INDENT or (" "):rep(page.width - layout.rest)
  local pieces = text.wrap(row[count], math.max(page.width - #indent, 1))
  if layout.wraps_below then add_line(lines, page, row.colour, head)
  else pieces[1] = head .. GAP .. pieces[1] end
  for i, piece in ipairs(pieces) do
    local continues = i > 1 or layout.wraps_below
    if piece ~= "" then add_line(lines, page, row.colour, (continues and indent or "") .. piece) end
  end
end

local function add_row(lines, layout, page, row)
  local count = #layout.columns
  if layout.columns[count].wrap and page.width < math.maxinteger then return add_wrapped(lines, layout, page, row) end
  local last = text.cut(row[count], math.max(layout.rest, 1))
  local head = cells_of(layout, row, count - 1)
  add_line(lines, page, row.colour, count > 1 and head .. GAP .. last or last)
end

--- The table as lines, printable, each ended by a newline. `row.colour` names the colour of a row.
---@param columns ebb.cli.Column[]
---@param rows table[]      lists of texts
---@param page ebb.cli.Page
---@return string
function grid.render(columns, rows, page)
  local whole = page.width == math.maxinteger
  rows = table.move(rows, 1, #rows, 1, {})
  columns = without_empty(columns, rows)
  local layout = whole and { columns = columns, rows = rows, widths = natural_widths(columns, rows, true, 0),
    rest = math.maxinteger, wraps_below = false, whole = true } or lay_out(columns, rows, page.width)
  local titles, lines = { colour = "title" }, {}
  for i, column in ipairs(layout.columns) do
    titles[i] = column.title
  end
  if layout.wraps_below then titles[#titles] = "" end
  add_row(lines, layout, page, titles)
  for _, row in ipairs(layout.rows) do
    add_row(lines, layout, page, row)
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

return grid
