--- Schemas: declared values, what is read, and how mistakes are named.

local helper = dofile "tests/lua/helper.lua"
local refusal = helper.refusal
local schema = require "ebb.support.schema"
local json = helper.ebb.json

describe("a schema", function()
  local count = { type = "integer", min = 0, max = 9, unit = "tokens" }
  local word = { type = "string", filled = true, max = 5 }
  local mode = { type = "choice", choices = { "stop", "skip", 3 } }
  local record = { type = "object", fields = {
    id = { type = "string", required = true }, keepLast = { type = "integer", as = "keep_last" },
    on = { type = "boolean", default = true }, tags = { type = "list", items = word, max = 2 },
  }, camel = true, ignored = { comment = true } }
  local text_or_record = { any_of = { { type = "string" }, record }, expected = "a text or a record" }
  local even = { type = "integer", check = function(n) if n % 2 == 1 then return "it is odd", "take 2" end end }
  local date = { read = function(v) return v == "now" and 5 or nil, "a date" end, required = true }

  local accepted = {
    -- declaration, value, result
    { count, 3.0, 3 }, { { type = "number", max = 1 }, 0.5, 0.5 }, { word, "abc", "abc" }, { mode, 3, 3 },
    { { type = "boolean" }, false, false }, { { type = "list" }, {}, {} }, { { type = "table" }, { a = 1 }, { a = 1 } },
    { record, { id = "x", keep_last = 2, comment = 5 }, { id = "x", keep_last = 2, on = true } },
    { record, { id = "x", on = false, tags = { "a", "b" } }, { id = "x", on = false, tags = { "a", "b" } } },
    { text_or_record, "x", "x" }, { text_or_record, { id = "x" }, { id = "x", on = true } }, { even, 2, 2 },
    { { type = "integer", unit = "tokens" }, "8k", 8000 }, { count, "0.008k", 8 },
    { date, "now", 5 }, { { type = "any" }, 7, 7 },
  }
  for i, case in ipairs(accepted) do
    it("reads case " .. i, function() assert.same(case[3], (schema.read(case[1], case[2]))) end)
  end

  local refused = {
    -- declaration, value, message, hint
    { count, 10, "v: expected a whole number of tokens from 0 to 9, got 10" },
    { { type = "integer", min = 0 }, "3", "v: expected a whole number, 0 or more, got '3'" },
    { { type = "integer", unit = "bytes" }, "3k", "v: expected a whole number of bytes, got '3k'" },
    { count, "3k", "v: expected a whole number of tokens from 0 to 9, got '3k'" },
    { count, "3 k", "v: expected a whole number of tokens from 0 to 9, got '3 k'" },
    { { type = "number", min = 1 }, 0 / 0, "v: expected a number, 1 or more, got nan" },
    { { type = "integer" }, json.null, "v: expected a whole number, got null" },
    { word, "", "v: expected a string of 1 to 5 bytes, got ''" },
    { { type = "string", utf8 = true }, "\xFF", "v: expected a string in UTF-8" },
    { word, ("x"):rep(50), ("got '%s...'"):format(("x"):rep(40)) },
    { count, "a\nb\0c\xFF\t\27", "got 'a\\nb\\x00c\u{FFFD}\\t\\x1B'" },
    { { type = "handle", class = "Index" }, true, "v: expected an Index, got true" },
    { record, { id = "x", ["a\0b"] = 1 }, "v: a\0b: unknown field" },
    { mode, "stpo", "v: expected one of stop, skip, 3, got 'stpo'", "did you mean 'stop'?" },
    { { type = "function" }, {}, "v: expected a function, got a table" },
    { { type = "list" }, { a = 1 }, "v: expected a list, got a table" },
    { { type = "table" }, io.stdout, "v: expected a table, got a userdata" },
    { record, { 1 }, "v: expected a table, got a list" },
    { record, {}, "v: id is missing" },
    { record, { id = "x", keepLsat = 1 }, "v: keepLsat: unknown field", "did you mean 'keepLast'?" },
    { record, { id = "x", keep_last = "y" }, "v: keep_last: expected a whole number, got 'y'" },
    { record, { id = "x", keep_last = 1, keepLast = 1 }, "v: keepLast: there are two" },
    { record, { id = "x", tags = { "a", 5 } }, "v: tags[2]: expected a string of 1 to 5 bytes, got 5" },
    { record, { id = "x", tags = { "a", "b", "c" } }, "v: tags: expected a list of at most 2, got a list" },
    { text_or_record, 5, "v: expected a text or a record, got 5" },
    { text_or_record, { id = 5 }, "v: id: expected a string, got 5" },
    { text_or_record, { name = 5, id = "x" }, "v: name: unknown field" },
    { even, 3, "v: it is odd", "take 2" }, { date, "then", "v: expected a date, got 'then'" },
    { { type = "object", fields = { at = date } }, {}, "v: at is missing" },
  }
  for i, case in ipairs(refused) do
    it("refuses case " .. i, function()
      local problem = refusal(schema.check, case[1], case[2], "v")
      assert.matches(case[3], problem.message, 1, true)
      if case[4] then assert.equal(case[4], problem.hint) end
    end)
  end

  it("describes every string as one line of UTF-8", function()
    assert.equal("'\u{FFFD}'", schema.describe "\xFF")
    assert.equal("'it''", schema.describe "it'")
    assert.equal("'" .. ("\\n"):rep(40) .. "...'", schema.describe(("\n"):rep(41)))
    assert.equal("a Conversation", schema.describe(helper.ebb.conversation()))
  end)

  it("collects problems with their places, up to a number", function()
    local list = { type = "list", items = record }
    local value = { { id = 1 }, { id = "x", on = 2, tags = { "a", 5 } }, { id = 3 }, { id = 4 } }
    local _, problems = schema.read(list, value, { most = 3 })
    local places = {}
    for i, problem in ipairs(problems) do places[i] = schema.place(problem.path, 0) end
    assert.same({ "[0].id", "[1].on", "[1].tags[1]" }, places)
  end)

  it("takes null for absent where asked, and keeps marked lists", function()
    assert.same({ id = "x", on = true }, (schema.read(record, { id = "x", on = json.null }, { null = true })))
    assert.equal("v: on: expected true or false, got null",
      refusal(schema.check, record, { id = "x", on = json.null }, "v").message)
    assert.equal("[]", json.encode((schema.read({ type = "list" }, json.array {}))))
  end)

  it("reads keys that are not declared by `items`, each with its place", function()
    local map = { type = "object", fields = { a = { type = "boolean" } }, items = { type = "string" } }
    assert.same({ a = true, b = "x" }, (schema.read(map, { a = true, b = "x" })))
    assert.equal("v: b: expected a string, got 1", refusal(schema.check, map, { b = 1 }, "v").message)
  end)

  it("gives each result tables of its own", function()
    local declaration = { type = "object", fields = { list = { type = "list", default = { 1 } } } }
    local first = schema.read(declaration, {})
    first.list[1] = 2
    assert.same({ list = { 1 } }, (schema.read(declaration, {})))
  end)
end)

describe("a bare object", function()
  it("leaves defaults to its reader, and needs what is required", function()
    local fields = { a = { type = "integer", default = 5 }, b = { type = "string", required = true } }
    local bare = { type = "object", bare = true, fields = fields }
    assert.same({ b = "x" }, (schema.read(bare, { b = "x" })))
    assert.same({ a = 7, b = "x" }, (schema.read(bare, { a = 7, b = "x" })))
    assert.same({ a = 5, b = "x" }, (schema.read({ type = "object", fields = fields }, { b = "x" })))
    local _, problems = schema.read(bare, { a = 7 })
    assert.same({ "missing", { "b" } }, { problems[1].kind, problems[1].path })
  end)
end)

describe("options of a call", function()
  local declared = {
    n = { type = "integer", default = 2, min = 1, max = 9 },
    x = { type = "number" },
    on = { type = "boolean", default = false },
    mode = { type = "choice", choices = { "first", "last" }, default = "first" },
    names = { type = "list", default = {} },
    word = { type = "string" },
    map = { type = "table" },
  }

  it("give what was given, else the defaults, each run its own", function()
    local a, b = schema.options(declared, { n = 3.0, x = 1 }, "p"), schema.options(declared, nil, "p")
    assert.same({ n = 3, x = 1, on = false, mode = "first", names = {} }, a)
    assert.equal("integer", math.type(a.n))
    assert.same({ n = 2, on = false, mode = "first", names = {} }, b)
    assert.not_equal(a.names, b.names)
    assert.is_false(schema.options(declared, { on = false }, "p").on)
  end)

  local refused = {
    { { n = 0 } }, { { n = 10 } }, { { n = 1.5 } }, { { n = "3" } }, { { x = 0 / 0 } }, { { x = math.huge } },
    { { on = 1 } }, { { word = 5 } }, { { map = "x" } }, { { names = { a = 1 } } },
    { { mode = "frist" }, "did you mean 'first'?" }, { { mod = "first" }, "did you mean 'mode'?" }, { 5 },
  }
  for i, case in ipairs(refused) do
    it("refuse case " .. i, function()
      local problem = refusal(schema.options, declared, case[1], "policy p")
      assert.truthy(problem.code == "argument" or problem.code == "unknown_name", problem.code)
      assert.truthy(problem.message:find("policy p", 1, true))
      if case[2] then assert.equal(case[2], problem.hint) end
    end)
  end

  it("are read from texts by their types", function()
    local parsed = schema.parse(declared, "n=3,x=1.5,on=true,mode=last,names=a,b,word=w,map={\"k\":1}", "p")
    assert.same({ n = 3, x = 1.5, on = true, mode = "last", names = { "a", "b" }, word = "w", map = { k = 1 } }, parsed)
    assert.same({ n = 8000, x = 1500 }, schema.parse({ n = { type = "integer" }, x = { type = "number" } },
      "n=8k,x=1.5K", "p"))
    assert.same({}, schema.parse(declared, "", "p"))
    assert.same({ names = { "a", "b" } }, schema.parse(declared, 'names=["a","b"]', "p"))
    for _, text in ipairs { "n=x", "n=8kb", "n=-8k", "on=maybe", "nn=1", "word", "map=[1" } do
      local code = refusal(schema.parse, declared, text, "p").code
      assert.truthy(code == "argument" or code == "unknown_name", code)
    end
  end)

  it("of declarations that are wrong themselves", function()
    for _, bad in ipairs {
      { n = { type = "int" } }, { n = { type = "integer", default = "x" } }, { n = { typ = "integer" } }, { n = 5 },
      { m = { type = "choice" } }, { m = { type = "choice", choices = { "a" }, default = "b" } },
      { s = { type = "string", min = 1 } },
    } do
      assert.equal("shape", refusal(schema.declare, bad, "policy p").code)
    end
  end)
end)
