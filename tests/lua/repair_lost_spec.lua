--- Checks that a repair tells what it leaves out: by the id of its call and by its message. `--strict` refuses it.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

--- Histories as events, written in every dialect. An event: a text of the user, {calls = {id ..}},
--- or {of = id, text, parts? = true: as a list of parts, failed? = true}.
local write = {}

function write.openai(event)
  if type(event) == "string" then return { role = "user", content = event } end
  if event.of then
    local text = event.parts and { { type = "text", text = event[1] } } or event[1]
    return { role = "tool", tool_call_id = event.of, content = text }
  end
  local calls = {}
  for i, id in ipairs(event.calls) do
    calls[i] = { id = id, type = "function", ["function"] = { name = "look", arguments = "{}" } }
  end
  return { role = "assistant", content = "", tool_calls = calls }
end

function write.anthropic(event)
  if type(event) == "string" then return { role = "user", content = event } end
  if event.of then
    local text = event.parts and { { type = "text", text = event[1] } } or event[1]
    return { role = "user", content = { { type = "tool_result", tool_use_id = event.of, content = text,
      is_error = event.failed } } }
  end
  local parts = {}
  for i, id in ipairs(event.calls) do
    parts[i] = { type = "tool_use", id = id, name = "look", input = helper.ebb.json.decode "{}" }
  end
  return { role = "assistant", content = parts }
end

function write.responses(event)
  if type(event) == "string" then return { role = "user", content = event } end
  if event.of then
    local text = event.parts and { { type = "input_text", text = event[1] } } or event[1]
    return { type = "function_call_output", call_id = event.of, output = text }
  end
  local items = {}
  for i, id in ipairs(event.calls) do
    items[i] = { type = "function_call", call_id = id, name = "look", arguments = "{}" }
  end
  return table.unpack(items)
end

function write.gemini(event)
  if type(event) == "string" then return { role = "user", parts = { { text = event } } } end
  if event.of then
    return { role = "user", parts = { { functionResponse = { id = event.of, name = "look",
      response = { [event.failed and "error" or "output"] = event[1] } } } } }
  end
  local parts = {}
  for i, id in ipairs(event.calls) do
    parts[i] = { functionCall = { id = id, name = "look", args = helper.ebb.json.decode "{}" } }
  end
  return { role = "model", parts = parts }
end

local function of(id, text, more)
  local event = more or {}
  event.of, event[1] = id, text
  return event
end

local CALLS, AB = { calls = { "a" } }, { calls = { "a", "b" } }

--- Events, and what is told: code, id, and the place of the event.
local ROWS = {
  ["another result behind the first"] = { { "q", CALLS, of("a", "one"), of("a", "two"), "x" }, "lost_result a 4" },
  ["the same result again"] = { { "q", CALLS, of("a", "one"), of("a", "one"), "x" }, "" },
  ["the same text in parts"] = { { "q", CALLS, of("a", "one"), of("a", "one", { parts = true }), "x" }, "" },
  ["two others"] = { { "q", CALLS, of("a", "one"), of("a", "two"), of("a", "three"), "x" },
    "lost_result a 4, lost_result a 5" },
  ["one and the same, one other"] = { { "q", CALLS, of("a", "one"), of("a", "one"), of("a", "two"), "x" },
    "lost_result a 5" },
  ["another result of the second call"] = { { "q", AB, of("a", "one"), of("b", "two"), of("b", "three"), "x" },
    "lost_result b 5" },
  ["another result behind the user"] = { { "q", CALLS, of("a", "one"), "so", of("a", "two"), "x" },
    "lost_result a 5" },
  ["the same result behind the user"] = { { "q", CALLS, of("a", "one"), "so", of("a", "one"), "x" }, "" },
  ["a result of no call"] = { { "q", of("z", "one"), "x" }, "lost_orphan z 2" },
  ["a call without a result"] = { { "q", CALLS, "x" }, "lost_call a 2" },
  ["one of two calls without a result"] = { { "q", AB, of("a", "one"), "x" }, "lost_call b 2" },
  ["a call at the end"] = { { "q", CALLS }, "lost_call a 2" },
  ["all well"] = { { "q", AB, of("b", "two"), of("a", "one"), "x" }, "" },
  ["a result that moves"] = { { "q", AB, of("a", "one"), "so", of("b", "two"), "x" }, "" },
}

local MEMBER = { openai = "messages", anthropic = "messages", responses = "input", gemini = "contents" }

local function body_of(events, dialect)
  local list = {}
  for _, event in ipairs(events) do
    for _, message in ipairs { write[dialect](event) } do list[#list + 1] = message end
  end
  return ebb.json.encode { [MEMBER[dialect]] = list, max_tokens = dialect == "anthropic" and 9 or nil }
end

local function told(list)
  local lines = {}
  for i, loss in ipairs(list) do lines[i] = ("%s %s %d"):format(loss.code, loss.subject, loss.index) end
  return table.concat(lines, ", ")
end

--- Responses: each call is an item, so what comes after two of them is one place further back.
local function expected(row, dialect)
  local is_further = dialect == "responses" and row[1][2].calls and #row[1][2].calls == 2
  if not is_further then return row[2] end
  return (row[2]:gsub("(%l+ %l) (%d)", function(what, place) return ("%s %d"):format(what, place + 1) end))
end

describe("a repair tells of", function()
  setup(command.make_folder)
  teardown(command.remove_folder)

  for name, row in pairs(ROWS) do
    for dialect in pairs(write) do
      it(("%s: %s"):format(name, dialect), function()
        local _, report = assert(ebb.parse(body_of(row[1], dialect))):repaired { dialect = dialect }

        assert.same({ expected(row, dialect), {} }, { told(report.lost), report.left })
      end)
    end

    it(name .. ", and --strict refuses it, in every form", function()
      local file = command.file("c.json", body_of(row[1], "openai"))
      for dialect in pairs(write) do
        local run = command.ebb(("convert %s --to %s --repair --strict"):format(file, dialect))

        assert.equal(row[2] ~= "", run.status ~= 0, run.err)
        for code, id, place in row[2]:gmatch "(%S+) (%l) (%d)" do
          command.contains(code .. ": ", run.err)
          command.contains(("'%s'"):format(id), run.err)
          command.contains(place, run.err)
        end
      end
    end)
  end

  it("results of calls that failed and did not: they differ", function()
    local events = { "q", CALLS, of("a", "one"), of("a", "one", { failed = true }), "x" }
    for _, dialect in ipairs { "anthropic", "gemini" } do
      local _, report = assert(ebb.parse(body_of(events, dialect))):repaired { dialect = dialect }
      assert.equal("lost_result a 4", told(report.lost))
    end
  end)

  it("calls and results by the ids of the input, where those of the target differ", function()
    for _, second in ipairs { "one", "two" } do
      local events = { "q", { calls = { "a.1" } }, of("a.1", "one"), of("a.1", second), "so", of("a.1", second), "x" }
      local file = command.file("c.json", body_of(events, "openai"))
      for dialect in pairs(write) do
        local run = command.ebb(("convert %s --to %s --repair --strict"):format(file, dialect))
        assert.equal(second == "two", run.status ~= 0, run.err)
        if second == "two" then command.contains("a result of call 'a.1' is left out", run.err) end
        if second == "two" then command.contains("(messages 4, 6)", run.err) end
      end
    end
  end)

  it("nothing where results without ids say the same", function()
    local events = { "q", { calls = { "" } }, of("", "one"), of("", "one"), "x" }
    for dialect in pairs(write) do
      local _, report = assert(ebb.parse(body_of(events, dialect))):repaired { dialect = dialect }
      assert.same({ "", {} }, { told(report.lost), report.left })
    end
  end)

  it("all of it where a trim repairs, and a pipeline", function()
    local file = command.file("c.json", body_of(ROWS["two others"][1], "openai"))
    for _, words in ipairs { "trim %s --budget 1000 --repair -o %s.out", "pipeline %s -o %s.out" } do
      local run = command.ebb(words:format(file, file))
      command.contains("lost_result: a result of call 'a' is left out", run.err)
      command.contains("4", run.err)
    end
  end)
end)
