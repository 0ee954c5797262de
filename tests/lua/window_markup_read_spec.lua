--- Markup read back: whatever was written reads back equal, and anything but a window of
--- ours is refused with its place.

local helper = dofile "tests/lua/helper.lua"
local cpu_time = dofile "tests/lua/cpu_time.lua"
local ebb = helper.ebb
local markup = require "ebb.windows.markup"

local seed = helper.seed()
local ROUNDS = tonumber(os.getenv "STEPS") and 20000 or 1500

---- Random views ----

local state = seed

local function random(low, high)
  state = (state * 6364136223846793005 + 1442695040888963407)
  return low + (state >> 33) % (high - low + 1)
end

local function pick(list) return list[random(1, #list)] end

local PIECES = {
  "a", " ", "\n", "\t", "\r", "\r\n", "]]>", "</Window>", "<Window id=\"x\">", "</Content>", "&", "&amp;", "&#10;",
    "<", ">",
  "'", '"', "\0", "\1", "\27", "\127", "\u{80}", "\u{9F}", "\u{A0}", "é", "待办", "😀", "\u{10FFFF}", "\u{FFFD}",
    "\u{FFFE}",
  "\u{FFFF}", "\u{FEFF}", "<!--", "-->", "<![CDATA[", "<?xml", "<!DOCTYPE", "\u{2028}", "\u{7FF}", "{{x}}",
    "</tool_call>",
  "<Failed>", "/>", "=", "\\",
}

local function random_text(least)
  local pieces = {}
  for i = 1, random(least or 0, 6) do
    pieces[i] = pick(PIECES)
  end
  return table.concat(pieces)
end

local NAMES = { "item", "b", "_x", "Content", "Actions", "window", "a.b-c", "Description", "action", "格", "ñandú·2" }

local random_view

local function random_node(depth)
  local kind = depth > 5 and 1 or random(1, 5)
  if kind <= 2 then return random_text(1) end
  if kind == 3 and depth < 4 then return { view = random_view(depth + 1) } end
  local element = { pick(NAMES) }
  for _ = 1, random(0, 3) do
    element[pick { "id", "n", "x.y", "_", "params", "compact", "列" }] = random_text()
  end
  for _ = 1, random(0, 3) do
    local last, node = element[#element], random_node(depth + 1)
    local joins = #element > 1 and type(last) == "string" and type(node) == "string"
    element[joins and #element or #element + 1] = joins and last .. node or node
  end
  return element
end

--- In the form in which they are read back: an empty list before a first text, no two texts side by side.
local function random_content()
  if random(1, 3) == 1 then return random_text(1) end
  local list = {}
  for _ = 1, random(1, 4) do
    local node = random_node(1)
    if type(node) ~= "string" or type(list[#list]) ~= "string" then list[#list + 1] = node end
  end
  if type(list[1]) ~= "string" then return list end
  if #list == 1 then return list[1] end
  table.insert(list, 1, {})
  return list
end

local function text_or_nil()
  local text = random_text()
  return text ~= "" and text or nil
end

local function random_actions()
  local actions = {}
  for i = 1, random(0, 3) do
    actions[i] = { id = random_text() .. i, params = text_or_nil(), label = text_or_nil() }
  end
  return actions
end

function random_view(depth)
  local view = { id = random_text(), compact = random(1, 3) == 1, actions = {} }
  if not view.compact then view.description, view.actions = text_or_nil(), random_actions() end
  if random(1, 6) == 1 then view.failed = random_text(1)
  elseif (depth or 0) < 4 and random(1, 6) > 1 then view.content = random_content() end
  return view
end

---- Deep equality that names the difference would be long: the views are small ----

local function read(text, options)
  local view, message, code = helper.outcome(ebb.read_window(text, options))
  assert(view, message)
  return view, code
end

describe("a view that is written", function()
  it("reads back equal, whatever its texts (SEED=" .. seed .. ")", function()
    for i = 1, ROUNDS do
      state = seed + i
      local view = random_view()
      local text = markup.write(view)
      assert.same(view, read(text), ("SEED=%d: %s"):format(seed + i - 1, text))
      assert.equal(text, markup.write(read(text)))
    end
  end)

  it("reads back with U+FFFD where it was no UTF-8", function()
    local text = markup.write { id = "x", actions = {}, compact = true, content = "a\xffb\xed\xa0\x80\xc3" }

    assert.equal("a\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}", read(text).content)
  end)

  it("of a conversation reads back", function()
    local chat = ebb.conversation()
    chat.windows:open {
      id = "todo", description = "Things", content = { { "item", id = 1, done = true, "milk" } },
      actions = { { id = "add", label = "Add", params = "text:string" } },
    }
    local view = read(chat.windows:get("todo"):markup())

    assert.same({ { "item", id = "1", done = "true", "milk" } }, view.content)
    assert.same({ id = "close", label = "Close", params = "summary:string?" }, view.actions[2])
  end)

  it("at every limit of what is written is within those of the reader", function()
    local chat = ebb.conversation()
    local nodes = {}
    for i = 1, 9998 do
      nodes[i] = { "b" }
    end
    chat.windows:open { id = "many", content = nodes }
    assert.equal(9998, #read(chat.windows:get("many"):markup()).content)

    chat.windows:open { id = "inner", content = function() error "no" end }
    for depth = 0, 12 do   -- of <b> between "middle" and "inner"; "outer" has 48
      local middle, outer = { window = "inner" }, { window = "middle" }
      for _ = 1, depth do
        middle = { "b", middle }
      end
      for _ = 1, 48 do
        outer = { "b", outer }
      end
      if depth == 0 then
        chat.windows:open { id = "middle", content = middle }
        chat.windows:open { id = "outer", content = outer }
      else
        chat.windows:get("middle"):update { content = middle }
      end
      assert.truthy(read(chat.windows:get("outer"):markup()))
      -- Window, Content, 48 of <b>, Window, Content, <b>, Window, Actions, action
      assert.equal(depth > 9, chat.windows:get("outer"):view().failed ~= nil, depth)
    end
  end)
end)

--- Bytes changed, dropped, doubled, and pieces of markup put anywhere.
local function mutate(text)
  for _ = 1, random(1, 4) do
    local at, to = random(1, #text + 1), random(0, 12)
    local kind = random(1, 4)
    if kind == 1 then text = text:sub(1, at - 1) .. string.char(random(0, 255)) .. text:sub(at + 1)
    elseif kind == 2 then text = text:sub(1, at - 1) .. text:sub(at + to)
    elseif kind == 3 then text = text:sub(1, at + to) .. text:sub(at)
    else text = text:sub(1, at - 1) .. pick(PIECES) .. text:sub(at) end
  end
  return text
end

it("mutated markup is read or refused with its place, and what is read can be written", function()
  local was_read = 0
  for i = 1, ROUNDS * 4 do
    state = seed + i
    local text = mutate(markup.write(random_view()))
    local view, message, code = helper.outcome(ebb.read_window(text))
    if view then
      was_read = was_read + 1
      local written = markup.write(view)
      assert.same(view, (ebb.read_window(written)), ("SEED=%d"):format(seed + i - 1))
    else
      local line, byte = message:match "^(%d+):(%d+): expected ."
      assert(line and tonumber(byte) >= 1, message)
      assert(code == "syntax" or code == "encoding" or code == "limit", code)
    end
  end
  assert.is_true(was_read > ROUNDS // 10)
end)

describe("markup by other hands", function()
  it("may be indented", function()
    local text = [[
<Window id="w">
  <Description>d</Description>
  <Content>
    <item id="1">one</item>
    two <b> </b>
  </Content>
  <Actions>
    <action id="add"/>
  </Actions>
</Window>
]]
    assert.same({ { "item", id = "1", "one" }, "\n    two ", { "b", " " } }, read(text, { indented = true }).content)
    assert.equal("\n    ", read(text).content[2])
    assert.same({ { id = "add" } }, read(text).actions)
    local inside = '<Window id="w"><Content><a> \n </a> <b/>\n</Content></Window>'
    assert.same({ { "a", " \n " }, " ", { "b" } }, read(inside, { indented = true }).content)
  end)

  it("has its lines ended by CR LF, single quotes, and references of any form", function()
    local text = "<Window id='a\"b'\r\n>\r\n<Content>x\r\ny\rz &#x41;&#65;&apos;</Content></Window >"

    assert.same({ id = 'a"b', content = "x\ny\nz AA'", actions = {}, compact = false }, read(text))
  end)

  it("has white space of an attribute as spaces, as XML reads it", function()
    assert.equal("a b c", read('<Window id="a\nb\tc" compact="true"/>').id)
  end)
end)

describe("names of elements and attributes", function()
  local cases = {
    -- name                   XML allows it
    { "格", true }, { "数据.行-1", true }, { "заметка", true }, { "ñandú", true }, { "a·b", true }, { "e\u{301}", true },
    { "\u{20000}", true }, { "_", true }, { "ｎａｍｅ", true }, { "ก็", true }, { "1格", false }, { "-格", false },
    { "·a", false }, { "\u{301}e", false }, { "格\u{3000}子", false }, { "格×", false }, { "a:b", false },
    { "😀", true }, { "a\u{F0000}", false },
    { "格 子", false }, { "a\u{FFFE}", false }, { "a\xff", false }, { "", false }, { "a“b”", false },
  }
  for _, case in ipairs(cases) do
    local name, is_allowed = case[1], case[2]
    it(("are %s where they are %q, read and written"):format(is_allowed and "taken" or "refused", name), function()
      local chat = ebb.conversation()
      local opens = { pcall(chat.windows.open, chat.windows, { id = "w", content = { name, { "b", [name] = "x" } } }) }
      local text = ('<Window id="w"><Content><%s><b %s="x"></b></%s></Content></Window>'):format(name, name, name)
      local view = ebb.read_window(text)
      assert.equal(is_allowed, opens[1])
      assert.equal(is_allowed, view ~= nil)
      if not is_allowed then return assert.equal("argument", opens[2].code) end
      assert.equal(text, (chat.windows:get("w"):markup():gsub("<Actions>.*</Actions>", "")))
      assert.same({ { name, { "b", [name] = "x" } } }, view.content)
      local saved = assert(ebb.parse(chat:write "ebb"))
      assert.equal(chat.windows:get("w"):markup(), saved.windows:get("w"):markup())
    end)
  end
end)

describe("is refused with its place:", function()
  local function window(inside) return '<Window id="w"><Content>' .. inside .. "</Content></Window>" end
  local cases = {
    -- what                      markup                                    where   what was expected
    { "nothing",                 "",                                       "1:1", "<Window>" },
    { "text",                    "x",                                      "1:1", "<Window> here, not text" },
    { "another element",         "<div/>",                                 "1:1", "<Window> here, not <div>" },
    { "lower case",              '<window id="w"/>',                       "1:1", "<Window> here, not <window>" },
    { "a DTD",                   "<!DOCTYPE Window><Window/>",             "1:1", "a DTD is not read" },
    { "a small dtd",             "\n<!doctype x>",                         "2:1", "a DTD is not read" },
    { "an entity's declaration", window '<!ENTITY x "y">',                 "1:25", "a tag" },
    { "a processing instruction", '<?xml version="1.0"?>' .. window "",    "1:1",
      "a processing instruction is not read" },
    { "a comment",               window "<!-- c -->",                      "1:25", "a comment is not read" },
    { "CDATA",                   window "<![CDATA[x]]>",                   "1:25", "CDATA is not read" },
    { "an unknown entity",       window "a\n&lol;",                        "2:1", "&amp; &lt;" },
    { "an entity in a value",    '<Window id="&lol;"/>',                   "1:12", "the value of 'id'" },
    { "a bare &",                window "a & b",                           "1:27", "'&' is &amp;" },
    { "a reference to nothing",  window "&#;",                             "1:25", "&#N;" },
    { "a surrogate",             window "&#xD800;",                        "1:25", "&#N;" },
    { "beyond Unicode",          window "&#1114112;",                      "1:25", "&#N;" },
    { "a number without end",    window("&#" .. ("9"):rep(400) .. ";"),    "1:25", "&#N;" },
    { "one that wraps",          window "&#x10000000000000041;",           "1:25", "&#N;" },
    { "a control character",     window "a\27b",                           "1:26", "&#27;" },
    { "one of two bytes",        window "\u{85}",                          "1:25", "&#133;" },
    { "one of three bytes",      window "\u{FFFE}",                         "1:25", "&#65534;" },
    { "no UTF-8",                window "ab\xff",                          "1:27", "UTF-8" },
    { "a tag that is not closed", window "<b>",                            "1:28",
      "</b>, for the tag at 1:25, not </Content>" },
    { "crossed tags",            window "<a><b></a></b>",                  "1:31",
      "</b>, for the tag at 1:28, not </a>" },
    { "the end",                 '<Window id="w"><Content>',               "1:25", "</Content>" },
    { "a closing tag first",     "</Window>",                              "1:1", "<Window>, not </Window>" },
    { "no name",                 window "< b/>",                           "1:25", "'<' is &lt;" },
    { "no id",                   "<Window><Content/></Window>",            "1:1", "<Window> with id=" },
    { "an attribute twice",      '<Window id="a" id="b"/>',                "1:16", "one attribute 'id', not two" },
    { "an unknown attribute",    '<Window id="a" ns="b"/>',                "1:1",
      "no attribute 'ns' of <Window>: only id, compact" },
    { "compact, but not",        '<Window id="a" compact="no"/>',          "1:1", 'compact="true" or none' },
    { "no quotes",               "<Window id=a/>",                         "1:12", "the value of 'id' in quotes" },
    { "no value",                "<Window id/>",                           "1:11", "= and a value" },
    { "attributes that touch",   '<Window id="a"compact="true"/>',         "1:15", "white space, '>' or '/>'" },
    { "< in a value",            '<Window id="<"/>',                       "1:12", "the value of 'id'" },
    { "no content",              '<Window id="a"/>',                       "1:1", "<Content> before </Window>" },
    { "two contents",            '<Window id="a"><Content/><Content/></Window>', "1:26", "one <Content>, not two" },
    { "two lists of actions",    '<Window id="a"><Actions/><Actions/></Window>', "1:26", "one <Actions>, not two" },
    { "an action twice",         '<Window id="a"><Actions><action id="x"/><action id="x"/></Actions></Window>',
                                                                           "1:41", "one action 'x', not two" },
    { "text between parts",      '<Window id="a">x<Content/></Window>',    "1:16",
      "<Content> or <Actions> here, not text" },
    { "an element between",      '<Window id="a"><b/></Window>',           "1:16", "<Actions> here, not <b>" },
    { "an element in a label",   '<Window id="a"><Actions><action id="x"><b/></action></Actions></Window>',
                                                                           "1:40", "text only here, not <b>" },
    { "something beside Failed", window "<Failed>x</Failed>y",             "1:43", "<Failed> alone" },
    { "an element beside Failed", window "<Failed>x</Failed><b/>",         "1:43", "<Failed> alone" },
    { "Failed beside something", window "y<Failed>x</Failed>",             "1:26", "<Failed> alone" },
    { "something behind",        window "" .. " x",                        "1:45", "nothing after </Window>" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local view, message, code = helper.outcome(ebb.read_window(case[2]))
      assert.is_nil(view)
      assert.equal(case[3], message:match "^%d+:%d+", message)
      assert.truthy(message:find(": expected ", 1, true), message)
      assert.truthy(message:find(case[4], 1, true), message)
      assert.equal(case[1] == "no UTF-8" and "encoding" or "syntax", code)
    end)
  end

  local function over(name, text, expected)
    it(name, function()
      local view, message, code = helper.outcome(ebb.read_window(text))
      assert.is_nil(view)
      assert.equal("limit", code)
      assert.truthy(message:find(expected, 1, true), message)
    end)
  end
  over("64 levels", window(("<b>"):rep(63) .. ("</b>"):rep(63)), "at most 64 levels")
  over("10,000 elements", window(("<b/>"):rep(10001)), "at most 10000 nodes")
  over("10,000 nodes with texts", window(("x<b/>"):rep(5001)), "at most 10000 nodes")
  over("256 attributes", '<Window id="x"' .. (" a"):rep(1):gsub("a", function()
    local list = {}
    for i = 1, 300 do
      list[i] = ("a%d=''"):format(i)
    end
    return table.concat(list, " ")
  end) .. "/>", "at most 256 attributes")
  over("4 MiB", window(("x"):rep(4 * 1024 * 1024)), "at most 4194304 bytes")
end)

it("64 levels and 10,000 nodes are read", function()
  assert.truthy(read('<Window id="w"><Content>' .. ("<b>"):rep(62) .. ("</b>"):rep(62) .. "</Content></Window>"))
  assert.equal(10000, #read('<Window id="w"><Content>' .. ("<b/>"):rep(10000) .. "</Content></Window>").content)
end)

describe("hostile markup ends soon: #time", function()
  local million = 1 << 20
  local texts = {
    ["<"] = ("<"):rep(million), ["&"] = ("&"):rep(million), ["<b>"] = ("<b>"):rep(million // 3),
    ["references"] = '<Window id="w" compact="true">' .. ("&#65;"):rep(million // 5) .. "</Window>",
    ["an endless value"] = '<Window id="' .. ("&amp;"):rep(million // 5),
    ["an endless name"] = "<" .. ("a"):rep(million), ["white space"] = "<Window" .. (" "):rep(million),
    ["lines"] = '<Window id="w"><Content/>' .. ("\n"):rep(million) .. "x",
    ["attributes"] = "<Window" .. (" a=''"):rep(million // 5),
  }
  for name, text in pairs(texts) do
    it(name, function()
      cpu_time.within(200, function() ebb.read_window(text) end)
    end)
  end
end)

it("wrong arguments raise", function()
  assert.equal("argument", helper.refusal(ebb.read_window, 7).code)
  assert.equal("unknown_name", helper.refusal(ebb.read_window, "", { indent = true }).code)
end)
