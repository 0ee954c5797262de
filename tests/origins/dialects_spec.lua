--- Every recorded conversation, written for every dialect: what is written is read again, no rule of the target
--- refuses it, and texts, calls and results are all there; `ebb convert` to its own dialect keeps its bytes.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local DIALECTS = { "openai", "responses", "anthropic", "gemini" }

local function files()
  local list = {}
  for _, folder in ipairs { "", "/anthropic", "/gemini", "/responses" } do
    local listing = helper.shared and io.popen("ls " .. helper.shared .. "/data/conversations" .. folder .. "/*.json")
    for path in listing and listing:lines() or function() end do list[#list + 1] = path end
    if listing then listing:close() end
  end
  return list
end

--- Files that break rules of their own provider, which a conversion keeps: a reply that waits for its results.
local BROKEN = {
  unanswered_call = true, orphan_result = true, call_without_output = true, output_without_call = true,
  result_count = true,
}

local function count(chat)
  local calls, results = 0, 0
  for i = 1, #chat do
    for _, call in ipairs(chat[i].calls or {}) do
      if call.name ~= "program" then calls = calls + 1 end      -- an item of Responses that no other dialect has
    end
    results = results + #(chat[i].answers or {})
  end
  return calls, results
end

describe("recorded conversations", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  for _, path in ipairs(files()) do
    local name = path:match "conversations/(.*)"
    it("are written for every dialect: " .. name, function()
      local chat = assert(ebb.load(path))
      local calls, results = count(chat)
      for _, dialect in ipairs(DIALECTS) do
        local text = chat:write(dialect, { shape = "body" })
        local written = assert(ebb.parse(text))
        for _, violation in ipairs(written:check { dialect = dialect, profile = dialect }) do
          assert(BROKEN[violation.code], ("%s: %s: %s"):format(dialect, violation.code, violation.text))
        end
        local calls_there, results_there = count(written)
        assert.same({ dialect, calls, results }, { dialect, calls_there, results_there })
      end
    end)

    it("keep their bytes in their own: " .. name, function()
      local dialect = name:match "^(%l+)/" or "openai"
      local run = command.ebb("convert --to " .. dialect, path)
      assert.equal(command.read(path), run.out)
    end)
  end
end)
