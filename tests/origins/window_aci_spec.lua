--- Calls, parameters and windows as the project had them that seed 001 was written for
--- (data/cases/aci.json): ours agree, or the line of BEHAVIOUR.md is named that differs.
--- Pruning, estimates and the store are other specs' cases.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local parameters = require "ebb.windows.parameters"

local OPERATIONS = {
  aci_action_parse = true, aci_param_validate = true, aci_window_render = true, aci_render = true,
    aci_window_manager = true,
}

local MARKUP = "- Markup: `<Window id=\"x\"><Description>..</Description><Content>..</Content><Actions>"

--- Cases that differ on purpose, by name: the words of BEHAVIOUR.md that decide.
local DIFFERS = {
  ["action parse params not an object"] = "parameters checked against their types, dispatched to Lua",
  ["window compact drops description and content tag"] = MARKUP,          -- no namespaces
  ["render window becomes a user message"] = MARKUP,                      -- tags in capitals
  ["render namespace definition follows the first window that refers to it, once"] = MARKUP,   -- actions in the window
  ["window manager remove"] = "Rollback restores items, never windows: a closed one stays closed.",
}

local check = {}

--- Their calls, of which there are none (null) if anything is wrong.
function check.aci_action_parse(case, differs)
  local list = ebb.read_calls(case.input)
  if differs then
    assert.equal(1, #list)
    assert.equal("shape", list[1].code)
    return
  end
  local calls = {}
  for i, call in ipairs(list) do
    if call.problem then calls = {} break end
    calls[i] = { window_id = call.window, action_id = call.action, params = call.params }
  end
  assert.same(case.expected == ebb.null and {} or case.expected, calls)
end

local KINDS = { string = "string", integer = "int" }

--- Turns their schema into our declaration; a schema that is not an object becomes one parameter, `p`.
local function declaration_of(schema)
  if schema == ebb.null then return nil end
  if schema.kind ~= "object" then
    local kind = schema.kind == "array" and KINDS[schema.items.kind] .. "[]" or KINDS[schema.kind]
    return ("p:%s%s"):format(kind, schema.required == false and "?" or ""), true
  end
  local words = {}
  for name, property in pairs(schema.properties) do
    words[#words + 1] = ("%s:%s%s"):format(name, KINDS[property.kind], property.required and "" or "?")
  end
  return table.concat(words, ", ")
end

function check.aci_param_validate(case)
  local text, is_one = declaration_of(case.options.schema)
  local input = case.input
  if is_one then input = { p = input } end
  local values, message = parameters.check(parameters.parse(text), input)
  if case.expected == ebb.null then return assert.truthy(values, message) end
  local expected = case.expected:gsub("integer", "int")
  if is_one then expected = expected:gsub("^params", "params.p") end
  assert.is_nil(values)
  assert.equal(expected, message:sub(1, #expected))
end

--- Their markup without namespaces, in our capitals.
local function in_our_words(text)
  text = text:gsub(' ns="[^"]*"', "")
  return (text:gsub("(</?)(%l)(%l*)", function(bracket, first, rest) return bracket .. first:upper() .. rest end))
end

function check.aci_window_render(case)
  local input = case.input
  local window = ebb.conversation().windows:open {
    id = input.id, content = input.content, description = input.description,
      render = input.compact and "compact" or "full",
  }
  assert.equal(in_our_words(case.expected), window:markup())
end

function check.aci_render(case)
  local chat = ebb.conversation()
  for _, window in ipairs(case.options.windows) do
    chat.windows:open { id = window.id, content = window.content, closable = false, item = false }
  end
  for _, item in ipairs(case.input) do
    chat:append(item.type == "window" and { window = item.content } or { role = item.type, content = item.content })
  end
  local expected, messages = {}, {}
  for _, message in ipairs(case.expected) do
    if not message.content:find "^<namespace" then expected[#expected + 1] = { message.role,
      in_our_words(message.content) } end
  end
  for i, message in ipairs(chat.windows:render()) do
    messages[i] = { message.role, message.content }
  end
  assert.same(expected, messages)
end

local EVENTS = { opened = "Created", closed = "Removed" }

function check.aci_window_manager(case)
  local chat, events = ebb.conversation(), {}
  chat.windows:on(function(event) events[#events + 1] = { EVENTS[event.type], event.window } end)
  for _, step in ipairs(case.input) do
    if step.add then chat.windows:open { id = step.add }
    elseif chat.windows:get(step.remove) then chat.windows:get(step.remove):close() end
  end
  assert.same(case.expected.events, events)
  for id in pairs(case.expected.get or {}) do
    assert.is_true(chat.windows:get(id).closed)   -- theirs is forgotten
  end
end

describe("data/cases/aci.json:", function()
  local path = helper.shared and helper.shared .. "/data/cases/aci.json"
  local file = path and io.open(path, "rb")
  if not file then return pending "EBB_SHARED is not set, or has no aci.json" end
  local cases = assert(ebb.json.decode(file:read "a"))
  file:close()
  local behaviour = helper.read(helper.shared .. "/BEHAVIOUR.md"):gsub("%s+", " ")

  local seen = {}
  for _, case in ipairs(cases) do
    if OPERATIONS[case.op] then
      seen[case.name] = true
      it(case.name .. (DIFFERS[case.name] and " (differs)" or ""),
        function() check[case.op](case, DIFFERS[case.name]) end)
    end
  end

  it("differs only where BEHAVIOUR.md says so", function()
    for name, line in pairs(DIFFERS) do
      assert.is_true(seen[name], name)
      assert.truthy(behaviour:find(line, 1, true), line)
    end
  end)
end)
