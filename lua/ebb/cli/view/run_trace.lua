--- ebb run --trace: what each node did, a line and its notes on standard error.

local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

--- "5 -> 3 messages", or "3 messages" where nothing changed.
local function change(pair, word)
  if pair[1] == pair[2] then return text.count(pair[2], word) end
  return ("%d -> %s"):format(pair[1], text.count(pair[2], word))
end

local function ledger_line(ledger)
  local counts = { dropped = 0, replaced = 0, inserted = 0 }
  for _, run in ipairs(ledger:runs()) do counts[run.action] = (counts[run.action] or 0) + run.count end
  return ("%d dropped, %d replaced, %d inserted"):format(counts.dropped, counts.replaced, counts.inserted)
end

---@param entry ebb.WorkflowStep
return function(entry)
  local page = terminal.messages()
  local line = ("== %s: %s, %s, %d ms"):format(entry.node, change(entry.messages, "message"),
    change(entry.tokens, "token"), entry.milliseconds)
  terminal.show(page.paint("title", terminal.fill(page, line, "   ")))
  local notes = table.move(entry.notes, 1, #entry.notes, 1, {})
  if entry.ledger then notes[#notes + 1] = ledger_line(entry.ledger) end
  if entry.problem then notes[#notes + 1] = "failed: " .. entry.problem.message end
  for _, note in ipairs(notes) do
    terminal.show(terminal.fill(page, "   " .. note, "      "))
  end
end
