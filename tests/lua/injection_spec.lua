--- Injection: every field by its effect, problems that name message and field, units
--- that stay whole, and random lists against a plain model. SEED=n repeats a run.

local helper = dofile "tests/lua/helper.lua"
local injection = require "ebb.injection"
local schema = require "ebb.injection.schema"

local function merged(base, change)
  local result = {}
  for key, value in pairs(base) do result[key] = value end
  for key, value in pairs(change) do result[key] = value end
  return result
end

local function history(words)
  local messages = helper.messages(words)
  for i, message in ipairs(messages) do
    message.source, message.source_id = "history", i
  end
  return messages
end

--- The contents in one line.
local function woven(words, presets, options)
  local messages, problems = injection.assemble(history(words), presets, options)
  return helper.texts(messages), problems, messages
end

local M = { id = "m", content = "M" }
local ANCHOR, PROFILE = { type = "chat_history" }, { type = "user_profile", content = "P" }

local function log_into(lines)
  return function(level, line) lines[#lines + 1] = level .. ": " .. line end
end

local function with(strategy) return merged(M, { injectionStrategy = strategy }) end

-- ---- each field alone changes the outcome ----

--- field -> presets before, the change to the first, and what comes out with it.
local FIELDS = {
  id = { { M }, { id = "other" }, "M u1 a2" },
  type = { { M, ANCHOR }, { type = "user_profile" }, "M u1 a2" },
  role = { { M }, { role = "user" }, "M u1 a2" },
  content = { { M }, { content = "N" }, "N u1 a2" },
  attachments = { { M }, { attachments = { { path = "a.png" } } }, "M u1 a2" },
  _attachments = { { M }, { _attachments = { { assetId = "b.png" } } }, "M u1 a2" },
  isEnabled = { { M }, { isEnabled = false }, "u1 a2" },
  modelMatch = { { M }, { modelMatch = { patterns = { "claude" } } }, "u1 a2" },
  injectionStrategy = { { M }, { injectionStrategy = { depth = 0 } }, "u1 a2 M" },
}

--- Writes what tells outcomes apart: contents, roles and sources.
local function full(presets, options)
  local messages = injection.assemble(history "u1 a2", presets, options)
  local lines = {}
  for i, message in ipairs(messages) do
    local files = (message.attachments or message._attachments or {})[1] or {}
    lines[i] = table.concat({ message.role, message.content, message.source, tostring(message.source_id),
      files.path or files.assetId or "" }, ":")
  end
  return table.concat(lines, " ")
end

describe("each field of a preset message", function()
  for field in pairs(schema.MESSAGE.fields) do
    it(field .. " alone changes what comes out", function()
      local case = assert(FIELDS[field], "the field has no case")
      local presets, changed = case[1], { merged(case[1][1], case[2]), table.unpack(case[1], 2) }
      local options = { model = "gpt-4o" }
      assert.equal(case[3], (woven("u1 a2", changed, options)))
      if field == "type" then options.templates = { user_profile = false } end
      assert.not_equal(full(presets, options), full(changed, options))
    end)
  end
end)

local STRATEGY = {
  -- field, the message with it, without it, what comes out with it, without it
  type = { with { type = "default", depth = 1 }, with { depth = 1 }, "M u1 a2", "u1 M a2" },
  depth = { with { type = "depth", depth = 1 }, with { type = "depth", depth = 0 }, "u1 M a2", "u1 a2 M" },
  depthConfig = { with { depth = 0, depthConfig = "1" }, with { depth = 0 }, "u1 M a2", "u1 a2 M" },
  anchorTarget = { with { anchorTarget = "chat_history" }, with {}, "u1 a2 M", "M u1 a2" },
  anchorPosition = { with { anchorTarget = "user_profile", anchorPosition = "before" },
                     with { anchorTarget = "user_profile" }, "M P u1 a2", "P M u1 a2" },
  order = { with { depth = 0, order = 101 }, with { depth = 0 }, "u1 a2 N M", "u1 a2 M N" },
}

describe("each field of an injection strategy", function()
  for field in pairs(schema.STRATEGY.fields) do
    it(field .. " alone changes what comes out", function()
      local case = assert(STRATEGY[field], "the field has no case")
      local more = { { id = "n", content = "N", injectionStrategy = { depth = 0 } } }
      if field ~= "order" then more = field == "anchorPosition" and { PROFILE } or {} end
      assert.equal(case[3], (woven("u1 a2", { case[1], more[1] })))
      assert.equal(case[4], (woven("u1 a2", { case[2], more[1] })))
    end)
  end
end)

local MATCH = {
  enabled = { { enabled = false, patterns = { "x" } }, { patterns = { "x" } }, true, false },
  mode = { { mode = "all", patterns = { "gpt" }, profilePatterns = { "x" } },
           { patterns = { "gpt" }, profilePatterns = { "x" } }, false, true },
  exclude = { { exclude = true, patterns = { "gpt" } }, { patterns = { "gpt" } }, false, true },
  patterns = { { patterns = { "x" } }, {}, false, true },
  profilePatterns = { { profilePatterns = { "x" } }, {}, false, true },
  matchProfileName = { { matchProfileName = true, patterns = { "^main$" } }, { patterns = { "^main$" } }, true, false },
}

describe("each field of a model match", function()
  for field in pairs(schema.MATCH.fields) do
    it(field .. " alone decides", function()
      local case = assert(MATCH[field], "the field has no case")
      local function injects(match)
        local text = woven("u1", { merged(M, { modelMatch = match }) }, { model = "openai:gpt-4o", profile = "main" })
        return text == "M u1"
      end
      assert.equal(case[3], injects(case[1]))
      assert.equal(case[4], injects(case[2]))
    end)
  end

  it("searches the id, the id without its profile, and its last segment, without case", function()
    local function injects(pattern)
      local presets = { merged(M, { modelMatch = { patterns = { pattern } } }) }
      return woven("u1", presets, { model = "Main:acme/Big-1" }) == "M u1"
    end
    for _, pattern in ipairs { "^main:acme/big-1$", "^acme/big-1$", "^BIG-1$", "g-\\d" } do
      assert.is_true(injects(pattern), pattern)
    end
    for _, pattern in ipairs { "^main$", "^acme$", "big-2" } do
      assert.is_false(injects(pattern), pattern)
    end
  end)

  it("says of a bad pattern what is wrong, and of one that takes too long #time", function()
    local lines = {}
    local options = { model = ("a"):rep(5000) .. "!", log = log_into(lines) }
    assert.equal("u1", (woven("u1", { merged(M, { modelMatch = { patterns = { "(", "(a+)+$" } } }) }, options)))
    assert.equal("warn: preset message 'm': modelMatch: pattern '(': byte 2: missing closing parenthesis", lines[1])
    assert.truthy(lines[2]:find("pattern '(a+)+$': it tried too many ways", 1, true))
  end)
end)

-- ---- places ----

local PLACES = {
  -- history                    strategy                          what comes out
  { "u1 a2 u3",                  { depth = 2 },                    "u1 M a2 u3" },
  { "u1 c2(x) r3(x) a4",         { depth = 1 },                    "u1 c2(x) r3(x) M a4" },
  { "u1 c2(x) r3(x) a4",         { depth = 2 },                    "u1 M c2(x) r3(x) a4" },
  { "u1 c2(x) r3(x) a4",         { depth = 3 },                    "u1 M c2(x) r3(x) a4" },
  { "c2(x,y) r3(x) r4(y) a5",    { depth = 2 },                    "M c2(x,y) r3(x) r4(y) a5" },
  { "u1 c2(x) u3 r4(x)",         { depth = 2 },                    "u1 M c2(x) u3 r4(x)" },
  { "c1(x) r2(x) c3(x) r4(x)",   { depth = 2 },                    "c1(x) r2(x) M c3(x) r4(x)" },
  { "c1(x) c2(x) r3(x) u4",      { depth = 2 },                    "c1(x) M c2(x) r3(x) u4" },   -- ids come again
  { "u1 c2(x)",                  { depth = 0 },                    "u1 c2(x) M" },
  { "u1 r2(x) a3",               { depth = 1 },                    "u1 r2(x) M a3" },
  { "u1 c2(x) r3(x) a4",         { depthConfig = "1~1" },          "M u1 M c2(x) r3(x) M a4" },
  { "",                          { depth = 3 },                    "M" },
  { "u1",                        { depthConfig = "1000000000~1" }, "u1" },
  { "u1",                        { depthConfig = "0~1000000000" }, "u1 M" },
}

describe("a depth", function()
  for _, case in ipairs(PLACES) do
    local words, strategy, expected = table.unpack(case)
    it(("%s in '%s' keeps units whole"):format(strategy.depth or strategy.depthConfig, words), function()
      assert.equal(expected, (woven(words, { with(strategy) })))
    end)
  end

  it("keeps the units of other forms whole: parts, and the legacy function call", function()
    local forms = {
      { { role = "assistant", content = { { type = "tool_use", id = "x" } } },
        { role = "user", content = { { type = "tool_result", tool_use_id = "x" } } } },
      { { role = "assistant", content = { { type = "tool_use", tool_use = { id = "x" } } } },
        { role = "tool", content = { { type = "tool_result", tool_result = { tool_use_id = "x" } } } } },
      { { role = "assistant", function_call = { name = "f" } }, { role = "function", name = "f", content = "1" } },
    }
    for _, messages in ipairs(forms) do
      local list = injection.assemble(messages, { with { depth = 1 } })
      assert.equal("M", list[1].content)
      assert.equal(messages[1], list[2])
      assert.equal(messages[2], list[3])
    end
  end)

  it("that is deeper comes first where several clamp to the head", function()
    local function at(depth) return { content = tostring(depth), injectionStrategy = { depth = depth } } end
    assert.equal("99 5 2 u1 a2", (woven("u1 a2", { at(2), at(5), at(99) })))
  end)
end)

describe("anchors", function()
  local function lines_of(presets, options)
    local lines = {}
    options = merged(options or {}, { log = log_into(lines) })
    local text = woven("u1", presets, options)
    return text, lines
  end

  it("that are not there put nothing in, and the log says so", function()
    local text, lines = lines_of { with { anchorTarget = "user_profile" } }
    assert.equal("u1", text)
    local why = "'user_profile' is not among the presets; it is not put in"
    assert.same({ "warn: preset message 'm': anchorTarget: " .. why }, lines)
    text, lines = lines_of { with { anchorTarget = "nowhere" } }
    assert.equal("u1", text)
    assert.truthy(lines[1]:find("'nowhere' is unknown", 1, true))
  end)

  it("of one's own are given as templates", function()
    local mine = { type = "memory", content = "MEM" }
    local presets = { with { anchorTarget = "memory", anchorPosition = "before" }, mine }
    assert.equal("M MEM u1", (lines_of(presets, { templates = { memory = true } })))
    assert.equal("M u1", (lines_of(presets, { templates = { memory = false } })))
  end)

  it("count once", function()
    local text, lines = lines_of { PROFILE, with { anchorTarget = "user_profile" }, PROFILE, ANCHOR, ANCHOR }
    assert.equal("P M u1", text)
    assert.equal(2, #lines)
  end)
end)

describe("what is put in", function()
  it("is expanded once per message, in preset order, wherever it goes", function()
    local asked = {}
    local parts = { { type = "text", text = "3" }, { type = "image_url" }, { type = "text", text = "4" } }
    local list = injection.assemble(history "u1", {
      { content = "1", injectionStrategy = { depthConfig = "0,1" } }, { content = "2" },
      { content = "x", isEnabled = false },
      ANCHOR, { content = parts, injectionStrategy = { depth = 0 } }, { content = "5" },
    }, { expand = function(given)
      asked[#asked + 1] = given
      return given .. "!"
    end })
    assert.equal("1 2 3 4 5", table.concat(asked, " "))
    assert.equal("3!", list[5].content[1].text)
    assert.equal("4!", list[5].content[3].text)
    list[5].content = "34"
    assert.equal("2! 1! u1 1! 34 5!", helper.texts(list))
  end)

  it("is nothing if it comes out blank", function()
    local lines = {}
    local text = woven("u1", { M, { id = "b", content = "{{set}}" } }, {
      expand = function(given) return given == "{{set}}" and " \n" or given end, log = log_into(lines) })
    assert.equal("M u1", text)
    assert.same({ "info: preset message 'b': blank, so not put in" }, lines)
  end)

  it("shares no parts: neither with the preset nor among its places", function()
    local parts = { { type = "text", text = "M" } }
    local list = injection.assemble(history "u1", { { content = parts, injectionStrategy = { depthConfig = "0,1" } } })
    list[1].content[1].text = "changed"
    assert.equal("M", list[3].content[1].text)
    assert.equal("M", parts[1].text)
  end)

  it("inserts the tools' macros once, where configured", function()
    local options = { tools_if_missing = true }
    assert.equal("M {{tools}}\n{{tool_usage}}\n{{tool_context}} u1", (woven("u1", { M, ANCHOR }, options)))
    assert.equal("{{ tools }} u1", (woven("u1", { { content = "{{ tools }}" } }, options)))
    assert.equal("{{tools}}\n{{tool_usage}}\n{{tool_context}} u1", (woven("u1", {}, options)))
  end)
end)

local PROBLEMS = {
  { { content = "x", isEnable = true }, "isEnable: unknown field (did you mean 'isEnabled'?)" },
  { { role = "tool" }, "role: expected one of system, user, assistant, got 'tool'" },
  { { type = "chat_histori" }, "type: no anchor 'chat_histori' (did you mean 'chat_history'?)" },
  { { injectionStrategy = { type = "depth" } }, "injectionStrategy.depth: type 'depth' needs it" },
  { { injectionStrategy = { depth = 1.5 } }, "injectionStrategy.depth: expected a whole number, 0 or more, got 1.5" },
  { { modelMatch = { patterns = { 1 } } }, "modelMatch.patterns[0]: expected a string in UTF-8" },
  { { modelMatch = { mode = "either" } }, "modelMatch.mode: expected one of any, all" },
  { { content = 5 }, "content: expected a text or a list of parts, got 5" },
  { 5, "expected an object, got 5" },
}

describe("a bad preset message", function()
  for _, case in ipairs(PROBLEMS) do
    it("is reported and left out: " .. case[2], function()
      local text, problems = woven("u1", { case[1], M })
      assert.equal("M u1", text)
      assert.equal(1, #problems)
      assert.truthy(problems[1].message:find("preset message 1: " .. case[2], 1, true), problems[1].message)
    end)
  end

  it("has junk in its depthConfig: the rest counts, and the log says so", function()
    local lines = {}
    local text = woven("u1", { with { depthConfig = "0, x, -1" } }, { log = log_into(lines) })
    assert.equal("u1 M", text)
    assert.equal("warn: preset message 'm': depthConfig: 'x' is neither N nor S~I", lines[1])
    assert.equal(2, #lines)
  end)
end)

-- ---- against a plain model ----

local seed = helper.seed()
local ROUNDS = 400

local function random_history(random)
  local words, open = {}, {}
  for i = 1, random(0, 14) do
    local kind = random(5)
    if kind == 1 then
      words[#words + 1] = ("c%d(x%d,y%d)"):format(i, i, i)
      open[#open + 1], open[#open + 2] = "x" .. i, "y" .. i
    elseif kind == 2 and #open > 0 then
      words[#words + 1] = ("r%d(%s)"):format(i, table.remove(open, random(#open)))
    else
      words[#words + 1] = (random(2) == 1 and "u" or "a") .. i
    end
  end
  return table.concat(words, " ")
end

local function random_presets(random)
  local presets = {}
  for i = 1, random(0, 8) do
    local kind, strategy = random(4), nil
    if kind == 1 then strategy = { depth = random(0, 16), order = random(3) }
    elseif kind == 2 then
      strategy = { depthConfig = ("%d~%d, %d"):format(random(0, 6), random(0, 4), random(0, 20)), order = random(3) }
    elseif kind == 3 then
      strategy = { anchorTarget = random(2) == 1 and "chat_history" or "user_profile", order = random(3),
                   anchorPosition = random(2) == 1 and "before" or "after" }
    end
    presets[i] = { id = "p" .. i, content = "P" .. i, injectionStrategy = strategy }
  end
  if random(2) == 1 then table.insert(presets, random(#presets + 1), { type = "chat_history" }) end
  if random(2) == 1 then table.insert(presets, random(#presets + 1), { type = "user_profile", content = "PROFILE" }) end
  return presets
end

--- True if a place is inside of a unit, by a look at every call before it and every result after it.
local function is_inside(list, place)
  local answered = {}      -- result position -> call position, the nearest call before it that is unanswered
  local taken = {}
  for r, result in ipairs(list) do
    for c = r - 1, 1, -1 do
      local found = false
      for _, call in ipairs(list[c].tool_calls or {}) do
        if result.tool_call_id == call.id and not taken[call] then
          taken[call], answered[r], found = true, c, true
          break
        end
      end
      if found then break end
    end
  end
  for r, c in pairs(answered) do
    if c <= place and place < r then return true end
  end
  return false
end

--- The places of a preset message by its depths: each of them, at or before the wanted one.
local function model_places(list, strategy)
  local wanted, places = {}, {}
  if strategy.depth then wanted = { math.max(0, #list - strategy.depth) } end
  if strategy.depthConfig then
    local first, step, other = strategy.depthConfig:match "(%d+)~(%d+), (%d+)"
    first, step = tonumber(first), tonumber(step)
    for depth = 0, #list do
      local is_step = depth == first or (step > 0 and depth > first and (depth - first) % step == 0)
      if is_step or depth == tonumber(other) then wanted[#wanted + 1] = #list - depth end
    end
  end
  for _, place in ipairs(wanted) do
    while is_inside(list, place) do place = place - 1 end
    places[place] = true
  end
  return places
end

describe("random presets", function()
  it("lose nothing, put nothing in twice, tear no unit, and are where a plain model says", function()
    math.randomseed(seed)
    for round = 1, ROUNDS do
      local words, presets = random_history(math.random), random_presets(math.random)
      local list = history(words)
      local result = injection.assemble(list, presets)
      local what = ("SEED=%d round %d: %s"):format(seed, round, words)

      -- The history is there whole and in order; each message knows how many of it come before.
      local before, counts, at = 0, {}, {}
      for i, message in ipairs(result) do
        if message.source == "history" then
          before = before + 1
          assert.equal(list[before], message, what)
        else
          counts[message.source_id] = (counts[message.source_id] or 0) + 1
          at[i] = before
          if before > 0 and before < #list then assert.is_false(is_inside(list, before), what) end
        end
      end
      assert.equal(#list, before, what)

      local has_profile, split = false, nil
      for i, preset in ipairs(presets) do
        if preset.type == "user_profile" then has_profile = true end
        if preset.type == "chat_history" then split = i end
      end
      for i, preset in ipairs(presets) do
        local strategy, expected, places = preset.injectionStrategy, 1, nil
        if strategy and (strategy.depth or strategy.depthConfig) then
          expected, places = 0, model_places(list, strategy)
          for _ in pairs(places) do expected = expected + 1 end
        elseif strategy and strategy.anchorTarget == "user_profile" and not has_profile then
          expected = 0
        elseif strategy and strategy.anchorTarget == "chat_history" then
          places = { [strategy.anchorPosition == "before" and 0 or #list] = true }
        elseif not strategy and not preset.type then
          places = { [(not split or i < split) and 0 or #list] = true }
        end
        if preset.id then
          assert.equal(expected, counts[preset.id] or 0, what .. " " .. preset.id)
          for place, message in ipairs(result) do
            local is_it = message.source_id == preset.id
            if is_it and places then assert.is_true(places[at[place]], what .. " " .. preset.id) end
          end
        end
      end

      -- Within one place: deeper first is implied by places; by order where depth is the same.
      for i = 2, #result do
        local one, two = result[i - 1], result[i]
        if one.source == "anchor" and two.source == "anchor" then
          local a, b
          for _, preset in ipairs(presets) do
            if preset.id == one.source_id then a = preset.injectionStrategy end
            if preset.id == two.source_id then b = preset.injectionStrategy end
          end
          if a.anchorTarget == b.anchorTarget and a.anchorPosition == b.anchorPosition then
            assert.is_true(a.order <= b.order, what)
          end
        end
      end
    end
  end)
end)
