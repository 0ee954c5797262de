--- The rules of check against what providers' own SDKs write, and against recorded conversations: nothing of
--- them is refused, but for what is named here with the rule.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local json = ebb.json

local SHARED = os.getenv "EBB_SHARED" or "../shared"

--- Refused rightly: file or case -> codes.
local KNOWN = {
  ["derived-tau-airline-t02-r1.json"] = "duplicate_call",     -- its recording uses ids again; Anthropic refuses that
  ["ai-fixture-programmatic-tool-calling.1.json"] = "unanswered_call",   -- a response: its calls wait for outputs
  ["starts with assistant -> google"] = "user_first",         -- the SDK sends what it was given
  ["dangling call -> openai-chat"] = "unanswered_call",
  ["only system -> anthropic"] = "no_messages",               -- the SDK sends an empty list, which Anthropic refuses
}

local function files_in(folder)
  local pipe = assert(io.popen(("ls '%s'"):format(folder)))
  local names = {}
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

local function refused(chat, options)
  local codes, list = {}, {}
  for _, violation in ipairs((chat:check(options))) do codes[violation.code] = true end
  for code in pairs(codes) do list[#list + 1] = code end
  table.sort(list)
  return table.concat(list, " ")
end

describe("recorded conversations", function()
  for _, dialect in ipairs { "anthropic", "responses", "gemini" } do
    it("of " .. dialect .. " have nothing that is refused", function()
      local folder, count = ("%s/data/conversations/%s/"):format(SHARED, dialect), 0
      for _, name in ipairs(files_in(folder)) do
        local chat = ebb.load(folder .. name)
        if chat then
          count = count + 1
          local codes = refused(chat, { dialect = dialect })
          if codes ~= "" then assert.equal(KNOWN[name], codes, name) end
        end
      end
      assert.is_true(count > 0)
    end)
  end
end)

local DIALECTS = {
  ["openai-chat"] = "openai", ["openai-responses"] = "responses", anthropic = "anthropic", google = "gemini",
  gemini = "gemini", openai = "openai",
}

describe("bodies of the SDKs", function()
  it("have nothing that is refused", function()
    local left, count = {}, 0
    for _, name in ipairs { "ai_providers.json", "langchain_providers.json" } do
      local file = assert(io.open(("%s/data/cases/%s"):format(SHARED, name), "rb"))
      local cases = json.decode(file:read "a")
      file:close()
      for _, case in ipairs(cases) do
        local dialect = DIALECTS[case.options.to]
        local chat = dialect and case.expected and ebb.parse(json.encode(case.expected))
        local codes = chat and refused(chat, { dialect = dialect }) or ""
        count = count + (chat and 1 or 0)
        if codes ~= "" and codes ~= KNOWN[case.name] then left[#left + 1] = ("%s: %s"):format(case.name, codes) end
      end
    end
    assert.same({}, left)
    assert.is_true(count > 20, count)
  end)
end)
