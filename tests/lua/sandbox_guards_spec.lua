--- Checks what lua/ebb/sandbox itself keeps from scripts: the globals of the library's own code, modules in circles,
--- conversations, functions of calls. Each test fails when its guard is taken out.

local helper = dofile "tests/lua/helper.lua"

--- A folder with a policy and modules next to it; trims by it, and gives the error's message.
--- `link`: what m.lua leads to.
local function run(files, link)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  finally(function() os.execute("rm -r " .. folder) end)
  for name, text in pairs(files) do
    local file = assert(io.open(folder .. "/" .. name, "wb"))
    file:write(text)
    file:close()
  end
  if link then assert(os.execute(("ln -s %s %s/m.lua"):format(link, folder))) end
  local report, problem = helper.conversation("u20 a20 u5"):trim { budget = 1000, policy = folder .. "/policy.lua" }
  return report == nil and problem.message or nil
end

--- Names that the library has in its sandbox, and the script has not.
local NOTHING_OF_THE_LIBRARY = [[
  for _, name in ipairs { "host", "functions", "printer", "io", "os", "debug", "package", "setmode" } do
    if _ENV[name] ~= nil or _G[name] ~= nil then error("global " .. name) end
  end
]]

describe("the library next to a script", function()
  it("keeps its globals from the script", function()
    assert.is_nil(run { ["policy.lua"] = NOTHING_OF_THE_LIBRARY .. "return function() end" })
  end)

  it("keeps its globals from modules", function()
    assert.is_nil(run { ["policy.lua"] = "require 'm' return function() end", ["m.lua"] = NOTHING_OF_THE_LIBRARY })
  end)

  it("refuses a module that requires itself", function()
    local message = run { ["policy.lua"] = "require 'm' return function() end",
      ["m.lua"] = "local m = require 'm' return m" }

    assert.matches("m.lua:1: module 'm' requires itself, or failed before", message, 1, true)
  end)

  it("opens no module through a link", function()
    local message = run({ ["policy.lua"] = "require 'm' return function() end", ["n.lua"] = "return 1" }, "n.lua")

    assert.matches("m.lua: .*a symbolic link is not followed", message)
  end)

  it("opens no module of more than a mebibyte", function()
    local message = run { ["policy.lua"] = "require 'm' return function() end", ["m.lua"] = ("-"):rep(1024 * 1024 + 1) }

    assert.matches("m.lua: it is larger than 1048576 bytes", message, 1, true)
  end)

  it("loads a module once", function()
    assert.is_nil(run { ["policy.lua"] = "assert(require 'm' == require 'm') return function() end",
      ["m.lua"] = "return {}" })
  end)
end)

describe("a sandboxed processor", function()
  local ebb = require "ebb"

  after_each(helper.clean)

  --- Runs a pipeline with a processor whose function has this body: the result, or nil and the error's message.
  local function process(body)
    local path = helper.lua_file(('return { id = "mine", name = "Mine", execute = function(context) %s end }')
      :format(body))
    local chat = ebb.conversation()
    chat:append { role = "user", content = "hi" }
    local result, problem = ebb.pipeline { processors = { path } }:run(chat)
    return result, problem and problem.message
  end

  local function error_of(body) return select(2, process(body)) end

  it("gets no conversation, and is told so", function()
    assert.matches("context:history_chat gives a conversation, which cannot enter a sandbox",
      error_of "context:history_chat {}", 1, true)
  end)

  it("changes no line of the log", function()
    local result = assert(process [[
      if #context.logs == 0 then error "nothing to change" end
      context.logs[1].message, context.logs[#context.logs + 1] = "changed", { message = "added" }
    ]])

    for _, entry in ipairs(result.logs) do assert.is_true(entry.message ~= "changed" and entry.message ~= "added") end
  end)

  it("gives away no function but those that its file returned", function()
    local message = "a function cannot leave a sandbox"
    assert.matches(message, error_of "context.shared_data.run = function() end", 1, true)
    assert.matches(message, error_of "context:log('info', 'x', { run = function() end })", 1, true)
  end)
end)

describe("script_path.find", function()
  local script_path = require "ebb.sandbox.script_path"

  it("finds names in the folders, and nothing above or below them", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir -p %s/inner/deep"):format(folder)))
    finally(function() os.execute("rm -r " .. folder) end)
    for _, name in ipairs { "above", "inner/mine", "inner/deep/below" } do
      assert(io.open(("%s/%s.lua"):format(folder, name), "w")):close()
    end
    local folders = { folder .. "/inner" }

    assert.are.equal(folder .. "/inner/mine.lua", script_path.find("mine", folders))
    assert.is_nil(script_path.find("../above", folders))
    assert.is_nil(script_path.find("deep/below", folders))
    assert.is_nil(script_path.find("../inner/mine", folders))
  end)
end)
