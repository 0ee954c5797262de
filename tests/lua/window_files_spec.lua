--- Items of windows where they come from files: documents, operations, inspect.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local path_of, file, does, contains = command.path_of, command.file, command.does, command.contains

local HELLO, BYE = '{"role":"user","content":"Hello"}', '{"role":"user","content":"Bye"}'
local ITEM = '{"type":"window","window":"map"}'

--- The visible list: windows by their names, messages by their texts.
local function listed(chat)
  local list = {}
  for i, message in ipairs(chat) do list[i] = message.window and "<" .. message.window .. ">" or message.text end
  return table.concat(list, " ")
end

describe("items of windows", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("are read from an array, JSON Lines and a body, in both spellings", function()
    for _, text in ipairs {
      ("[%s,%s,%s]"):format(HELLO, ITEM, BYE), ("[%s,%s,%s]"):format(HELLO, '{"window":"map"}', BYE),
      ("%s\n%s\n%s\n"):format(HELLO, ITEM, BYE), ('{"messages":[%s,%s,%s]}'):format(HELLO, ITEM, BYE),
    } do
      local chat = assert(ebb.parse(text))
      chat.windows:open { id = "map", content = "here", item = false }

      assert.equal("Hello <map> Bye", listed(chat))
      contains("here", chat.windows:render()[2].content)
    end
  end)

  it("without a valid id of a window are refused with their place", function()
    for _, item in ipairs { '{"type":"window"}', '{"window":5}', '{"window":""}', '{"window":"map","role":"user"}' } do
      local chat, why = ebb.parse(("[%s,\n%s]"):format(HELLO, item))

      assert.is_nil(chat, item)
      contains(":2:", why.message)
    end
  end)

  it("are inserted, replaced and cut by operations, and a rollback brings them back", function()
    local chat = assert(ebb.parse(("[%s,%s]"):format(HELLO, BYE)))
    chat.windows:open { id = "map", content = "here", item = false }

    chat:apply(('{"operation":"insert","insert":{"position":1,"messages":[{"window":"map"},%s]}}'):format(ITEM))
    assert.equal("Hello <map> <map> Bye", listed(chat))
    assert.is_true(chat[2].obsolete)
    assert.is_false(chat[3].obsolete)

    chat:apply(('{"operation":"replace","replace":{"index":1,"message":%s}}'):format(HELLO))
    assert.equal("Hello Hello <map> Bye", listed(chat))

    chat:apply '{"operation":"truncate","truncate":{"keepFirst":3}}'
    chat:apply '{"operation":"truncate","truncate":{"keepLast":1}}'
    assert.equal("<map>", listed(chat))

    chat:apply '{"operation":"rollback","rollback":{"targetBatchIndex":0}}'
    assert.equal("Hello Bye", listed(chat))
    chat:rollback(1)
    assert.equal("Hello <map> <map> Bye", listed(chat))
  end)

  it("are in the state that operations lead to, and not in what is sent", function()
    file("list.json", ("[%s,%s]"):format(HELLO, BYE))
    file("ops.json", '{"operation":"insert","insert":{"position":1,"messages":[{"window":"map"}]}}')
    local names = ("%s %s"):format(path_of "ops.json", path_of "list.json")

    contains('{"window":"map"}', does("apply --state " .. names))
    local out, err = does("apply " .. names)

    assert.equal(("[%s,%s]"):format(HELLO, BYE), out)
    contains("message 2 names window 'map', which does not exist", err)
  end)

  it("are shown by inspect, those of before as obsolete", function()
    file("list.json", ("[%s,%s,%s,%s]"):format(HELLO, ITEM, BYE, ITEM))

    local out = does("inspect " .. path_of "list.json")

    assert.truthy(out:find "\n +4 +window +%d+ +map")
    contains("2 items, of these 1 obsolete", out)
    contains('"window": "map"', does(("inspect %s --json"):format(path_of "list.json")))
  end)
end)
