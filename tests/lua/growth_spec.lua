--- A chat that is trimmed every turn: the last turns cost what the first did.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local TURNS = math.tointeger(tonumber(os.getenv "TURNS" or "10000"))
local WINDOW = 100        -- turns that are measured at a time
local WINDOWS = 20
local ATTEMPTS = 5        -- the machine has others to serve

local function remembers(draft, budget)
  draft.memory.turns = (draft.memory.turns or 0) + 1
  draft:drop_oldest { to = budget }
end

local function turn(chat, policy, i)
  chat:append { { role = "user", content = "question " .. i % 10 }, { role = "assistant", content = "answer" } }
  assert(chat:trim { budget = 60, policy = policy })
end

local function turns(chat, policy, count)
  for i = 1, count do
    turn(chat, policy, i)
  end
end

--- Instructions of Lua, in hundreds: the same in each run.
local function instructions(chat, policy)
  local count = 0
  debug.sethook(function() count = count + 1 end, "", 100)
  turns(chat, policy, WINDOW)
  debug.sethook()
  return count
end

--- CPU of a window of both chats, of each the best of several. They take turns, so that what else runs on the
--- machine slows both.
local function cpu(short, long, policy)
  local best = { math.huge, math.huge }
  for _ = 1, WINDOWS do
    for i, chat in ipairs { short, long } do
      local start = os.clock()
      turns(chat, policy, WINDOW)
      best[i] = math.min(best[i], os.clock() - start)
    end
  end
  return best[1], best[2]
end

local function chat_of(batches, policy)
  local chat = ebb.conversation()
  turns(chat, policy, batches)
  return chat
end

describe("a turn of a long chat", function()
  for name, policy in pairs { keep_recent = "keep_recent", ["a policy that remembers"] = remembers } do
    it("costs what it did in a short one, by " .. name, function()
      local ratio
      for _ = 1, ATTEMPTS do
        local short, long = chat_of(10, policy), chat_of(TURNS, policy)
        collectgarbage()
        local few, many = instructions(short, policy), instructions(long, policy)
        assert.truthy(many <= few * 1.02 + 2, ("%d instructions, then %d"):format(few, many))
        local quick, slow = cpu(short, long, policy)
        ratio = slow / quick
        if ratio <= 1.5 then return end
      end
      error(("%.2f times as long"):format(ratio))
    end)
  end
end)

--- Instructions of Lua, in hundreds, of a trim that is refused.
local function refusal(messages)
  local chat, list, count = ebb.conversation(), {}, 0
  for i = 1, messages do
    list[i] = { role = i % 2 == 1 and "user" or "assistant", content = "message" }
  end
  chat:append(list)
  debug.sethook(function() count = count + 1 end, "", 100)
  local report, problem = chat:trim { budget = 1 }
  debug.sethook()
  assert.is_nil(report)
  assert.equal("cannot_fit", problem.code)
  assert.truthy(problem.message:find("the guarded part is 1 message (", 1, true), problem.message)
  return count
end

it("a trim that is refused walks over no messages", function()
  refusal(10)      -- loads what a trim needs
  local few, many = refusal(11), refusal(TURNS + 1)
  assert.truthy(many <= few + 2, ("%d instructions, then %d"):format(few, many))
end)
