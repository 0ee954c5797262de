--- What a request would be made of: messages with their sources, tokens by source, what was left out and why.

local core = require "ebb.support.core"
local grid = require "ebb.cli.grid"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local preview = {}

local GIST = 2048   -- bytes of a text that one line looks at

local MESSAGES = {
  { title = "#", right = true }, { title = "role", max = 12 }, { title = "source", max = 16 },
  { title = "tokens", right = true }, { title = "text" },
}
local SHARES = {
  { title = "source" }, { title = "messages", right = true }, { title = "tokens", right = true },
  { title = "share", right = true }, { title = "" },
}

local BAR = 30   -- columns of a whole

local function message_rows(result)
  local rows = {}
  for i, each in ipairs(result.parts) do
    rows[i] = { tostring(i), each.role, each.source, tostring(each.tokens), text.head(each.text, GIST) }
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

local function log_lines(result)
  local lines = {}
  for _, entry in ipairs(result.logs) do
    lines[#lines + 1] = ("%s: %s%s\n"):format(entry.processor, entry.level == "info" and "" or entry.level .. ": ",
      entry.message)
  end
  for _, id in ipairs(result.skipped) do
    lines[#lines + 1] = ("%s: is disabled\n"):format(id)
  end
  return table.concat(lines)
end

--- For people.
---@param result ebb.PipelineResult
---@return string
function preview.table(result)
  local budget = result.budget and (" of %d"):format(result.budget) or ""
  local total = ("%d messages, %d tokens%s (%s)\n"):format(#result.chat, result.tokens, budget, result.trust)
  local width = terminal.room()
  return text.printable(table.concat({
    grid.render(MESSAGES, message_rows(result), width), grid.render(SHARES, share_rows(result), width), total,
    log_lines(result),
  }, "\n"), true)
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

--- For programs. A log's details are what its processor made them.
---@param result ebb.PipelineResult
---@return string
function preview.json(result)
  return core.json.encode({
    tokens = result.tokens, trust = result.trust, budget = result.budget,
    shares = core.json.array(result.shares), parts = parts_of(result),
    logs = core.json.array(result.logs), skipped = core.json.array(result.skipped), messages = exact(result.chat),
  }, { indent = 2 }) .. "\n"
end

return preview
