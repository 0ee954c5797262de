#!/usr/bin/env lua5.4
--- A plain Lua program that embeds Ebb: a notebook that one talks to.
--
--     lua5.4 notebook.lua NOTEBOOK.json "What did I want to buy?" [BUDGET]
--
-- The notebook is a conversation in a file, created on first use. The question is
-- added to it, and what goes to the model is printed: the notebook trimmed to the
-- budget, by a policy that is a function of this program. The file itself keeps
-- everything; the program that calls the model appends the answer there.
--
-- The module is all that is needed: build/lua or the install's folders on
-- package.path and package.cpath.

local ebb = require "ebb"

local INSTRUCTIONS = "You keep a notebook. Answer from the notes; say so when they hold nothing."

--- Notes, which begin with "note:", outlive talk about them.
local function notes_last(draft, budget)
  for unit in draft:units { from = "oldest", droppable = true } do
    if draft:tokens() <= budget then return end
    if not unit.messages[1].text:find "^note:" then draft:drop(unit, "talk") end
  end
  draft:drop_oldest { to = budget, reason = "old note" }
end

local function fail(...)
  io.stderr:write("notebook: ", string.format(...), "\n")
  os.exit(1)
end

local function open(path)
  local file = io.open(path)
  if file then
    file:close()
    local chat, why = ebb.load(path)
    return chat or fail("%s", why)
  end
  local chat = ebb.conversation {}
  chat:append { role = "system", content = INSTRUCTIONS }
  return chat
end

local path, question, budget = arg[1], arg[2], math.tointeger(tonumber(arg[3] or 4000))
if not path or not question or not budget then fail "usage: notebook.lua NOTEBOOK.json QUESTION [BUDGET]" end

local chat = open(path)
chat:append { role = "user", content = question }
local saved, problem = chat:save(path)
if not saved then fail("%s", problem) end

local report, why = chat:trim { budget = budget, policy = { name = "notes_last", trim = notes_last } }
if not report then fail("%s", why) end
io.stderr:write(("notebook: %d of %d messages, %d tokens\n"):format(#chat, #chat + report.dropped, report.after))
print(chat:json())
