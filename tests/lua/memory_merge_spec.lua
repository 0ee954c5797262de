-- Checks that memories of policies in a conversation and in a branch of it are merged name by name.

local ebb = require "ebb"
local storage = require "ebb.support.storage"
local memory = require "ebb.trim.memory"

--- Trims by a policy that drops nothing, and counts how often it ran.
local function count(chat, name)
  local policy = { name = name, trim = function(draft) draft.memory.n = (draft.memory.n or 0) + 1 end }
  assert(chat:trim { budget = 100000, policy = policy })
end

local function times(chat)
  local found = {}
  for name, value in pairs(memory.recall(chat)) do found[#found + 1] = name .. value.n end
  table.sort(found)
  return table.concat(found, " ")
end

local function a_chat()
  local chat = ebb.conversation()
  for i = 1, 4 do chat:append { role = "user", content = "message " .. i } end
  count(chat, "both")
  return chat
end

describe("a branch, next to a conversation that only remembered", function()
  local cases = {
    -- what the branch does                    counts in it         at the end
    { "appends",                               {},                  "both1 here1",        5, function(branch)
      branch:append { role = "assistant", content = "done" } end },
    { "remembers under another name",          { "there", "there" }, "both1 here1 there2", 4 },
    { "remembers under a name of both",        { "both" },          "both2 here1",        4 },
    { "makes a batch and remembers in it",     { "there" },         "both1 here1 there1", 2, function(branch)
      branch:truncate { keep_last = 2 } end },
  }
  for _, case in ipairs(cases) do
    local title, names, expected, length, edit = table.unpack(case)
    it(title, function()
      local chat = a_chat()
      local branch = storage.begin(chat)
      count(chat, "here")
      if edit then edit(branch) end
      for _, name in ipairs(names) do count(branch, name) end

      storage.merge(chat, branch)

      assert.equal(expected, times(chat))
      assert.equal(length, #chat)
      chat:rollback(0)
      assert.matches("here1", times(chat))
    end)
  end

  it("keeps what a batch remembers that was made meanwhile", function()
    local chat = a_chat()
    local branch = storage.begin(chat)
    chat:truncate { keep_last = 1 }
    count(chat, "here")
    count(branch, "there")

    storage.merge(chat, branch)

    assert.equal("both1 here1 there1", times(chat))
    assert.equal(1, #chat)
    chat:rollback(0)
    assert.equal("both1", times(chat))
  end)

  it("is in conflict where both changed a name", function()
    local chat = a_chat()
    local branch = storage.begin(chat)
    count(chat, "both")
    count(branch, "both")
    count(branch, "both")

    assert.is_false((pcall(storage.merge, chat, branch)))

    assert.equal("both2", times(chat))
  end)
end)
