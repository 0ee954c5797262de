--- ebb report: a page of HTML with a conversation, its figures, and what edits took away.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local contains, does, fails, file, path_of = command.contains, command.does, command.fails, command.file,
  command.path_of

--- Counts a text in another.
local function count(needle, text)
  return select(2, text:gsub(needle:gsub("%p", "%%%0"), ""))
end

--- Returns the policy in the page's head for what it may load and run.
local function page_policy(html)
  return html:match '^<!DOCTYPE html>\n<html[^\n]+\n<meta http%-equiv="Content%-Security%-Policy" content="([^"]+)">\n'
end

describe("each page of HTML", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, words in ipairs { "report ", "trim --replay --budget 10 --policy none --html - -o /dev/null " } do
    it("lets a browser load and run nothing but its style: " .. words, function()
      local run = command.ebb(words .. path_of "small.json")
      assert.equal("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        page_policy(run.out))
      assert.falsy(run.out:find "<script" or run.out:find " on%l+=" or run.out:find "<img" or run.out:find "src=")
    end)
  end
end)

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
    assert.falsy(out:find("https?:"))
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

  it("says what raw operations took away, and what only another branch has", function()
    local chat = helper.ebb.conversation { encoding = "cjk" }
    for i = 1, 4 do chat:append { role = "user", content = "m" .. i } end
    chat:truncate { keep_last = 2 }
    chat:append { role = "user", content = "elsewhere" }
    chat:rollback(0)
    chat:replace(1, { role = "user", content = "new" })
    assert(chat:save(path_of "saved.json", { dialect = "ebb" }))
    local out = does("report " .. path_of "saved.json")
    contains("inserted by replace: replace 0</header><pre>new", out)
    contains("replaced by replace: replace 0</header><pre>m1", out)
    contains("of another branch</header><pre>elsewhere", out)
    out = does("report --batch 1 " .. path_of "saved.json")
    contains("dropped by truncate: truncate keepLast 2</header><pre>m2", out)
  end)

  it("of many edits costs no more than they", function()
    local function path_for(n)
      local chat = helper.ebb.conversation { encoding = "cjk" }
      for i = 1, n do
        chat:append { role = "user", content = "m" .. i }
        chat:append { role = "user", content = "n" .. i }
        chat:trim { budget = 30 }
      end
      local path = path_of("of_" .. n)
      assert(chat:save(path, { dialect = "ebb" }))
      return path
    end
    local small, large = path_for(300), path_for(2400)
    local function seconds(path)       -- of the processor
      local line, spent = [[bash -c '{ TIMEFORMAT="%%U"; time %s report %s >%s 2>%s; } 2>%s']], path_of "spent"
      os.execute(line:format(command.EBB, path, path_of "page", path_of ".err", spent))
      return tonumber(command.read(spent))
    end
    assert.truthy(seconds(large) <= 24 * math.max(0.01, seconds(small)))   -- eight times as many; 500 if each looked
  end)

  it("writes a file, and never the input", function()
    does(("report %s -o %s"):format(path_of "small.json", path_of "page.html"))
    contains("</html>", command.read(path_of "page.html"))
    contains("would replace the input", fails(command.USAGE, ("report %s -o %s"):format(path_of "small.json",
      path_of "small.json")))
    fails(command.IO, "report " .. path_of "absent.json")
  end)
end)
