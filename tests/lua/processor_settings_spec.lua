--- Every setting of a processor changes what it does: for each key of its
--- config_fields there is a case in which that setting alone makes a difference,
--- and a key without a case is a failure.

dofile "tests/lua/helper.lua"
local fake = dofile "tests/lua/fake_context.lua"
local core = require "ebb.support.core"
local processors = require "ebb.processors"
local registry = require "ebb.pipeline.registry"

local PNG = { data = "data:image/png;base64,iVBORw0KGgo=", name = "photo.png" }
local PAPER = { data = "data:application/pdf;base64,JVBERi0=", name = "paper.pdf" }
local NOTES = { data = "data:text/plain,words", name = "notes.txt", placeholder = "【n】" }

local function user(content, ...) return { role = "user", content = content, attachments = { ... } } end

local function kind(name) return { data = "data:,x", kind = name, name = name } end

local PAIR = { { role = "user", content = "1" }, { role = "user", content = "2" } }
local ANSWERS = { { role = "assistant", content = "1" }, { role = "assistant", content = "2" } }
local SYSTEM = { { role = "system", content = "1" }, { role = "system", content = "2" } }
local NOTE_BELOW = { { role = "system", content = "1" }, { role = "user", content = "2" },
  { role = "system", content = "3" } }
local INJECTED = { { role = "user", content = "1" }, { role = "user", content = "2", source = "depth" } }
local SHOWN = { { role = "user", content = "1" }, { role = "user", content = "2", source = "window" } }
local LONE = { { role = "user", content = "1" }, { role = "system", content = "2" } }
local BLIND = { vision = false, audio = false, video = false }

--- By file, by key: the setting, the messages, and what the context has next to the defaults.
local CASES = {
  merge_system = {
    scope = { "all", NOTE_BELOW },
    separator = { "|", SYSTEM },
    lone = { "head", LONE },
  },
  merge_roles = {
    separator = { "|", PAIR },
    windows = { true, SHOWN },
    injections = { true, INJECTED },
  },
  convert_system = {},
  alternate_roles = {
    user_placeholder = { "Go on.", ANSWERS },
    assistant_placeholder = { "Yes.", PAIR },
    user_first = { true, ANSWERS },
  },
  transcription_processor = {
    text = { false, { user("look", NOTES) } },
    audio = { "never", { user("", kind "audio") }, { capabilities = BLIND } },
    video = { "never", { user("", kind "video") }, { capabilities = BLIND } },
    image = { "always", { user("", PNG) } },
    document = { "always", { user("", PAPER) } },
    text_template = { "<{text}>", { user("", NOTES) } },
    transcript_template = { "<{text}>", { user("", kind "audio") }, { capabilities = BLIND } },
    reference = { "({name})", { user("【n】【n】", NOTES) } },
    max_bytes = { 4, { user("", NOTES) } },
    max_media_bytes = { 0, { user("", kind "audio") }, { capabilities = BLIND } },
    prompt = { "In English.", { user("", kind "audio") }, { capabilities = BLIND } },
  },
  asset_resolver = {
    detail = { "low", { user("", PNG) } },
    max_bytes = { 7, { user("", PNG) } },
    note = { "[{name}]", { user("", kind "video") } },
  },
}

local SERVICES = { transcribe = function(request) return "heard " .. (request.prompt or "") end }

--- All that came of a run: the messages, or the error.
local function outcome(processor, config, case)
  local fields = { services = SERVICES, capabilities = (case[3] or {}).capabilities }
  local copies = core.json.decode(core.json.encode(case[2]))
  local context = fake.context(copies, fields)
  local done, problem = pcall(processor.execute, context, fake.config(processor, config))
  return done and core.json.encode(context.messages) or tostring(problem)
end

for file, cases in pairs(CASES) do
  local processor = require("ebb.processors." .. file)
  describe("settings of " .. processor.id, function()
    local known = {}
    for _, field in ipairs(processor.config_fields or {}) do
      known[field.key] = true
      it(field.key, function()
        local case = assert(cases[field.key], "this setting has no case")
        assert.not_equal(field.default, case[1])
        assert.not_equal(outcome(processor, {}, case), outcome(processor, { [field.key] = case[1] }, case))
      end)
    end

    it("are all there", function()
      for key in pairs(cases) do
        assert(known[key], ("there is no setting %s"):format(key))
      end
      for _, field in ipairs(processor.config_fields or {}) do
        assert(type(field.label) == "string" and field.default ~= nil, field.key)
      end
    end)
  end)
end

describe("built-in processors", function()
  it("pass the check of others, which no start repeats", function()
    for _, processor in ipairs(processors.built_in()) do assert.same(processor, registry.check(processor)) end
  end)
end)
