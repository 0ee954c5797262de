--- One of many processes that branch, remove, forget, prune and append in one database at the same time.
--
--     ebb run tests/lua/session_neighbour.lua -- PLACE SEED STEPS
--
-- Sessions that another one removed meanwhile are absent; any other refusal ends the process with its message.

local ebb = require "ebb"

local place, seed, steps = ...
local store = assert(ebb.sessions(place))
math.randomseed(tonumber(seed))

local function accept(result, problem)
  if result == nil and problem.code ~= "absent" then error(problem.code .. ": " .. problem.message, 0) end
end

local EDITS = {
  function(chat) chat:prune { keep = 1 } end,
  function(chat) if #chat > 0 then chat:forget(math.random(#chat)) end end,
  function(chat, n) chat:append { role = "user", content = ("%s-%d"):format(seed, n) } end,
}

local function edit(name, n)
  local session, problem = ebb.session(place, name, { create = false })
  if not session then return accept(session, problem) end
  local run = EDITS[math.random(#EDITS)]
  accept(session:edit(function(chat)
    run(chat, n)
    return true
  end, { retries = 1000 }))
  session:close()
end

for n = 1, tonumber(steps) do
  local infos = assert(store:list())
  local name, what = infos[math.random(#infos)].name, math.random(10)
  if what <= 2 then
    accept(store:branch(name, ("%s-%d"):format(seed, n)))
  elseif what == 3 and name ~= "root" then
    accept(store:remove(name))
  else
    edit(name, n)
  end
end
