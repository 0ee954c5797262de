--- Imports of AIO Hub's agents, exports and files of their own: each member is understood, kept or reported, and the
--- pipeline takes what comes out.

local helper = dofile "tests/lua/helper.lua"
local import = require "ebb.import"
local ebb = helper.ebb
local json = ebb.json

local function list(...) return json.array { ... } end

local function read(value, options)
  local result, problem = import.read(json.encode(value), options)
  assert(result, tostring(problem))
  return result
end

local function mentions(result, text)
  local lines = {}
  for i, entry in ipairs(result.report) do lines[i] = entry.kind .. ": " .. entry.message end
  local found = table.concat(lines, "\n")
  assert.truthy(found:find(text, 1, true), ("'%s' is not in:\n%s"):format(text, found))
end

--- The agent as the pipeline gets it: written, and read again.
local function pipeline(result)
  return ebb.pipeline { agent = json.decode(json.encode(result.agent)) }
end

describe("an agent of AIO Hub", function()
  local EXPORT = { version = 1, type = "AIO_Agent_Export", agents = list {
    id = "a1", name = "Ann", displayName = "Annie", description = "d", icon = "i.png", modelId = "gpt-4o",
    presetMessages = list(
      { id = "1", parentId = json.null, childrenIds = list "2", role = "system", content = "Be good.",
        status = "complete",
        type = "message", isEnabled = true, timestamp = "t", metadata = {} },
      { id = "2", role = "user", content = "hist", type = "chat_history", status = "complete", childrenIds = list() },
      { id = "3", role = "system", content = "deep", injectionStrategy = { type = "depth", depth = 1 },
        attachments = list() }),
    greetings = list({ id = "g", name = "first", content = "Hi {{user}}", role = "assistant" }),
    parameters = { temperature = 0.5, maxTokens = 300, contextManagement = { enabled = true, maxContextTokens = 9000,
      retainedCharacters = 10 }, contextPostProcessing = { rules = list({ type = "post:merge-consecutive-roles",
      enabled = false }) }, custom = { enabled = false } },
    regexConfig = { bindingMode = "message", presets = list() }, tags = list "t", category = "character",
    worldbookIds = list "w", bundledWorldbooks = list({ id = "w", name = "W", content = { entries = { ["0"] = { uid = 0,
      key = list "elf", content = "lore" } } } }, { id = "v", name = "V" }),
    worldbookSettings = { disableRecursion = true, defaultScanDepth = 5 },
    toolCallConfig = { enabled = false, autoInjectIfMacroMissing = false, maxIterations = 20 }, newThing = 1,
  } }

  it("keeps presets, parameters, lorebooks and settings", function()
    local result = read(EXPORT)
    local agent = result.agent
    assert.equal("Ann", agent.name)
    assert.equal("gpt-4o", agent.model)
    assert.equal(3, #agent.presets)
    assert.same({ temperature = 0.5, maxTokens = 300 }, agent.parameters)
    assert.same({ ["token-limiter"] = { budget = 9000, retained_characters = 10 },
      ["merge-roles"] = { enabled = false },
      lorebook = { recursive = false, scan_depth = 5 } }, agent.processors)
    assert.equal("lore", agent.lorebooks[1].entries[1].content)
    assert.equal("Hi User", result.messages[1].content)
    for _, text in ipairs { "displayName", "worldbookIds", "maxIterations", "newThing",
      "parameters.custom", "lorebook of its own: V" } do
      mentions(result, text)
    end
    pipeline(result)
  end)

  --- The file of one agent, as AIO Hub keeps it, with other members.
  local function own(members)
    local agent = { id = "b7", name = "Bo", modelId = "gpt-4o", profileId = "p", presetMessages = list(
      { id = "1", role = "system", content = "Be short.", type = "message" },
      { id = "2", role = "user", content = "", type = "chat_history" }), parameters = { temperature = 0.25,
      contextManagement = { enabled = true, maxContextTokens = 4321, retainedCharacters = 17 },
      contextPostProcessing = { rules = list { type = "post:convert-system-to-user", enabled = true } } } }
    for name, value in pairs(members or {}) do agent[name] = value or nil end
    return agent
  end

  local own_files = {   -- members, what the agent has of them
    { {}, function(agent) return agent.parameters.temperature == 0.25 and #agent.presets == 2 end },
    { { category = "character", createdAt = "2025-01-01" }, function(agent) return agent.extra.category ~= nil end },
    { { presetMessages = false, category = "tool" }, function(agent) return agent.presets == nil end },
    { { parameters = false }, function(agent) return agent.processors == nil end },
    { { parameters = { contextManagement = { enabled = true, maxContextTokens = 0, retainedCharacters = 5 } } },
      function(agent) return agent.processors["token-limiter"].retained_characters == 5 end },
    { { parameters = { contextManagement = { enabled = false, maxContextTokens = 90 } } },
      function(agent) return agent.processors == nil and agent.extra["parameters.contextManagement"] ~= nil end },
    { { toolCallConfig = { enabled = true } }, function(agent) return agent.toolCallConfig.enabled end },
  }
  for i, case in ipairs(own_files) do
    it("in a file of its own is read as an export is: " .. i, function()
      local value = own(case[1])
      local result, export = read(value), read { type = "AIO_Agent_Export", version = 1, agents = list(value) }
      assert.equal("aiohub", result.name)
      assert.truthy(case[2](result.agent))
      local function plain(agent) return (json.encode(agent):gsub("agents%[0%]%.", "")) end
      assert.equal(plain(export.agent), plain(result.agent))
      assert.same(json.decode(plain(result.agent)), json.decode(plain(read(value, { from = "aiohub" }).agent)))
      assert.equal("Bo", read(value, { conversation = "Bo" }).agent.name)
      pipeline(result)
    end)
  end

  it("is nothing that other programs write", function()
    for _, value in ipairs { { modelId = "m" }, { name = "x", category = "y" }, { presetMessages = "x" },
      { presetMessages = list(), messages = list() }, { type = "other", presetMessages = list() } } do
      local result, problem = import.read(json.encode(value))
      assert.is_nil(result)
      assert.equal("shape", problem.code)
    end
    local result, problem = import.read('{"name":"x","messages":[]}', { from = "aiohub" })
    assert.is_nil(result)
    assert.matches("agents: expected a list", problem.message, 1, true)
  end)

  it("is refused by a pipeline, which names the import", function()
    local card = { spec = "chara_card_v2", data = { name = "A", first_mes = "hi", description = "d" } }
    for _, value in ipairs { own { category = "character" }, EXPORT, card } do
      for _, agent in ipairs { value, json.encode(value) } do
        local problem = helper.refusal(ebb.pipeline, { agent = agent })
        assert.matches("ebb.import.read makes an agent of it", problem.hint, 1, true)
      end
    end
    local problem = helper.refusal(ebb.pipeline, { agent = { nam = "x" } })
    assert.matches("did you mean 'name'?", problem.hint, 1, true)
  end)

  it("leaves no setting of its pipeline in the body", function()
    local settings = {
      { "contextManagement", { enabled = true, maxContextTokens = 9 } },
      { "context_management", { enabled = false } },
      { "contextManagement", { retainedCharacters = 3 } }, { "contextPostProcessing", { rules = list() } },
      { "context_post_processing", { rules = list { type = "post:x" } } },
    }
    for _, case in ipairs(settings) do
      for _, kind in ipairs { "agent", "model_config" } do
        local problem = helper.refusal(ebb.pipeline, { [kind] = { parameters = { [case[1]] = case[2] } } })
        assert.matches("would be sent with the request", problem.message, 1, true)
        assert.matches("processors", problem.hint, 1, true)
      end
    end
    local edits = { edits = list { type = "clear_tool_uses_20250919" } }
    local pipe = ebb.pipeline { agent = { model = "gpt-4o", parameters = { contextManagement = edits } } }
    local body = assert(pipe:run(assert(ebb.parse '[{"role":"user","content":"hi"}]'))).body
    assert.same(edits.edits[1], json.decode(body).context_management.edits[1])
  end)

  it("has the time of a story, if that is whole", function()
    local function with(time)
      return read { version = 1, type = "AIO_Agent_Export", agents = list { name = "A", virtualTimeConfig = time,
        presetMessages = list { id = "1", role = "system", content = "{{isotime}}" } } }
    end
    local result = with { virtualBaseTime = "1888-11-09T22:00:00.000Z", realBaseTime = 1762554605000, timeScale = 60 }
    local pipe = ebb.pipeline { agent = result.agent, model = "gpt-4o", now = 1762554605000 + 60000 }
    local sent = assert(pipe:run(assert(ebb.parse '[{"role":"user","content":"hi"}]'))).chat[1].content
    assert.matches("^1888%-11%-09T23:00:00", sent)
    for _, time in ipairs { { virtualBaseTime = 0 }, { virtualBaseTime = "dawn", realBaseTime = 0 },
      { virtualBaseTime = 0, realBaseTime = 0, timeScale = "fast" } } do
      local other = with(time)
      assert.is_nil(other.agent.virtualTime)
      mentions(other, "virtualTimeConfig")
      pipeline(other)
    end
  end)

  it("of several is chosen by name or number", function()
    local two = { version = 1, type = "AIO_Agent_Export", agents = list({ name = "A", modelId = "m" },
      { name = "B", modelId = "m" }) }
    assert.equal("A", read(two).agent.name)
    assert.equal("B", read(two, { conversation = "B" }).agent.name)
    assert.equal("B", read(two, { conversation = "2" }).agent.name)
    local result, problem = import.read(json.encode(two), { conversation = "C" })
    assert.is_nil(result)
    assert.equal("unknown_name", problem.code)
  end)

  it("has sessions, which are conversations", function()
    local result = read { id = "s", name = "S", rootNodeId = "r", activeLeafId = "c", nodes = {
      r = { id = "r", parentId = json.null, childrenIds = list "a", role = "system", content = "" },
      a = { id = "a", parentId = "r", role = "user", content = "hi" },
      b = { id = "b", parentId = "a", role = "assistant", content = "off", isEnabled = false },
      c = { id = "c", parentId = "b", role = "assistant", content = "ho" },
      d = { id = "d", parentId = "a", role = "assistant", content = "other" } } }
    assert.equal(2, #result.messages)
    assert.equal("ho", result.messages[2].content)
    mentions(result, "disabled message")
  end)
end)
