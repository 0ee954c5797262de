--- System messages among the others: where Anthropic's newest models take them, and what becomes of them elsewhere.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local contains = command.contains

--- Messages of openai by a letter each: s, u, a; c calls two tools, whose results are r (both).
local function messages(words)
  local list, call = {}, nil
  for i, word in ipairs(words) do
    if word == "r" then
      for _, id in ipairs { "x", "y" } do
        list[#list + 1] = { role = "tool", tool_call_id = id .. call, content = "r" .. i }
      end
    else
      local message = { role = ({ s = "system", u = "user", a = "assistant", c = "assistant" })[word],
        content = word .. i }
      if word == "c" then
        message.tool_calls, call = {}, i
        for k, id in ipairs { "x", "y" } do
          message.tool_calls[k] = { id = id .. i, type = "function", ["function"] = { name = "f", arguments = "{}" } }
        end
      end
      list[#list + 1] = message
    end
  end
  return list
end

local function words_of(text)
  local words = {}
  for word in text:gmatch "%a%d*" do words[#words + 1] = word end
  return words
end

--- The written messages in the same letters; system texts apart in brackets. A user's text that was a system message
--- begins with its letter.
local function written(text)
  local body, words = ebb.json.decode(text), {}
  for _, part in ipairs(body.system or body.systemInstruction and body.systemInstruction.parts or {}) do
    words[#words + 1] = "[" .. part.text:sub(1, 1) .. "]"
  end
  for _, message in ipairs(body.messages or body.contents) do
    local content = message.content or message.parts
    for _, part in ipairs(content) do
      local said = part.text and part.text:sub(1, 1) or (part.type == "tool_use" or part.functionCall) and "c" or "r"
      words[#words + 1] = message.role:sub(1, 1) .. ":" .. said
    end
  end
  return (table.concat(words, " "):gsub("a:a a:c a:c", "a:c"):gsub("a:c a:c a:c", "a:c"):gsub("m:c m:c m:c", "m:c")
    :gsub("u:r u:r", "u:r"))
end

local function convert(words, model, dialect)
  local chat = assert(ebb.parse(ebb.json.encode(messages(words_of(words)))))
  local text, losses = chat:write(dialect or "anthropic", { shape = "body", model = model })
  local changed = {}
  for _, loss in ipairs(losses) do
    if loss.code == "changed_system" then changed[#changed + 1] = loss.index end
  end
  return text, table.concat(changed, " ")
end

-- what comes in, what Opus 5 gets, which messages become a user's, the same for Opus 4.1
local ROWS = {
  { "s u a u", "[s] u:u a:a u:u", "", "[s] u:u a:a u:u", "" },
  { "u s a u", "u:u s:s a:a u:u", "", "u:u u:s a:a u:u", "2" },
  { "u a s u", "u:u a:a u:u s:s", "", "u:u a:a u:s u:u", "3" },
  { "u a u s", "u:u a:a u:u s:s", "", "u:u a:a u:u u:s", "4" },
  { "u s u", "u:u u:u s:s", "", "u:u u:s u:u", "2" },
  { "u a s a u", "u:u a:a u:s a:a u:u", "3", "u:u a:a u:s a:a u:u", "3" },
  { "u a u a s", "u:u a:a u:u a:a u:s", "5", "u:u a:a u:u a:a u:s", "5" },
  { "u s s a u", "u:u s:s s:s a:a u:u", "", "u:u u:s u:s a:a u:u", "2 3" },
  { "u a s s u", "u:u a:a u:u s:s s:s", "", "u:u a:a u:s u:s u:u", "3 4" },
  { "u c s r u", "u:u a:c u:r u:u s:s", "", "u:u a:c u:r u:s u:u", "3" },
  { "u c r s u", "u:u a:c u:r u:u s:s", "", "u:u a:c u:r u:s u:u", "5" },
  { "u c s r s a u", "u:u a:c u:r s:s s:s a:a u:u", "", "u:u a:c u:r u:s u:s a:a u:u", "3 6" },
  { "u s c r s c r u", "u:u s:s a:c u:r s:s a:c u:r u:u", "", "u:u u:s a:c u:r u:s a:c u:r u:u", "2 6" },
}

describe("system messages among the others", function()
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local text, changed = convert(row[1], "claude-opus-5")
      assert.same({ row[2], row[3] }, { written(text), changed })
      assert.same({}, assert(ebb.parse(text)):check())
      text, changed = convert(row[1], "claude-opus-4-1")
      assert.same({ row[4], row[5] }, { written(text), changed })
    end)
  end

  it("do not part a call from its results for gemini", function()
    local text = convert("u c s r u", "gemini-2.5-flash", "gemini")
    assert.equal("u:u m:c u:r u:s u:u", written(text))
    assert.same({}, assert(ebb.parse(text)):check())
  end)

  it("wherever they are, give nothing that the provider refuses", function()
    math.randomseed(helper.seed())
    for _ = 1, 300 do
      local words = {}
      for _ = 1, math.random(4) do
        table.insert(words, "u")
        for _ = 1, math.random(0, 2) do table.move({ "c", "r" }, 1, 2, #words + 1, words) end
        table.insert(words, "a")
      end
      words[#words + 1] = "u"
      for _ = 1, math.random(5) do table.insert(words, math.random(#words + 1), "s") end
      local line = table.concat(words, " ")
      for _, model in ipairs { "claude-opus-5", "claude-opus-4-8", "claude-opus-4-1", "claude-opus-5-5" } do
        local text = convert(line, model)
        local refused = {}
        for _, violation in ipairs(assert(ebb.parse(text)):check()) do refused[#refused + 1] = violation.code end
        assert.same({}, refused, line .. " for " .. model .. ": " .. text)
      end
    end
  end)
end)

describe("a body of Anthropic with system messages inside", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local LONG = ("word "):rep(60)
  local function body(...)
    return ('{"model":"claude-opus-5-5","max_tokens":90,\n "messages":[%s]}\n'):format(table.concat({ ... }, ",\n  "))
  end

  local U, A = '{"role": "user", "content": "one ' .. LONG .. '"}', '{"role":"assistant","content":"two"}'
  local LAST = '{"role":"user","content":[{"type":"text","text":"three"}]}'
  local INSIDE = {
    '{"role":"system","content":[],"output_config":{"effort":"low"}}',
    '{"role": "system", "content": "Be brief.", "output_config":{"effort":"high"}}',
    '{"role":"system","content":"Be brief."}',
    '{"role":"system","content":[{"type":"text","text":"Be brief."}],"clear_at":"turn"}',
    '{"role":"system","content":[{"type":"tool_removal","tool_name":"f"}]}',
  }

  it("keeps its bytes in trim and in a conversion to its own form", function()
    for _, inside in ipairs(INSIDE) do
      local text = body(U, inside, A, LAST, inside)
      local path = command.file("body.json", text)
      for _, way in ipairs { "trim --budget 90000", "trim --budget 90000 --keep-extra", "convert --to anthropic" } do
        assert.equal(text, (command.does(("%s %s"):format(way, path))), way)
      end
    end
  end)

  it("keeps them where a trim drops what came before", function()
    local text = body(U, A, U, INSIDE[2], A, LAST)
    local out, said = command.does("trim --budget 180 " .. command.file("body.json", text))
    contains(INSIDE[2], out)
    assert.is_nil(said:find("changed_place", 1, true))
    out, said = command.does("trim --budget 60 " .. command.file("body.json", body(U, INSIDE[2], A, LAST)))
    contains('"system"', out)
    contains("changed_place: a system message in the middle goes to the system texts", said)
    contains("the member 'output_config' is left out", said)
    assert.same({}, assert(ebb.parse(out)):check())
  end)

  it("says what other dialects leave out of it", function()
    for _, dialect in ipairs { "openai", "responses", "gemini" } do
      local path = command.file("body.json", body(U, INSIDE[1], A, LAST, INSIDE[2]))
      local out, said = command.does(("convert %s --to %s"):format(path, dialect))
      contains("lost_member: the member 'output_config' is left out: requests do not have it (messages 2, 5)", said)
      contains("lost_message", said)
      contains("Be brief.", out)
      assert.equal("", command.ebb(("convert %s --strict --to %s"):format(path, dialect)).out)
    end
  end)
end)

describe("a pipeline with a note at a depth", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for depth = 0, 5 do
    it("of " .. depth .. " gives what Claude's newest models take", function()
      local agent = command.file("agent.json", ebb.json.encode { name = "A", presets = { { type = "chat_history" },
        { role = "system", content = "Keep it short.", injectionStrategy = { type = "depth", depth = depth } } } })
      local chat = command.file("chat.json", ebb.json.encode(messages(words_of "u a u c r a u")))
      for _, model in ipairs { "claude-opus-5", "claude-opus-4-8" } do
        local out, said = command.does(("pipeline %s --agent %s --model %s"):format(chat, agent, model))
        contains("Keep it short.", out)
        assert.is_nil(said:find("would refuse", 1, true), said)
        assert.same({}, assert(ebb.parse(out)):check())
      end
    end)
  end
end)
