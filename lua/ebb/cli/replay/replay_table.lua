--- The results of a replay as a table, as JSON and as CSV.

local core = require "ebb.support.core"
local figures = require "ebb.support.figures"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local quantity = require "ebb.support.quantity"

local percent = figures.percent

local tables = {}

local COLUMNS = {
  { title = "requests", right = true, rank = 2 }, { title = "sent", right = true }, { title = "shared", right = true },
  { title = "best", right = true, rank = 4 }, { title = "cost", right = true }, { title = "x none", right = true },
  { title = "fill", right = true, rank = 1 },
  { title = "args", right = true }, { title = "values", right = true }, { title = "labelled", right = true, rank = 5 },
  { title = "dropped", right = true, rank = 3 }, { title = "refused", right = true }, { title = "policy" },
}

local THINKING = { title = "thinking", right = true }   -- where some was lost, before the last two columns

--- Explanations of columns: one title or two, and a text, which is printed if a column of them is shown.
local LEGEND = {
  { "sent", "tokens of all requests (%s)" },
  { "shared", "of these, what begins like the request before, which a prompt cache can serve" },
  { "best", "the most that cuts can share that send as much" },
  { "cost", "of input in %s, by the cache \"%s\"" },
  { "x none", "relative to no trimming" },
  { "fill", "of %s, where the whole history is longer" },
  { "args", "values", "share of the values that replies used, as arguments of tools and in their text, which the "
    .. "trimmed requests still contained" },
  { "labelled", "with the word before it that the history has" },
  { "dropped", "units" },
  { "refused", "requests that cannot fit" },
}

local LEGEND_WIDTH = 78      -- cells, where the page is wider

local LOST = [[
thinking: tokens that requests lacked, for the model binds thinking to what
came before it, and a trim had changed that]]

local REFUSED = [[
* requests were refused: these cost nothing, for they are not sent, and have
nothing of what their replies used]]

local UNITS = { money = "the currency of the prices", tokens = "tokens of fresh input" }

---@class ebb.cli.ReplayRow    A result under the words that name its policy on the command line
---@field policy string
---@field result ebb.ReplayResult

local function is_before(a, b)
  local first, second = a.result, b.result
  if first.refusals ~= second.refusals then return first.refusals < second.refusals end
  if not first.cost or first.cost == second.cost then return a.place < b.place end
  return first.cost < second.cost
end

--- The rows of results: no trimming first, then by refused requests, whose costs the sums lack, then by cost.
---@param results ebb.ReplayResult[]
---@param words string[]
---@return ebb.cli.ReplayRow[]
function tables.rows(results, words)
  local rows = {}
  for i = 2, #results do
    rows[i - 1] = { policy = words[i - 1], result = results[i], place = i }
  end
  table.sort(rows, is_before)
  table.insert(rows, 1, { policy = results[1].policy, result = results[1] })
  return rows
end

local function cells_of(row)
  local result = row.result
  local mark = result.refusals > 0 and "*" or ""
  return {
    tostring(result.requests), result.sent .. mark, percent(result.share), percent(result.optimum),
    result.cost and (result.cost_unit == "money" and "%.4f" or "%.0f"):format(result.cost) or "",
    result.relative_cost and ("%.2f"):format(result.relative_cost) or "", percent(result.fill),
    percent(result.recall_arguments), percent(result.recall_values), percent(result.recall_labelled),
    tostring(result.units_dropped), tostring(result.refusals), row.policy,
    colour = result.refusals > 0 and "warning" or nil,
  }
end

local function trust_of(rows)
  local trust = "none"
  for _, row in ipairs(rows) do
    trust = row.result.trust or trust
  end
  return trust
end

local function has_refusals(rows)
  for _, row in ipairs(rows) do
    if row.result.refusals > 0 then return true end
  end
  return false
end

local function has_lost_thinking(rows)
  for _, row in ipairs(rows) do
    if row.result.thinking_lost > 0 then return true end
  end
  return false
end

--- The columns of a table, and its cells.
local function table_of(rows)
  local cells, columns = {}, table.move(COLUMNS, 1, #COLUMNS, 1, {})
  local has_lost, place = has_lost_thinking(rows), #COLUMNS - 1
  if has_lost then table.insert(columns, place, THINKING) end
  for i, row in ipairs(rows) do
    cells[i] = cells_of(row)
    if has_lost then table.insert(cells[i], place, tostring(row.result.thinking_lost)) end
  end
  return columns, cells
end

local function grid_of(rows, page)
  local columns, cells = table_of(rows)
  return grid.render(columns, cells, page)
end

--- The columns that the tables of a report show, as a set of titles.
local function shown_of(report, page)
  local shown, lists = {}, { report.rows }
  for i, file in ipairs(report.files[2] and report.files or {}) do lists[i + 1] = file.rows end
  for _, rows in ipairs(lists) do
    local columns, cells = table_of(rows)
    for title in pairs(grid.shown(columns, cells, page)) do shown[title] = true end
  end
  return shown
end

--- Explains the columns that are shown, in one line.
---@param facts table<string, any[]>     what the texts of some columns name
local function explanations(shown, facts)
  local words = {}
  for _, entry in ipairs(LEGEND) do
    local titles = {}
    for i = 1, #entry - 1 do
      if shown[entry[i]] then titles[#titles + 1] = entry[i] end
    end
    local says = entry[#entry]:format(table.unpack(facts[entry[1]] or {}))
    if titles[1] then words[#words + 1] = ("%s: %s"):format(table.concat(titles, ", "), says) end
  end
  return table.concat(words, "; ")
end

local function legend_of(report, page)
  local rows = report.rows
  local first = rows[1].result
  local words = explanations(shown_of(report, page), {
    sent = { trust_of(rows) }, fill = { report.budget and quantity(report.budget, "token") or "the budget" },
    cost = { UNITS[first.cost_unit] or "several units", first.cache },
  })
  local legend = table.concat(text.wrap(words, math.min(page.width, LEGEND_WIDTH)), "\n")
  if has_lost_thinking(rows) then legend = legend .. "\n" .. LOST end
  if has_refusals(rows) then legend = legend .. "\n" .. REFUSED end
  return terminal.fill(page, legend)
end

---@class ebb.cli.ReplayReport
---@field files { file: string, budget: integer, margin: integer, rows: ebb.cli.ReplayRow[] }[]
---@field rows ebb.cli.ReplayRow[]     over all files
---@field budget? integer              the same for all files; else nil
---@field margin? integer              likewise

--- A table per recording if there are several, and one over all.
---@param report ebb.cli.ReplayReport
---@param page ebb.cli.Page
---@return string
function tables.text(report, page)
  local pieces = {}
  for _, file in ipairs(report.files[2] and report.files or {}) do
    pieces[#pieces + 1] = page.paint("title", file.file) .. (" (%d tokens)\n"):format(file.budget)
      .. grid_of(file.rows, page) .. "\n"
  end
  if pieces[1] then
    pieces[#pieces + 1] = page.paint("title", ("together, %d recordings"):format(#report.files)) .. "\n"
  end
  pieces[#pieces + 1] = grid_of(report.rows, page) .. "\n" .. legend_of(report, page)
  return table.concat(pieces)
end

---- Data ----

local NAMES = {   -- of the fields in JSON and CSV, in order
  { "requests", "requests" }, { "requestsOver", "requests_over" }, { "refusals", "refusals" },
  { "tokensRefused", "refused_tokens" }, { "firstRefusal", "first_refusal" },
  { "smallestBudget", "smallest_budget" }, { "tokensSent", "sent" },
  { "trust", "trust" }, { "tokensShared", "shared" },
  { "thinkingLost", "thinking_lost" }, { "share", "share" }, { "optimum", "optimum" },
  { "distance", "distance" }, { "fill", "fill" }, { "cache", "cache" }, { "tokensCached", "cached" },
  { "tokensWritten", "written" }, { "cost", "cost" }, { "costUnit", "cost_unit" }, { "relativeCost", "relative_cost" },
  { "replyTokens", "reply_tokens" }, { "replyCost", "reply_cost" }, { "unitsDropped", "units_dropped" },
  { "messagesDropped", "messages_dropped" }, { "messagesReplaced", "messages_replaced" },
  { "messagesInserted", "messages_inserted" }, { "recallArguments", "recall_arguments" },
  { "recallValues", "recall_values" }, { "recallLabelled", "recall_labelled" },
}
local COUNTS = { "arguments", "values" }
local COUNT_NAMES = { "total", "present", "labelled" }

--- The figures of rows, for JSON.
---@param rows ebb.cli.ReplayRow[]
function tables.data(rows)
  local list = core.json.array {}
  for i, row in ipairs(rows) do
    list[i] = { policy = row.policy, arguments = row.result.arguments, values = row.result.values,
      losses = row.result.losses }
    for _, name in ipairs(NAMES) do
      list[i][name[1]] = row.result[name[2]]
    end
  end
  return list
end

---@param report ebb.cli.ReplayReport
---@return string
function tables.json(report)
  local data = { budget = report.budget, margin = report.margin, policies = tables.data(report.rows) }
  if report.files[2] then
    data.files = core.json.array {}
    for i, file in ipairs(report.files) do
      data.files[i] = { file = file.file, budget = file.budget, margin = file.margin,
        policies = tables.data(file.rows) }
    end
  end
  return json_text.format(data)
end

local function csv_cell(value)
  local word = value == nil and "" or tostring(value)
  return word:find '[",\r\n]' and '"' .. word:gsub('"', '""') .. '"' or word
end

local function csv_line(cells)
  for i = 1, cells.n do
    cells[i] = csv_cell(cells[i])
  end
  return table.concat(cells, ",", 1, cells.n)
end

local function csv_title()
  local cells = { "file", "budget", "policy" }
  for _, name in ipairs(NAMES) do
    cells[#cells + 1] = name[1]
  end
  for _, kind in ipairs(COUNTS) do
    for _, name in ipairs(COUNT_NAMES) do
      cells[#cells + 1] = kind .. name:sub(1, 1):upper() .. name:sub(2)
    end
  end
  cells.n = #cells
  return csv_line(cells)
end

local function csv_row(file, budget, row)
  local cells, n = { file, budget, row.policy }, 3
  local function add(value)
    n = n + 1
    cells[n] = value
  end
  for _, name in ipairs(NAMES) do
    add(row.result[name[2]])
  end
  for _, kind in ipairs(COUNTS) do
    for _, name in ipairs(COUNT_NAMES) do
      add(row.result[kind][name])
    end
  end
  cells.n = n
  return csv_line(cells)
end

--- A line per recording and policy; of several recordings those over all, without a file, follow.
---@param report ebb.cli.ReplayReport
---@return string
function tables.csv(report)
  local lines = { csv_title() }
  for _, file in ipairs(report.files) do
    for _, row in ipairs(file.rows) do
      lines[#lines + 1] = csv_row(file.file, file.budget, row)
    end
  end
  for _, row in ipairs(report.files[2] and report.rows or {}) do
    lines[#lines + 1] = csv_row("", report.budget, row)
  end
  return table.concat(lines, "\r\n") .. "\r\n"
end

return tables
