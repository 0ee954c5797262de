--- Forms that only some servers refuse, and thinking without a signature: by commands and their profiles.

local command = dofile "tests/lua/command.lua"

local file, does = command.file, command.does

local function openai(call)
  return '[{"role":"user","content":"find"},{"role":"assistant","content":"","tool_calls":[' .. call
    .. ']},{"role":"tool","tool_call_id":"k","content":"none"},{"role":"user","content":"again"}]'
end

local CUT = '{"id":"k","type":"function","function":{"name":"find","arguments":"{\\"text\\": \\"a lo"}}'
local MENDED = '{"id":"k","type":"function","function":{"name":"find","arguments":'
  .. '"{\\"input\\":\\"{\\\\\\"text\\\\\\": \\\\\\"a lo\\"}"}}'

--- A body for Claude whose thinking has a signature, or not.
local function thinking(signature)
  local part = ('{"type":"thinking","thinking":"I count.","signature":"%s"},'):format(signature)
  return '{"model":"claude-sonnet-4-5","max_tokens":500,"messages":[{"role":"user","content":"3 + 4?"},\n'
    .. '{"role":"assistant","content":[' .. part .. '{"type":"text","text":"7"}]},\n'
    .. '{"role":"user","content":"5 + 4?"}]}'
end

describe("a repair of forms", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("writes arguments that are no JSON as a member, where the server wants an object", function()
    local path = file("cut.json", openai(CUT))
    for _, words in ipairs { "convert --to openai --profile vllm", "trim --budget 1000 --profile vllm" } do
      assert.equal(openai(MENDED), (does(words .. " --repair " .. path)))
    end
    assert.equal(openai(CUT), (does("convert --to openai --repair " .. path)))   -- OpenAI itself reads texts
    assert.equal(0, command.ebb("check --profile vllm " .. file("mended.json", openai(MENDED))).status)
  end)

  it("adds an empty reasoning_content where the model wants one", function()
    local path = file("chat.json", openai((CUT:gsub('"{.-lo"', '"{}"'))):gsub('"again"', '"thanks"'))
    local out = does("convert --to openai --model deepseek-v4-pro --repair " .. path)
    command.contains('"arguments":"{}"}}],"reasoning_content":""}', out)
    local _, count = out:gsub('"reasoning_content":""', "")
    assert.equal(1, count)
    assert.equal(out, (does("convert --to openai --model deepseek-v4-pro --repair " .. file("out.json", out))))
  end)

  it("drops unsigned thinking in every command, and only under --repair", function()
    local path, keeps = file("unsigned.json", thinking ""), file("keep.lua", "return function() end")
    local commands = { "convert --to anthropic " .. path, "trim --budget 5000 " .. path,
      ("filter %s --input %s"):format(keeps, path) }
    for _, words in ipairs(commands) do
      local out, err = does(words)
      assert.equal(thinking "", out)
      command.contains("unsigned_thinking", err)
      assert.equal((thinking(""):gsub('{"type":"thinking".-},', "")), (does(words .. " --repair")))
      assert.equal(thinking "", (does(words .. " --repair --profile anthropic-compatible")))
    end
    local signed = file("signed.json", thinking "c2ln")
    assert.equal(thinking "c2ln", (does("convert --to anthropic --repair " .. signed)))
  end)
end)
