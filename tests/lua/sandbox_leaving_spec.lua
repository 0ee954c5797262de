--- Checks that values which leave a sandbox are bounded as scripts are: copies end by the call's deadline, a table is
--- copied once, and what a script hands out, notes or remembers has a size.

local cpu_time = dofile "tests/lua/cpu_time.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local DEADLINE, LONG = 300, 60000   -- ms; another limit comes before the long one

--- A local `r` with tables whose keys fall into one chain outside, but not in the sandbox, whose
--- tables stay larger than they need be.
local COLLIDING = [[
  local m, r = (1 << 13) - 1, {}
  for k = 1, 60 do
    local t = {}
    for i = 1, 8200 do t[-i] = 1 end
    for i = 1, 8200 do t[-i] = nil end
    for i = 1, 8000 do t[i * m] = true end
    r[k] = t
  end
]]

--- A local `r` with one table whose keys collide, 60 times.
local SHARED = [[
  local t, r, m = {}, {}, (1 << 14) - 1
  for i = 1, 6000 do t[i * m] = true end
  for i = 1, 60 do r[i] = t end
]]

local function plugin(body)
  return helper.lua_file(("return { id = 'mine', name = 'm', priority = 350, execute = function(context) %s end }")
    :format(body))
end

local function chat_of() return helper.conversation("s1 u2 a3 u4", { counter = helper.tokens_of }) end

local function run(body, limits)
  local pipe = ebb.pipeline { processors = { plugin(body) }, limits = limits or { deadline = DEADLINE },
    counter = helper.tokens_of }
  return pipe:run(chat_of())
end

--- Scripts that hand out `r`, by what holds them. Each returns a problem.
local WAYS = {
  ["a plugin's blackboard"] = function(body)
    return select(2, run(body .. " context.shared_data.r = r"))
  end,
  ["a plugin's messages"] = function(body)
    return select(2, run(body .. " context.messages[1].metadata = r"))
  end,
  ["a plugin's calls"] = function(body)
    return select(2, run(body .. " for i = 1, 60 do pcall(context.log, context, 'info', 'x', r) end"))
  end,
  ["a filter's answer"] = function(body)
    local file = helper.lua_file(body .. " return function() return { role = 'user', content = r } end")
    return helper.refusal(chat_of().filter, chat_of(), { file, limits = { deadline = DEADLINE } })
  end,
}

describe("copies out of a sandbox", function()
  after_each(helper.clean)

  for name, way in pairs(WAYS) do
    it("end by the deadline: keys that collide, in " .. name, function()
      local problem = cpu_time.within(30, function() return way(COLLIDING) end, 2 * DEADLINE / 1000)

      assert.matches("longer than", tostring(problem), 1, true)
    end)
  end

  it("are one table where the script had one", function()
    local result = cpu_time.within(40, function()
      return assert(run(SHARED .. "context.shared_data.r = r context.shared_data.again = r", { deadline = 0 }))
    end)

    local shared = result.shared_data
    assert.equal(shared.r[1], shared.r[60])
    assert.equal(shared.r, shared.again)
    assert.is_true(shared.r[1][((1 << 14) - 1) * 6000])
  end)

  local REFUSED = {
    -- what                                    script                                              words
    { "tables in tables, doubled 60 times",    "local r = { 1 } for i = 1, 60 do r = { r, r } end", "more memory" },
    { "small ones, doubled 22 times",          "local r = {} for i = 1, 22 do r = { r, r } end",   "more memory" },
    { "a table that contains itself",          "local r = {} r[1] = { r }",                        "contains itself" },
    { "a long string, many times",             [[local s, r = ('x'):rep(3000000), {}
      for i = 1, 60 do r[i] = s end]],                                                             "more memory" },
    { "a shared table below 40 others, twice", [[local function chain(r, n)
        for i = 1, n do r = { r } end
        return r
      end
      local a = chain({}, 40) local r = { a, chain(a, 40) }]],                                     "nested so deep" },
  }

  for _, case in ipairs(REFUSED) do
    local name, script, words = table.unpack(case)

    it("refuse " .. name, function()
      local problem = cpu_time.within(60, function()
        return select(2, run(script .. " context.shared_data.r = r", { deadline = LONG }))
      end)

      assert.matches(words, tostring(problem), 1, true)
      assert.is_truthy(run("context.shared_data.r = 1", { deadline = LONG }))
    end)
  end
end)

describe("draft.memory", function()
  after_each(helper.clean)

  local function trim(chat, body, limits)
    local text = ("return { name = 'p', trim = function(draft, budget) %s draft:drop_oldest { to = budget } end }")
      :format(body)
    return chat:trim { policy = helper.lua_file(text), budget = 10, limits = limits }
  end

  for name, body in pairs {
    ["one table many times"] = "local t, r = {}, {} for i = 1, 20000 do t[i] = i end for i = 1, 60 do r[i] = t end",
    ["keys that collide"] = COLLIDING, ["keys that collide, once"] = SHARED,
  } do
    it("leaves as the text that is kept, or not at all: " .. name, function()
      local chat = chat_of()
      local before = helper.snapshot(chat)

      local report, problem = cpu_time.within(30, function()
        return trim(chat, body .. " draft.memory.r = r", { deadline = DEADLINE })
      end, 2 * DEADLINE / 1000)

      assert.is_nil(report)
      local text = tostring(problem)
      assert.is_truthy(text:find("draft.memory.* cannot be kept") or text:find("longer than", 1, true), text)
      assert.equal(before, helper.snapshot(chat))
      assert(trim(chat, "draft.memory.n = (draft.memory.n or 0) + 1"))
    end)
  end

  it("of a conversation has 16 MiB over all batches: the oldest ones forget", function()
    local chat, core = chat_of(), require "ebb.support.core"
    for i = 1, 20 do
      chat:append { role = "user", content = "u4" }
      assert(trim(chat, ("draft.memory = { %d, ('x'):rep(1000000) }"):format(i)))
    end
    local newest, kept = #chat:batches() - 1, 0
    for batch = newest, 1, -1 do
      chat:rollback(batch)
      local text = core.draft.recall(chat)
      if text then
        assert.equal(newest - kept, batch)
        kept = kept + 1
      end
    end
    assert.equal(16 * 1024 * 1024 // 1000015, kept)
    chat:rollback(1)
    assert(trim(chat, "assert(next(draft.memory) == nil) draft.memory.n = 1"))
  end)

  it("comes back as it went, list or object, and is gone when it is emptied", function()
    local chat = chat_of()
    assert(trim(chat, "draft.memory.list, draft.memory.n = { 1, 2, { a = 'x' } }, 1.5"))
    chat:append { role = "user", content = "u9" }
    assert(trim(chat, "assert(draft.memory.list[3].a == 'x' and draft.memory.n == 1.5) draft.memory = {}"))
    chat:append { role = "user", content = "u8" }
    assert(trim(chat, "assert(next(draft.memory) == nil)"))
  end)
end)

describe("reasons and notes of a sandboxed policy", function()
  after_each(helper.clean)

  local BODIES = {
    note = "for i = 1, 20 do draft:note(('%d'):format(i) .. ('x'):rep(1 << 20)) end",
    ["reason of a keep"] = "for i = 1, 20 do draft:keep(draft[2], i .. ('x'):rep(1 << 20)) end",
  }

  for name, body in pairs(BODIES) do
    it("have 16 MiB: " .. name, function()
      local chat = chat_of()
      local before = helper.snapshot(chat)

      local report, problem = chat:trim { budget = 10,
        policy = helper.lua_file(("return function(draft, budget) %s end"):format(body)) }

      assert.is_nil(report)
      assert.matches("at most 16 MiB", tostring(problem), 1, true)
      assert.equal(before, helper.snapshot(chat))
    end)
  end
end)
