--- The tree of a session's batches, newest first, as `git log --graph` draws commits:
--
--     * 3  trim     9 messages   62 tokens  to 60 tokens by keep_recent   <- current
--     | * 2  insert  24 messages  141 tokens
--     |/
--     * 1  trim    23 messages  129 tokens  [before the fork at 20]
--     * 0  create  22 messages  124 tokens

local core = require "ebb.support.core"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local session_log = {}

---- Lanes: the batch that each column of the drawing leads to ----

local function lanes_to(lanes, batch)
  local list = {}
  for i, lane in ipairs(lanes) do
    if lane == batch then list[#list + 1] = i end
  end
  return list
end

local function draw(lanes, at, mark)
  local cells = {}
  for i = 1, #lanes do cells[i] = i == at and mark or "|" end
  return table.concat(cells, " ")
end

--- Joins the lanes behind the first that lead to one batch; adds a line for each.
local function join(lines, lanes, list)
  for i = #list, 2, -1 do
    local cells = {}
    for column = 1, #lanes do cells[column] = column < list[i] and "|" or column == list[i] and "/" or "|" end
    local line = table.concat(cells, " ")
    local at = 2 * list[i] - 1
    lines[#lines + 1] = line:sub(1, at - 2) .. "/ " .. line:sub(at + 1)
    table.remove(lanes, list[i])
  end
end

---- Batches ----

--- What a batch did, by its ledger.
local function figures(chat, batch)
  local list = chat:batch(batch.index)
  local words = { text.count(#list, "message"), text.count(list:tokens(), "token") }
  local ledger = chat:ledger(batch.index)
  if not ledger then return words end
  local counts = {}
  for _, run in ipairs(ledger:runs()) do counts[run.action] = (counts[run.action] or 0) + run.count end
  for _, action in ipairs { "dropped", "replaced", "inserted" } do
    if counts[action] then words[#words + 1] = ("%d %s"):format(counts[action], action) end
  end
  return words
end

local function describe(chat, batch, current)
  local line = ("%d %s: %s"):format(batch.index, batch.operation, table.concat(figures(chat, batch), ", "))
  if batch.description and batch.description ~= "" then line = line .. "; " .. batch.description end
  if batch.name then line = ("%s [%s at %d]"):format(line, batch.name, batch.name_length) end
  return batch.index == current and line .. " <- current" or line
end

--- The lines of the drawing.
---@param chat ebb.Conversation
---@param count? integer      of batches; default: all
---@return string[]
function session_log.lines(chat, count)
  local batches, lanes, lines = chat:batches(), {}, {}
  local current = chat:stats().current_batch_index
  for i = #batches, math.max(1, #batches - (count or #batches) + 1), -1 do
    local batch = batches[i]
    local list = lanes_to(lanes, batch.index)
    if #list == 0 then
      lanes[#lanes + 1] = batch.index
      list = { #lanes }
    end
    join(lines, lanes, list)
    lines[#lines + 1] = ("%s %s"):format(draw(lanes, list[1], "*"), describe(chat, batch, current))
    lanes[list[1]] = batch.parent
    if batch.index == 0 then table.remove(lanes, list[1]) end
  end
  return lines
end

--- The batches as plain data.
---@param chat ebb.Conversation
---@return table
function session_log.data(chat)
  local list, current = core.json.array {}, chat:stats().current_batch_index
  for i, batch in ipairs(chat:batches()) do
    list[i] = {
      index = batch.index, parent = batch.index > 0 and batch.parent or nil, parentLength = batch.parent_length,
      operation = batch.operation, description = batch.description, timestamp = batch.timestamp,
      messages = batch.message_count, tokens = chat:batch(batch.index):tokens(),
      current = batch.index == current or nil,
    }
  end
  return list
end

--- The drawing as it is printed.
---@param chat ebb.Conversation
---@param count? integer
---@param output? string
---@return string
function session_log.text(chat, count, output)
  local page = terminal.results(output)
  local lines = session_log.lines(chat, count)
  for i, line in ipairs(lines) do
    lines[i] = page.width == math.maxinteger and text.printable(line) or (text.cut(line, page.width))
  end
  return #lines == 0 and "" or table.concat(lines, "\n") .. "\n"
end

return session_log
