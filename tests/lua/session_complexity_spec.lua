--- Checks that the costs of a session grow with its messages, batches and neighbours no faster than they do: four
--- times as many take at most five times as long. Conversations in memory: complexity_spec.lua.

local helper = dofile "tests/lua/helper.lua"
local files = dofile "tests/lua/session_files.lua"
local gate = dofile "tests/lua/growth_gate.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb

require "ebb.support.storage"      -- what it binds is named in core.parameters

local N = math.tointeger(tonumber(os.getenv "COMPLEXITY" or "400"))

--- A database whose commits are not synced: how fast the disk is shall not count.
local function with_store(run)
  local path = files.new()
  files.remove(path)
  local store = assert(ebb.sessions(path, { relaxed = true }))
  local result = run(store, path)
  store:close()
  files.remove(path)
  return result
end

local function messages(n)
  local list = {}
  for i = 1, n do list[i] = { role = i % 2 == 1 and "user" or "assistant", content = "message " .. i } end
  return list
end

--- Sessions to act on, made of n.
local SHAPES = {
  messages = function(store, n) assert(store:session "s":append(messages(n * 20))) end,
  batches = function(store, n)
    local session = store:session "s"
    assert(session:append(messages(n)))
    assert(store:together(function()
      for i = 1, n do assert(session:replace(i, { role = session[i].role, content = "again " .. i })) end
      return true
    end))
  end,
  neighbours = function(store, n)
    assert(store:together(function(s)
      for i = 1, n // 2 do assert(s:session(i == 1 and "s" or "s" .. i):append(messages(2))) end
      return true
    end))
  end,
}

--- Acts, and the functions of the storage that each calls.
local ACTS = {
  ["read whole"] = { "Storage:load Storage:messages storage.merge", function(store)
    assert(#assert(store:session "s"):all() > 0)
  end },
  ["read the last message"] = { "Storage:tail storage.state", function(store)
    local session = assert(store:session "s")
    assert(session[#session].text)
  end },
  append = { "Storage:commit storage.begin storage.operation storage.enclose Storage:begin_group Storage:end_group",
    function(store)
      local session = assert(store:session "s")
      assert(session:append { role = "user", content = "more" })
      assert(store:together(function() return session:append { role = "user", content = "and more" } end))
    end },
  ["trim and roll back"] = { "Storage:settle", function(store)
    local session = assert(store:session "s")
    assert(session:truncate { keep_last = 1 })
    assert(session:rollback(0))
    assert(store:settle())
  end },
  ["forget in all branches"] = { "storage.forgotten storage.forget Storage:claim", function(store)
    assert(store:branch("s", "other"))
    assert(store:session "s":forget(1))
    assert(store:remove "other")
  end },
  list = { "Storage:list Storage:describe", function(store)
    assert(#store:list() > 0)
    assert(store:describe())
  end },
  check = { "Storage:check Storage:rows Storage:backup Storage:close storage.open", function(store, path)
    assert(#store:check() == 0)
    assert(store.db:rows(assert(store.db:find "s").id))
    assert(store:backup(path .. ".copy"))
    os.remove(path .. ".copy")
  end },
  ["branch, rename and remove"] = { "Storage:create Storage:branch Storage:rename Storage:remove", function(store)
    assert(store:branch("s", "other"))
    assert(store:rename("other", "third"))
    assert(store:remove "third")
  end },
}

--- Methods that wait for other processes, or hold a name for a time, and have no input; or have a test of their own.
local FIXED = "Storage:wait Storage:lease Storage:release Storage:find"

describe("four times as much in a session takes at most five times as long #time:", function()
  for shape, fill in pairs(SHAPES) do
    for name, act in pairs(ACTS) do
      it(("%s, %s"):format(name, shape), function()
        gate.check(name, N, function(n)
          return with_store(function(store, path)
            fill(store, n)
            return gate.seconds(function() act[2](store, path) end)
          end)
        end)
      end)
    end
    -- A name that is new is looked for among all names, so that a damaged index hides none.
    if shape ~= "neighbours" then
      it("make " .. shape, function()
        gate.check(shape, N, function(n)
          return with_store(function(store) return gate.seconds(function() fill(store, n) end) end)
        end)
      end)
    end
  end

  it("find each of many", function()
    gate.check("find", N * 2, function(n)
      return with_store(function(store)
        SHAPES.neighbours(store, n * 2)
        return gate.seconds(function()
          for i = 2, n do assert(store:find("s" .. i)) end
        end)
      end)
    end)
  end)
end)

describe("acts on sessions", function()
  it("call every function that storage binds", function()
    local bound, named = {}, {}
    for name in pairs(core.parameters) do
      if name:find "^[Ss]torage[.:]" then bound[name] = true end
    end
    for _, act in pairs(ACTS) do
      for name in act[1]:gmatch "%S+" do named[name] = true end
    end
    for name in FIXED:gmatch "%S+" do named[name] = true end
    assert.equal("", gate.difference(bound, named))
  end)
end)
