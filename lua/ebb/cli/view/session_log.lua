--- The tree of a session's batches, newest first, as `git log --graph` draws commits:
--
--     * 3  trim     9 messages   62 tokens  to 60 tokens by keep_recent   <- current
--     | * 2  insert  24 messages  141 tokens
--     |/
--     * 1  trim    23 messages  129 tokens  [before the fork at 20]
--     * 0  create  22 messages  124 tokens

local core = require "ebb.support.core"
local steps = require "ebb.session.steps"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

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

--- Joins the lanes after the first that lead to one batch; adds a line for each.
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

--- Finds the messages that runs brought and that a list still shows, by seq.
local function shown_seqs(runs, list)
  local shown, brings = {}, false
  for _, run in ipairs(runs) do brings = brings or run.action ~= "dropped" end
  if not brings then return shown end
  for i = 1, #list do shown[list[i].seq] = true end
  return shown
end

--- Counts the messages that an edit dropped, replaced and inserted in all, as `ebb trim` does: one that a policy
--- replaced and another one dropped counts as dropped, and one that was inserted and dropped as neither.
local function net_counts(runs, list)
  local counts, came = { dropped = 0, replaced = 0, inserted = 0 }, {}
  local shown = shown_seqs(runs, list)
  for _, run in ipairs(runs) do
    local new = run.action == "inserted" and run.seq or run.replacement
    if run.action == "dropped" then
      for seq = run.seq, run.seq + run.count - 1 do
        if not came[seq] then counts.dropped = counts.dropped + 1 end
      end
    elseif run.action == "inserted" or came[run.seq] then
      came[new] = true
      if shown[new] then counts.inserted = counts.inserted + 1 end
    elseif shown[new] then
      counts.replaced = counts.replaced + 1
    end
  end
  return counts
end

--- The figures of a batch, those of its edit by its ledger: they are the ones that the edit's own report had.
---@param chat ebb.Conversation
---@param batch ebb.Batch
---@return { messages: integer, tokens: integer, dropped?: integer, replaced?: integer, inserted?: integer }
function session_log.figures(chat, batch)
  local list, ledger = chat:batch(batch.index), chat:ledger(batch.index)
  local counts = ledger and net_counts(ledger:runs(), list) or {}
  counts.messages, counts.tokens = #list, list:tokens()
  return counts
end

--- "36 dropped, 1 inserted"; "" for a batch that changed nothing that came before it.
---@param counts { dropped?: integer, replaced?: integer, inserted?: integer }
---@return string
function session_log.changes(counts)
  local words = {}
  for _, action in ipairs { "dropped", "replaced", "inserted" } do
    if (counts[action] or 0) > 0 then words[#words + 1] = ("%d %s"):format(counts[action], action) end
  end
  return table.concat(words, ", ")
end

--- "; " and the caller's words, or the operation's, on one line; "" for none.
---@param batch { description?: string }
---@return string
function session_log.description(batch)
  local words = (batch.description or ""):gsub("%s+", " ")
  return words == "" and "" or "; " .. words
end

local function describe(chat, batch, current)
  local counts = session_log.figures(chat, batch)
  local changes = session_log.changes(counts)
  local line = ("%d %s: %s, %s%s"):format(batch.index, batch.operation, text.count(counts.messages, "message"),
    text.count(counts.tokens, "token"), changes ~= "" and ", " .. changes or "")
  line = line .. session_log.description(batch)
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

--- The numbers of steps that were undone.
local function undone_steps(list)
  local undone = {}
  for _, step in ipairs(list) do
    if step.undoes then undone[step.undoes] = true end
  end
  return undone
end

--- Lists the steps of commands, the newest first.
---@param chat ebb.Conversation
---@param count integer
---@return string[]
local function step_lines(chat, count)
  local list, lines = steps.list(chat), {}
  local undone = undone_steps(list)
  for i = #list, math.max(1, #list - count + 1), -1 do
    local step = list[i]
    local what = not step.undoes and step.by or step.undoes > 0 and ("undo of %d"):format(step.undoes) or "undo"
    local where = step.before[1] == step.after[1] and ("batch %d"):format(step.after[1])
      or ("batch %d to %d"):format(step.before[1], step.after[1])
    lines[#lines + 1] = ("  %d %s: %d to %s, %s%s"):format(step.number, what, step.before[2],
      text.count(step.after[2], "message"), where, undone[step.number] and ", undone" or "")
  end
  if lines[1] then table.insert(lines, 1, "steps, the newest first:") end
  return lines
end

--- The steps that led to each batch, as plain data.
local function steps_by_batch(chat)
  local list, by_batch = steps.list(chat), {}
  local undone = undone_steps(list)
  for _, step in ipairs(list) do
    local of = by_batch[step.after[1]] or core.json.array {}
    by_batch[step.after[1]] = of
    of[#of + 1] = { number = step.number, by = step.by, timestamp = step.at, messages = step.after[2],
      from = { batch = step.before[1], messages = step.before[2] }, undoes = step.undoes,
      undone = undone[step.number] }
  end
  return by_batch
end

--- The batches as plain data.
---@param chat ebb.Conversation
---@return table
function session_log.data(chat)
  local list, current = core.json.array {}, chat:stats().current_batch_index
  local by_batch = steps_by_batch(chat)
  for i, batch in ipairs(chat:batches()) do
    local counts = session_log.figures(chat, batch)
    list[i] = {
      index = batch.index, parent = batch.index > 0 and batch.parent or nil, parentLength = batch.parent_length,
      operation = batch.operation, description = batch.description, timestamp = batch.timestamp,
      messages = counts.messages, tokens = counts.tokens,
      dropped = counts.dropped, replaced = counts.replaced, inserted = counts.inserted,
      current = batch.index == current or nil, steps = by_batch[batch.index],
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
  for _, line in ipairs(step_lines(chat, count or math.maxinteger)) do lines[#lines + 1] = line end
  for i, line in ipairs(lines) do
    lines[i] = page.width == math.maxinteger and text.printable(line) or (text.cut(line, page.width))
  end
  return #lines == 0 and "" or table.concat(lines, "\n") .. "\n"
end

return session_log
