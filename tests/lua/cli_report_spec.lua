--- ebb report: a page of HTML with a conversation, its figures, and what edits took away.

local command = dofile "tests/lua/command.lua"
local contains, does, fails, file, path_of = command.contains, command.does, command.fails, command.file,
  command.path_of

--- How often a text occurs in another.
local function count(needle, text)
  return select(2, text:gsub(needle:gsub("%p", "%%%0"), ""))
end

describe("ebb report", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("shows the figures and each message, and needs no other file", function()
    local out = does("report --encoding cjk " .. path_of "small.json")
    assert.equal(1, out:find("<!DOCTYPE html>", 1, true))
    contains("4 messages, ", out)
    contains(" tokens (estimated)", out)
    contains("<td>system</td>", out)
    assert.equal(4, count("<article", out))
    assert.falsy(out:find("http", 1, true))
    assert.falsy(out:find("<h2>Batches", 1, true))
  end)

  it("shows texts of strangers as text, and folds long ones", function()
    local chat = file("hostile.json",
      '[{"role":"user","name":"a<b","content":"<script>x</script>\\u001b[2J & \\"q\\""},'
      .. '{"role":"assistant","content":"' .. ("word "):rep(1000) .. '"}]')
    local out = does("report " .. chat)
    contains("&lt;script&gt;x&lt;/script&gt;\\e[2J &amp; &quot;q&quot;", out)
    contains("a&lt;b", out)
    assert.falsy(out:find("<script", 1, true))
    assert.falsy(out:find "\27")
    assert.equal(1, count("<details>", out))
    contains("(5,000 bytes)", out)
  end)

  it("shows what edits took away at its old place, with what took it and why", function()
    command.environment = ("EBB_DB=%s "):format(path_of "s.db")
    finally(function() command.environment = nil end)
    does("session new s " .. path_of "small.json")
    does "trim --session s --budget 21 --encoding cjk"
    local out = does "report --session s"
    assert.equal(4, count("<article", out))
    assert.truthy(count(' gone"', out) > 0)
    contains("dropped by keep_recent: oldest", out)
    contains("current: trim", out)
    assert.truthy(out:find(" gone\".-<article class=\"user\">"))   -- before what is newer
    assert.equal(0, count(' gone"', (does "report --session s --batch 0")))
    assert.equal(4, count("<article", (does "report --session s --batch 0")))
  end)

  it("writes a file, and never the input", function()
    does(("report %s -o %s"):format(path_of "small.json", path_of "page.html"))
    contains("</html>", command.read(path_of "page.html"))
    contains("would replace the input", fails(command.USAGE, ("report %s -o %s"):format(path_of "small.json",
      path_of "small.json")))
    fails(command.IO, "report " .. path_of "absent.json")
  end)
end)
