--- Weak keys in scripts of strangers: the collector would need the square of their chain, in one step that no limit
--- ends.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local ebb = helper.ebb

local LIMITS = { deadline = 300, fuel = 0 }   -- milliseconds

--- A chain through three tables in random order, whose metatable gets its mode by `set`; then collections.
local function chain(set)
  return ([==[
    local all, weak, meta, n = {}, {}, {}, 20000
    for i = 1, n do all[i] = {} end
    for i = n, 2, -1 do local j = math.random(i) all[i], all[j] = all[j], all[i] end
    for i = 1, 3 do weak[i] = setmetatable({}, meta) end
    for i = 2, n do weak[i %% 3 + 1][all[i - 1]] = all[i] end
    local first = all[1] all = nil
    %s
    for i = 1, 30 do local _ = ("x"):rep(1000000) end]==]):format(set)
end

local variants = {
  { "a field", chain 'meta.__mode = "k"' },
  { "a name that is put together", chain 'meta[("__"):rep(1) .. ("mode"):lower()] = ("k"):rep(2)' },
  { "rawset, where a mode was", chain 'meta.__mode = "v" setmetatable({}, meta) rawset(meta, "__mode", "k")' },
  { "a metamethod, while a key is looked up", chain
    'setmetatable(meta, { __index = function() rawset(meta, "__mode", "k") end }) local _ = weak[1].x, meta.y' },
  { "a coroutine", chain 'coroutine.wrap(function() meta.__mode = "k" coroutine.yield() end)()' },
  { "a name from JSON", chain
    'for name, mode in pairs(require "ebb".json.decode [[{"__mode":"k"}]]) do meta[name] = mode end' },
}

local refusals = {
  { "keys", 'setmetatable({}, { __mode = "k" })' },
  { "keys and values", 'setmetatable({}, { __mode = "vk" })' },
  { "keys of a metatable that is in use", 'local m = {} setmetatable({}, m) m.__mode = "k" setmetatable({}, m)' },
}

--- Each runs a body and returns the message of its failure, or nil.
local function trim(body)
  local chat = helper.conversation "u20 a20 u5"
  local before = helper.snapshot(chat)
  local source = ("return function(draft, budget)\n%s\ndraft:drop_oldest { to = budget } end"):format(body)
  local done, why = chat:trim { budget = 20, policy = { source = source }, limits = LIMITS }
  if not done then assert.equal(before, helper.snapshot(chat)) end
  return why and why.message
end

local function filter(body)
  local chat = helper.conversation "u20"
  local before = helper.snapshot(chat)
  local source = ("return function(message)\n%s\nend"):format(body)
  local done, why = pcall(chat.filter, chat, { { source = source }, limits = LIMITS })
  if not done then assert.equal(before, helper.snapshot(chat)) end
  return not done and tostring(why) or nil
end

local function process(body)
  finally(helper.clean)
  local text = ("return { id = 'mine', name = 'Mine', execute = function(context)\n%s\nend }"):format(body)
  local path = helper.lua_file(text)
  local chat = helper.conversation("u1 a2", { counter = helper.tokens_of })
  local done, why = ebb.pipeline { processors = { path }, counter = helper.tokens_of, limits = LIMITS }:run(chat)
  return not done and tostring(why) or nil
end

for place, run in pairs { ["a policy"] = trim, ["a filter"] = filter, ["a processor"] = process } do
  describe("weak keys in " .. place, function()
    for _, case in ipairs(variants) do
      it("do not hold up the collector, by " .. case[1] .. " #time", function()
        local why = cpu_time.within(30, function() return run(case[2]) end, LIMITS.deadline / 1000)
        assert.is_true(why == nil or why:find("ran longer", 1, true) ~= nil, why)
        assert.is_nil(run "local _ = 1")
      end)
    end

    for _, case in ipairs(refusals) do
      it("are refused: " .. case[1], function()
        assert.matches("weak keys %(__mode \"v?k\"%) are not available", run(case[2]))
      end)
    end
  end)
end
