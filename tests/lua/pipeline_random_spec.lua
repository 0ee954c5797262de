--- Random agents on random conversations at random budgets: the preview and the real run give the same bytes, within
--- the budget, and leave the conversation as it was. tests/golden/random_agents.sh compares libebb's.
---
--- SEED repeats a run, AGENTS says how many agents (200).

local agents = dofile "tests/random/agents.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local SEED = math.tointeger(tonumber(os.getenv "SEED" or "1"))
local AGENTS = math.tointeger(tonumber(os.getenv "AGENTS" or "200"))

local function pipeline_of(agent, set, budget)
  local all = table.move(set, 1, #set, 1, {})
  if budget then all[#all + 1] = "token-limiter.budget=" .. budget end
  return ebb.pipeline { agent = ebb.json.encode(agent), set = all, encoding = "cjk" }
end

local function check_body(result, budget)
  assert.is_true(result.tokens <= budget, ("%d tokens, budget %d"):format(result.tokens, budget))
  assert.equal(result.tokens, (assert(ebb.parse(result.body, { encoding = "cjk" })):tokens()))
  assert.same({}, result.chat:check "openai")
end

--- Refusals of the limiter. Where it may drop all history, what it leaves may be too long, or nothing.
local function check_refusal(problem, may_drop_all)
  if may_drop_all and problem.code == "processor" then
    assert.matches("^processor 'token%-limiter': it left no messages", problem.message)
    return
  end
  assert.equal("cannot_fit", problem.code, tostring(problem.message))
  if not may_drop_all then assert.matches("^processor 'token%-limiter'", problem.message) end
end

--- A run that is watched reads all messages, and makes of them what one makes that leaves them in the core.
local function check_watched(pipeline, chat, seed, real)
  local watched = assert(pipeline:run(chat, { now = agents.NOW, seed = seed, trace = function() end }))
  assert.equal(watched.body, real.body)
  assert.same(watched.messages, real.messages)
end

--- Preview, then a real run; true if there was a request.
local function run_both(pipeline, chat, budget, may_drop_all)
  local before, seed = chat:json(), #chat
  local preview, preview_problem = pipeline:run(chat, { preview = true, now = agents.NOW, seed = seed })
  local real, problem = pipeline:run(chat, { now = agents.NOW, seed = seed })
  assert.equal(before, chat:json())
  if not real then
    assert.equal(problem.message, preview_problem and preview_problem.message)
    check_refusal(problem, may_drop_all)
    return false
  end
  assert.equal(real.body, preview and preview.body)
  assert.same(real.variables, preview.variables)
  if seed % 3 == 0 then check_watched(pipeline, chat, seed, real) end
  check_body(real, budget)
  return true
end

describe("random agents", function()
  it("keep their budgets, and preview what is sent", function()
    local fitting = 0
    for number = 1, AGENTS do
      local roll = agents.dice(SEED * 1000003 + number)
      local agent, set, chat = agents.agent(roll), agents.settings(roll), agents.chat(ebb, roll)
      local ok, problem = pcall(function()
        local may_drop_all = table.concat(set, " "):find "drop_history" ~= nil
        local whole = assert(pipeline_of(agent, set):run(chat, { preview = true, now = agents.NOW, seed = #chat }))
        for _, part in ipairs { roll(0, 100), roll(40, 110) } do
          local budget = whole.tokens * part // 100
          local fits = run_both(pipeline_of(agent, set, budget), chat, budget, may_drop_all)
          if fits then fitting = fitting + 1 end
          chat:append { { role = "assistant", content = "The dragon sings." }, agents.question(roll) }
        end
      end)
      if not ok then error(("SEED=%d, agent %d: %s"):format(SEED, number, tostring(problem)), 0) end
    end
    assert.is_true(fitting > AGENTS // 2, "most budgets fit nothing: " .. fitting)
  end)
end)
