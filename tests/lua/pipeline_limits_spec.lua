--- A run of a pipeline has one budget: of time and bytes for rules, presets, macros and processors of others.

local command = dofile "tests/lua/command.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local json = ebb.json

local function messages_of(count, text)
  local list = {}
  for i = 1, count do
    list[i] = { role = i % 2 == 1 and "user" or "assistant", content = text }
  end
  return list
end

local WORDS = ("a word and another "):rep(160)          -- 3 KB
local SLOW = ("ac"):rep(200)                            -- each start runs to the end and back

local function rules(count, pattern, replacement)
  local list = {}
  for i = 1, count do
    list[i] = { name = "rule " .. i, regex = pattern, replacement = replacement or "x" }
  end
  return { { name = "agent's", rules = list } }
end

local function presets(count, content, fields)
  local list = {}
  for i = 1, count do
    list[i] = { id = "p" .. i, role = "system", content = content }
    for name, value in pairs(fields or {}) do
      list[i][name] = value
    end
  end
  return list
end

--- A lorebook of entries with these fields.
local function lore(count, fields)
  local entries = {}
  for i = 1, count do
    entries[i] = { id = tostring(i), keys = { "hello" }, content = "c" }
    for name, value in pairs(fields) do entries[i][name] = value end
  end
  return { lorebooks = { { name = "b", entries = entries } } }
end

local EVERYWHERE = { injectionStrategy = { depthConfig = "0~1" } }

local REPEAT = "{{repeat::{{repeat::{{repeat::x::100}}::100}}::700}}"
local ONE = "{{repeat::{{repeat::x::1000}}::1000}}"      -- 1 MB
local DEAR = "/[\\p{L}\\p{N}]{1,900}(x|y|z){900}/gu"     -- 0.6 ms and 70 KB
local BYTES, TIME, MEMORY = "add at most", "have 300.0 ms in all", "of memory in all"
local LESS_MEMORY = 16 << 20

local cases = {
  -- what it does                      agent                                         messages        words
  { "a rule that multiplies texts",    { rules = rules(1, "/a/g", "$`$'") },
    { 200, WORDS }, "'rule 1'", BYTES },
  { "rules that add to each other",    { rules = rules(40, "/^/", ("x"):rep(3000)) },
    { 200, WORDS }, "'rule ", BYTES },
  { "presets whose macros repeat",     { presets = presets(60, REPEAT) },            { 1, "hello" }, "p3", BYTES },
  { "presets at every depth",          { presets = presets(60, ("x"):rep(1000), EVERYWHERE) },
    { 2000, "hello" }, "p", BYTES },
  { "100 slow rules",                  { rules = rules(100, "/(?:a|c)*?[bd]/g") },   { 300, SLOW },  "'rule ", TIME },
  { "rules just below their own limit", { rules = rules(500, "/(?:a|c)*?(?:a|c)*?[bd]/g") },
    { 2, SLOW }, "'rule ", TIME },
  { "rules that are long to compile",  { rules = rules(3000, DEAR) }, { 1, "hello" }, "': rules, presets", TIME },
  { "keys whose macros repeat",        lore(40, { keys = { ONE } }),             { 1, "hello" }, "entry '1'", MEMORY },
  { "secondary keys that do",          lore(40, { secondaryKeys = { ONE } }),    { 1, "hello" }, "entry '1'", MEMORY },
  { "expressions that do",             lore(40, { keys = { "/" .. ONE .. "/" } }),
    { 1, "hello" }, "entry '1'", MEMORY },
  { "decorators that do",              lore(40, { content = "@@additional_keys " .. ONE .. "\nc" }),
    { 1, "hello" }, "entry '1'", MEMORY },
  { "keys that are long themselves",   lore(4, { keys = { ("x"):rep(2 << 20) } }),
    { 1, "hello" }, "entry '1'", MEMORY },
  { "a value that repeats",            { description = REPEAT, presets = presets(60, "{{description}}") },
    { 1, "hello" }, "p3", BYTES },
  { "variables that are set from it",  { description = REPEAT,
      presets = presets(60, "{{setvar::{{randomInt::1::1000000}}::{{description}}}}") }, { 1, "hello" }, "p3", BYTES },
  { "rules that take much memory",     { rules = rules(400, DEAR) },  { 1, "hello" }, "': rules, presets", MEMORY },
  { "macros without end",              { presets = presets(40, ("{{random::a::b}}"):rep(20000)) },
    { 1, "hello" }, "macro {{", TIME },
  { "texts that are long to read",     { presets = presets(15, ("\\{{"):rep(300000)) },
    { 1, "hello" }, "macro {{?}}", TIME },
  { "texts of a single long token",    { presets = presets(15, ("{"):rep(1000000)) },
    { 1, "hello" }, "macro {{?}}", TIME },
}

--- The agent as a file, whose fields are in camelCase.
local function file_of(agent)
  local path = os.tmpname() .. ".json"
  local file = assert(io.open(path, "wb"))
  file:write(json.encode(agent))
  file:close()
  return path
end

describe("a run of a pipeline", function()
  for _, case in ipairs(cases) do
    local name, agent, input, place, words = table.unpack(case)

    it("stops at its budget: " .. name, function()
      local chat = ebb.conversation()
      chat:append(messages_of(table.unpack(input)))
      local before, path = helper.snapshot(chat), file_of(agent)
      finally(function() os.remove(path) os.remove((path:gsub("%.json$", ""))) end)
      local pipe = ebb.pipeline { agent = path, limits = {
        deadline = words == TIME and 300 or 60000, memory = words == MEMORY and LESS_MEMORY or nil } }

      local result, problem = cpu_time.within(60, function() return pipe:run(chat) end, 0.6)

      assert.is_true(result == nil)
      assert.equal("limit", problem.code)
      assert.matches(place, problem.message, 1, true)
      assert.matches(words, problem.message, 1, true)
      assert.matches("--deadline and --memory", tostring(problem), 1, true)
      assert.equal(before, helper.snapshot(chat))
    end)
  end

  -- A second of the processor counts as a hundred, so that all of them take long while each has time enough.
  it("sums processors of others", function()
    local cpu_seconds = core.cpu_seconds
    finally(function() core.cpu_seconds = cpu_seconds helper.clean() end)
    core.cpu_seconds = function() return 100 * cpu_seconds() end
    local chat, list = ebb.conversation(), {}
    chat:append(messages_of(2, "hello"))
    for i = 1, 40 do
      list[i] = helper.lua_file(("return { id = 'p%d', name = 'p', priority = 350, execute = function() "
        .. "for i = 1, 300000 do local _ = i .. '' end end }"):format(i))
    end

    local result, problem = cpu_time.within(100, function()
      return ebb.pipeline { processors = list, limits = { deadline = 60000, fuel = 0 } }:run(chat)
    end, 1.2)

    assert.is_true(result == nil)
    assert.matches("60000.0 ms in all", problem.message, 1, true)
    assert.is_truthy(ebb.pipeline { limits = { deadline = 60000 } }:run(chat))
  end)

  it("reads books of an agent and of the caller by the clock", function()
    local big = lore(20000, {})

    for _, options in ipairs { { agent = big }, { lorebooks = big.lorebooks }, { user_profile = big } } do
      options.limits = { deadline = 20 }
      local problem = helper.refusal(ebb.pipeline, options)
      assert.equal("limit", problem.code)
      assert.matches("stopped at entry %d+ of a lorebook", problem.message)
    end
    assert.is_truthy(ebb.pipeline { agent = lore(200, {}), limits = { deadline = 5000 } })
  end)

  it("has no such budget where it is trusted, or where the deadline is 0", function()
    local chat = ebb.conversation()
    chat:append(messages_of(20, WORDS))
    local agent = { rules = rules(1, "/$/", ("x"):rep(1000000)) }
    assert.is_nil((ebb.pipeline { agent = agent }:run(chat)))
    assert.is_truthy(ebb.pipeline { agent = agent, limits = { memory = 256 << 20 } }:run(chat))
    assert.is_truthy(ebb.pipeline { agent = agent, trusted = true }:run(chat))
    local slow = { rules = rules(30, "/(?:a|c)*?[bd]/g") }
    assert.is_truthy(ebb.pipeline { agent = slow, limits = { deadline = 0 } }:run(chat))
  end)

  it("goes on without the stage that failed, where on_error says so", function()
    local chat = ebb.conversation()
    chat:append(messages_of(20, WORDS))

    local result = assert(ebb.pipeline { agent = { rules = rules(1, "/a/g", "$`$'") }, on_error = "skip",
      limits = { memory = 4 << 20 } }:run(chat))

    assert.equal(WORDS, result.chat[1].content)
  end)
end)

describe("ebb pipeline", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("names what allows more, and takes it", function()
    command.file("chat.json", json.encode(messages_of(20, WORDS)))
    command.file("agent.json", json.encode { rules = rules(1, "/$/", ("x"):rep(1000000)) })
    local words = ("pipeline %s --agent %s"):format(command.path_of "chat.json", command.path_of "agent.json")

    local message = command.fails(command.REFUSED, words)

    assert.matches("stopped at preset 'agent's', rule 'rule 1', message 17", message, 1, true)
    assert.matches("--memory", message, 1, true)
    command.does(words .. " --memory 256M")
  end)
end)
