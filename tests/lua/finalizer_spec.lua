--- Finalizers that edit what a call is reading: they run in the middle of any call that makes something of Lua's.
--- The edits are refused, so that what is read stays; sanitizers see what would not.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local core = require "ebb.support.core"

local function messages(count)
  local list = {}
  for i = 1, count do
    list[i] = { role = i % 2 == 1 and "user" or "assistant", content = ("text %d "):format(i):rep(5) }
  end
  return list
end

local function conversation()
  local chat = ebb.conversation { encoding = "cjk" }
  for _ = 1, 4 do chat:append(messages(50)) end
  return chat
end

--- Edits after which something that a call reads would be gone.
local EDITS = {
  function(chat) chat:append { role = "user", content = "late" } end,
  function(chat) chat:truncate { remove_first = 10 } end, function(chat) chat:rollback(1) end,
  function(chat) chat:prune() end, function(chat) chat:forget(1) end, function(chat) chat:mark(1, "late") end,
}

--- Calls that read a conversation, and make values of Lua while they do.
local READS = {
  all = function(chat) return chat:all() end, recent = function(chat) return chat:recent("user", 50) end,
  where = function(chat) return chat:where { role = "user" } end, state = function(chat) return chat:state() end,
  batches = function(chat) return chat:batches() end, stats = function(chat) return chat:stats() end,
  json = function(chat) return chat:json() end, check = function(chat) return chat:check() end,
  totable = function(chat) return chat[1]:totable() end,
  copies = function(chat) return core.working.copies(chat) end,
  ["lazy copies"] = function(chat) return core.working.copies(chat, true) end,
  seqs = function(chat) return core.working.seqs(chat) end, marks = function(chat) return core.working.marks(chat) end,
  units = function(chat)
    local tokens = 0
    for unit in chat:draft():units() do tokens = tokens + unit.tokens end
    return tokens
  end,
  pipeline = function(chat) return assert(ebb.pipeline { agent = { name = "A" } }:run(chat)).body end,
}

--- Calls `read` while finalizers edit: its result, and how their edits were refused.
local function read_amid_edits(chat, read)
  local problems, edits, at = {}, 0, 0
  local meta = { __gc = function()
    at = at % #EDITS + 1
    local ok, problem = pcall(EDITS[at], chat)
    edits = edits + 1
    if not ok then problems[problem.message] = (problems[problem.message] or 0) + 1 end
  end }
  collectgarbage("incremental", 50, 1000, 1)
  collectgarbage()
  for _ = 1, 400 do setmetatable({}, meta) end   -- their memory is taken up while `read` runs
  local result = read(chat)
  collectgarbage()
  collectgarbage("incremental", 200, 100, 13)   -- as Lua begins
  return result, problems, edits
end

describe("a finalizer", function()
  local names = {}
  for name in pairs(READS) do names[#names + 1] = name end
  table.sort(names)

  for _, name in ipairs(names) do
    it(("edits nothing while it may interrupt %s"):format(name), function()
      local chat = conversation()
      chat:mark(2, "m")
      local before, expected = helper.snapshot(chat), READS[name](chat)
      local result, problems, edits = read_amid_edits(chat, READS[name])

      assert.is_true(edits >= 400, edits)
      assert.same({ ["a finalizer may not edit a conversation"] = edits }, problems)
      assert.equal(before, helper.snapshot(chat))
      if type(expected) ~= "string" and type(expected) ~= "number" then expected, result = #expected, #result end
      assert.equal(expected, result)
    end)
  end

  it("ends no draft, and may read", function()
    local chat = conversation()
    local draft = chat:draft()
    local said, refused
    setmetatable({}, { __gc = function()
      said = chat[1].text
      refused = select(2, pcall(core.draft.discard, draft))
    end })
    collectgarbage()

    assert.equal(chat[1].text, said)
    assert.equal("busy", refused.code)
    assert.matches("a finalizer may not end a draft", refused.message, 1, true)
    assert.is_true(#draft > 0)
  end)
end)
