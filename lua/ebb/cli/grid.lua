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
local FORMAT_MAX = 99   -- cells that string.format pads to
local NOT_PLAIN = "[^ -~]"
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

--- The cells of the widest text of a column, at most `max`.
local function widest_cell(column, index, rows, max)
  local width = text.cells(column.title)
  for _, row in ipairs(max > 0 and rows or {}) do
    local cell = row[index]
    if #cell > width or cell:find(NOT_PLAIN) then
      local _, cells = text.cut(cell, max)
      width = math.max(width, cells)
    end
  end
  return width
end

--- The widest cell of each column but the last; of the last up to `room`.
local function natural_widths(columns, rows, whole, room)
  local widths = {}
  for i, column in ipairs(columns) do
    local max = i == #columns and room or not whole and column.max or math.maxinteger
    local width = widest_cell(column, i, rows, max)
    widths[i] = whole and math.min(width, math.max(PADDED_MAX, text.cells(column.title))) or width
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

--- The table with some of its columns only.
---@param chosen integer[]    their positions, in order
local function with(columns, rows, chosen)
  local shown = {}
  for i, index in ipairs(chosen) do
    shown[i] = columns[index]
  end
  for i, row in ipairs(#chosen < #columns and rows or {}) do
    local copy = { colour = row.colour }
    for j = 1, #chosen do
      copy[j] = row[chosen[j]]
    end
    rows[i] = copy
  end
  return shown
end

local function without(columns, rows, dropped)
  local chosen = {}
  for i = 1, #columns do
    if i ~= dropped then chosen[#chosen + 1] = i end
  end
  return with(columns, rows, chosen)
end

local function is_empty(rows, column)
  for _, row in ipairs(rows) do
    if row[column] ~= "" then return false end
  end
  return #rows > 0
end

--- The table without the columns that say nothing; the last one stays.
local function without_empty(columns, rows)
  local chosen = {}
  for i = 1, #columns do
    if i == #columns or not is_empty(rows, i) then chosen[#chosen + 1] = i end
  end
  return with(columns, rows, chosen)
end

---- Lines ----

---@class ebb.cli.Layout
---@field columns ebb.cli.Column[]
---@field rows table[]
---@field widths integer[]
---@field rest integer        cells of the last column
---@field wraps_below boolean     the last column stands below its row
---@field whole? boolean      no cell is cut
---@field format? string      of the cells before the last one, where plain cells are padded by it

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

--- The format of a line's first `count` cells; nil where string.format pads too little.
local function format_of(layout, count)
  local cells = {}
  for i = 1, count do
    if layout.widths[i] > FORMAT_MAX then return nil end
    local padding = layout.widths[i] > 0 and (layout.columns[i].right and "" or "-") .. layout.widths[i] or ""
    cells[i] = ("%%%ss"):format(padding)
  end
  return table.concat(cells, GAP)
end

--- True for cells that are shown as they are: plain, and none is cut.
local function are_plain(layout, row, count)
  for i = 1, layout.whole and 0 or count do
    if #row[i] > layout.widths[i] then return false end
  end
  return not table.concat(row, "", 1, count):find(NOT_PLAIN)
end

local function cells_of(layout, row, count)
  layout.format = layout.format or format_of(layout, count)
  if layout.format and are_plain(layout, row, count) then return layout.format:format(table.unpack(row, 1, count)) end
  local cells = {}
  for i = 1, count do
    local cell, used = text.cut(row[i], layout.whole and math.maxinteger or layout.widths[i])
    cells[i] = pad(cell, used, layout.widths[i], layout.columns[i].right)
  end
  return table.concat(cells, GAP)
end

--- Adds a line, whose cells are printable already.
local function add_line(lines, page, colour, line)
  if line:sub(-1) == " " then line = line:match "^.*[^ ]" or "" end
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
