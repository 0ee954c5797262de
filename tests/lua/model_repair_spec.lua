--- A model node sends what its provider takes: the conversation stays as it is, the request is mended, and says so.

local helper = dofile "tests/lua/helper.lua"
local pairs_of = dofile "tests/lua/written_pairs.lua"
local ebb, json = helper.ebb, helper.ebb.json
local nodes = require "ebb.workflow"

local function calls(...)
  local list = {}
  for i, id in ipairs { ... } do
    list[i] = { id = id, type = "function", ["function"] = { name = "price", arguments = ('{"n":%d}'):format(i) } }
  end
  return { role = "assistant", content = "", tool_calls = list }
end

local function result(id, text) return { role = "tool", tool_call_id = id, content = text } end

local ASK, MORE = { role = "user", content = "ask" }, { role = "user", content = "quick" }

-- what it shows, messages, the results of its calls, what is noted
local ROWS = {
  { "a user speaks between two results",
    { ASK, calls("a", "b"), result("a", "r1"), MORE, result("b", "r2") }, { "r1", "r2" }, "result" },
  { "a result before its call", { ASK, result("a", "r1"), calls "a", MORE }, { "r1" }, "place of a result" },
  { "a call without a result", { ASK, calls("a", "b"), result("b", "r2"), MORE }, { [2] = "r2" }, "unanswered call" },
  { "a result without a call", { ASK, result("z", "r0"), calls "a", result("a", "r1") }, { "r1" }, "orphan result" },
  { "nothing to mend", { ASK, calls("a", "b"), result("b", "r2"), result("a", "r1") }, { "r1", "r2" }, nil },
}

local MODELS = {
  openai = { "gpt-4o" }, responses = { "gpt-4o", "responses" }, anthropic = { "claude-sonnet-4-5" },
  gemini = { "gemini-2.5-flash" },
}

local ANSWERS = {
  openai = '{"choices":[{"message":{"role":"assistant","content":"hi"}}]}',
  responses = '{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}',
  anthropic = '{"role":"assistant","content":[{"type":"text","text":"hi"}]}',
  gemini = '{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]}}]}',
}

--- Ways to ask a model: options of a run that keep the request in `seen`.
local FACES = {
  ["a function"] = function(seen)
    return { model = function(request)
      seen.body = json.encode(request)
      return "hi"
    end }
  end,
  ["a command"] = function(seen)
    return { host = { model_command = "ask", converse = function(_, input)
      seen.body = input
      return "hi"
    end } }
  end,
  ["HTTP"] = function(seen, dialect)
    return { host = { base_url = "http://127.0.0.1:1", sleep = function() end, http = function(request)
      seen.body = request.body
      return 200, "", ANSWERS[dialect]
    end } }
  end,
}

local function messages_of(body)
  local value = json.decode(body)
  return json.encode(value.messages or value.contents or value.input)
end

--- Runs the nodes; the request, and the notes in a line.
local function run(list, node, options, seen)
  local chat, notes = assert(ebb.parse(json.encode(list))), {}
  options.on_step = function(entry) notes = entry.notes end
  assert(nodes.run(chat, { node }, options))
  return chat, assert(seen.body), table.concat(notes, "\n")
end

describe("the model node mends what it sends", function()
  for dialect, model in pairs(MODELS) do
    for face, open in pairs(FACES) do
      for _, row in ipairs(ROWS) do
        local name, list, expected, noted = table.unpack(row)
        it(("%s: %s, by %s"):format(dialect, name, face), function()
          local seen = {}
          local node = { type = "model", model = model[1], dialect = model[2], tools = false }
          local chat, body, notes = run(list, node, open(seen, dialect), seen)

          local found = pairs_of(messages_of(body), dialect)
          assert.same(expected, found.results)
          assert.same({ 0, 0 }, { found.orphans, found.unanswered })
          local left = assert(ebb.parse(body)):check { dialect = dialect, model = model[1] }
          assert.same({}, left)
          local before = assert(ebb.parse(json.encode(list)))
          for i = 1, #before do assert.equal(before[i].json, chat[i].json) end
          -- Responses takes a result wherever it comes after its call.
          local is_right = dialect == "responses" and name == "a user speaks between two results"
          if noted and not is_right then
            assert.matches(("repaired for %s: "):format(dialect), notes, 1, true)
            assert.matches(noted, notes, 1, true)
          else
            assert.equal("", notes)
          end
        end)
      end
    end
  end

  it("and notes what is refused still", function()
    local seen, list = {}, { ASK, calls "a", result("a", "r1") }
    list[2].tool_calls[1]["function"].name = ""
    local _, body, notes = run(list, { type = "model", model = "gpt-4o", tools = false },
      FACES["a function"](seen), seen)
    local left = assert(ebb.parse(body)):check { dialect = "openai" }
    assert.is_true(#left > 0)
    for _, violation in ipairs(left) do
      assert.matches(("openai would refuse message %d: %s"):format(violation.index, violation.code), notes, 1, true)
    end
  end)
end)
