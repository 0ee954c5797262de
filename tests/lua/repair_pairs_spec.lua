--- Calls and results that are apart, or lack ids: what a conversion makes of them, and a repair. Each row says which
--- result every call has in the end, whatever form is written.

local helper = dofile "tests/lua/helper.lua"
local pairs_of = dofile "tests/lua/written_pairs.lua"
local ebb = helper.ebb
local request = require "ebb.request"

local function call(id, n)
  local key = id and ('"id":"%s",'):format(id) or ""
  return ('{%s"type":"function","function":{"name":"price","arguments":"{\\"n\\":%d}"}}'):format(key, n)
end

local function calls(...)
  return ('{"role":"assistant","content":"","tool_calls":[%s]}'):format(table.concat({ ... }, ","))
end

local function result(id, text)
  local key = id and ('"tool_call_id":"%s",'):format(id) or ""
  return ('{"role":"tool",%s"content":"%s"}'):format(key, text)
end

local function part(n, signature)
  local signed = signature and (',"thoughtSignature":"%s"'):format(signature) or ""
  return ('{"role":"model","parts":[{"functionCall":{"name":"price","args":{"n":%d}}%s}]}'):format(n, signed)
end

local function response(text, name)
  return ('{"role":"user","parts":[{"functionResponse":{"name":"%s","response":{"output":"%s"}}}]}'):format(
    name or "price", text)
end

local ASK, MORE = '{"role":"user","content":"ask"}', '{"role":"user","content":"more"}'
local GEMINI_ASK, GEMINI_MORE = '{"role":"user","parts":[{"text":"ask"}]}', '{"role":"user","parts":[{"text":"more"}]}'

local ROWS = {
  -- what it shows, its messages, the results of the calls 1, 2 ..
  { "a user speaks between two results",
    { ASK, calls(call("a", 1), call("b", 2)), result("a", "r1"), MORE, result("b", "r2"), ASK }, { "r1", "r2" } },
  { "a notice stands before both results",
    { ASK, calls(call("a", 1), call("b", 2)), MORE, result("b", "r2"), result("a", "r1"), ASK }, { "r1", "r2" } },
  { "parallel calls in two messages",
    { ASK, calls(call("a", 1)), calls(call("b", 2)), result("a", "r1"), result("b", "r2"), ASK }, { "r1", "r2" } },
  { "parallel calls in three messages, results in another order",
    { ASK, calls(call("a", 1)), calls(call("b", 2)), calls(call("c", 3)), result("c", "r3"), result("a", "r1"),
      result("b", "r2"), ASK }, { "r1", "r2", "r3" } },
  { "a result behind another exchange, with an id that others refuse",
    { ASK, calls(call("a b", 1), call("c d", 2)), result("a b", "r1"), MORE, calls(call("e f", 3)), result("e f", "r3"),
      result("c d", "r2"), ASK }, { "r1", "r2", "r3" } },
  { "a result before its call", { ASK, result("a.b", "r1"), calls(call("a.b", 1)), ASK }, { "r1" } },
  { "empty ids", { ASK, calls(call("", 1)), result("", "r1"), ASK }, { "r1" } },
  { "empty ids of parallel calls, and a user between",
    { ASK, calls(call("", 1), call("", 2)), result("", "r1"), MORE, result("", "r2"), ASK }, { "r1", "r2" } },
  { "no ids at all", { ASK, calls(call(nil, 1), call(nil, 2)), result(nil, "r1"), result(nil, "r2"), ASK },
    { "r1", "r2" } },
  { "no ids, in two exchanges",
    { ASK, calls(call(nil, 1)), result(nil, "r1"), calls(call(nil, 2)), MORE, result(nil, "r2") }, { "r1", "r2" } },
  { "results without the ids that their calls have",
    { ASK, calls(call("a", 1), call("b", 2)), result("", "r1"), result(nil, "r2"), ASK }, { "r1", "r2" } },
  { "an id again in every exchange",
    { ASK, calls(call("a", 1)), MORE, result("a", "r1"), calls(call("a", 2)), result("a", "r2") }, { "r1", "r2" } },
  { "the nearest of two results",
    { ASK, calls(call("a", 1)), result("a", "r1"), MORE, result("a", "again"), ASK }, { "r1" } },
  { "Gemini: calls and responses apart",
    { GEMINI_ASK, part(1, "c2ln"), part(2), response "r1", response "r2", GEMINI_ASK }, { "r1", "r2" } },
  { "Gemini: a text between two responses",
    { GEMINI_ASK, part(1, "c2ln"), part(2), response "r1", GEMINI_MORE, response "r2", GEMINI_ASK }, { "r1", "r2" } },
  { "Gemini: no names",
    { GEMINI_ASK, part(1), part(2), response("r1", ""), response("r2", ""), GEMINI_ASK }, { "r1", "r2" } },
}

--- In the form of another dialect: read, changed, read again.
local function convert(list, to)
  local chat = assert(ebb.parse(list))
  if chat:dialect() == to then return chat end
  return assert(ebb.parse((assert(request.change(chat, chat:dialect(), to, {})))))
end

local function bodies(chat)
  local list = {}
  for i = 1, #chat do
    list[i] = chat[i].json
  end
  return "[" .. table.concat(list, ",") .. "]"
end

describe("calls and results that belong together", function()
  for _, row in ipairs(ROWS) do
    local name, messages, expected = table.unpack(row)
    it("stay together: " .. name, function()
      for _, to in ipairs { "openai", "responses", "anthropic", "gemini" } do
        for _, way in ipairs { "drop", "synthesize" } do
          local source = convert("[" .. table.concat(messages, ",") .. "]", to)
          local chat, report = source:repaired { dialect = to, calls = way }
          assert.same({}, report.left, to)
          local found = pairs_of(bodies(chat), to)
          assert.same(expected, found.results, to)
          assert.same({ 0, 0 }, { found.orphans, found.unanswered }, to)
          local again = assert(ebb.parse(bodies(chat))):repaired { dialect = to, calls = way }
          assert.equal(bodies(chat), bodies(again))
        end
      end
    end)
  end

  it("stay together in a conversion alone, where only ids were missing", function()
    for _, row in ipairs(ROWS) do
      if row[1] == "no ids at all" or row[1] == "empty ids" then
        for _, to in ipairs { "responses", "anthropic", "gemini" } do
          local chat = convert("[" .. table.concat(row[2], ",") .. "]", to)
          assert.same(row[3], pairs_of(bodies(chat), to).results, row[1] .. ", " .. to)
        end
      end
    end
  end)
end)

describe("a response of Gemini's that is no object", function()
  local read = {
    openai = function(body) return body.messages[3].content end,
    responses = function(body) return body.input[3].output end,
    anthropic = function(body)
      local content = body.messages[3].content[1].content
      return type(content) == "table" and content[1].text or content
    end,
  }
  local list = '["a",{"b":1}]'
  for said, text in pairs { ['"sunny"'] = "sunny", [list] = list, ["7"] = "7", ["false"] = "false" } do
    it("keeps what it says in other forms: " .. said, function()
      local message = ('{"role":"user","parts":[{"functionResponse":{"name":"price","response":%s}}]}'):format(said)
      local body = ('{"contents":[%s,%s,%s]}'):format(GEMINI_ASK, part(1), message)
      for dialect, find in pairs(read) do
        assert.equal(text, find(ebb.json.decode((assert(ebb.parse(body)):write(dialect, { shape = "body" })))), dialect)
      end
    end)
  end
end)
