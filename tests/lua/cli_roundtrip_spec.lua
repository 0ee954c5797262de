--- Conversations through the command: as array, as JSONL and inside a request
-- body, and out again.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local read, file, ebb = command.read, command.file, command.ebb

--- Returns the position of the quote that ends the string at `at`.
local function string_end(text, at)
  local here = at + 1
  while true do
    here = text:find('["\\]', here)
    if text:sub(here, here) == '"' then return here end
    here = here + 2   -- over the escaped character
  end
end

--- The elements of a JSON array, as they are written.
local function elements(text)
  local list, depth, start, at = {}, 0, nil, 1
  while true do
    local here = text:find('["%[%]{}]', at)
    if not here then return list end
    local byte = text:sub(here, here)
    if byte == '"' then
      here = string_end(text, here)
    elseif byte == "[" or byte == "{" then
      depth = depth + 1
      if depth == 2 then start = here end
    else
      depth = depth - 1
      if depth == 1 then list[#list + 1] = text:sub(start, here) end
    end
    at = here + 1
  end
end

local function as_jsonl(text)
  local lines = elements(text)
  for i, line in ipairs(lines) do
    lines[i] = line:gsub("\n", "")
  end
  assert(#lines > 0, "no messages were found")
  return table.concat(lines, "\n") .. "\n"
end

local function as_body(text)
  return '{ "model": "gpt-4o",\r\n\t"messages" : ' .. text .. ' , "temperature": 1.0, "x": {"messages": []} }\n'
end

describe("conversations come back byte for byte", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, path in ipairs(helper.conversations()) do
    it(path:match "[^/]*$", function()
      local text = read(path)
      for _, shaped in ipairs { text, as_jsonl(text), as_body(text) } do
        local input = file("in", shaped)

        local run = ebb("trim --budget 100000000 --keep-extra", input)

        assert.equal(0, run.status, run.err)
        assert.truthy(shaped == run.out, "the bytes differ")
      end
    end)
  end
end)

describe("a trimmed body is a request", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  local THINKING = [[{"model":"claude-opus-5-5","max_tokens":100,"system":"S","messages":[
{"role":"user","content":"one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"},
{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"x"},{"type":"text","text":"b"}]},
{"role":"user","content":"c","id":"m3"},
{"role":"assistant","content":[{"type":"thinking","thinking":"d","signature":"y"},{"type":"text","text":"e"}]},
{"role":"user","content":"f"}]}]]

  it("without members that requests do not have; files that are edited in place keep them", function()
    local input = file("in", THINKING)
    local run = ebb("trim --budget 1000", input)
    assert.is_nil(run.out:find("m3", 1, true))
    assert.truthy(run.out:find('"signature":"y"', 1, true))
    assert.truthy(run.err:find("the member .id. is left out"), run.err)
    assert.equal(0, ebb("trim -i --budget 1000 " .. input).status)
    assert.equal(THINKING, read(input))
  end)

  it("without thinking that is bound to what was dropped before it", function()
    local run = ebb("trim --budget 42", file("in", THINKING))
    assert.equal(0, run.status, run.err)
    assert.is_nil(run.out:find("thinking", 1, true))
    assert.truthy(run.err:find("lost_bound_reasoning", 1, true))
    assert.is_nil(run.err:find("would refuse", 1, true))
  end)
end)
