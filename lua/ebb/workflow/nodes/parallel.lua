--- Node `parallel`: several lists of nodes, each on a copy of the conversation; what they append comes together.
--
--     { type = "parallel", branches = { { { type = "model", model = "a" } }, { { type = "model", model = "b" } } } }
--
-- Branches see nothing of each other. Their new messages are appended in the order of the branches; other edits of a
-- copy end with it. The host may run them at the same time, each in a process of its own.

local core = require "ebb.support.core"
local faults = require "ebb.workflow.faults"
local refuse = require "ebb.support.refuse"
local step = require "ebb.workflow.step"

--- The messages of a copy that are newer than its original, as a JSON list.
local function new_messages(copy, newest)
  local list = {}
  for _, message in ipairs(copy) do
    if message.seq > newest then list[#list + 1] = message.json end
  end
  return "[" .. table.concat(list, ",") .. "]"
end

--- Runs one branch: its new messages, or nil and why not.
local function run_branch(run, sequence, chat)
  local copy, newest = chat:fork(), 0
  for _, message in ipairs(chat:all()) do newest = math.max(newest, message.seq) end
  local done, problem = run:apart(copy, sequence)
  if not done then return nil, problem end
  return new_messages(copy, newest)
end

local function in_turn(run, branches, chat)
  local texts = {}
  for i, sequence in ipairs(branches) do
    local text, problem = run_branch(run, sequence, chat)
    if not text then return nil, problem end
    texts[i] = text
  end
  return texts
end

--- The host's processes answer with how many rounds their loops have taken, and a text; one that begins with ! is an
--- error.
local function at_once(run, branches, chat)
  local before = run.rounds
  local answers, failed = run.host.together(#branches, function(i)
    run.host.show = false   -- several answers at once are not readable
    local text, problem = run_branch(run, branches[i], chat)
    text = text or "!" .. core.json.encode { code = problem.code, message = problem.message, hint = problem.hint }
    return ("%d %s"):format(run.rounds - before, text)
  end)
  for i, answer in ipairs(answers or {}) do
    local rounds, text = answer:match "^(%d+) (.*)$"
    answers[i] = text
    local counted, problem = run:count_rounds(tonumber(rounds))
    if not counted then return nil, problem end
  end
  return answers, failed
end

local function runner(branches, join)
  return function(chat, run)
    local host = run.host
    local is_apart = host.together and not host.replay and not host.record and #run.toolset.clients == 0
    local texts, problem = (is_apart and at_once or in_turn)(run, branches, chat)
    if not texts then return nil, problem end
    for _, text in ipairs(texts) do
      local failed = text:sub(1, 1) == "!" and core.json.decode(text:sub(2))
      if failed then return nil, faults.placed(core.error(failed.code, failed.message, failed.hint)) end
    end
    if join then return step.call(join, chat, texts) end
    for _, text in ipairs(texts) do
      if text ~= "[]" then chat:append(core.json.raw(text)) end
    end
    return true
  end
end

---@type ebb.NodeType
return {
  summary = "runs lists of nodes on copies of the conversation, and appends what each of them appended",
  example = '{ type = "parallel", branches = { { { type = "model", model = "gpt-4o" } }, { { type = "model" } } } }',
  fields = {
    branches = { type = "list", required = true, items = { type = "table", shared = true },
      hint = "branches = { { node, ... }, { node, ... } }" },
    join = { type = "function", help = "in place of appending: called with the conversation and a JSON list of "
      .. "messages for each branch" },
  },
  prepare = function(options, _, kit)
    if #options.branches < 2 then
      refuse("argument", "branches: two or more lists of nodes", "branches = { { node, ... }, { node, ... } }")
    end
    local branches, parts = {}, {}
    for i, list in ipairs(options.branches) do
      branches[i] = kit:sequence(list, "branches", i)
      parts[i] = { ("branch %d"):format(i), branches[i] }
    end
    return { run = runner(branches, options.join), kind = "parallel", parts = parts }
  end,
}
