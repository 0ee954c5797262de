--- Parts of the message array, which nests a call, a result and an image's URL in a member of their own, are written in
--- the form of each provider; none takes them as they are.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local json = core.json

local PIXEL = "iVBORw0KGgo="
local TARGETS = { "openai", "responses", "anthropic", "gemini" }

local function load(messages) return assert(ebb.parse(json.encode(messages))) end

local function use(id, name, input) return { type = "tool_use", tool_use = { id = id, name = name, input = input } } end
local function result(id, content, is_error)
  return { type = "tool_result", tool_result = { tool_use_id = id, content = content, is_error = is_error } }
end
local function image(url) return { type = "image", image_url = { url = url } } end
local function text(said) return { type = "text", text = said } end

--- The conversation in flat parts of Anthropic's.
local FLAT = {
  { role = "user", content = { text "看图", { type = "image",
    source = { type = "base64", media_type = "image/png", data = PIXEL } } } },
  { role = "assistant", content = { text "查", { type = "tool_use", id = "t1", name = "天气", input = { q = "北京" } },
    { type = "tool_use", id = "t2", name = "f", input = { n = 2 } } } },
  { role = "user", content = { { type = "tool_result", tool_use_id = "t1", content = "晴" },
    { type = "tool_result", tool_use_id = "t2", content = { text "多", text "云" } } } },
}

--- `role`: of the message that has the results.
local function nested(role)
  return {
    { role = "user", content = { text "看图", image("data:image/png;base64," .. PIXEL) } },
    { role = "assistant", content = { text "查", use("t1", "天气", { q = "北京" }), use("t2", "f", { n = 2 }) } },
    { role = role, content = { result("t1", "晴"), result("t2", { text "多", text "云" }) } },
  }
end

describe("nested parts", function()
  for _, role in ipairs { "tool", "user" } do
    for _, target in ipairs(TARGETS) do
      it(("with results of %s are written for %s as flat ones are"):format(role, target), function()
        local written, lost = load(nested(role)):write(target)
        local expected, lost_flat = load(FLAT):write(target)
        assert.same(json.decode(expected), json.decode(written))
        assert.equal(#lost_flat, #lost)
        local left = assert(ebb.parse(written)):check { dialect = target }
        for _, violation in ipairs(left) do assert.is_nil(violation.code:match "^[^f].*_part$", violation.text) end
      end)
    end
  end

  it("keep an error, and a URL", function()
    local written = load {
      { role = "user", content = { image "https://a.example/猫.png" } },
      { role = "assistant", content = { use("t1", "f", {}) } },
      { role = "tool", content = { result("t1", "无", true) } },
    }:write "anthropic"
    local messages = json.decode(written)
    assert.same({ type = "url", url = "https://a.example/猫.png" }, messages[1].content[1].source)
    assert.is_true(messages[3].content[1].is_error)
  end)

  -- what has a member that no request has, and its path; flat parts, nested ones and calls, in each role
  local function speaks(part) return { role = "assistant", content = { part } } end
  local function answers(part) return { role = "user", content = { part } } end
  local USE, RESULT = { type = "tool_use", id = "t1", name = "f", input = {} },
    { type = "tool_result", tool_use_id = "t1", content = "晴" }
  local function extra(table_, member)
    local copy = { [member or "x"] = 1 }
    for key, value in pairs(table_) do copy[key] = value end
    return copy
  end
  local LOST = {
    { "a flat call", speaks(extra(USE)), nil, "content[0].x" },
    { "a nested call", speaks { type = "tool_use", tool_use = extra(use("t1", "f", {}).tool_use) }, nil,
      "content[0].tool_use.x" },
    { "what stands beside a nested call", speaks(extra(use("t1", "f", {}), "备注")), nil, "content[0].备注" },
    { "a flat result", speaks(USE), answers(extra(RESULT)), "content[0].x" },
    { "a nested result", speaks(USE),
      answers { type = "tool_result", tool_result = extra(result("t1", "晴").tool_result) },
      "content[0].tool_result.x" },
    { "a part of a nested result", speaks(USE),
      { role = "tool", content = { result("t1", { text "多", extra(text "云") }) } },
      "content[0].tool_result.content[1].x" },
    { "what stands beside a result of role tool", speaks(USE),
      { role = "tool", content = { extra(result("t1", "晴")) } },
      "content[0].x" },
    { "a part of a result", speaks(USE), answers { type = "tool_result", tool_use_id = "t1",
      content = { extra(image "https://a.example/a.png") } }, "content[0].content[0].x" },
    { "a nested image", nil, answers(extra(image "https://a.example/a.png")), "content[0].x" },
    { "a text", nil, answers(extra(text "好")), "content[0].x" },
    { "a call in tool_calls", { role = "assistant", tool_calls = { { id = "t1", type = "function", x = 1,
      ["function"] = { name = "f", arguments = "{}" } } } }, nil, "tool_calls[0].x" },
    { "a function of a call", { role = "assistant", tool_calls = { { id = "t1", type = "function",
      ["function"] = { name = "f", arguments = "{}", x = 1 } } } }, nil, "tool_calls[0].function.x" },
    { "a part of gemini", nil, { role = "user", parts = { { text = "好" }, { text = "吗", x = 1 } } }, "parts[1].x" },
    { "a call of gemini", { role = "model", parts = { { functionCall = { name = "f", args = {}, x = 1 } } } }, nil,
      "parts[0].functionCall.x" },
    { "a part of responses", nil, answers { type = "input_text", text = "好", x = 1 }, "content[0].x" },
    { "an output of responses", { type = "function_call", call_id = "t1", name = "f", arguments = "{}" },
      { type = "function_call_output", call_id = "t1", output = { { type = "input_text", text = "晴", x = 1 } } },
      "output[0].x" },
  }
  for _, case in ipairs(LOST) do
    it("of which a member is lost are told: " .. case[1], function()
      local list = { { role = "user", content = "问" } }
      list[#list + 1] = case[2]
      list[#list + 1] = case[3]
      for _, target in ipairs(TARGETS) do
        local written, lost = load(list):write(target)
        local is_kept = written:find('[^%w]x":1') ~= nil or written:find('备注":1', 1, true) ~= nil
        local paths = {}
        for _, loss in ipairs(lost) do
          if loss.code == "lost_member" then paths[#paths + 1] = loss.subject end
        end
        assert.same(is_kept and {} or { case[4] }, paths, target .. ": " .. written)
        assert.is_true(not is_kept or not written:find('"tool_use":{', 1, true))
      end
    end)
  end

  it("of which nothing is lost are told nothing", function()
    local list = { { role = "user", content = "问" }, { role = "assistant", tool_calls = { { index = 0, id = "t1",
      type = "function", ["function"] = { name = "f", arguments = "{}" } } } },
      { role = "tool", content = { { type = "tool_result", is_error = json.null, tool_result = { tool_use_id = "t1",
        content = "晴" } } } }, { role = "assistant", content = { text "好" } } }
    for _, target in ipairs(TARGETS) do
      for _, loss in ipairs(select(2, load(list):write(target))) do assert.not_equal("lost_member", loss.code) end
    end
  end)

  it("are refused where they are no objects", function()
    local ok, problem = ebb.parse '[{"role":"assistant","content":[{"type":"tool_use","tool_use":"f"}]}]'
    assert.is_nil(ok)
    assert.match("expected an object", problem.message)
  end)

  -- what image_url is; its own source in anthropic's form
  local URL = { type = "url", url = "https://a.example/猫.png" }
  local BASE64 = { type = "base64", media_type = "image/png", data = PIXEL }
  for name, case in pairs {
    ["a URL"] = { URL.url, URL }, ["an object with a URL"] = { { url = URL.url }, URL },
    ["a data URI"] = { "data:image/png;base64," .. PIXEL, BASE64 }, ["a source"] = { BASE64, BASE64 },
    ["an object with a source"] = { { source = BASE64 }, BASE64 },
  } do
    it("of images are read where image_url is " .. name, function()
      local list = { { role = "user", content = { { type = "image", image_url = case[1] } } } }
      for _, target in ipairs { "openai", "anthropic" } do
        local messages = json.decode((load(list):write(target)))
        local flat = load { { role = "user", content = { { type = "image", source = case[2] } } } }
        assert.same(json.decode((flat:write(target))), messages)
      end
    end)
  end

  it("of results are rewritten in flat results, too", function()
    local body = { max_tokens = 10, model = "claude-sonnet-4-5", messages = {
      { role = "user", content = "看" },
      { role = "assistant", content = { { type = "tool_use", id = "t1", name = "f", input = { q = "天" } } } },
      { role = "user", content = { { type = "tool_result", tool_use_id = "t1",
        content = { text "图", image(URL.url) } } } } } }
    local messages = json.decode((load(body):write "anthropic")).messages
    assert.same({ type = "image", source = URL }, messages[3].content[1].content[2])
  end)

  for _, target in ipairs { "openai", "anthropic", "responses" } do
    it("are repaired as a request of " .. target .. " has them, with all that they say", function()
      local list = nested "tool"
      list[1].id, list[3].metadata = "m1", { ["来源"] = "站" }
      list[4] = { role = "assistant", content = "多云" }
      local copy, report = load(list):repaired { dialect = target, calls = "drop" }
      assert.same({}, report.lost)
      local flat = json.decode((load(nested "tool"):write(target)))
      local messages = json.decode(copy:json())
      assert.equal("m1", messages[1].id)
      local place = target == "openai" and 3 or target == "anthropic" and 3 or #messages - 2
      assert.same({ ["来源"] = "站" }, messages[place].metadata)
      messages[1].id, messages[place].metadata, messages[#messages] = nil, nil, nil
      assert.same(flat, messages)
    end)
  end

  it("stay in a repair where the rest has another form, or their violation is not repaired", function()
    local list = nested "tool"
    local copy = load(list):repaired { dialect = "openai", codes = { "alternation" } }
    assert.same(list, json.decode(copy:json()))
    list[#list + 1] = { role = "model", parts = { { text = "晴" } } }
    copy = load(list):repaired { dialect = "openai" }
    assert.match('"tool_use":{', copy:json(), 1, true)
  end)
end)

describe("files with nested parts", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  --- A list, of which no message tells a dialect, and bodies around it.
  local function write_files()
    local list = nested "tool"
    for _, call in ipairs { list[2].content[2].tool_use, list[2].content[3].tool_use } do call.name = "look" end
    list[4] = { role = "user", content = "好" }
    command.file("list.json", json.encode(list))
    command.file("openai.json", json.encode { model = "gpt-4o", messages = list })
    command.file("anthropic.json", json.encode { model = "claude-sonnet-4-5", max_tokens = 99, messages = list })
    command.file("responses.json", json.encode { model = "gpt-4o", input = list })
  end

  --- Runs a command on a file of the folder.
  local function run(word, name, rest)
    return command.ebb(("%s %s %s"):format(word, command.path_of(name .. ".json"), rest or ""))
  end

  --- Checks that a command's output is valid for `dialect` and has the call, the result and the image.
  local function assert_written(written, dialect)
    assert.equal(0, written.status, written.err)
    command.file("out.json", written.out)
    local check = run("check", "out", "--dialect " .. dialect)
    assert.equal(0, check.status, check.out)
    for _, said in ipairs { "t1", "t2", "look", "北京", "晴", "多", "云", PIXEL } do
      assert.is_truthy(written.out:find(said, 1, true), said .. " is missing in " .. written.out)
    end
  end

  for _, target in ipairs(TARGETS) do
    it("are converted to " .. target, function()
      write_files()
      for _, name in ipairs { "list", "openai", "anthropic", "responses" } do
        assert_written(run("convert", name, "--to " .. target), target)
      end
    end)
  end

  it("are repaired, each in its own dialect", function()
    write_files()
    assert_written(run("trim", "list", "--budget 4000 --repair"), "openai")
    for _, name in ipairs { "openai", "anthropic", "responses" } do
      assert_written(run("trim", name, "--budget 4000 --repair"), name)
      assert_written(run("convert", name, "--repair"), name)
      assert.equal(1, run("check", name).status)
    end
  end)

  it("stay as they are where a command edits them without a repair", function()
    write_files()
    assert.equal(command.read(command.path_of "list.json"), run("trim", "list", "--budget 4000").out)
  end)
end)
