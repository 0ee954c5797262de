--- Writes request bodies of every dialect: FOLDER/openai-1.json and so on, COUNT of each.
--
--     LUA_PATH=.. LUA_CPATH=.. lua5.4 tests/peers/sdk/bodies.lua FOLDER COUNT [FILE...]
--
-- From random conversations, some trimmed, some rewritten by way of another dialect, and by turns from FILE..., in
-- dialects other than their own. SEED=n repeats a run.

local ebb = require "ebb"
local random = dofile "tests/lua/random_messages.lua"

require("ebb.support.log").to(function() end)

local BYTES_MAX = 40000        -- of a body: tsc is slow with large ones

local MODELS = {
  openai = { "gpt-4o", "gpt-5.2" }, responses = { "gpt-5.2", "gpt-4o" },
  anthropic = { "claude-sonnet-5", "claude-opus-5-5" }, gemini = { "gemini-2.5-pro", "gemini-3-pro-preview" },
}
local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

local SCHEMA = { type = "object", properties = { k = { type = "number", description = "a number" } },
  required = ebb.json.array { "k" } }

local CACHE = { type = "ephemeral" }

local function chance(n) return math.random(n) == 1 end

local function pick(list) return list[math.random(#list)] end

---- Bodies of random messages, in the form that they have ----

local function openai_body()
  local tools
  if chance(2) then
    tools = {}
    for i = 1, 3 do
      tools[i] = { type = "function", ["function"] = { name = "f" .. i, description = "d", parameters = SCHEMA } }
    end
  end
  return {
    model = "gpt-4o", messages = random.openai(math.random(5)), tools = tools,
    tool_choice = tools and pick { "auto", "required", { type = "function", ["function"] = { name = "f1" } } } or nil,
    parallel_tool_calls = tools and chance(2), max_completion_tokens = chance(2) and 500 or nil,
    stop = chance(3) and "END" or nil, temperature = chance(3) and 0.5 or nil,
    reasoning_effort = chance(3) and "low" or nil,
    response_format = chance(4) and { type = "json_schema", json_schema = { name = "answer", schema = SCHEMA } } or nil,
  }
end

local function anthropic_body()
  local tools = chance(2) and { { name = "f", description = "d", input_schema = SCHEMA } } or nil
  local system = chance(2)
  return {
    model = "claude-sonnet-5", max_tokens = 500, messages = random.anthropic(math.random(5)), tools = tools,
    tool_choice = tools and pick { { type = "auto" }, { type = "any" }, { type = "tool", name = "f" } } or nil,
    system = system and pick { "S", { { type = "text", text = "S", cache_control = CACHE } } } or nil,
    stop_sequences = (system or tools) and chance(3) and { "END" } or nil,     -- alone it does not tell the dialect
    metadata = chance(3) and { user_id = "u" } or nil,
  }
end

local function parse(text) return assert(ebb.parse(text)) end

local function random_chat()
  local chat = parse(ebb.json.encode(chance(2) and openai_body() or anthropic_body()))
  if chance(2) then
    local way = pick(DIALECTS)
    chat = parse((chat:write(way, { shape = "body", model = pick(MODELS[way]) })))
  end
  if chance(3) then chat:trim { budget = math.random(10, chat:tokens()) } end
  return chat
end

---- Files ----

local files = table.move(arg, 3, #arg, 1, {})

--- A conversation of a file, in another dialect than `dialect`; nil if none of some files is fit.
local function file_chat(dialect)
  for _ = 1, 20 do
    local chat = #files > 0 and ebb.load(pick(files), { lenient = true })
    if chat and #chat > 0 and #chat:json() < BYTES_MAX and chat:dialect() ~= dialect then return chat end
  end
end

---- Writing ----

local folder, count = arg[1], math.tointeger(tonumber(arg[2]))
local seed = math.tointeger(tonumber(os.getenv "SEED")) or os.time()
print("SEED=" .. seed)
for place, dialect in ipairs(DIALECTS) do
  for i = 1, count do
    math.randomseed(seed + i, place)
    local chat = i % 2 == 0 and file_chat(dialect) or random_chat()
    local file = assert(io.open(("%s/%s-%d.json"):format(folder, dialect, i), "wb"))
    file:write((chat:write(dialect, { shape = "body", model = pick(MODELS[dialect]) })))
    file:close()
  end
end
