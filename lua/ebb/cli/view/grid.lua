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
--
-- Cells are kept by column: a listing of a hundred thousand rows needs no table for each,
-- and each column is looked at once for what is not plain.

local text = require "ebb.cli.view.text"

local grid = {}

local GAP = "  "
local LAST_MIN = 16     -- cells of the last column before others shrink for it
local PADDED_MAX = 200  -- cells of a column on a page without a width
local FORMAT_MAX = 99   -- cells that string.format pads to
local NOT_PLAIN = "[^ -~]"
local WRAP_MIN = 24     -- cells of one that is wrapped; with less it is below its row
local SPACE = (" "):byte()
local INDENT = "    "   -- of a cell below its row

---@class ebb.cli.Column
---@field title string
---@field right? boolean      numbers are at the right
---@field max? integer        cells, on a page with a width
---@field min? integer        cells to which it may shrink
---@field rank? integer       it may go where the line is too narrow; the highest first
---@field wrap? boolean       the last one: it is broken into lines, not cut

---- Widths ----

---@class ebb.cli.Cells      Of the columns that are shown
---@field columns ebb.cli.Column[]
---@field lists string[][]     the cells of each column
---@field count integer        rows
---@field colours table<integer, string>     of rows, by their number
---@field plain table<string[], boolean>     whether the title and all cells of a list are shown as they are, once known

local function is_plain(cells, i)
  local list, plain = cells.lists[i], cells.plain
  if plain[list] == nil then
    plain[list] = not (cells.columns[i].title:find(NOT_PLAIN) or table.concat(list):find(NOT_PLAIN))
  end
  return plain[list]
end

--- The cells of the widest text of a column, at most `max`.
local function widest_cell(cells, i, max)
  local list, title = cells.lists[i], text.cells(cells.columns[i].title)
  local width = title
  if max == 0 then return width end
  if is_plain(cells, i) then
    for _, cell in ipairs(list) do
      if #cell > width then width = #cell end
    end
    return math.max(math.min(width, max), title)
  end
  for _, cell in ipairs(list) do
    if #cell > width or cell:find(NOT_PLAIN) then
      local _, used = text.cut(cell, max)
      width = math.max(width, used)
    end
  end
  return width
end

--- The widest cell of each column but the last; of the last up to `room`.
local function natural_widths(cells, whole, room)
  local widths, columns = {}, cells.columns
  for i, column in ipairs(columns) do
    local max = i == #columns and room or not whole and column.max or math.maxinteger
    local width = widest_cell(cells, i, max)
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

--- The table with those of its columns that `is_shown` accepts by their number.
---@return ebb.cli.Cells
local function with(cells, is_shown)
  local shown = { columns = {}, lists = {}, count = cells.count, colours = cells.colours, plain = cells.plain }
  for i, column in ipairs(cells.columns) do
    if is_shown(i) then
      shown.columns[#shown.columns + 1], shown.lists[#shown.lists + 1] = column, cells.lists[i]
    end
  end
  return shown
end

local function without(cells, dropped)
  return with(cells, function(i) return i ~= dropped end)
end

local function is_empty(list)
  for _, cell in ipairs(list) do
    if cell ~= "" then return false end
  end
  return #list > 0
end

--- The table without the columns that say nothing; the last one stays.
local function without_empty(cells)
  return with(cells, function(i) return i == #cells.columns or not is_empty(cells.lists[i]) end)
end

---- Lines ----

---@class ebb.cli.Layout
---@field cells ebb.cli.Cells
---@field columns ebb.cli.Column[]
---@field widths integer[]
---@field rest integer        cells of the last column
---@field wraps_below boolean     the last column is below its row
---@field whole? boolean      no cell is cut
---@field plain? boolean      the cells before the last one are shown as they are
---@field last_plain? boolean     the last one is
---@field format? string      of the cells before the last one, where plain cells are padded by it

--- Chooses the columns that are shown and their widths.
---@return ebb.cli.Layout
local function lay_out(cells, width)
  local wraps = cells.columns[#cells.columns].wrap
  while true do
    local columns = cells.columns
    local widths = natural_widths(cells, false, wraps and WRAP_MIN or LAST_MIN)
    local enough, wraps_below = widths[#columns], false
    local rest = shrink(columns, widths, width, enough)
    if rest < enough and wraps then
      widths, enough, wraps_below = natural_widths(cells, false, 0), -#GAP, true
      rest = shrink(columns, widths, width, enough)
    end
    local dropped = rest < enough and highest_rank(columns)
    if not dropped then
      return { cells = cells, columns = columns, widths = widths, rest = rest, wraps_below = wraps_below }
    end
    cells = without(cells, dropped)
  end
end

--- Lays out all columns without cutting a cell.
---@return ebb.cli.Layout
local function lay_out_whole(cells)
  local columns, plain = cells.columns, true
  for i = 1, #columns - 1 do plain = plain and is_plain(cells, i) end
  return { cells = cells, columns = columns, widths = natural_widths(cells, true, 0), rest = math.maxinteger,
    wraps_below = false, whole = true, plain = plain, last_plain = is_plain(cells, #columns) }
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
  if layout.plain then return true end
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
  if line:byte(-1) == SPACE then line = line:match "^.*[^ ]" or "" end
  if page.width < math.maxinteger then line = text.cut(line, page.width) end
  lines[#lines + 1] = page.coloured and page.paint(colour, line) or line
end

--- One row with its last cell wrapped, next to the others or below them.
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
  local last = layout.last_plain and row[count] or text.cut(row[count], math.max(layout.rest, 1))
  local head = cells_of(layout, row, count - 1)
  add_line(lines, page, row.colour, count > 1 and head .. GAP .. last or last)
end

--- The titles as a row.
local function titles_of(layout)
  local titles = { colour = "title" }
  for i, column in ipairs(layout.columns) do
    titles[i] = column.title
  end
  if layout.wraps_below then titles[#titles] = "" end
  return titles
end

---@return ebb.cli.Layout
local function layout_of(columns, lists, page, colours)
  local cells = without_empty { columns = columns, lists = lists, count = #lists[1], colours = colours or {},
    plain = {} }
  return page.width == math.maxinteger and lay_out_whole(cells) or lay_out(cells, page.width)
end

--- The table as lines, printable, each ended by a newline.
---@param columns ebb.cli.Column[]
---@param lists string[][]      the cells of each column; all have the same number
---@param page ebb.cli.Page
---@param colours? table<integer, string>     names of the colours of rows, by their number
---@return string
function grid.render_columns(columns, lists, page, colours)
  local layout = layout_of(columns, lists, page, colours)
  local lines, row, cells = {}, {}, layout.cells
  add_row(lines, layout, page, titles_of(layout))
  for i = 1, cells.count do
    for j, list in ipairs(cells.lists) do row[j] = list[i] end
    row.colour = cells.colours[i]
    add_row(lines, layout, page, row)
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end

--- The cells of each column, and the colours of the rows.
local function turned(columns, rows)
  local lists, colours = {}, {}
  for j = 1, #columns do lists[j] = {} end
  for i, row in ipairs(rows) do
    colours[i] = row.colour
    for j, list in ipairs(lists) do list[i] = row[j] end
  end
  return lists, colours
end

--- Renders a table that is given by rows. `row.colour` names the colour of a row.
---@param columns ebb.cli.Column[]
---@param rows table[]      lists of texts
---@param page ebb.cli.Page
---@return string
function grid.render(columns, rows, page)
  local lists, colours = turned(columns, rows)
  return grid.render_columns(columns, lists, page, colours)
end

--- The titles of the columns that such a table shows, as a set.
---@param columns ebb.cli.Column[]
---@param rows table[]
---@param page ebb.cli.Page
---@return table<string, boolean>
function grid.shown(columns, rows, page)
  local titles = {}
  for _, column in ipairs(layout_of(columns, (turned(columns, rows)), page).columns) do
    titles[column.title] = true
  end
  return titles
end

return grid
