--- Random changes of files that ebb.import reads: each gives a result or an error with the name of the file.
--
-- Bytes change, lines come twice, go or change places, and values become others. SEED=n repeats a run, MUTATIONS=n
-- is how many files are made, of all forms together.

local helper = dofile "tests/lua/helper.lua"
local check = dofile "tests/lua/import_check.lua"
local samples = dofile "tests/lua/import_samples.lua"
local core = require "ebb.support.core"
local import = require "ebb.import"

local MUTATIONS = math.tointeger(tonumber(os.getenv "MUTATIONS")) or 7000

local state = helper.seed()

local function random(low, high)
  if not high then low, high = 1, low end
  state = state * 6364136223846793005 + 1442695040888963407
  return low + (state >> 33) % (high - low + 1)
end

local function pick(list) return list[random(#list)] end

---- Changes of the text ----

local WORDS = {
  "null", "{}", "[]", '""', "5", "-1", "1e400", "123456789012345678901", "true", '"\\ud800"', "\xFF", "\0", "\n",
    "\r\n",
  ",", ":", "{", "}", "[", "]", '"', "\\", "\xEF\xBB\xBF", ("["):rep(300), '{"type":"user"}\n',
}

local TEXTS = {
  function(text)      -- a byte
    local at = random(#text)
    return text:sub(1, at - 1) .. string.char(random(0, 255)) .. text:sub(at + 1)
  end,
  function(text)      -- a piece goes
    local first = random(#text)
    return text:sub(1, first - 1) .. text:sub(first + random(20))
  end,
  function(text)      -- a piece comes twice
    local first = random(#text)
    local last = math.min(#text, first + random(60))
    return text:sub(1, last) .. text:sub(first)
  end,
  function(text) return text:sub(1, random(#text)) end,
  function(text)
    local at = random(#text)
    return text:sub(1, at) .. pick(WORDS) .. text:sub(at + 1)
  end,
}

---- Changes of lines ----

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

local function change_lines(text)
  local list = lines_of(text)
  if #list == 0 then return text end
  local a, b = random(#list), random(#list)
  local what = random(4)
  if what == 1 then table.remove(list, a)
  elseif what == 2 then table.insert(list, a, list[b])
  elseif what == 3 then list[a], list[b] = list[b], list[a]
  else list[a] = pick(lines_of(samples[pick { "codex", "pi", "claude_code", "gemini_cli", "sillytavern" }])) end
  return table.concat(list, "\n") .. "\n"
end

---- Changes of values ----

--- The tables in a value, each with its keys in order.
local function places_of(value, places)
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, key in ipairs(keys) do
    places[#places + 1] = { owner = value, key = key }
    if type(value[key]) == "table" then places_of(value[key], places) end
  end
  return places
end

local function new_value(places)
  local what = random(8)
  if what == 1 then return core.json.null end
  if what == 2 then return core.json.array {} end
  if what == 3 then return {} end
  if what == 4 then return random(-5, 5) end
  if what == 5 then return pick { "", "user", "assistant", "a", "1", "text", "\0", "c" } end
  if what == 6 then return random(2) == 1 end
  local place = pick(places)
  return place.owner[place.key]
end

--- A value without circles, as JSON; nil for one with circles.
local function json_of(value)
  local ok, text = pcall(core.json.encode, value)
  return ok and text or nil
end

local function change_value(text)
  local list = lines_of(text)
  if #list == 0 then return text end
  local at = random(#list)
  local value = core.json.decode(list[at])
  if type(value) ~= "table" then return text end
  local places = places_of(value, {})
  if #places == 0 then return text end
  for _ = 1, random(3) do
    local place = pick(places)
    place.owner[place.key] = new_value(places)
  end
  list[at] = json_of(value) or list[at]
  return table.concat(list, "\n") .. "\n"
end

local function changed(text)
  for _ = 1, random(3) do
    if text == "" then return text end
    local what = random(5)
    if what <= 2 then text = change_value(text)
    elseif what == 3 then text = change_lines(text)
    else text = pick(TEXTS)(text) end
  end
  return text
end

describe("a file that was changed at random", function()
  it("has a sample for every form, which is told", function()
    for _, importer in ipairs(import.list()) do
      assert.equal(importer.name, import.recognise(samples[importer.name] or ""), importer.name)
    end
  end)

  for _, importer in ipairs(import.list()) do
    it("is read or refused as a whole: " .. importer.name, function()
      for _ = 1, MUTATIONS // #import.list() + 1 do
        local before = state
        local text = changed(samples[importer.name])
        local options = {
          path = "f", from = random(2) == 1 and importer.name or nil, skip_bad = random(2) == 1,
          branch = random(8) == 1 and pick { "1", "2", "x" } or nil,
          conversation = random(8) == 1 and pick { "1", "9", "x" } or nil,
        }
        local ok, problem = pcall(check, text, options)
        if not ok then error(("SEED=%d %q: %s"):format(before, text, tostring(problem)), 0) end
      end
    end)
  end
end)
