--- Budgets: whatever the budget, the request that is sent is within it, or it is
--- refused; counts are those of the body; nothing goes that could have stayed.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local AGENT = {
  name = "A",
  presets = {
    { role = "system", content = "Be brief and friendly." },
    { role = "system", content = "Never speak of prices." },
    { type = "chat_history" },
    { role = "system", content = "Remember the question.", injectionStrategy = { type = "depth", depth = 1 } },
    { role = "user", content = "Answer now.", injectionStrategy = { type = "depth", depth = 0 } },
  },
}

local function chat_of()
  local call = { id = "c1", type = "function", ["function"] = { name = "look", arguments = '{"what":"weather"}' } }
  local chat = ebb.conversation()
  chat:append {
    { role = "system", content = "You know the weather." },
    { role = "user", content = "What is the weather like in Oslo today?" },
    { role = "assistant", content = "I look.", tool_calls = { call } },
    { role = "tool", tool_call_id = "c1", content = ("rain in the morning, sun later; "):rep(8) },
    { role = "assistant", content = "Rain first, then sun." },
    { role = "user", content = "And in Bergen?" },
    { role = "assistant", content = "Rain." },
    { role = "assistant", content = "As always." },
    { role = "user", content = "Thanks. Which of the two would you visit in the summer, and for how long?" },
  }
  return chat
end

--- Settings under which later stages add to a request, or take from it.
local WORLDS = {
  { "as it is", {} },
  { "without formatters", { "message-formatters.enabled=false" } },
  { "long separators", { "merge-system.separator=" .. (" and then "):rep(20) } },
  { "placeholders", { "alternate-roles.enabled=true", "merge-roles.enabled=false",
    "alternate-roles.user_placeholder=" .. ("go on "):rep(10) } },
  { "systems become users", { "convert-system.enabled=true" } },
}

local function run(pipeline_of, budget, preview)
  local pipeline = pipeline_of(budget)
  return pipeline:run(chat_of(), { preview = preview })
end

for _, world in ipairs(WORLDS) do
  describe("budgets, " .. world[1] .. ":", function()
    local function pipeline_of(budget)
      local set = table.move(world[2], 1, #world[2], 1, {})
      if budget then set[#set + 1] = "token-limiter.budget=" .. budget end
      return ebb.pipeline { agent = AGENT, set = set, encoding = "cjk" }
    end
    local whole = assert(run(pipeline_of))

    it("every one from 0 to the total is kept, or refused", function()
      local smallest, last
      for budget = 0, whole.tokens do
        local result, message, code = helper.outcome(run(pipeline_of, budget))
        if result then
          smallest = smallest or budget
          assert.is_true(result.tokens <= budget, ("%d tokens, budget %d"):format(result.tokens, budget))
          assert.equal(result.tokens, (assert(ebb.parse(result.body, { encoding = "cjk" })):tokens()))
          assert.equal(0, #result.chat:check "openai")
          assert.equal(result.body, run(pipeline_of, budget, true).body)
          last = result
        else
          assert.equal("cannot_fit", code, message)
          assert.is_nil(smallest, ("%s fits, %d does not"):format(smallest, budget))
        end
      end
      assert.equal(whole.body, last.body)      -- at its own total everything stays
      assert.is_true(smallest < whole.tokens)
      local least = run(pipeline_of, smallest)
      assert.equal(smallest, least.tokens)     -- what is refused is refused for good
    end)
  end)
end

describe("a plugin that adds", function()
  local function adding(count)
    return { id = "add", name = "Add", priority = 900, execute = function(context)
      table.insert(context.messages, { role = "user", content = ("more "):rep(count), source = "plugin" })
    end }
  end

  it("after the limiter is reserved for", function()
    local whole = assert(ebb.pipeline({ agent = AGENT, encoding = "cjk", processors = { adding(30) } }):run(chat_of()))

    local result = assert(ebb.pipeline {
      agent = AGENT, encoding = "cjk", processors = { adding(30) },
      set = { "token-limiter.budget=" .. whole.tokens - 5 },
    }:run(chat_of()))

    assert.is_true(result.tokens <= whole.tokens - 5)
    assert.is_true(#result.messages < #whole.messages)
  end)

  it("in the real run only is caught before it is sent", function()
    local lying = { id = "lie", name = "Lie", priority = 900, execute = function(context)
      if context.preview then return end
      table.insert(context.messages, { role = "user", content = ("more "):rep(3000), source = "plugin" })
    end }

    local result, message, code = helper.outcome(ebb.pipeline {
      encoding = "cjk", processors = { lying }, set = { "token-limiter.budget=200" },
    }:run(chat_of()))

    assert.is_nil(result)
    assert.equal("cannot_fit", code)
    assert.matches("the budget is 200", message, 1, true)
  end)
end)

describe("what the limiter leaves alone:", function()
  it("pinned messages, and messages outside of the history", function()
    local alone = helper.conversation("a30", { counter = helper.tokens_of })
    local with_preset = assert(ebb.pipeline {
      counter = helper.tokens_of, set = { "token-limiter.budget=25", "message-formatters.enabled=false" },
      agent = { presets = { { role = "user", content = "u5" }, { type = "chat_history" } } },
    }:run(alone))
    assert.equal("u5", helper.texts(with_preset.chat))      -- all of the history may go

    local chat = helper.conversation("u10 a10! u10 a10 u10", { counter = helper.tokens_of })
    local result = assert(ebb.pipeline {
      counter = helper.tokens_of, set = { "token-limiter.budget=25", "message-formatters.enabled=false" },
      agent = { presets = { { role = "system", content = "s5" }, { type = "chat_history" } } },
    }:run(chat))

    assert.equal("s5 a10! u10", helper.texts(result.chat))
  end)

  it("the last question, also where presets follow it", function()
    local chat = helper.conversation("u10 a10 u10", { counter = helper.tokens_of })
    local result = assert(ebb.pipeline {
      counter = helper.tokens_of, set = { "token-limiter.budget=15", "message-formatters.enabled=false" },
      agent = { presets = { { type = "chat_history" }, { role = "user", content = "u5" } } },
    }:run(chat))

    assert.equal("u10 u5", helper.texts(result.chat))
  end)

  it("the other images, when one must go", function()
    local pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAYAAAB/HSuDAAAAAElFTkSuQmCC"
    local chat = ebb.conversation()
    for i = 1, 4 do
      chat:append { role = "user", content = "picture " .. i, attachments = { { data = pixel, kind = "image" } } }
      chat:append { role = "assistant", content = "nice " .. i }
    end
    local function tokens(budget)
      return ebb.pipeline({ model = "gpt-4o", encoding = "cjk", set = { "token-limiter.budget=" .. budget } }):run(chat)
    end
    local whole = assert(tokens(100000))

    local result = assert(tokens(whole.tokens - 1))

    assert.equal(#whole.chat - 1, #result.chat)
    assert.is_true(whole.tokens - result.tokens > 500)   -- what an image of so many pixels weighs
    assert.equal("picture 2", result.messages[2].content[1].text)
  end)
end)

describe("files that are parts of the content", function()
  local fake = dofile "tests/lua/fake_context.lua"
  local core = require "ebb.support.core"
  local BODY = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAZAAAAEsCAIAAABi1XKVAAAAAElFTkSuQmCC"
  local root

  setup(function() root = fake.folder { ["图.png"] = assert(core.data_uri(BODY, 1 << 20)).bytes } end)

  teardown(fake.clean)

  local LOOK = { type = "text", text = "瞧" }
  local FORMS = {
    attachments = function() return { role = "user", content = "瞧", attachments = { { path = "图.png" } } } end,
    references = function()
      return { role = "user", content = { LOOK, { type = "asset_reference", assetId = "图.png" } } }
    end,
    parts = function()
      return { role = "user", content = { LOOK, { type = "asset", attachment = { path = "图.png" } } } }
    end,
    both = function()
      return { role = "user", content = { LOOK, { type = "asset_reference", assetId = "a1" } },
        _attachments = { { id = "a1", path = "图.png" } } }
    end,
  }

  local function chat_of_form(form)
    local chat = ebb.conversation { encoding = "cjk" }
    for _ = 1, 6 do chat:append { FORMS[form](), { role = "assistant", content = "不错" } } end
    chat:append { role = "user", content = "最后一问" }
    return chat
  end

  --- Tokens sent, and of which messages; the preview must say the same.
  local function sent(form, budget)
    local pipeline = ebb.pipeline { model = "gpt-4o", encoding = "cjk", asset_root = root,
      set = { "token-limiter.budget=" .. budget } }
    local chat = chat_of_form(form)
    local preview, result = pipeline:run(chat, { preview = true }), assert(pipeline:run(chat))
    assert.equal(result.body, preview and preview.body)
    assert.is_true(result.tokens <= budget, form .. budget)
    assert.equal(result.tokens, (assert(ebb.parse(result.body, { encoding = "cjk", model = "gpt-4o" })):tokens()))
    return { result.tokens, #result.chat }
  end

  for _, budget in ipairs { 300, 450, 640, 900, 1100, 1350, 1500, 1750 } do
    it("weigh what attachments weigh, at a budget of " .. budget, function()
      local wanted = sent("attachments", budget)
      for form in pairs(FORMS) do
        assert.same(wanted, sent(form, budget), form)
      end
    end)
  end

  it("go with a message that is cut short, whose text stays", function()
    local texts = {}
    for form in pairs(FORMS) do
      local result = assert(ebb.pipeline { model = "gpt-4o", encoding = "cjk", asset_root = root,
        set = { "token-limiter.budget=60", "token-limiter.retained_characters=40" } }:run(ebb.conversation {
          encoding = "cjk", messages = { FORMS[form](), { role = "user", content = "最后一问" } } }))
      texts[form] = result.chat[1].text
    end
    for form, text in pairs(texts) do      -- parts are kept whole, or go
      local is_text = type(FORMS[form]().content) == "string"
      assert.equal(is_text and "瞧\n...(truncated)\n\n---\n\n最后一问" or "最后一问", text, form)
    end
  end)
end)

describe("the work of a limited run", function()
  local core = require "ebb.support.core"

  --- Counts the messages that are written and read, over all requests that a run tries.
  local function messages_parsed(set, processors)
    local chat, count, parse = chat_of(), 0, core.working.parse
    local pipeline = ebb.pipeline { agent = AGENT, set = set, encoding = "cjk", processors = processors }
    core.working.parse = function(original, options, messages, ...)
      count = count + #messages
      return parse(original, options, messages, ...)
    end
    local ok, result = pcall(pipeline.run, pipeline, chat)
    core.working.parse = parse
    assert.is_true(ok, tostring(result))
    return count, #result.chat, result
  end

  it("makes a request that fits once, and weighs only what is fixed next to it", function()
    local count, sent = messages_parsed { "token-limiter.budget=100000" }

    assert.equal(sent + 4, count)   -- four presets
  end)

  it("makes the request that it chose once", function()
    local count, sent, result = messages_parsed { "token-limiter.budget=130", "message-formatters.enabled=false" }
    local before = 9 + 4 + 4

    assert.is_true(result.shared_data.token_limiter.dropped > 0)
    assert.is_true(count <= before + 2 * (sent + 4), ("%d messages, %d sent"):format(count, sent))
  end)

  it("makes it anew where a processor of others follows, which may do as it likes", function()
    local later = { id = "x", name = "X", priority = 900, execute = function(context)
      table.insert(context.messages, { role = "user", content = context.preview and "tried" or "sent" })
    end }
    local _, _, result = messages_parsed({ "token-limiter.budget=100000" }, { later })

    assert.equal("sent", result.chat[#result.chat].text)
  end)
end)
