--- Files that are wrong in one value: the command refuses them, and says where the value is.
--
-- The fields come from the schemas, and each gets every value of a table that its schema
-- refuses. Each value is on a line of its own, so that its place is known.

local command = dofile "tests/lua/command.lua"
local check = require "ebb.models.check"
local core = require "ebb.support.core"
local files = require "ebb.pipeline.files"
local names = require "ebb.support.names"
local operations = require "ebb.conversation.operations"
local preset_schema = require "ebb.injection.schema"
local processors = require "ebb.processors"
local rule_schema = require "ebb.rules.schema"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"

local SEED = math.tointeger(tonumber(os.getenv "SEED" or os.time()))

local VALUES = {
  "null", "true", "5", "-1", "1.5", "1e400", "9223372036854775807", "99999999999999999999", '"x"', '""', '"\\u0000"',
  "0", "[null]", '"\\ud83d\\ude00"',
  "[]", '["x",5]', "[[]]", "{}", '{"a":1}', '{"":null}', '{"a":{"b":[1]}}', '"' .. ("y"):rep(200) .. '"',
}

--- The values that a field refuses; `options` of schema.read.
local function wrong_values(field, options)
  local list = {}
  for _, text in ipairs(VALUES) do
    local record = { x = (core.json.decode(text)) }
    local _, problems = schema.read({ type = "object", fields = { x = field } }, record, options)
    if problems then list[#list + 1] = text end
  end
  return list
end

local NUMBER_TYPES = { number = "number", boolean = "boolean", text = "string", select = "choice" }

--- Cases: { name of the file's kind, its text, line of the wrong value }.
local cases = {}

local function add(kind, text, line) cases[#cases + 1] = { kind = kind, text = text, line = line } end

for _, kind in ipairs { "agent", "model", "user" } do
  for _, name in ipairs(tables.keys(files.FORMS[kind].json.fields)) do
    for _, value in ipairs(wrong_values(files.FORMS[kind].json.fields[name])) do
      add(kind, ('{\n"%s":\n%s\n}'):format(name, value), 3)
    end
  end
  for _, value in ipairs(VALUES) do
    add(kind, ('{\n"nonsense":\n%s\n}'):format(value), 3)
    if value:sub(1, 1) ~= "{" then add(kind, "\n" .. value, 2) end
  end
end

for _, processor in ipairs(processors.built_in()) do
  for _, field in ipairs(processor.config_fields or {}) do
    local choices = {}
    for i, option in ipairs(field.options or {}) do
      choices[i] = type(option) == "table" and option.value or option
    end
    local declaration = { type = NUMBER_TYPES[field.type or "text"], choices = choices }
    for _, value in ipairs(wrong_values(declaration)) do
      local settings = ('"processors":{\n"%s":{\n"%s":\n%s}}'):format(processor.id, names.camel(field.key), value)
      add("agent", "{" .. settings .. "}", 4)
      add("model", ('{"processors":[\n{"id":"%s",\n"%s":\n%s}]}'):format(processor.id, field.key, value), 4)
    end
  end
  for _, value in ipairs(VALUES) do
    if value ~= "true" then
      add("agent", ('{"processors":{\n"%s":{\n"nonsense":\n%s}}}'):format(processor.id, value), 4)
    end
  end
end
for _, value in ipairs { "5", '["x",5]', '"x"', "null", "1e400" } do
  add("agent", ('{"processors":{\n"token-limiter":\n%s}}'):format(value), 3)
  add("agent", ('{"processors":{\n"nonsense":\n%s}}'):format("{}"), 3)
end

local RIGHT = { messages = "[]", message = "{}", position = "0", index = "0", start = "0", ["end"] = "0" }

--- The other fields that are required, with right values: ',"index":0'.
local function others_of(fields, key)
  local others = {}
  for _, name in ipairs(tables.keys(fields)) do
    if fields[name].required and name ~= key then others[#others + 1] = (',"%s":%s'):format(name, RIGHT[name]) end
  end
  return table.concat(others)
end

for _, name in ipairs(tables.keys(operations.FORMS)) do
  local form = operations.FORMS[name]
  for _, key in ipairs(tables.keys(form.fields)) do
    for _, value in ipairs(wrong_values(form.fields[key])) do
      add("operations", ('[{"operation":"clear"},\n{"operation":"%s",\n"%s":\n%s%s}]'):format(name, key, value,
        others_of(form.fields, key)), 4)
    end
    local fields = form.node_fields or form.fields
    for _, value in ipairs(wrong_values(fields[key])) do
      add("operations", ('[{"operation":"clear"},\n{"operation":"%s","%s":{\n"%s":\n%s%s}}]'):format(name, name, key,
        value, others_of(fields, key)), 4)
    end
  end
  add("operations", ('[{"operation":"clear"},\n{"operation":"%s",\n"nonsense":\n1%s}]'):format(name,
    others_of(form.fields)), 4)
end

--- Wrong fields of the second of two records in a list: of presets, and of rules however they are nested.
local function add_records(kind, fields, before, first, after)
  local record = before .. first .. ",\n{%s" .. after
  for _, name in ipairs(tables.keys(fields)) do
    for _, value in ipairs(wrong_values(fields[name], { null = true })) do
      local others = kind == "rules" and name ~= "regex" and '"regex":"a",' or ""
      add(kind, record:format(('%s"%s":\n%s}'):format(others, name, value)), 3)
    end
  end
  for _, value in ipairs(VALUES) do
    add(kind, record:format(('"regex":"a","nonsense":\n%s}'):format(value)), 3)
  end
end

local PRESET, RULE = '{"role":"user","content":"a"}', '{"regex":"a"}'
add_records("agent", preset_schema.MESSAGE.fields, '{"presets":[', PRESET, "]}")
add_records("agent", preset_schema.MESSAGE.fields, '{"presetMessages":[', PRESET, "]}")
for _, name in ipairs(tables.keys(preset_schema.STRATEGY.fields)) do
  for _, value in ipairs(wrong_values(preset_schema.STRATEGY.fields[name], { null = true })) do
    add("agent", ('{"presets":[%s,\n{"injectionStrategy":{\n"%s":\n%s}}]}'):format(PRESET, name, value), 4)
  end
end
add_records("rules", rule_schema.RULE.fields, "[", RULE, "]")
add_records("rules", rule_schema.RULE.fields, '{"presets":[{"name":"p","rules":[', RULE, "]}]}")
add_records("rules", rule_schema.RULE.fields, '{"regexConfig":{"agent":[{"rules":[', RULE, "]}]}}")
for _, regex in ipairs { "(", "[a", "a{2,1}", "*" } do
  add("rules", ('[{"regex":"a"},\n{"name":"n",\n"regex":\n"%s"}]'):format(regex), 4)
end

for _, name in ipairs(tables.keys(check.MODEL.fields)) do
  for _, value in ipairs(wrong_values(check.MODEL.fields[name])) do
    local others = {}
    for _, pair in ipairs { { "encoding", '"cjk"' }, { "window", "1000" } } do
      if pair[1] ~= name then others[#others + 1] = (',\n"%s":%s'):format(pair[1], pair[2]) end
    end
    add("models", ('{"m":{\n"%s":\n%s%s}}'):format(name, value, table.concat(others)), 3)
  end
end

local WORDS = {
  agent = "pipeline %s --agent %s", model = "pipeline %s --model-config %s", user = "pipeline %s --user-profile %s",
  operations = "apply %2$s %1$s", models = "count --model m %s",
}

local function words_of(kind, chat, file)
  if kind == "operations" then return ("apply %s %s"):format(file, chat) end
  if kind == "rules" then return ("rules test %s --text a"):format(file) end
  return WORDS[kind]:format(chat, file)
end

--- Standard error; rules that can run show what they do nevertheless.
local function problem_of(kind, words)
  if kind ~= "rules" then return command.fails(command.REFUSED, words) end
  local run = command.ebb(words)
  assert.equal(command.REFUSED, run.status, words)
  return run.err
end

describe("a wrong file (SEED=" .. SEED .. ")", function()
  setup(command.make_folder)
  teardown(command.remove_folder)

  -- A ninth is more than three hundred; the quick tests try one in PLACES.
  local step, first = os.getenv "WHOLE" and 1 or tonumber(os.getenv "PLACES" or 9), SEED
  local counts = {}
  for _, case in ipairs(cases) do counts[case.kind] = (counts[case.kind] or 0) + 1 end

  it("is one of at least three thousand", function()
    assert.is_true(#cases >= 3000, #cases)
    for _, kind in ipairs { "agent", "model", "user", "operations", "rules", "models" } do
      assert.is_true((counts[kind] or 0) >= 20, kind)
    end
  end)

  for _, kind in ipairs { "agent", "model", "user", "operations", "rules", "models" } do
    it(("is refused with the place of its value: %d of %s"):format(counts[kind], kind), function()
      local chat, seen = command.path_of "small.json", 0
      assert(os.execute("mkdir -p " .. command.path_of "config/ebb"))
      command.environment = "XDG_CONFIG_HOME=" .. command.path_of "config"
      for _, case in ipairs(cases) do
        seen = seen + (case.kind == kind and 1 or 0)
        if case.kind == kind and (seen + first) % step == 0 then
          local file = command.file(kind == "models" and "config/ebb/models.json" or "wrong.json", case.text)
          local err = problem_of(kind, words_of(kind, chat, file))
          local line = tonumber(err:match("^ebb %l+: " .. file:gsub("%p", "%%%0") .. ":(%d+):%d+: "))
          assert.equal(case.line, line, case.text .. "\n" .. err)
          assert.is_nil(err:find("traceback", 1, true), err)
        end
      end
      command.environment = nil
    end)
  end
end)

describe("the place of a byte", function()
  local place = require "ebb.support.text_place"

  it("is its line and its byte", function()
    local text = "one\n\ntwo"
    for at, expected in pairs { [1] = "1:1", [3] = "1:3", [4] = "1:4", [5] = "2:1", [6] = "3:1", [9] = "3:4" } do
      assert.equal(expected, place(text, at))
    end
    assert.equal("1:1", place("", 1))
  end)

  it("costs no more than the text is long #time", function()
    local gate = dofile "tests/lua/growth_gate.lua"
    gate.check("text_place", 100, function(n)
      local text = ("x"):rep(100 * n) .. "\ny"
      return gate.seconds(function() place(text, #text) end)
    end)
  end)
end)
