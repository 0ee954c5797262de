--- Contents of windows: functions that fail, loop or grow, and the markup of any text.

local helper = dofile "tests/lua/helper.lua"
local kit = dofile "tests/lua/window_kit.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local markup = require "ebb.windows.markup"
local views = require "ebb.windows.view"

local new_chat, say, shown = kit.new_chat, kit.say, kit.shown

describe("a content", function()
  local function read(content)
    local chat = new_chat()
    chat.windows:open { id = "before", content = "here" }
    local window = chat.windows:open { id = "w", content = content }
    assert.truthy(shown(chat):find("before=here", 1, true))
    return window:markup():match "<Failed>(.*)</Failed>"
  end

  it("that raises is a line that says so, without the folders of the place", function()
    assert.equal("content failed: windows_spec.lua:7: no", read(function() error("/a/b/windows_spec.lua:7: no", 0) end))
    local long = read(function() error(("€"):rep(400), 0) end)
    assert.equal("content failed: " .. ("€"):rep(166) .. "...", long)
  end)

  it("that loops is stopped, also if it catches that", function()
    local line = debug.getinfo(1, "l").currentline + 2
    assert.equal(("content failed: window_content_spec.lua:%d: it takes too long"):format(line),
      read(function() while true do end end))
    cpu_time.within(200, function()
      assert.truthy(read(function() while true do pcall(function() while true do end end) end end))
      assert.truthy(read(function() coroutine.wrap(function() while true do end end)() end))
    end)
  end)

  local made = 0
  local function make()
    local _ = ("x"):rep(3000000)
    made = made + 1
  end

  local greedy = {
    -- what it does                               what it is told
    { "repeats", "too much memory", function() return ("x"):rep(100000000) end },
    { "reads without end", "too much memory", function() return io.open("/dev/zero"):read("a") end },
    { "joins", "too much memory", function()
      local list, piece = {}, ("x"):rep(100000)
      for i = 1, 10000 do list[i] = piece end
      return table.concat(list)
    end },
    { "fills a conversation", "too much memory", function()
      local chat = new_chat()
      while true do chat:append { role = "user", content = ("x"):rep(1000000) } end
    end },
    { "catches what it is told", "too long", function() while true do pcall(string.rep, "x", 1000000000) end end },
    { "makes garbage", "too long", function() while true do make() end end },
    { "does that in a coroutine", "too long", function()
      coroutine.wrap(function() while true do make() end end)()
    end },
  }

  for _, case in ipairs(greedy) do
    it("that takes memory without end is stopped: it " .. case[1], function()
      local calls, memory = views.CALL_LIMIT, views.MEMORY_MAX
      views.CALL_LIMIT, views.MEMORY_MAX = calls // 4, memory // 8   -- so that it is soon there
      made = 0
      local why = read(case[3])
      views.CALL_LIMIT, views.MEMORY_MAX = calls, memory
      assert.truthy(why and why:find("^content failed: .*it takes " .. case[2] .. "$"), why)
      assert.is_true(made < 100)   -- in two calls: large blocks cost instructions, in coroutines too
      assert.equal(70000000, #("x"):rep(70000000))   -- outside of it there is no limit
    end)
  end

  it("may take memory within its limit, also inside another's call", function()
    local inner
    assert.is_nil(read(function() return #("x"):rep(20000000) end))
    assert.is_nil(read(function()
      inner = inner or read(function() return ("x"):rep(100000000) end)
      return #("x"):rep(10000000)
    end))
    assert.equal("content failed: it takes too much memory", inner)
  end)

  it("that gives a megabyte is a line that says so", function()
    assert.truthy(read(function() return ("x"):rep(2 ^ 20) end):find "more than the limit of 262144")
  end)

  it("that includes itself ends at depth 16", function()
    assert.equal("windows are nested 16 deep, the innermost is 'w'", read { { window = "w" } })
    assert.truthy(read { { window = "w" }, { window = "w" }, { window = "w" } })
  end)

  it("that returns a wrong value becomes a line with the error", function()
    assert.truthy(read(function() return print end))
    assert.truthy(read(function() return { { "a", [0.5] = 1 } } end))
    local deep = {}
    for _ = 1, 100 do deep = { "x", deep } end
    assert.truthy(read(function() return deep end):find "levels deep")
    local wide = {}
    for i = 1, 20000 do wide[i] = "x" end
    assert.truthy(read(function() return { wide } end):find "10000 nodes")
  end)

  it("that edits the conversation changes the next rendering, not its own", function()
    local chat = new_chat()
    say(chat, "user", "one")
    chat.windows:open { id = "b", content = "b", item = false }
    chat.windows:open { id = "w", content = function()
      chat:truncate { keep_last = 1 }
      chat:append { { role = "user", content = "late" }, { window = "b" } }
      return "made"
    end }

    local first, second = chat.windows:render(), chat.windows:render()

    assert.same({ 2, "one", "w" }, { #first, first[1].content, first[2].window })
    assert.same({ 3, "w", "late", "b" }, { #second, second[1].window, second[2].content, second[3].window })
  end)

  it("is called once per rendering, and all of them share its instructions", function()
    local chat, calls = new_chat(), 0
    chat.windows:open { id = "f", content = function() calls = calls + 1 return "x" end }
    chat.windows:open { id = "g", content = { { window = "f" }, { window = "f" } } }
    assert.equal(2, select(2, chat.windows:render()[2].content:gsub('id="f"', "")))
    assert.equal(1, calls)
    for i = 1, 12 do
      chat.windows:open { id = "slow" .. i, content = function() while true do end end }
    end
    local list = chat.windows:render()
    assert.truthy(list[#list].content:find("used up the instructions", 1, true))
  end)
end)

---- Markup ----

describe("markup of random text", function()
  local seed = helper.seed()
  local random = math.random
  local pieces = {
    "]]>", "</Window>", "<", ">", "&", "&amp;", '"', "'", "\0", "\27", "\r\n", "\t", "\127", "\u{85}", "\u{FFFE}",
    "\u{FFFF}", "\u{1F600}", "\u{10FFFF}", "字", "x", " ", "<![CDATA[", "<!--", "&#27;",
  }

  local function text()
    local out = {}
    for i = 1, random(0, 12) do
      out[i] = pieces[random(#pieces)]
    end
    return table.concat(out)
  end

  --- Entities and references undone.
  local function plain(escaped)
    local names = { amp = "&", lt = "<", gt = ">", quot = '"' }
    return (escaped:gsub("&(#?)(%w+);", function(number, word)
      return number == "#" and utf8.char(tonumber(word)) or names[word]
    end))
  end

  it("reads back equal and holds no control characters (SEED=" .. seed .. ")", function()
    math.randomseed(seed)
    for _ = 1, 3000 do
      local content, attribute = text(), text()
      local written = markup.write { id = attribute, content = content, actions = {}, compact = false }
      local id, inside = written:match '^<Window id="([^"<>]*)"><Content>([^<>]*)</Content></Window>$'
      assert.equal(attribute, plain(id))
      assert.equal(content, plain(inside))
      assert.is_nil(written:find "[\0-\8\11-\31\127]")
      assert.is_nil(written:find "\xC2[\x80-\x9F]")
    end
  end)

  it("is made anew where a window in it has changed", function()
    local chat = new_chat()
    chat.windows:open { id = "in", content = "1" }
    chat.windows:open { id = "out", content = { { window = "in" } } }
    assert.truthy(shown(chat):find "<Content>1</Content>")
    chat.windows:get("in"):update { content = "2" }
    assert.truthy(shown(chat):find "<Content>2</Content>")
  end)

  it("replaces invalid UTF-8 by U+FFFD", function()
    local written = markup.write { id = "x", content = "a\xFFb\xED\xA0\x80c", actions = {}, compact = true }
    assert.equal('<Window id="x" compact="true">a\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}c</Window>', written)
  end)
end)
