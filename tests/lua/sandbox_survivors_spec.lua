--- Runs scripts that once outlived their limits, in a policy, a filter, a processor, a window and a task: each is
--- stopped soon after a deadline of 100 ms, takes no more memory than its own and 16 MiB, changes nothing, and the
--- next script runs.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local log = require "ebb.support.log"
local ebb = helper.ebb

local DEADLINE = 100              -- ms
local LIMITS = { deadline = DEADLINE, fuel = 0 }
local MEMORY = (64 + 16) * 1024   -- KiB
local AFTER, LOGGING = 3, 2       -- loops of cpu_time, some 7 ms each, for what is around the call; to write out 1 MiB

local rows = helper.sample(dofile "tests/lua/sandbox_survivors.lua", 3)

local CHAT = "s1 u20 a20 u5"

--- Each runs a body in a new conversation, and returns it and the problem.
local places = {}

places["a policy"] = function(chat, body)
  local source = ("return function(draft, budget)\n%s\ndraft.memory.r = r draft:drop_oldest { to = budget } end")
  return select(2, chat:trim { budget = 20, policy = { source = source:format(body) }, limits = LIMITS })
end

places["a filter"] = function(chat, body)
  local source = ("return function(message)\n%s\nreturn r and { role = 'user', content = r } end"):format(body)
  local done, problem = pcall(chat.filter, chat, { { source = source }, limits = LIMITS })
  return not done and problem or nil
end

places["a processor"] = function(chat, body)
  local text = ("return { id = 'mine', name = 'm', execute = function(context)\n%s\ncontext.shared_data.r = r end }")
  local path = helper.lua_file(text:format(body))
  local done, problem = ebb.pipeline { processors = { path }, counter = helper.tokens_of, limits = LIMITS }:run(chat)
  return not done and problem or nil
end

--- The most memory, in KiB, that this process had since it was asked before; nil where the kernel does not say.
local function most_memory(reset)
  if reset then
    local file = io.open("/proc/self/clear_refs", "wb")
    if not file or not file:write "5" then return nil end
    file:close()
  end
  local status = io.open("/proc/self/status", "rb")
  if not status then return nil end
  local text = status:read "a"
  status:close()
  return tonumber(text:match "VmHWM:%s*(%d+)")
end

-- A sanitizer keeps what was freed for a while: the process's memory says nothing then.
local SANITIZED = os.getenv "SANITIZED"

describe("what once outlived its limits #time,", function()
  after_each(helper.clean)

  for place, run in pairs(places) do
    for _, row in ipairs(rows) do
      local name, body = table.unpack(row)

      it("in " .. place .. ": " .. name, function()
        local chat = helper.conversation(CHAT)
        local state = helper.snapshot(chat)
        local logged = 0
        local tell = log.to(function(line)
          logged = logged + #line
          assert.is_nil(line:find "[\1-\8\11-\31\127]")
        end)
        finally(function() log.to(tell) end)
        collectgarbage()
        local before = most_memory(true)

        local loops = name:find "^S9" and AFTER + LOGGING or AFTER
        local problem = cpu_time.within(loops, function() return run(chat, body) end, DEADLINE / 1000)

        local after = most_memory()
        if before and not SANITIZED then
          assert.is_true(after - before <= MEMORY, ("%d KiB more than before"):format(after - before))
        end
        assert.is_truthy(problem, "it came to an end")
        assert.is_true(logged <= 12 << 20, "it logged too much")     -- 1 MiB, escaped, in each of two runs
        assert.equal(state, helper.snapshot(chat))
        assert.is_nil((run(chat, "local _ = 1")))
      end)
    end
  end
end)

describe("limits in the table of a text", function()
  for _, method in ipairs { "filter", "trim" } do
    it("are refused, for they belong to the call: " .. method, function()
      local chat = helper.conversation(CHAT)
      local text = { source = "return function() end", limits = LIMITS }
      local refusal = helper.refusal(chat[method], chat, method == "trim" and { budget = 20, policy = text } or text)
      assert.equal("argument", refusal.code)
      assert.matches("has no other field, got 'limits' (what belongs to the call goes next to it", refusal.message
        .. " (" .. refusal.hint, 1, true)
    end)
  end
end)
