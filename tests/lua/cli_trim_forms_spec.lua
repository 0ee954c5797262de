--- ebb trim of a request body that is in another form than its model's: what is written is for that model.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"

local contains, file = command.contains, command.file
local ebb, json = helper.ebb, helper.ebb.json

local function body(model)
  local messages = { { role = "system", content = "be brief" } }
  for i = 1, 6 do
    messages[#messages + 1] = { role = "user", id = "u" .. i,
      content = ("question %d "):format(i) .. ("word "):rep(30) }
    messages[#messages + 1] = { role = "assistant", content = json.null, tool_calls = {
      { id = "c" .. i, type = "function", ["function"] = { name = "look", arguments = '{"x":1}' } } } }
    messages[#messages + 1] = { role = "tool", tool_call_id = "c" .. i, content = "result " .. i }
    messages[#messages + 1] = { role = "assistant", content = "answer " .. i }
  end
  messages[#messages + 1] = { role = "user", content = "last" }
  return { model = model, max_tokens = 9, messages = messages,
    tools = { { type = "function", ["function"] = { name = "look", description = "d",
      parameters = { type = "object", properties = { x = { type = "integer" } } } } } } }
end

local function trim(options, model)
  local path = file("body.json", json.encode(body(model or "claude-sonnet-4-5")))
  local run = command.ebb("trim " .. path .. " " .. options)
  assert.equal(0, run.status, run.err)
  return json.decode(run.out), run
end

describe("ebb trim of a body in another form than its model's", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for model, dialect in pairs { ["claude-sonnet-4-5"] = "anthropic", ["gemini-2.5-pro"] = "gemini" } do
    it("writes " .. dialect .. "'s form for " .. model .. ", within the budget, and says so", function()
      local written, run = trim("--budget 540", model)   -- of which Claude's tools cost 346
      local chat = assert(ebb.parse(run.out))
      assert.equal(dialect, chat:dialect())
      assert.same({}, chat:check())
      assert.is_true(chat:tokens() <= 540)
      assert.is_true(#(written.messages or written.contents) > 2)
      contains(("converted from openai's form to %s's, its model's: --dialect openai keeps it"):format(dialect),
        run.err)
      assert.is_nil(run.err:find("would refuse", 1, true))
    end)
  end

  it("names the model of --model, for which it is converted", function()
    local path = file("named.json", json.encode(body "gpt-4o"))
    local run = command.ebb("trim --budget 2000 --model claude-sonnet-4-5 " .. path)
    assert.equal(0, run.status, run.err)
    assert.equal("claude-sonnet-4-5", json.decode(run.out).model)
    local counted = command.does("trim --budget 2000 --model gpt-4o-mini " .. path)       -- counts as it
    assert.equal("gpt-4o", json.decode(counted).model)
  end)

  it("warns of what is written, not of the form in which a policy's note or a later message came", function()
    local _, run = trim("--budget 5000 --dialect gemini", "gemini-2.5-pro")
    local path = file("appended.json", run.out)
    run = command.ebb(([[apply '{"operation":"append","messages":[{"role":"user","content":"on"}]}' -i %s]])
      :format(path))
    assert.equal(0, run.status, run.err)
    for _, options in ipairs { "--budget 5000", "--budget 330 --policy digest" } do
      run = command.ebb(("trim %s %s"):format(options, path))
      assert.equal(0, run.status, run.err)
      assert.same({}, assert(ebb.parse(run.out)):check())
      assert.is_nil(run.err:find("would refuse", 1, true), run.err)
    end
  end)

  it("warns of what stays wrong in what is written", function()
    local broken = body "claude-sonnet-4-5"
    table.remove(broken.messages, 4)
    local run = command.ebb("trim --budget 5000 " .. file("broken.json", json.encode(broken)))
    contains("anthropic would refuse this: 1 violation", run.err)
    contains("unanswered_call", run.err)
  end)

  it("counts what is written: the repaired, converted request", function()
    for budget = 450, 730, 20 do
      local _, run = trim("--budget " .. budget)
      assert.is_true(assert(ebb.parse(run.out)):tokens() <= budget, budget)
    end
  end)

  it("counts the turn that a repair puts before calls, and trims once more for it", function()
    local list = json.array { { role = "user", content = ("question "):rep(20) } }
    for i = 1, 6 do
      list[2 * i] = { role = "assistant", tool_calls = { { id = "c" .. i, type = "function",
        ["function"] = { name = "f", arguments = "{}" } } } }
      list[2 * i + 1] = { role = "tool", tool_call_id = "c" .. i, content = "result " .. i }
    end
    list[14] = { role = "user", content = "go on" }
    local path, inserted = file("calls.json", json.encode(list)), 0
    for budget = 30, 130, 3 do
      local run = command.ebb(("trim %s --budget %d --to gemini --repair"):format(path, budget))
      assert.equal(0, run.status, run.err)
      if run.out:find("was left out", 1, true) then inserted = inserted + 1 end
      assert.is_true(assert(ebb.parse(run.out)):tokens() <= budget, budget)
    end
    assert.is_true(inserted > 20)
  end)

  it("knows --to and --dialect for one another, as all commands with a target do", function()
    local path = file("body.json", json.encode(body "gpt-4o"))
    for _, words in ipairs { "trim --budget 5000", "check", "convert", "pipeline" } do
      local one = command.ebb(("%s --to gemini %s"):format(words, path))
      local other = command.ebb(("%s --dialect gemini %s"):format(words, path))
      assert.same({ one.status, one.out }, { other.status, other.out })
      assert.is_true(one.status == (words == "check" and 1 or 0) and one.out ~= "")
    end
  end)

  it("keeps the form for --dialect, and edits of a file", function()
    local whole = trim("--budget 5000 --dialect openai --keep-extra")
    assert.same(body "claude-sonnet-4-5", whole)
    local path = file("edited.json", json.encode(body "claude-sonnet-4-5"))
    assert.equal(0, command.ebb("trim -i --budget 540 " .. path).status)
    local edited = json.decode(command.read(path))
    assert.equal("system", edited.messages[1].role)
    assert.is_true(#edited.messages < #body().messages)
  end)

  it("leaves a body of a router's model as it is", function()
    local written = trim("--budget 5000 --keep-extra", "anthropic/claude-sonnet-4-5")
    assert.equal("system", written.messages[1].role)
  end)

  it("says what the other form leaves out, once", function()
    local _, run = trim "--budget 5000"
    local _, count = run.err:gsub("lost_member", "")
    assert.equal(1, count)
    contains("(messages 2, 6, 10, 14, 18 and 1 more)", run.err)
  end)

  it("leaves an id that two calls have, as apply and convert do; --repair changes it", function()
    local call = '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},'
      .. '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}'
    local text = ('{"model":"claude-sonnet-4-5","max_tokens":99,"messages":[{"role":"user","content":"q"},%s,%s,'
      .. '{"role":"assistant","content":"end"}]}'):format(call, call)
    local lines = { "trim %s --budget 1000", "convert %s --to anthropic", "apply " .. file("none.json",
      '{"operation":"truncate","removeLast":0}') .. " %s" }
    for _, line in ipairs(lines) do
      local path = file("twice.json", text)
      local run = command.ebb(line:format(path))
      contains("duplicate_call", run.err)
      assert.equal(text, (run.out:gsub("\n$", "")))
      command.does(line:format(path) .. " -i")
      assert.equal(text, (command.read(path):gsub("\n$", "")))
      run = command.ebb(line:format(path) .. " --repair")
      local ids = {}
      for id in run.out:gmatch '"id":"(.-)"' do ids[#ids + 1] = id end
      assert.equal(2, #ids)
      assert.not_equal(ids[1], ids[2])
    end
  end)

  it("says once that ids of calls are changed", function()
    local words = {}
    for i = 1, 9 do
      words[i] = ('{"role":"assistant","content":null,"tool_calls":[{"id":"a.%d","type":"function","function":'
        .. '{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a.%d","content":"r"}'):format(i, i)
    end
    local chat = file("ids.json", '[{"role":"user","content":"q"},' .. table.concat(words, ",") .. "]")
    local run = command.ebb(("convert %s --to anthropic"):format(chat))
    local _, count = run.err:gsub("changed_id", "")
    assert.equal(1, count, run.err)
    contains("changed_id: the call id 'a.1' is invalid or already used in the target; renamed (and 8 more calls; "
      .. "messages 2, ", run.err)
  end)

  it("reads what it writes as it read the input, for what is refused in it", function()
    local path = file("roles.json", '{"messages":[{"role":"pirate","content":"a","metadata":{}},'
      .. '{"role":"tool","tool_call_id":"x","content":"r"},{"role":"pirate","content":"b"}]}')
    local run = command.ebb("trim --budget 1000 --role-map pirate=user " .. path)
    assert.equal(0, run.status, run.err)
    contains("message 2: orphan_result", run.err)
    assert.is_nil(run.out:find("metadata", 1, true))
  end)

  it("refuses a budget that only the unconverted body would meet, and writes nothing", function()
    local path = file("small.json", json.encode(body "claude-sonnet-4-5"))
    local run = command.ebb("trim --budget 20 " .. path)
    assert.equal(4, run.status)
    assert.equal("", run.out)
  end)
end)
