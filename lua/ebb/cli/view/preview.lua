--- ebb pipeline --preview: the messages of a request with their sources, tokens by source, and the log.

local composition = require "ebb.pipeline.composition"
local core = require "ebb.support.core"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local transcript = require "ebb.conversation.transcript"

local preview = {}

local MESSAGES = {
  { title = "#", right = true }, { title = "role", max = 12, min = 6, rank = 1 },
  { title = "source", max = 24, min = 8 }, { title = "tokens", right = true }, { title = "text" },
}
local SHARES = {
  { title = "source", min = 8 }, { title = "messages", right = true, rank = 1 }, { title = "tokens", right = true },
  { title = "share", right = true }, { title = "" },
}

local BAR = 30   -- cells of the whole

--- "history", or of a merged message "preset + history", each once.
local function source_of(part)
  local names = {}
  for _, each in ipairs(part.sources or { part }) do
    if not tables.contains(names, each.source) then names[#names + 1] = each.source end
  end
  return table.concat(names, " + ")
end

local function message_rows(result)
  local rows = {}
  for i, each in ipairs(result.parts) do
    local message = each.message and result.chat[each.message]
    rows[i] = { tostring(each.message or ""), each.role, source_of(each), tostring(each.tokens),
      message and transcript.line(message) or each.text, colour = message and (message.role or "window") or each.role }
  end
  return rows
end

local function share_rows(result)
  local rows = {}
  for i, each in ipairs(result.shares) do
    rows[i] = { each.source, tostring(each.messages), tostring(each.tokens), ("%.1f %%"):format(each.share * 100),
      ("#"):rep(math.floor(each.share * BAR + 0.5)) }
  end
  return rows
end

--- The log; under --quiet its errors only.
local function log_lines(result, page)
  local lines = {}
  for _, entry in ipairs(result.logs) do
    local level = entry.level == "info" and "" or entry.level .. ": "
    if not terminal.quiet or entry.level == "error" then
      lines[#lines + 1] = terminal.fill(page, ("%s: %s%s"):format(entry.processor, level, entry.message), "  ")
    end
  end
  return table.concat(lines)
end

--- Writes a preview for people.
---@param result ebb.PipelineResult
---@param page ebb.cli.Page
---@return string
function preview.table(result, page)
  local budget = result.budget and (" of %d"):format(result.budget) or ""
  local messages = text.count(#result.chat, "message")
  local total = ("%s, %s%s (%s)"):format(messages, text.count(result.tokens, "token"), budget, result.trust)
  return table.concat({
    grid.render(MESSAGES, message_rows(result), page), grid.render(SHARES, share_rows(result), page),
    terminal.fill(page, total), log_lines(result, page),
  }, "\n")
end

local function exact(chat)
  local list = core.json.array {}
  for i, message in ipairs(chat) do
    list[i] = core.json.raw(message.json)
  end
  return list
end

--- Returns a preview as data for programs. The details of a log entry are its processor's.
---@param result ebb.PipelineResult
---@return string
function preview.json(result)
  local data = composition.data(result)
  local summary = data.summary
  return json_text.format {
    tokens = summary.tokens, trust = summary.trust, budget = summary.budget, shares = summary.shares,
    skipped = summary.skipped, parts = data.parts, ledger = data.ledger, logs = data.logs,
    messages = exact(result.chat),
  }
end

return preview
