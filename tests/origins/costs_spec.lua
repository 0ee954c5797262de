--- Costs of replays against a script that computes them from the definitions, over all shared conversations.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local caches = require "ebb.models.caches"
local ebb = helper.ebb

local POLICIES = { "keep_recent", "stable_prefix", "clear_tool_uses", { "clear_tool_uses", "keep_recent" } }

local LONG = 200   -- messages; from here on two rules are enough, a second for each

--- The recording with times: a minute from message to message, each ninth time eleven, each fortieth two hours.
local function with_times(path)
  local chat, now = ebb.conversation { encoding = "cjk" }, 0
  for i, message in ipairs(ebb.load(path)) do
    local fields = message:totable()
    now = now + 60000 * (i % 40 == 0 and 120 or i % 9 == 0 and 11 or 1)
    fields.timestamp = now
    chat:append(fields)
  end
  return chat
end

--- A name for the text of a message that a request held, its tokens and role, as JSON; `known` has what was counted
--- before.
local function row_of(text, counter, known)
  if not known[text] then
    counter:append(core.json.raw(text))
    local message = counter[#counter]
    known[text] = ('["m%d",%d,"%s"]'):format(#counter, message.tokens, message.role)
  end
  return known[text]
end

local function rows_of(messages, counter, known)
  if not messages then return "null" end
  local rows = {}
  for i, text in ipairs(messages) do rows[i] = row_of(text, counter, known) end
  return "[" .. table.concat(rows, ",") .. "]"
end

--- Plays a recording by a rule and writes what costs.py reads; adds to the figures.
local function play(chat, budget, rule, file, figures)
  local counter, known = core.like(chat), {}
  local base = counter:tokens()
  local last
  local results = assert(ebb.replay(chat, { policies = POLICIES, budget = budget, cache = rule,
    requests = function(request)
      if request.policy ~= last then
        last = request.policy
        file:write(ebb.json.encode { replay = rule .. " " .. last, rule = rule, base = base }, "\n")
      end
      file:write(('{"before":%d,"time":%d,"messages":%s}\n'):format(request.before, chat[request.reply - 1].timestamp,
        rows_of(request.messages, counter, known)))
    end,
  }))
  for _, result in ipairs(results) do
    figures[rule .. " " .. result.policy] = { ("%.4f"):format(result.cost), result.cached, result.written }
  end
end

local function by_script(path)
  local pipe = io.popen(("python3 tests/origins/costs.py '%s'"):format(path))
  local answer = pipe:read "a"
  assert(pipe:close(), path)
  local figures = ebb.json.decode(answer)
  for name, sums in pairs(figures) do
    figures[name] = { ("%.4f"):format(sums[1]), sums[2], sums[3] }
  end
  return figures
end

describe("the cost", function()
  if not helper.shared then return pending "skipped: EBB_SHARED has no conversations" end
  if not os.execute "python3 -c '' 2>/dev/null" then return pending "skipped: there is no python3" end
  local output = os.tmpname()
  teardown(function() os.remove(output) end)

  for _, path in ipairs(helper.sample(helper.recordings(), 6)) do
    it("of " .. path:match "[^/]+$", function()
      local chat, figures = with_times(path), {}
      local file = assert(io.open(output, "wb"))
      for i, rule in ipairs(#chat < LONG and caches.names() or { "openai", "anthropic" }) do
        play(chat, math.max(1, chat:tokens() // (2 + i % 2)), rule, file, figures)
      end
      file:close()
      local expected = by_script(output)
      for replay, sums in pairs(figures) do
        assert.same(expected[replay] or { "0.0000", 0, 0 }, sums, replay)   -- the script knows no empty replays
      end
    end)
  end
end)
