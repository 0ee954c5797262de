--- Rollback brings back all that clear took away; operations name the positions there are.

local helper = dofile "tests/lua/helper.lua"

describe("rollback across clear", function()
  local function everything(chat)
    local units, pinned = {}, chat:marked "pinned":positions()
    for i, message in ipairs(chat) do
      units[i] = { message.seq, message.unit.first, message.unit.count, message.call and message.call.id }
    end
    return { chat:json(), chat:tokens(), units, pinned, chat:check "openai" }
  end

  for _, options in ipairs { {}, { keep_system_message = true }, { keep_system_message = false } } do
    it(("restores everything, keep_system_message = %s"):format(options.keep_system_message), function()
      local chat = helper.conversation("s1 u20 c3(x,y) r4(y) r5(x) a6! u7", {
        tools = { { name = "search", description = "finds" } },
      })
      chat:truncate { remove_last = 1 }
      chat:append(helper.messages "u8 c9(x) r10(x)")
      local before = everything(chat)

      chat:clear(options)
      local cleared = everything(chat)
      chat:append(helper.messages "u11")
      chat:clear(options)
      chat:rollback(1)

      assert.same(before, everything(chat))
      chat:rollback(2, chat:batches()[4].parent_length - 1)
      assert.same(cleared, everything(chat))
      chat:rollback(1)
      assert.same(before, everything(chat))
    end)
  end
end)

describe("a position beyond the end", function()
  local message = '{"role": "user", "content": "x"}'
  local cases = {
    { "u1 u2", '{"operation": "insert", "position": 3, "messages": [%s]}', "it may be 0 to 2" },
    { "u1 u2", '{"operation": "replace", "index": 2, "message": %s}', "it may be 0 to 1" },
    { "", '{"operation": "insert", "position": 1, "messages": [%s]}', "it may be 0 to 0" },
    { "", '{"operation": "replace", "index": 0, "message": %s}', "the list is empty" },
  }
  for _, case in ipairs(cases) do
    it(("is refused with the ones there are: %s of '%s'"):format(case[2], case[1]), function()
      local chat = helper.conversation(case[1])
      local problem = helper.refusal(chat.apply, chat, case[2]:format(message))
      assert.same({ "out_of_range", case[3] }, { problem.code, problem.hint })
    end)
  end
end)
