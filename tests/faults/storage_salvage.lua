--- Salvage: of a damaged file every message comes back whose own bytes and those of its page's head are whole, and
--- nothing that never was there. A message is not lost with the pages that lead to its own.
--
-- FILES=n is the number of damaged files; SEED repeats a run.

local memory = require "sqlite_memory"      -- before SQLite is used
local kit = require "storage_kit"
local salvage = require "ebb.session.salvage"

local disk, expect = kit.disk, kit.expect

local FILES = math.tointeger(tonumber(os.getenv "FILES")) or 100
local PAGE = 4096
local HEAD = 8
local KEY = 24      -- bytes before a body that hold its size, id and checksum, at most

io.stdout:setvbuf "line"
math.randomseed(kit.seed)

---- The file ----

--- Messages of a salvaged list, one a line.
local function texts_of(list)
  local texts = {}
  for text in (list:sub(2, -2) .. ",\n"):gmatch "(.-),\n" do
    if text ~= "" then texts[#texts + 1] = text end
  end
  return texts
end

local function database()
  disk.format()
  local session = assert(kit.open "main")
  for i, edit in ipairs(kit.EDITS) do
    assert(kit.edit(session, edit))
    session:append(kit.user("after step " .. i .. " " .. ("filler "):rep(i * 7 % 90)))
  end
  local try = assert(session:branch "try")
  try:append { kit.user "only in try", kit.user(("try "):rep(1500)) }
  try:close()
  session:append(kit.user "end")
  session:close()
  return disk.bytes(kit.place)
end

--- Salvages a file: returns lists of texts by session, and results by session.
local function salvaged(bytes)
  local file = assert(io.open(kit.place, "wb"))
  file:write(bytes)
  file:close()
  local store, problem = kit.ebb.sessions(kit.place, { salvage = true })
  if not store then return nil, problem end
  local lists, results = {}, {}
  for _, info in ipairs(assert(store:list())) do
    local result = assert(salvage.session(store, info))
    results[info.name], lists[info.name] = result, texts_of(result.text)
    if result.whole then result.bytes = kit.whole(result.chat) end
  end
  store:close()
  return lists, results
end

--- The head of a page with its list of cells, by which SQLite finds them.
local function head_of(bytes, at)
  local page = (at - 1) // PAGE * PAGE + 1
  return { page, page + HEAD + 2 * string.unpack(">I2", bytes, page + 3) - 1 }
end

--- The ranges of bytes that a message's row needs: its text where it lies in one piece, else all pages with its words.
local function ranges_of(bytes, text)
  local at = bytes:find(text, 1, true)
  if at then return { head_of(bytes, at), { at - KEY, at + #text - 1 } } end
  local word, ranges = text:match '"content":"(%a+ )', {}
  for page = 1, #bytes, PAGE do
    if bytes:sub(page, page + PAGE - 1):find(word:rep(20), 1, true) then
      ranges[#ranges + 1] = { page, page + PAGE - 1 }
    end
  end
  assert(#ranges > 0, text:sub(1, 60))
  return ranges
end

---- Damage ----

local function overwritten(bytes, at, new) return bytes:sub(1, at - 1) .. new .. bytes:sub(at + #new) end

local function noise(count)
  local letters = {}
  for i = 1, count do letters[i] = string.char(math.random(0, 255)) end
  return table.concat(letters)
end

local function page_at(bytes) return (math.random(#bytes // PAGE) - 1) * PAGE + 1 end

local DAMAGES = {
  function(bytes)      -- single bits
    for _ = 1, math.random(30) do
      local at = math.random(#bytes)
      bytes = overwritten(bytes, at, string.char(bytes:byte(at) ~ 1 << math.random(0, 7)))
    end
    return bytes
  end,
  function(bytes) return overwritten(bytes, page_at(bytes), noise(PAGE)) end,
  function(bytes) return overwritten(bytes, page_at(bytes), ("\0"):rep(PAGE)) end,
  function(bytes) return bytes:sub(1, math.random(PAGE, #bytes)) end,
  function(bytes) return overwritten(bytes, page_at(bytes), noise(16)) end,      -- the head of a page
  function(bytes) return overwritten(bytes, 1, noise(100)) end,                  -- the head of the file
  function(bytes) return overwritten(bytes, math.random(#bytes - 600), noise(600)) end,
}

local function untouched(bytes, damaged, ranges)
  for _, range in ipairs(ranges) do
    if bytes:sub(range[1], range[2]) ~= damaged:sub(range[1], range[2]) then return false end
  end
  return true
end

---- The test ----

local function set_of(...)
  local set = {}
  for _, list in ipairs { ... } do for _, text in ipairs(list) do set[text] = true end end
  return set
end

disk.use(true)
local bytes = database()
local right, right_results = assert(salvaged(bytes))
expect(right_results.main.whole and right_results.try.whole, "the undamaged file is not whole")
local all = set_of(right.main, right.try)
local sets, ranges = { main = set_of(right.main), try = set_of(right.try) }, {}
for text in pairs(all) do ranges[text] = ranges_of(bytes, text) end

local found, required, whole = 0, 0, 0
for n = 1, FILES do
  local damaged = DAMAGES[n % #DAMAGES + 1](bytes)
  local lists, results = salvaged(damaged)
  local union = {}
  for name, list in pairs(lists) do
    for _, text in ipairs(list) do
      union[text] = true
      expect((sets[name] or all)[text], "file %d: %s has what never was there: %s", n, name, text:sub(1, 60))
    end
  end
  for text in pairs(all) do
    local readable = untouched(bytes, damaged, ranges[text])
    if readable then required = required + 1 end
    if union[text] then found = found + 1 end
    expect(union[text] or not readable, "file %d lost %s", n, text:sub(1, 60))
  end
  for name, result in pairs(results) do
    if result.whole then
      whole = whole + 1
      expect(result.bytes == right_results[name].bytes, "file %d: %s is said to be whole", n, name)
    end
  end
end

---- Memory that is lacking ----

local at, failed = 1, 0
repeat
  memory.fail(at)
  local done, lists, problem = pcall(salvaged, bytes)
  local hits = memory.struck()
  memory.fail()
  if not done then lists, problem = nil, lists end
  if not lists then
    failed = failed + 1
    expect(problem.code == "memory" or problem.code == "io", "allocation %d: %s", at, problem.message)
  else
    for name, texts in pairs(right) do
      expect(table.concat(lists[name] or {}) == table.concat(texts), "allocation %d: %s lacks messages", at, name)
    end
  end
  at = at + 1 + at // 100
until hits == 0
print(("swept: salvage with %d failed allocations"):format(failed))
print("SEED=" .. kit.seed)
print(("swept: %d damaged files: %d messages salvaged, %d of them certain, %d sessions whole"):format(FILES, found,
  required, whole))
expect(required > FILES, "the damage leaves nothing to salvage")
kit.finish()
