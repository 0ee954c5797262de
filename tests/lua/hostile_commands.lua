--- Each command on hostile conversations: the lines of arguments and the files that they read. For the complexity
--- gate and for tests/bench/hostile.lua.

local commands = {}

--- Lines of arguments. F: a document of the shape; G: the same, with each message changed;
--- D: the folder of FILES; O, L: files that are written.
-- Policies, dialects and ways of repair are in complexity_spec.lua.
commands.ACTS = {
  trim = {
    "trim F --budget 2000 --explain --ledger L -o O", "trim F --budget 1000000000 --repair=synthesize --dialect openai",
  },
  filter = { "filter D/filter.lua --input F --explain" },
  apply = { [[apply '[{"operation":"truncate","keepLast":100,"wholeUnits":true},{"operation":"clear"}]' F --state]] },
  input = { "input 'and now?' F --window D/window.json --explain" },
  window = { "window open D/window.json F --explain -o O" },
  run = { "run D/script.lua --input F" },
  pipeline = { "pipeline F --agent D/agent.json --trace" },
  count = { "count F --by message" },
  check = { "check F --dialect anthropic --json" },
  convert = {
    "convert F --to anthropic -o O", "convert F --to gemini -o O", "convert F --to responses --shape jsonl -o O",
  },
  inspect = { "inspect F" },
  report = { "report F -o O" },
  recall = { "recall r1-1000000 F --tokens 1000 -o O" },
  diff = { "diff F G" },
  repl = { "repl F <D/lines" },
}

--- Commands with another kind of input, what writes n of it, and where 4 MB would be too many the bytes to measure;
--- `false`: their input cannot grow.
commands.OTHERS = {
  rules = { "rules test F --text 'one \"two\" three'", function(n)
    local list = {}
    for i = 1, n do
      list[i] = ('{"name":"r%d","pattern":"/\\"[a-z]+%d?\\"/g","replacement":"x"}'):format(i, i)
    end
    return "[" .. table.concat(list, ",") .. "]"
  end },
  import = { "import F --dry-run", function(n)
    local list = {}
    for i = 1, n do
      list[i] = ('"%d":{"uid":%d,"key":["word %d","/x%d/i"],"content":"text %d","group":"g"}'):format(i, i, i, i, i)
    end
    return '{"entries":{' .. table.concat(list, ",") .. "}}"
  end },
  each = { "each F --run D/script.lua --out D/each --quiet", function(n)
    local line = '{"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"}]}\n'
    return line:rep(n // 4)
  end, 100000 },      -- bytes: each conversation costs a file that is synced, by design
  vocab = false, limits = false, policies = false, processors = false, macros = false, models = false,
  profiles = false, session = false,      -- sessions of many messages have a test of their own
  completion = false, help = false,
}

commands.FILES = {
  ["filter.lua"] = "return function(message) return message.content ~= 'zzz' end\n",
  ["script.lua"] = "return { { type = 'trim', budget = 2000 }, { type = 'script', run = function(chat)\n"
    .. "for _, message in ipairs(chat) do local _ = message.text end\nend } }\n",
  ["agent.json"] = "{}",
  ["window.json"] = '{"id":"w","content":"now"}',
  ["lines"] = "chat:tokens()\n",
}

--- Writes FILES into a folder.
---@param folder string
function commands.write_files(folder)
  for name, text in pairs(commands.FILES) do
    commands.write(folder .. "/" .. name, text)
  end
end

---@param path string
---@param text string
---@return string path
function commands.write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
  return path
end

--- Writes JSONL, and next to it as G the same in which each message has another text or name.
---@param path string
---@param document string
---@return string path
function commands.write_pair(path, document)
  commands.write(path .. ".changed", (document:gsub('%f[^\n\0]{', '{"name":"g",'):gsub('"content":"%a', '%0+')))
  return commands.write(path, document)
end

--- The line of a shell that runs the command `ebb` with such arguments; standard output is not in it.
---@param ebb string       the program
---@param words string     arguments, with letters for files
---@param path string      F
---@param folder string    D
---@return string
function commands.line(ebb, words, path, folder)
  local names = { F = path, G = path .. ".changed", D = folder, O = folder .. "/out", L = folder .. "/ledger" }
  local line = ("%s %s"):format(ebb, (words:gsub("%f[%w]%u%f[%W]", names)))
  return line:find(" <", 1, true) and line or line .. " </dev/null"
end

return commands
