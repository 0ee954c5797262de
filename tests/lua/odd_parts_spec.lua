--- Parts and members that hardly any program writes, converted and repaired: what they become, and what is told.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = require("ebb.support.core").json

local U = { role = "user", content = "u" }
local LONG = ("é"):rep(59) .. "a"      -- 119 bytes; the character behind it does not fit 120

local function user(...) return { role = "user", content = { ... } } end
local function assistant(...) return { role = "assistant", content = { ... } } end
local function call(id) return { id = id, type = "function", ["function"] = { name = "f", arguments = "{}" } } end
local function detail(id, data, format)
  return { type = "reasoning.encrypted", format = format or "google-gemini-v1", id = id, data = data }
end
local function document(source) return { type = "document", source = source } end

--- A reply with thought signatures in reasoning_details, for Gemini; what its parts are signed with.
local function signed(details, content, calls)
  return { U, { role = "assistant", content = content, tool_calls = calls, reasoning_details = details }, U }
end

-- name, messages, target, what is in the output, codes of losses by position
local CONVERTED = {
  { "a document of a type without a usual name", { user(document { type = "base64", media_type = "application/zip",
    data = "UEsDBA==" }) }, "openai", '"filename":"document.txt"', "" },
  { "a document without a type", { user(document { type = "base64", data = "UEsDBA==" }) }, "openai",
    '"filename":"document.pdf","file_data":"data:application/pdf;base64,UEsDBA=="', "" },
  { "a message of which nothing is left", { U, assistant { type = "thinking", thinking = "m" }, U }, "anthropic",
    '[{"content":"u","role":"user"},{"content":"u","role":"user"}]', "2 lost_reasoning 2 lost_message" },
  { "parts of a result that have no form", { U, assistant { type = "tool_use", id = "a", name = "f", input = {} },
    user { type = "tool_result", tool_use_id = "a", content = { { type = "text", text = "t" },
      { type = "image", source = { type = "base64", media_type = "image/png", data = "iVBORw0KGgo=" } },
      { type = "thinking", thinking = "m" }, { type = "image", source = {} } } } },
    "responses", '"output":[{"type":"input_text","text":"t"},{"type":"input_image",', "3 lost_reasoning 3 lost_media" },
  { "members around and in a part without texts of its own", { user { type = "search_result", source = "", title = "",
    citations = { enabled = true }, content = { { type = "text", text = "The Swan", annotations = { { n = 1 } } } } } },
    "openai", '"content":"The Swan"', "1 changed_part 1 lost_member 1 lost_member" },
  { "the same member around and in it", { user { type = "search_result", source = "", title = "",
    citations = { enabled = true }, content = { { type = "text", text = "The Swan", citations = { { n = 1 } } } } } },
    "openai", '"content":"The Swan"', "1 changed_part 1 lost_member" },
  { "a signature without a call", signed({ detail("q", "S1") }, "t"), "gemini",
    '"parts":[{"text":"t","thoughtSignature":"S1"}]', "" },
  { "two signatures and one text", signed({ detail("q", "S1"), detail("p", "S2") }, "t"), "gemini",
    '"parts":[{"text":"t","thoughtSignature":"S1"},{"text":"","thoughtSignature":"S2"}]', "" },
  { "a signature and no text", signed({ detail("q", "S1") }, ""), "gemini",
    '"parts":[{"text":"","thoughtSignature":"S1"}]', "" },
  { "signatures with ids of calls, with others, without, twice, and a text that is no signature", signed({
    detail("a", "S1"), detail("zz", "S2"), detail(nil, "S3"), detail("a", "S4"), 5, { type = "x" },
    detail("a", "S5", "o"), detail() },
    "t", { call "a", call "b" }), "gemini", '"thoughtSignature":"S3"},{"functionCall":{"id":"a","name":"f","args":{}},'
    .. '"thoughtSignature":"S1"},{"functionCall":{"id":"b","name":"f","args":{}},"thoughtSignature":"S2"},'
    .. '{"text":"","thoughtSignature":"S4"}', "2 lost_member" },
}

local GEMINI = '[{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"functionCall":{"id":"a","name":"f",'
  .. '"args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f"%s}}]}]'
local FILE = '[{"role":"user","content":[{"type":"file","file":{%s"data:application/pdf;base64,JVBERi0="}}]}]'

-- name, messages, target, what they become, codes of losses by position; no text: they stay
local REPAIRED = {
  { "a null in place of a response", GEMINI:format ',"response":null', "gemini", nil, "" },
  { "a response that is absent", GEMINI:format "", "gemini", nil, "" },
  { "an output that is absent", '[{"role":"user","content":"u"},{"type":"function_call","call_id":"a","name":"f",'
    .. '"arguments":"{}"},{"type":"function_call_output","call_id":"a"}]', "responses",
    '{"type":"function_call_output","call_id":"a","output":""}', "" },
  { "a file without a name", FILE:format '"file_data":', "openai", '{"filename":"document.pdf","file_data":', "" },
  { "a file without a name whose data's key is escaped", FILE:format '"file\\u005fdata":', "openai",
    '{"filename":"document.pdf","file\\u005fdata":', "" },
  { "ids that are too long for a report, cut at a character", json.encode { U, { role = "assistant", content = "",
    tool_calls = { call(LONG .. "語") } } }, "openai", '[{"content":"u","role":"user"}]',
    "2 lost_call" },
}

local function codes(losses)
  local list = {}
  for i, loss in ipairs(losses) do list[i] = ("%d %s"):format(loss.index, loss.code) end
  return table.concat(list, " ")
end

describe("odd parts", function()
  for _, case in ipairs(CONVERTED) do
    it("are converted: " .. case[1], function()
      local written, lost = assert(ebb.parse(json.encode(case[2]))):write(case[3])
      assert.truthy(written:find(case[4], 1, true), written)
      assert.equal(case[5], codes(lost))
    end)
  end

  for _, case in ipairs(REPAIRED) do
    it("are repaired: " .. case[1], function()
      local copy, report = assert(ebb.parse(case[2])):repaired { dialect = case[3], calls = "drop" }
      local written = copy:json()
      if case[4] then assert.truthy(written:find(case[4], 1, true), written) else assert.equal(case[2], written) end
      assert.equal(case[5], codes(report.lost))
    end)
  end

  it("have subjects of whole characters in reports", function()
    local _, report = assert(ebb.parse(REPAIRED[#REPAIRED][2])):repaired { dialect = "openai", calls = "drop" }
    assert.equal(("the call '%s' has no result: left out"):format(LONG), report.lost[1].text)
  end)
end)
