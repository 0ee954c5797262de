--- The cases of AIO Hub for regex rules, injection and model matching: each agrees,
--- or the line of BEHAVIOUR.md that differs is named here.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local injection = require "ebb.injection"
local rules = require "ebb.rules"
local schema = require "ebb.injection.schema"
local values = require "ebb.support.schema"

local path = helper.shared and helper.shared .. "/data/cases/aiohub.json"
local file = path and io.open(path)

--- name -> the line of BEHAVIOUR.md (section 6), and what is expected instead.
local DIFFERENT = {
  ["regex parts: only the FIRST text part"] = {
    line = "All text parts are rewritten.",
    expected = function(messages) messages[1].content[3].text = "bar 2" end,
  },
  ["regex trimStrings ignored by the processor"] = {
    line = "Rule {id, name, enabled, regex (`/x/flags` or bare), flags, replacement ($1, ${name}, $<name>, $&), applyTo"
      .. "{render, request},\n  targetRoles, depthRange{min,max} (0 = newest), order, substitutionMode NONE | RAW | "
      .. "ESCAPED (macros in the pattern), trimStrings, testInput}",
    expected = function(messages) messages[1].content = "<hi>" end,
  },
  ["inject modelMatch bad regex"] = {
    line = "A `modelMatch` whose patterns do not match does not inject.",
    expected = function(messages) table.remove(messages, 2) end,
  },
  ["modelMatch fn any with no profile patterns is true for profile side!"] = {
    line = "A `modelMatch` whose patterns do not match does not inject.",
    expected = function() return false end,
  },
}

local SOURCES = {
  agent_preset = "preset", session_history = "history", depth_injection = "depth", anchor_injection = "anchor",
}

--- A message of the cases as a working message.
local function working(message)
  local copy = {}
  for key, value in pairs(message) do
    copy[key] = value
  end
  copy.sourceType, copy.sourceId = nil, nil
  copy.source, copy.source_id = SOURCES[message.sourceType], message.sourceId
  return copy
end

local function all_working(messages)
  local list = {}
  for i, message in ipairs(messages) do
    list[i] = working(message)
  end
  return list
end

local RUN = {
  regex_processor = function(case)
    local messages = all_working(case.input)
    local set, problems = rules.compile(case.options)
    assert.same({}, problems)
    set:apply(messages)
    return messages
  end,

  parse_regex_string = function(case)
    local pattern, flags = rules.parse(case.input)
    return { pattern = pattern, flags = flags or "gm" }
  end,

  apply_regex_rules = function(case)
    local messages = { { role = "user", content = case.input } }
    local set = rules.compile { { rules = case.options.rules } }
    set:apply(messages, { stage = "render", streaming = case.options.streaming })
    return messages[1].content
  end,

  st_regex_import = function(case)
    local rule = rules.from_sillytavern(case.input, { unnamed = case.expected.name })
    local set, problems = rules.compile { { rules = { rule } } }
    assert.same({}, problems)
    assert.equal(1, #set.list)
    return rule
  end,

  injection_assembler = function(case)
    local options, tools = case.options, case.options.toolCallConfig
    local templates = {}
    for _, anchor in ipairs(options.anchor_definitions) do
      templates[anchor.id] = anchor.hasTemplate
    end
    return (injection.assemble(all_working(case.input), options.preset_messages, {
      model = options.modelId, templates = templates,
      tools_if_missing = tools and tools.enabled and tools.autoInjectIfMacroMissing,
    }))
  end,

  model_match = function(case)
    local match = assert(values.read(schema.MATCH, case.options, { null = true }))
    return injection.matches(match, case.input.modelId, case.input.profileName, error)
  end,
}

--- Returns what a case expects, in our words; `theirs`: also where BEHAVIOUR.md differs.
local function expected_of(case, theirs)
  local expected = core.json.decode(core.json.encode { case.expected })[1]
  if case.op == "regex_processor" or case.op == "injection_assembler" then expected = all_working(expected) end
  local different = not theirs and DIFFERENT[case.name]
  if different then
    local instead = different.expected(expected)
    if instead ~= nil then expected = instead end
  end
  return expected
end

describe("AIO Hub's cases", function()
  if not file then
    pending "the given cases are not at hand"
    return
  end
  local cases = core.json.decode(file:read "a")
  file:close()
  local counts, seen = {}, {}
  for _, case in ipairs(cases) do
    if RUN[case.op] then
      counts[case.op] = (counts[case.op] or 0) + 1
      seen[case.name] = true
      it(case.op .. ": " .. case.name, function()
        assert.same(expected_of(case), RUN[case.op](case))
      end)
    end
  end

  it("are all there, and so are the lines that differ", function()
    assert.same({ regex_processor = 11, parse_regex_string = 3, apply_regex_rules = 4, st_regex_import = 2,
                  injection_assembler = 25, model_match = 4 }, counts)
    local behaviour = assert(io.open(helper.shared .. "/BEHAVIOUR.md")):read "a"
    for name, different in pairs(DIFFERENT) do
      assert.is_true(seen[name], name)
      assert.truthy(behaviour:find(different.line, 1, true), "no such line: " .. different.line)
    end
  end)

  it("differ where they are said to", function()
    for _, case in ipairs(cases) do
      if DIFFERENT[case.name] then
        assert.not_same(expected_of(case, true), RUN[case.op](case))
      end
    end
  end)
end)
