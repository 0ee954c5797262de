--- Random agents on random conversations with files in all forms and places, at random budgets: the preview and the run
--- give the same bytes, within the budget by the count of these bytes; no file is sent twice, and no name of one in
--- place of its bytes.
---
--- SEED repeats a run, PIPELINES says how many (100).

local agents = dofile "tests/random/agents.lua"
local fake = dofile "tests/lua/fake_context.lua"
local files = dofile "tests/random/files.lua"
local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb

local SEED = math.tointeger(tonumber(os.getenv "SEED" or "1"))
local PIPELINES = math.tointeger(tonumber(os.getenv "PIPELINES" or "100"))

local root

setup(function() root = fake.folder(files.of_folder()) end)

teardown(fake.clean)

local WHEN = { "always", "never", "unsupported" }

--- A transcript says whose it is. Those of the first run are kept: a preview asks for none.
local function new_host()
  local kept = {}
  return {
    asset = files.asset,
    transcribe = function(request) return "转写" .. request.sha256 end,
    cache = function(request)
      if request.get then return kept[request.get] end
      kept[request.set] = request.text
    end,
  }
end

---@class FileWorld
---@field options table          of the pipeline
---@field chat ebb.Conversation
---@field files table
---@field is_quoted boolean      a note may quote the text of a message that is kept cut short, transcripts among it
---@field is_exact boolean       texts stay what they are, so that each file is where its text is

local function world_of(number)
  local roll = agents.dice(SEED * 1000003 + number)
  local agent, set, chat = agents.agent(roll), agents.settings(roll), agents.chat(ebb, roll)
  local made = files.new(core, roll)
  for _ = 1, roll(4) do chat:append(made:exchange()) end
  for _ = 1, roll(0, 1) * roll(0, 2) do table.insert(agent.presets, roll(#agent.presets + 1), made:preset()) end
  chat:append(agents.question(roll))
  for _, kind in ipairs { "image", "audio", "video", "document" } do
    if roll(4) == 1 then set[#set + 1] = ("transcription-processor.%s=%s"):format(kind, WHEN[roll(3)]) end
  end
  local words = table.concat(set, " ")
  local has_note = words:find "digest" ~= nil or words:find "policy=agent" ~= nil
  return {
    chat = chat, files = made, set = set, may_drop_all = words:find "drop_history" ~= nil,
    is_exact = not agent.rules and not words:find "retained" and not has_note,
    is_quoted = has_note and words:find "retained" ~= nil,
    options = { agent = ebb.json.encode(agent), encoding = "cjk", asset_root = root, host = new_host(),
      to = ({ "openai", "openai", "anthropic", "gemini" })[roll(4)], model = roll(2) == 1 and "gpt-4o" or nil },
  }, roll
end

local function pipeline_of(world, budget)
  local options, set = {}, table.move(world.set, 1, #world.set, 1, {})
  for name, value in pairs(world.options) do options[name] = value end
  if budget then set[#set + 1] = "token-limiter.budget=" .. budget end
  options.set = set
  return ebb.pipeline(options)
end

--- Counts the text in the body.
local function count(body, text)
  local from, times = 1, 0
  while true do
    local first, last = body:find(text, from, true)
    if not first then return times end
    from, times = last + 1, times + 1
  end
end

--- Counts a file in a body, as bytes, as a text or as a transcript.
local function times_of(file, body)
  local text = file.kind == "text" and file.bytes or file.base64
  return count(body, text) + count(body, "转写" .. file.digest)
end

--- True if the run has told that the file is left out.
local function is_told(file, logs)
  for _, entry in ipairs(logs) do
    if entry.level == "warn" and entry.message:find(file.name, 1, true) then return true end
  end
  return false
end

local function check_files(world, result)
  local body = result.body
  for _, file in ipairs(world.files.used) do
    local times = times_of(file, body)
    local is_once = times <= 1 or world.is_quoted and count(body, file.base64) == 0
    assert(is_once, ("%s is sent %d times"):format(file.name, times))
    local names = count(body, file.name)
    local is_named = times == 1 and file.kind == "document"
    assert(names == 0 or is_named, ("the body names %s, %d times"):format(file.name, names))
    if times == 0 and world.is_exact and file.text and count(body, file.text) > 0 then
      assert(is_told(file, result.logs), file.name .. " is missing from its message, and nothing tells it")
    end
  end
  assert.is_nil(body:find("asset_reference", 1, true))
  assert.is_nil(body:find("_attachments", 1, true))
end

local function check_body(world, result, budget)
  assert.is_true(result.tokens <= budget, ("%d tokens, budget %d"):format(result.tokens, budget))
  local written = assert(ebb.parse(result.body, { encoding = "cjk", model = world.options.model }))
  assert.equal(result.tokens, (written:tokens()))
  check_files(world, result)
end

--- Refusals: the budget is too small, or nothing is left.
local function check_refusal(world, problem)
  if world.may_drop_all and problem.code == "processor" then return end
  assert.equal("cannot_fit", problem.code, tostring(problem.message))
end

--- Preview, then a run; true if there was a request.
local function run_both(world, budget)
  local pipeline, before = pipeline_of(world, budget), world.chat:json()
  local options = { now = agents.NOW, seed = #world.chat }
  options.preview = true
  local preview, preview_problem = pipeline:run(world.chat, options)
  options.preview = nil
  local real, problem = pipeline:run(world.chat, options)
  assert.equal(before, world.chat:json())
  if not real then
    assert.equal(problem.message, preview_problem and preview_problem.message)
    check_refusal(world, problem)
    return false
  end
  assert.equal(real.body, preview and preview.body)
  check_body(world, real, budget)
  return true
end

describe("random files", function()
  it("are within their budgets, once, and as previewed", function()
    local fitting, runs = 0, 0
    for number = 1, PIPELINES do
      local world, roll = world_of(number)
      local ok, problem = pcall(function()
        local whole = assert(pipeline_of(world):run(world.chat, { now = agents.NOW, seed = #world.chat }))
        check_files(world, whole)
        local small, large = roll(5, 100), roll(60, 105)
        local fits_small = run_both(world, whole.tokens * math.min(small, large) // 100)
        local fits_large = run_both(world, whole.tokens * math.max(small, large) // 100)
        assert(fits_large or not fits_small, "a smaller budget fits, and a larger one does not")
        runs, fitting = runs + 2, fitting + (fits_small and 1 or 0) + (fits_large and 1 or 0)
      end)
      if not ok then
        error(("SEED=%d, history %d: %s"):format(SEED, number, tostring(problem)), 0)
      end
    end
    assert.is_true(fitting > runs // 3, "most budgets fit nothing: " .. fitting)
  end)
end)
