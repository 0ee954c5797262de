--- Conversations of four forms, as SDKs and servers write them: each is read, written back byte for
--- byte, and keeps calls and results together through random trims.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local FOLDERS = { "gemini", "responses", "anthropic" }

local function files()
  local paths = {}
  for _, folder in ipairs(FOLDERS) do
    local pipe = assert(io.popen(("ls %s/data/conversations/%s/*.json"):format(helper.shared, folder)))
    for path in pipe:lines() do
      paths[#paths + 1] = path
    end
    pipe:close()
  end
  return paths
end

--- The seqs of calls without a visible result.
local function open_calls(chat)
  local open = {}
  for unit in chat:draft():units {} do
    if unit.open then
      for _, message in ipairs(unit.messages) do
        open[message.seq] = true
      end
    end
  end
  return open
end

--- True if every unit of `before` is visible in `after` whole or not at all.
local function is_whole(before, after)
  local visible = {}
  for _, message in ipairs(after) do
    visible[message.seq] = true
  end
  for unit in before:draft():units {} do
    local first = visible[unit.messages[1].seq]
    for _, message in ipairs(unit.messages) do
      if visible[message.seq] ~= first then return false end
    end
  end
  return true
end

if not helper.shared then
  pending "EBB_SHARED is not set"
  return
end

for _, path in ipairs(files()) do
  local name = path:match "([^/]+/[^/]+)$"

  describe(name, function()
    local text = helper.read(path)

    it("is read and written back byte for byte", function()
      local chat = assert(ebb.parse(text))
      assert.equal(text, chat:json())
      local folder = path:match "([^/]+)/[^/]+$"
      if not name:find "claude%-code" then assert.equal(folder, chat:dialect()) end
    end)

    it("keeps its units whole in random trims", function()
      local original = assert(ebb.parse(text))
      local before = open_calls(original)
      for round = 1, 30 do
        local chat = original:fork()
        local budget = math.random(original:tokens())
        chat:trim { budget = budget,
          policy = ({ "keep_recent", "keep_turns", { "quota", messages = { tool = round } } })[round % 3 + 1] }
        assert.is_true(is_whole(original, chat), budget)
        for seq in pairs(open_calls(chat)) do
          assert.is_true(before[seq], "seq " .. seq)
        end
        assert.equal(#chat, #assert(ebb.parse(chat:json())))
      end
    end)
  end)
end
