--- Forgetting a text for good, and pruning batches: the only two that let go of anything.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local SECRET = "sk-4711-secret"

local function conversation()
  local chat = ebb.conversation { encoding = "bytes4" }
  chat:append {
    { role = "system", content = "Be brief." },
    { role = "user", content = "My key is " .. SECRET, name = "mira", metadata = { key = SECRET, n = 4711 } },
    { role = "assistant", content = ebb.null, tool_calls = {
      { id = "c1", type = "function", ["function"] = { name = "login", arguments = ('{"key":"%s"}'):format(SECRET) } },
    } },
    { role = "tool", tool_call_id = "c1", content = "welcome " .. SECRET },
    { role = "user", content = {
      { type = "text", text = SECRET },
      { type = "image_url", image_url = { url = "data:image/png;base64," .. SECRET } },
      { type = "tool_result", tool_use_id = "none", content = { { type = "text", text = SECRET } } },
    } },
    { role = "user", content = "Go on." },
  }
  return chat
end

describe("forget", function()
  it("leaves the text nowhere: not in older batches, not in forks", function()
    local chat = conversation()
    local fork = chat:fork()
    chat:truncate { keep_last = 5 }
    local before = chat:batch(0):tokens()

    for i = 1, 4 do
      chat:forget(i)
    end

    for _, each in ipairs { chat, fork, chat:batch(0) } do
      for _, message in ipairs(each) do
        assert.is_nil(message.json:find("4711", 1, true), message.json)
      end
    end
    assert.equal(before, chat:batch(0):tokens())
    assert.equal("Go on.", chat[5].text)
  end)

  it("keeps the place: seq, role, ids, tool names, links", function()
    local chat = conversation()

    for i = 2, 4 do
      chat:forget(chat[i])
    end

    assert.same({ 2, "user", "____" }, { chat[2].seq, chat[2].role, chat[2].name })
    local call = chat[3].calls[1]
    assert.same({ "c1", "login", "{}" }, { call.id, call.name, call.arguments:match "^%S+" })
    assert.equal("c1", chat[4].call.id)
    assert.equal(2, chat[3].unit.count)
    assert.same(conversation():check "openai", chat:check "openai")      -- the foreign part, and no more than before
    assert.equal(1, #assert(ebb.parse(chat[2].json)))
  end)

  it("keeps a file's other bytes, and its size", function()
    local text = '[ {"role":"user","content":"a"},\n  {"role":"user","content":"caf\\u00e9 ' .. SECRET ..
      '"} ,\n{"role":"user","content":"b"}]\n'
    local chat = assert(ebb.parse(text))

    chat:forget(2)

    local left = chat:json()
    assert.equal(#text, #left)
    assert.equal(text:sub(1, 56), left:sub(1, 56))
    assert.equal(text:sub(-36), left:sub(-36))
    assert.equal("[forgotten]", chat[2].text:match "^%S+")
  end)

  it("refuses what is not there", function()
    local chat = conversation()
    local ok, problem = pcall(chat.forget, chat, 7)
    assert.is_false(ok)
    assert.equal("out_of_range", problem.code)
    assert.truthy(chat:json():find(SECRET, 1, true))
  end)
end)

describe("prune", function()
  local function with_batches()
    local chat = conversation()
    chat:truncate { keep_last = 5 }      -- 1
    chat:checkpoint "before the cut"
    chat:truncate { keep_last = 4 }      -- 2
    chat:truncate { keep_last = 3 }      -- 3
    chat:rollback(2)
    chat:truncate { keep_first = 1 }     -- 4
    chat:rollback(2)
    return chat
  end

  local function numbers(chat)
    local list = {}
    for i, batch in ipairs(chat:batches()) do
      list[i] = batch.index
    end
    return list
  end

  it("keeps the newest, the current one and those with a checkpoint", function()
    local chat = with_batches()

    assert.equal(2, chat:prune { keep = 1 })

    assert.same({ 1, 2, 4 }, numbers(chat))
    assert.equal(4, #chat)
    assert.equal(5, #chat:batch "before the cut")
    assert.equal(1, #chat:batch(4))
    chat:rollback "before the cut"
    assert.equal(5, #chat)
  end)

  it("refuses the pruned; their numbers are not used again", function()
    local chat = with_batches()
    chat:prune()

    for _, call in ipairs { chat.rollback, chat.batch } do
      local ok, problem = pcall(call, chat, 3)
      assert.is_false(ok)
      assert.equal("out_of_range", problem.code)
    end
    assert.equal(5, chat:truncate { keep_last = 1 })
    assert.equal(6, chat:stats().total_batches)
    assert.same({ 1, 2, 4, 5 }, numbers(chat:fork()))
  end)

  it("keeps what is around the messages of a loaded body", function()
    local parts = {}
    for i = 1, 3000 do
      parts[i] = ('{"role":"user","content":[{"type":"kind_%d","text":"%d, long enough for a block"}]}'):format(i, i)
    end
    local before, after = '{"model":"gpt-4o","tools":[],"messages":[\n', '\n],"temperature":0.5}'
    local chat = assert(ebb.parse(before .. table.concat(parts, ",\n") .. after))
    chat:truncate { keep_last = 3 }

    chat:prune { keep = 1 }
    collectgarbage() collectgarbage()

    assert.equal("gpt-4o", chat:model())
    assert.equal(before .. table.concat(parts, ",\n", 2998) .. after, chat:json())
    assert.matches("'kind_1'", chat:warnings()[1].message)
    assert.matches("'kind_3000'", chat:warnings()[3000].message)
    chat:append { role = "user", content = "x" }
    assert.matches('block"}]},\n{"role":"user","content":"x"}\n],"temp', chat:json(), 1, true)
  end)

  it("keeps megabytes around the messages of a loaded body without a copy", function()
    local before, after = '{"model":"gpt-4o",' .. (" "):rep(2 << 20) .. '"messages":[', '],"n":1}'
    local chat = assert(ebb.parse(before .. '{"role":"user","content":"1"},{"role":"user","content":"2"}' .. after))
    chat:truncate { keep_last = 1 }

    chat:prune { keep = 1 }
    local fork = chat:fork()
    chat = nil   -- luacheck: ignore
    collectgarbage() collectgarbage()

    assert.equal(before .. '{"role":"user","content":"2"}' .. after, fork:json())
  end)
end)
