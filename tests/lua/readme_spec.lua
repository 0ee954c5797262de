--- The README's own code, run as it stands there.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local vocabularies = require "ebb.models.vocabularies"

--- The blocks of a language, in order.
local function blocks(language)
  local list = {}
  for code in helper.read("README.md"):gmatch("```" .. language .. "\n(.-)```") do
    list[#list + 1] = code
  end
  return list
end

local function run(code, environment)
  return assert(load(code, "=README.md", "t", setmetatable(environment or {}, { __index = _G })))()
end

describe("README", function()
  local lua = blocks "lua"

  it("shows ten lines that print what it says they print", function()
    local printed, out = {}, os.tmpname()
    local code = lua[1]:gsub('"out%.json"', ("%q"):format(out))
    run(code, { print = function(...) printed[#printed + 1] = table.concat({ ... }, "  ") end })

    local installed = vocabularies.find "o200k_base"   -- that of the sample's model; else it is estimated
    if installed then assert.equal(lua[1]:match "print%(#chat.-%-%- ([^\n]*)", printed[1]) end
    assert.truthy(printed[2]:find("New question", 1, true))
    assert.truthy(printed[3]:match "^dropped  2  oldest  %d+$")
    assert.equal(6, #assert(ebb.load(out)))
    os.remove(out)
  end)

  it("shows a policy that trims", function()
    local chat = ebb.conversation { encoding = "bytes4" }
    for i = 1, 4 do
      chat:append {
        { role = "user", content = "Question " .. i },
        { role = "assistant", content = ebb.null, tool_calls = {
          { id = "c" .. i, type = "function", ["function"] = { name = "search", arguments = "{}" } } } },
        { role = "tool", tool_call_id = "c" .. i, content = ("found "):rep(40) },
      }
    end
    local report = assert(chat:trim { budget = chat:tokens() - 100, policy = { run(lua[2]), recent = 1 } })
    assert.same({ 4, 0 }, { report.dropped, report.replaced })
    assert.equal("old search", report.ledger[1].reason)
    assert.equal(2, chat:count "tool")
  end)

  it("shows a filter that filters", function()
    local chat = ebb.conversation()
    chat:append {
      { role = "user", content = "?" },
      { role = "assistant", content = "!", reasoning_content = "long and winding" },
    }
    chat:filter(run(lua[3]))
    assert.is_nil(chat[2].reasoning)
    assert.equal("!", chat[2].text)
  end)

  it("shows a processor that a pipeline runs", function()
    local chat = ebb.conversation { encoding = "bytes4" }
    chat:append { role = "user", content = "Hello" }
    local result = assert(ebb.pipeline { processors = { run(lua[4]) }, set = { "shout.mark=?!" } }:run(chat))
    assert.equal("Hello?!", result.chat[1].content)
  end)

  it("shows a window that a model acts on", function()
    local printed, chat = {}, ebb.conversation()
    for _, code in ipairs(lua) do
      if code:find("chat.windows:open", 1, true) then
        run(code, { chat = chat, print = function(text) printed[#printed + 1] = text end })
      end
    end
    assert.equal("todo.add: added", printed[1])
    assert.truthy(printed[2]:find('^<Window id="todo">.*<item id="1">tea</item>'))
    assert.equal(2, #chat.windows:render())
  end)

  it("names files that are there, and targets that make has", function()
    for path in helper.read("README.md"):gmatch "%]%(([%w_/%.]+)%)" do
      local is_there = os.rename(path, path)
      assert.truthy(is_there, path)
    end
    local makefile = helper.read "Makefile"
    for target in helper.read("README.md"):gmatch "make ([%l%-]+)" do
      if target ~= "alone" then assert.truthy(makefile:find("\n" .. target .. ":", 1, true), target) end
    end
  end)
end)
