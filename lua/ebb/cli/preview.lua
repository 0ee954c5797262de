--- ebb pipeline --preview: the messages of a request with their sources, tokens by source, and the log.

local core = require "ebb.support.core"
local grid = require "ebb.cli.grid"
local json_text = require "ebb.cli.json_text"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"
local transcript = require "ebb.conversation.transcript"

local preview = {}

local MESSAGES = {
  { title = "#", right = true }, { title = "role", max = 12, min = 6, rank = 1 },
  { title = "source", max = 16, min = 8 }, { title = "tokens", right = true }, { title = "text" },
}
local SHARES = {
  { title = "source", min = 8 }, { title = "messages", right = true, rank = 1 }, { title = "tokens", right = true },
  { title = "share", right = true }, { title = "" },
}

local BAR = 30   -- cells of the whole

local function message_rows(result)
  local rows = {}
  for i, each in ipairs(result.parts) do
    rows[i] = { tostring(i), each.role, each.source, tostring(each.tokens), transcript.line(result.chat[i]),
      colour = result.chat[i].role or "window" }
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

local function log_lines(result, page)
  local lines = {}
  for _, entry in ipairs(result.logs) do
    local level = entry.level == "info" and "" or entry.level .. ": "
    lines[#lines + 1] = terminal.fill(page, ("%s: %s%s"):format(entry.processor, level, entry.message), "  ")
  end
  for _, id in ipairs(result.skipped) do
    lines[#lines + 1] = terminal.fill(page, id .. ": is disabled", "  ")
  end
  return table.concat(lines)
end

--- For people.
---@param result ebb.PipelineResult
---@param page ebb.cli.Page
---@return string
function preview.table(result, page)
  local budget = result.budget and (" of %d"):format(result.budget) or ""
  local messages = text.count(#result.chat, "message")
  local total = ("%s, %d tokens%s (%s)"):format(messages, result.tokens, budget, result.trust)
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

local function parts_of(result)
  local parts = core.json.array {}
  for i, part in ipairs(result.parts) do
    parts[i] = { role = part.role, source = part.source, sourceId = part.source_id, seq = part.seq,
      tokens = part.tokens }
  end
  return parts
end

--- For programs. The details of a log entry are its processor's.
---@param result ebb.PipelineResult
---@return string
function preview.json(result)
  return json_text.format({
    tokens = result.tokens, trust = result.trust, budget = result.budget,
    shares = core.json.array(result.shares), parts = parts_of(result),
    logs = core.json.array(result.logs), skipped = core.json.array(result.skipped), messages = exact(result.chat),
  })
end

return preview
