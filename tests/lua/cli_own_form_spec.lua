--- Bodies that commands edit: what they add has the body's form, and what was there keeps its bytes.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb, file, read, json = command.ebb, command.file, command.read, helper.ebb.json

local BODIES = {
  gemini = '{"contents": [ {"role":"user","parts":[{"text":"a"}],"own":1} ], "x": 1}\n',
  responses = '{"input": [ {"role":"user","content":[{"type":"input_text","text":"a"}]} ]}\n',
  anthropic = '{"model":"claude-opus-4-5","max_tokens":9,"messages": [ {"role":"user","content":"a"} ]}\n',
}

local CALLS = [[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
"function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"r"}]]

--- The codes of what is refused in a file.
local function refused(path)
  local codes = {}
  for _, violation in ipairs(json.decode(ebb("check --json " .. path).out).violations) do
    if violation.severity == "refused" then codes[#codes + 1] = violation.code end
  end
  return codes
end

describe("a body that a command edits", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for dialect, body in pairs(BODIES) do
    local head = body:match "^.-%[ .-} "       -- to the message, without what stands behind it

    it("has one form after input and apply: " .. dialect, function()
      local path = file("in.json", body)
      assert.equal(0, ebb("input more -i " .. path).status)
      assert.equal(0, ebb("input 'and more' -i " .. path).status)
      assert.equal(head:sub(1, -2), read(path):sub(1, #head - 1))
      local codes = refused(path)
      assert.same({}, codes)
      local operations = file("ops.json", '[{"operation":"append","messages":[' .. CALLS .. ']},'
        .. '{"operation":"insert","position":0,"messages":[{"role":"system","content":"S"}]},'
        .. '{"operation":"replace","index":2,"message":{"role":"assistant","content":"c",'
        .. '"tool_calls":[{"id":"c0","type":"function","function":{"name":"f","arguments":"{}"}}]}},'
        .. '{"operation":"insert","position":3,"messages":[{"role":"tool","tool_call_id":"c0","content":"r"}]}]')
      local run = ebb(("apply %s -i %s"):format(operations, path))
      assert.same({ 0, "" }, { run.status, run.err })
      local same = refused(path)
      assert.same({}, same)
      assert.truthy(read(path):find(helper.ebb.parse(body)[1].json, 1, true), read(path))
      assert.equal(dialect, helper.ebb.parse(read(path)):dialect())
      assert.is_nil(read(path):find("tool_call_id", 1, true))
    end)

    it("has one form after a filter, and the repair sees that form: " .. dialect, function()
      local path = file("in.json", body)
      local run = ebb("filter 'return function(m) return { m, {role=\"assistant\", tool_calls={{id=\"c\", "
        .. "type=\"function\", [\"function\"]={name=\"f\", arguments=\"{}\"}}}} } end' --repair drop --input " .. path)
      assert.equal(0, run.status, run.err)
      assert.truthy(run.err:find("repaired for " .. dialect, 1, true), run.err)
      assert.same({}, refused(file("out.json", run.out)))
    end)

    it("stays as it was given in a saved conversation and in a session: " .. dialect, function()
      local path, saved = file("in.json", body), command.path_of "saved.json"
      local operations = file("ops.json", '{"operation":"append","messages":[' .. CALLS .. "]}")
      assert.equal(0, ebb(("apply %s %s --state -o %s"):format(operations, path, saved)).status)
      assert.truthy(read(saved):find("tool_call_id", 1, true))
      local db = " --db " .. command.path_of "s.db"
      assert.equal(0, ebb(("session new s %s%s"):format(path, db)).status)
      assert.equal(0, ebb(("apply %s --session s%s"):format(operations, db)).status)
      assert.truthy(ebb("session export s" .. db).out:find("tool_call_id", 1, true))
      local exported = file("out.json", ebb("session export s --messages" .. db).out)
      assert.is_nil(read(exported):find("tool_call_id", 1, true), read(exported))
      assert.same({ {}, dialect }, { refused(exported), helper.ebb.parse(read(exported)):dialect() })
    end)
  end

  it("tells what its form leaves out of what is added", function()
    local path = file("in.json", BODIES.responses)
    local run = ebb("apply '" .. [[{"operation":"append","messages":[{"role":"tool","tool_call_id":"c","content":
"r","name":"n"},{"role":"user","name":"Ann","content":[{"type":"input_audio","input_audio":{"data":"aGk=",
"format":"wav"}},{"type":"text","text":"b"}]}]}]] .. "' " .. path)
    assert.truthy(run.err:find("lost_media: 'audio'", 1, true), run.err)
    assert.truthy(run.err:find("lost_name", 1, true), run.err)
  end)

  it("keeps attachments of what is added", function()
    local path = file("in.json", BODIES.gemini)
    assert.equal(0, ebb("input look --attach plan.png -i " .. path).status)
    assert.truthy(read(path):find('{"role":"user","parts":[{"text":"look"}],"attachments":[{', 1, true), read(path))
  end)
end)

describe("messages of another form that a body had", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local MIXED = '{"contents": [ {"role":"user","parts":[{"text":"a"}],"own":1} ,\n'
    .. ' {"role":"user","content":"b","id":"x"} ]}\n'
  local RIGHT = MIXED:gsub('"content":"b"', '"parts":[{"text":"b"}]')

  it("are written anew by a conversion to its own form, and by a trim; all others keep their bytes", function()
    local path = file("in.json", MIXED)
    assert.equal(RIGHT, ebb("convert --to gemini", path).out)
    assert.equal(RIGHT, ebb("trim --budget 1000 --keep-extra", path).out)
    assert.equal(RIGHT:gsub(',"own":1', ""):gsub(',"id":"x"', ""):gsub("%s", ""),
      (ebb("trim --budget 1000", path).out:gsub("%s", "")))
    assert.equal(BODIES.gemini, ebb("convert --to gemini", file("right.json", BODIES.gemini)).out)
  end)

  it("stay in a file that is edited in place, which is told", function()
    local path = file("in.json", MIXED)
    local run = ebb("trim --budget 1000 -i " .. path)
    assert.same({ 0, MIXED }, { run.status, read(path) })
    assert.truthy(run.err:find("foreign_role", 1, true), run.err)
    assert.equal(0, ebb("convert --to gemini -i " .. path).status)
    assert.same({ RIGHT, {} }, { read(path), refused(path) })
  end)
end)

describe("a conversion for another model", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("leaves out members that requests do not have, unless they are to be kept", function()
    local path = file("in.json", '{"model":"claude-opus-4-5","max_tokens":9,"messages":[{"role":"user","content":"a",'
      .. '"id":"m1"}]}')
    local run = ebb("convert --model claude-sonnet-4-5", path)
    assert.truthy(run.err:find("lost_member: the member 'id'", 1, true), run.err)
    assert.same({ nil, "claude-sonnet-4-5" }, { json.decode(run.out).messages[1].id, json.decode(run.out).model })
    local kept = ebb("convert --model claude-sonnet-4-5 --keep-extra", path)
    assert.equal("m1", json.decode(kept.out).messages[1].id)
    assert.truthy(ebb("convert --to anthropic", path).out:find('"id":"m1"', 1, true))
  end)

  it("leaves out sampling that the model refuses", function()
    local path = file("in.json", '{"model":"claude-opus-4-5","max_tokens":9,"temperature":0.5,"messages":[{"role":'
      .. '"user","content":"a"}]}')
    local run = ebb("convert --model claude-opus-5-5", path)
    assert.is_nil(json.decode(run.out).temperature)
    assert.truthy(run.err:find("temperature", 1, true), run.err)
    assert.equal(0.5, json.decode(ebb("convert --model claude-sonnet-4-5", path).out).temperature)
  end)

  it("keeps the bytes of what is left, though nothing left tells its form", function()
    local head = '{"messages":[{"role":"user","content":[{"type":"text","text":"one"}]},'
    local tail = '{"role":"user","content":[{"type":"text","text":"three"}]}],"max_tokens":64000}'
    local path = file("in.json", head .. '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f",'
      .. '"input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]},' .. tail)

    local run = ebb(("trim %s --budget 60 --policy 'return function(draft) draft:drop(2) end'"):format(path))

    assert.equal(head .. tail, run.out)
  end)
end)

describe("the report of a trim", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("says the tokens of what is written, with what the last repair inserts", function()
    local long = { role = "user", parts = { { text = ("word "):rep(40) } } }
    local list = { long, { role = "model", parts = { { functionCall = { name = "f", args = json.decode "{}" } } } },
      { role = "user", parts = { { functionResponse = { name = "f", response = { r = 1 } } } } },
      { role = "model", parts = { { text = "b" } } }, { role = "user", parts = { { text = "c" } } } }
    local path, out = file("in.json", json.encode { contents = list }), command.path_of "out.json"
    local run = ebb(("trim --budget 45 --json -o %s"):format(out), path)
    local report = json.decode(run.err:match "{.*}")
    assert.equal("inserted", report.repairs[1][1].action)
    assert.same({ 45, json.decode(ebb("count --json " .. out).out)[1].tokens }, { report.budget, report.after })
  end)
end)
