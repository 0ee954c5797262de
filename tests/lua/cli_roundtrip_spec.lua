--- Conversations through the command: as array, as JSONL and inside a request
-- body, and out again.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local read, file, ebb = command.read, command.file, command.ebb

--- Where the string ends that begins at `at`.
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

        local run = ebb("trim --budget 100000000", input)

        assert.equal(0, run.status, run.err)
        assert.truthy(shaped == run.out, "the bytes differ")
      end
    end)
  end
end)
