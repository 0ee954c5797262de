--- Keys that are written with escapes, "file\u005fdata", are the keys that they spell: in what is converted, checked,
--- repaired, counted and sent.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local json = core.json

local PNG, PDF = "iVBORw0KGgo=", "JVBERi0="

--- Writes keys with escapes: all of them, their first letter or all that are no letters.
local function escape(text, is_all)
  return (text:gsub('"([%w_$]+)"(%s*:)', function(key, colon)
    local written = key:gsub(is_all and "." or "^.", function(letter) return ("\\u%04x"):format(letter:byte()) end)
    return '"' .. written .. '"' .. colon
  end))
end

local CHAT = [[{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function",
  "function":{"name":"f","arguments":"{\"q\":1}"}}]},{"role":"tool","tool_call_id":"t1","content":"晴"}]]

-- what it shows, a list or body
local CASES = {
  { "texts and calls of openai", '[{"role":"user","content":"问"},' .. CHAT .. "]" },
  { "a file without a name", ('{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":"file",'
    .. '"file":{"file_data":"data:application/pdf;base64,%s"}}]}]}'):format(PDF) },
  { "a file with a name", ('[{"role":"user","content":[{"type":"file","file":{"filename":"计划.pdf",'
    .. '"file_data":"data:application/pdf;base64,%s"}}]}]'):format(PDF) },
  { "a file of responses without a name", ('{"model":"gpt-4o","input":[{"role":"user","content":[{"type":"input_file",'
    .. '"file_data":"data:application/pdf;base64,%s"}]}]}'):format(PDF) },
  { "an image of another type", ('[{"role":"user","content":[{"type":"image_url","image_url":'
    .. '{"url":"data:image/jpeg;base64,%s","detail":"low"}}]}]'):format(PNG) },
  { "calls of responses", '{"model":"gpt-4o","input":[{"type":"function_call","call_id":"t1","name":"f",'
    .. '"arguments":"{}"},{"type":"function_call_output","call_id":"t1","output":"晴"}]}' },
  { "parts of anthropic", ('{"model":"claude-sonnet-4-5","max_tokens":9,"system":"短","messages":['
    .. '{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"%s"}}]},'
    .. '{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":['
    .. '{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"晴"}]}]}]}')
    :format(PNG) },
  { "nested parts", '[{"role":"user","content":"问"},{"role":"assistant","content":[{"type":"tool_use","tool_use":'
    .. '{"id":"t1","name":"f","input":{},"x":1}}]},{"role":"tool","content":[{"type":"tool_result",'
    .. '"tool_result":{"tool_use_id":"t1","content":"晴"}}]}]' },
  { "a result of role tool without its call", '[{"role":"user","content":"问"},{"role":"tool","tool_call_id":"t9",'
    .. '"content":"晴"}]' },
  { "contents of gemini", ('{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"%s"}}]},'
    .. '{"role":"model","parts":[{"functionCall":{"id":"t1","name":"f","args":{}}}]},{"role":"user","parts":['
    .. '{"functionResponse":{"id":"t1","name":"f","response":{"name":"f","content":"晴"}}}]}]}'):format(PNG) },
  { "a key that gemini reads itself", '{"contents":[{"role":"user","parts":[{"text":"问"}]},{"role":"model","parts":['
    .. '{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":'
    .. '{"a":{"$ref":"#/x"}}}}]}]}' },
  { "a string that spells such a key", '{"contents":[{"role":"user","parts":[{"text":"问"}]},{"role":"model","parts":['
    .. '{"functionCall":{"name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":'
    .. '{"a":"$ref"}}}]}]}' },
  { "members that no request has", '[{"role":"user","content":[{"type":"text","text":"问","x":1}],"id":"m1"}]' },
}

local TARGETS = { "openai", "responses", "anthropic", "gemini" }

--- Decodes JSON, with the escapes \\u00xx of keys in its strings read.
local function read(text)
  return json.decode((text:gsub("\\\\u00(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end)))
end

local function load(text) return assert(ebb.parse(text)) end

local function told(list)
  local words = {}
  for i, each in ipairs(list) do words[i] = each.code .. " " .. tostring(each.subject or each.text) end
  return words
end

describe("keys with escapes", function()
  for _, case in ipairs(CASES) do
    for _, is_all in ipairs { false, true } do
      local escaped = escape(case[2], is_all)
      it(("are what they spell: %s%s"):format(case[1], is_all and ", every letter" or ""), function()
        assert.not_equal(case[2], escaped)
        assert.same(json.decode(case[2]), json.decode(escaped))
        local plain, other = load(case[2]), load(escaped)
        assert.equal(plain:dialect(), other:dialect())
        if not case[2]:find '"response"' then assert.equal(plain:tokens(), other:tokens()) end
        for _, target in ipairs(TARGETS) do
          local expected, lost = plain:write(target)
          local written, lost_too = other:write(target)
          assert.same(read(expected), read(written))
          assert.same(told(lost), told(lost_too))
          assert.same(told(plain:check { dialect = target }), told(other:check { dialect = target }))
        end
        local mended, mended_too = plain:repaired(), other:repaired()
        assert.same(read(mended:json()), read(mended_too:json()))
        local sent, sent_too = ebb.pipeline():run(plain), ebb.pipeline():run(other)
        assert.same(read(assert(sent).body), read(assert(sent_too).body))
      end)
    end
  end
end)
