--- Random conversations, trimmed and written for every dialect: no rule of the target refuses what is written.
--
-- HISTORIES=n sets how many, SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local random = dofile "tests/lua/random_messages.lua"
local ebb = helper.ebb

local HISTORIES = math.tointeger(tonumber(os.getenv "HISTORIES")) or 60
local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

local function chance(n) return math.random(n) == 1 end

local function random_chat()
  local messages = chance(2) and random.openai(math.random(5)) or random.anthropic(math.random(5))
  local chat = ebb.conversation { messages = messages }
  if chance(3) then chat:mark(math.random(#chat), "pinned") end
  if chance(4) then chat.windows:open { id = "todo", content = "tea" } end
  return chat
end

describe("random conversations", function()
  for number, dialect in ipairs(DIALECTS) do
    it("are written for " .. dialect .. " as it takes them", function()
      local seed = helper.seed()
      for round = 1, HISTORIES do
        math.randomseed(seed + round, number)
        local chat = random_chat()
        local before = chat:json()
        if chance(2) then
          chat:trim { budget = math.random(10, chat:tokens()), policy = chance(2) and "digest" or nil }
        end
        local text = chat:write(dialect, { shape = "body" })
        local written = assert(ebb.parse(text))
        local violations = written:check { dialect = dialect, profile = dialect }
        local first = violations[1]
        assert(not first, first and ("SEED=%d HISTORIES=1: %s: %s\n%s\n%s"):format(seed + round - 1, first.code,
          first.text, before, text))
      end
    end)
  end
end)
