--- The report of a replay as one page of HTML, which needs nothing else: a table, and charts of what each policy keeps
--- of what the replies used, against the tokens that it sends and against its cost.
--
-- The line of a chart is the frontier: no policy left of it keeps as much. A policy that refused requests is no part of
-- it: what these lack is no saving.

local choice = require "ebb.replay.choice"
local figures = require "ebb.support.figures"
local text = require "ebb.cli.view.text"

local page = {}

local escape = text.html

local WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 84, 24, 16, 44   -- pixels
local TICKS = 5         -- marks of an axis, about
local EDGE = 40         -- pixels next to the right end, where a mark would be cut off

local STYLE = [[
:root { color-scheme: light dark; --line: #8886; --point: #1f6feb; --bad: #c2410c; --edge: #1f6feb66; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
tr.refused td { color: var(--bad); }
figure { margin: 2rem 0; } svg { width: 100%; height: auto; } figcaption { color: #888; }
text { font: 12px system-ui, sans-serif; fill: currentColor; }
.grid { stroke: var(--line); } .edge { fill: none; stroke: var(--edge); stroke-width: 3; }
circle { fill: var(--point); } circle.refused { fill: var(--bad); }]]

local function percent(share) return (figures.percent(share):gsub(" ", "&nbsp;")) end

--- The nearest whole number, 1234567.4 as "1,234,567".
local function grouped(number) return figures.grouped(math.floor(number + 0.5)) end

local function cost_text(result)
  if not result.cost then return "" end
  return result.cost_unit == "money" and ("%.4f"):format(result.cost) or grouped(result.cost)
end

---- The table ----

local TITLES = { "policy", "requests", "refused", "tokens sent", "shared", "cost", "times none", "arguments", "values",
  "labelled" }

local function table_row(row)
  local result = row.result
  local cells = { escape(row.policy), result.requests, result.refusals, grouped(result.sent), percent(result.share),
    cost_text(result), result.relative_cost and ("%.2f"):format(result.relative_cost) or "",
    percent(result.recall_arguments), percent(result.recall_values), percent(result.recall_labelled) }
  local class = result.refusals > 0 and ' class="refused"' or ""
  return ("<tr%s><td>%s</td></tr>"):format(class, table.concat(cells, "</td><td>"))
end

local function table_of(rows)
  local head = '<div class="wide"><table><thead><tr><th>%s</th></tr></thead><tbody>'
  local lines = { head:format(table.concat(TITLES, "</th><th>")) }
  for _, row in ipairs(rows) do
    lines[#lines + 1] = table_row(row)
  end
  lines[#lines + 1] = "</tbody></table></div>"
  return table.concat(lines, "\n")
end

---- Charts ----

---@class ebb.cli.Point
---@field x number         tokens, or cost
---@field y number         0 to 1: arguments and values that the requests had
---@field name string
---@field refused boolean

---@param rows ebb.cli.ReplayRow[]
---@param measure fun(result: ebb.ReplayResult): number?    x
local function points_of(rows, measure)
  local points = {}
  for _, row in ipairs(rows) do
    local result, x = row.result, measure(row.result)
    if result.arguments.total + result.values.total > 0 and x then
      points[#points + 1] = { x = x, y = choice.recall(result), name = row.policy, refused = result.refusals > 0 }
    end
  end
  table.sort(points, function(a, b) return a.x < b.x or a.x == b.x and a.y > b.y end)
  return points
end

--- The points than which no cheaper one keeps as much.
local function frontier_of(points)
  local frontier = {}
  for _, point in ipairs(points) do
    local last = frontier[#frontier]
    if not point.refused and (not last or point.y > last.y) then frontier[#frontier + 1] = point end
  end
  return frontier
end

--- A round step that divides a range into about this number of parts.
local function step_of(range, parts)
  local rough = range / parts
  local power = 10 ^ math.floor(math.log(rough, 10))
  for _, factor in ipairs { 1, 2, 2.5, 5 } do
    if factor * power >= rough then return factor * power end
  end
  return 10 * power
end

--- A range with round ends around some values, and the step between its marks.
local function range_of(low, high, least)
  if high - low < least then low, high = low - least / 2, high + least / 2 end
  local step = step_of(high - low, TICKS)
  return { from = math.floor(low / step) * step, to = math.ceil(high / step) * step, step = step }
end

--- The ranges of the axes fit the points, so that points do not lie on one line.
local function scale_of(points)
  local low, high = 1, 0
  for _, point in ipairs(points) do low, high = math.min(low, point.y), math.max(high, point.y) end
  local x = range_of(points[1].x, points[#points].x, math.max(points[#points].x / 10, 1e-9))
  local y = range_of(low, high, 0.02)
  x.from, y.from, y.to = math.max(0, x.from), math.max(0, y.from), math.min(1, y.to)
  return {
    across = x, up = y,
    x = function(value) return LEFT + (value - x.from) / (x.to - x.from) * (WIDTH - LEFT - RIGHT) end,
    y = function(share) return TOP + (y.to - share) / (y.to - y.from) * (HEIGHT - TOP - BOTTOM) end,
  }
end

--- Calls use(value) for each mark of a range.
local function each_mark(range, use)
  for i = 0, math.floor((range.to - range.from) / range.step + 0.5) do use(range.from + i * range.step) end
end

local KEPT = "of the values that replies used"

local function axes(scale, title, unit)
  local lines = {}
  each_mark(scale.up, function(share)
    local y = scale.y(share)
    lines[#lines + 1] = ('<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>'):format(LEFT, WIDTH - RIGHT, y, y)
    lines[#lines + 1] = ('<text x="%d" y="%.1f" text-anchor="end">%.3g %%</text>'):format(LEFT - 8, y + 4, share * 100)
  end)
  each_mark(scale.across, function(value)
    local x = scale.x(value)
    local anchor = x > WIDTH - RIGHT - EDGE and "end" or "middle"
    lines[#lines + 1] = ('<text x="%.1f" y="%d" text-anchor="%s">%s</text>'):format(
      anchor == "end" and math.min(x + EDGE / 2, WIDTH - 2) or x, HEIGHT - BOTTOM + 18, anchor, unit(value))
  end)
  lines[#lines + 1] = ('<text x="%d" y="%d" text-anchor="middle">%s</text>')
    :format((WIDTH + LEFT) // 2, HEIGHT - 6, title)
  lines[#lines + 1] = ('<text x="14" y="%d" text-anchor="middle" transform="rotate(-90 14 %d)">%s</text>')
    :format((HEIGHT - BOTTOM + TOP) // 2, (HEIGHT - BOTTOM + TOP) // 2, KEPT)
  return table.concat(lines, "\n")
end

local function line_of(frontier, scale)
  local places = {}
  for i, point in ipairs(frontier) do
    places[i] = ("%.1f,%.1f"):format(scale.x(point.x), scale.y(point.y))
  end
  return ('<polyline class="edge" points="%s"/>'):format(table.concat(places, " "))
end

local LETTER, LINE = 6.5, 14   -- pixels: the width of a letter, about, and the height of a line

local function overlaps(a, b)
  return a.left < b.right and b.left < a.right and math.abs(a.y - b.y) < LINE
end

--- The place of a label next to its point, below those that are there already.
local function place_label(label, x, y, others)
  local width = LETTER * utf8.len(label)
  local at_end = x > WIDTH * 0.6
  local box = { at_end = at_end, x = at_end and x - 9 or x + 9, y = y + LINE }
  box.left = at_end and box.x - width or box.x
  box.right = box.left + width
  for _ = 1, #others do
    for _, other in ipairs(others) do
      if overlaps(box, other) then box.y = other.y + LINE end
    end
  end
  others[#others + 1] = box
  return box
end

local function mark_of(point, scale, labels)
  local x, y = scale.x(point.x), scale.y(point.y)
  local label = point.name .. (point.refused and " (refused some)" or "")
  local box = place_label(label, x, y, labels)
  return ('<circle cx="%.1f" cy="%.1f" r="5"%s/><text x="%.1f" y="%.1f" text-anchor="%s">%s</text>'):format(x, y,
    point.refused and ' class="refused"' or "", box.x, box.y, box.at_end and "end" or "start", escape(label))
end

local FIGURE = [[
<figure><svg viewBox="0 0 %d %d" role="img" aria-label="%s">
%s
</svg><figcaption>%s</figcaption></figure>]]
local CAPTION = "What the requests had of what the replies used, against %s. Higher and further left is better."

local function chart(rows, measure, title, unit)
  local points = points_of(rows, measure)
  if not points[1] then return "" end
  local scale, labels = scale_of(points), {}
  local pieces = { axes(scale, title, unit), line_of(frontier_of(points), scale) }
  for _, point in ipairs(points) do
    pieces[#pieces + 1] = mark_of(point, scale, labels)
  end
  return FIGURE:format(WIDTH, HEIGHT, title, table.concat(pieces, "\n"), CAPTION:format(title))
end

local function tokens_of(result) return result.sent end
local function cost_of(result) return result.cost end
local function money(value) return ("%.3f"):format(value) end

local function charts(rows)
  local is_money = rows[1].result.cost_unit == "money"
  local title = is_money and "cost of input in the currency of the prices" or "cost of input in fresh tokens"
  return chart(rows, tokens_of, "tokens of all requests", grouped) .. "\n"
    .. chart(rows, cost_of, title, is_money and money or grouped)
end

local function files_of(report)
  local pieces = {}
  for _, file in ipairs(report.files[2] and report.files or {}) do
    pieces[#pieces + 1] = ("<details><summary>%s, %s tokens</summary>\n%s</details>"):format(escape(file.file),
      grouped(file.budget), table_of(file.rows))
  end
  return table.concat(pieces, "\n")
end

---@param report ebb.cli.ReplayReport
---@return string html
function page.render(report)
  local count = #report.files
  local title = count == 1 and report.files[1].file or ("%d recordings"):format(count)
  local budget = report.budget and (", budget %s tokens"):format(grouped(report.budget)) or ""
  return text.page(("Replay of %s"):format(title), STYLE, {
    ("<h1>Replay of %s%s</h1>"):format(escape(title), budget), table_of(report.rows), charts(report.rows),
    files_of(report),
  })
end

return page
