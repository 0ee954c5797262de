--- Checks models after an import of a price list, field by field: by the list, by Ebb, or by the user.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb
local contains, does, fails = command.contains, command.does, command.fails

local IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAC0lEQVR4nGNgGB4AAADIAAGf5G58AAAAAElFTkSuQmCC"   -- 8 x 8

--- Prices only, with windows; as @pydantic/genai-prices has them.
local GENAI = [=[[
{"id":"openai","model_match":{"starts_with":"gpt-"},"models":[
  {"id":"gpt-4.1","context_window":7,"prices":{"input_mtok":2,"output_mtok":8}},
  {"id":"gpt-5.1","context_window":300000,"prices":{"input_mtok":1.25,"cache_read_mtok":0.125,"output_mtok":10}},
  {"id":"gpt-5.2-mini","context_window":90000,"prices":{"input_mtok":0.5,"output_mtok":3}}]},
{"id":"anthropic","model_match":{"starts_with":"claude-"},"models":[
  {"id":"claude-opus-4-9","prices":{"input_mtok":5,"output_mtok":25}}]},
{"id":"hut","model_match":{"starts_with":"hut-"},"models":[
  {"id":"hut-1","context_window":64000,"prices":{"input_mtok":0.1,"output_mtok":0.2}}]},
{"id":"router","models":[
  {"id":"openai/gpt-5.1","context_window":200000,"prices":{"input_mtok":1.5,"output_mtok":12}}]}]
]=]

--- With outputs and abilities, too; as LiteLLM has them.
local LITELLM = [[{
  "gpt-4.1": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 9, "max_output_tokens": 5,
    "input_cost_per_token": 2e-06, "output_cost_per_token": 8e-06, "supports_vision": true},
  "gpt-5.1": {"litellm_provider": "openai", "mode": "responses", "max_input_tokens": 272000,
    "max_output_tokens": 100000, "input_cost_per_token": 1.25e-06, "cache_read_input_token_cost": 1.25e-07,
    "output_cost_per_token": 1e-05, "supports_vision": true},
  "gpt-5.2-mini": {"litellm_provider": "openai", "mode": "chat", "max_tokens": 90000,
    "input_cost_per_token": 5e-07, "output_cost_per_token": 3e-06},
  "claude-opus-4-9": {"litellm_provider": "anthropic", "mode": "chat", "max_input_tokens": 3000,
    "input_cost_per_token": 5e-06, "output_cost_per_token": 2.5e-05},
  "hut-1": {"litellm_provider": "hut", "mode": "chat", "max_input_tokens": 64000, "max_output_tokens": 16000,
    "input_cost_per_token": 1e-07, "output_cost_per_token": 2e-07},
  "router/openai/gpt-5.1": {"litellm_provider": "router", "mode": "chat", "max_input_tokens": 200000,
    "input_cost_per_token": 1.5e-06, "output_cost_per_token": 1.2e-05}
}]]

--- A file as imports wrote it before they noted which fields are imported.
local EARLIER = [[{"gpt-4.1": {"prices": {"input": 2, "output": 8}},
  "gpt-5.1": {"dialect": "openai", "encoding": "o200k_base", "window": 300000,
    "prices": {"input": 7, "output": 70}},
  "hut-1": {"dialect": "openai", "encoding": "cjk", "window": 64000, "cache": "openai",
    "prices": {"input": 9, "output": 9}}}]]

describe("models after an import", function()
  local plain = command.EBB

  before_each(function()
    command.make_folder()
    os.execute("mkdir -p " .. command.path_of "config/ebb " .. command.path_of "data")
    local here = "XDG_CONFIG_HOME=%s XDG_DATA_HOME=%s "
    command.EBB = here:format(command.path_of "config", command.path_of "data") .. plain
    command.file("genai.json", GENAI)
    command.file("litellm.json", LITELLM)
  end)

  after_each(function()
    command.EBB = plain
    command.remove_folder()
  end)

  local function import(list, words)
    return ebb.json.decode((does(("models import %s --json %s"):format(command.path_of(list), words or ""))))
  end

  --- "window output image input-price" of a model, as the command shows it.
  local function figures(name)
    local model = ebb.json.decode((does(("models %s --json"):format(name))))
    return ("%d %d %s %s"):format(model.window, model.output, model.image,
      model.prices and ("%.10g"):format(model.prices.input) or "-")
  end

  local cases = {
    -- what it shows           models.json           model                 figures without prices       price
    { "a listed model",        nil,                  "gpt-4.1",            "1047576 32768 tiles_512",     2 },
    { "a family's model",      nil,                  "gpt-5.1",            "400000 128000 tiles_512_5",   1.25 },
    { "a family's small one",  nil,                  "gpt-5.2-mini",       "400000 128000 patches_32 x 1.2", 0.5 },
    { "another provider's",    nil,                  "claude-opus-4-9",    "1000000 128000 area_high",    5 },
    { "a dated name",          nil,                  "gpt-5.1-2026-01-05", "400000 128000 tiles_512_5",   1.25 },
    { "a provider's prefix",   nil,                  "openai/gpt-5.1",     "400000 128000 tiles_512_5",   1.25 },
    { "a router's entry",      nil,                  "router/openai/gpt-5.1", "400000 128000 tiles_512_5", 1.5 },
    { "an unknown model",      nil,                  "hut-1",              "64000 16000 none",            0.1 },
    { "an own window",         '{"gpt-5.1": {"window": 50000}}', "gpt-5.1", "50000 12500 tiles_512_5",    1.25 },
    { "an own output",         '{"gpt-5.1": {"output": 777}}', "gpt-5.1",  "400000 777 tiles_512_5",      1.25 },
    { "an own image rule",     '{"gpt-5.1": {"image": "area"}}', "gpt-5.1", "400000 128000 area",         1.25 },
    { "own fields of a listed one", '{"gpt-4.1": {"window": 9000, "output": 900}}', "gpt-4.1",
                                                                           "9000 900 tiles_512",          2 },
    { "own prices",            '{"gpt-5.1": {"prices": {"input": 3, "output": 4}}}', "gpt-5.1",
                                                                           "400000 128000 tiles_512_5",   3 },
    { "own prices, listed",    '{"gpt-4.1": {"prices": {"input": 3, "output": 4}}}', "gpt-4.1",
                                                                           "1047576 32768 tiles_512",     3 },
    { "an own unknown model",  '{"hut-1": {"encoding": "bytes4", "window": 5000}}', "hut-1",
                                                                           "5000 1250 none",              0.1 },
    { "own fields of the family's listed one", '{"gpt-5": {"window": 60000, "output": 6000}}', "gpt-5.1",
                                                                           "60000 6000 tiles_512_5",      1.25 },
    { "an earlier import",     EARLIER,              "gpt-5.1",            "400000 128000 tiles_512_5",   1.25,
      only = "genai.json" },
    { "an earlier import of a listed one", EARLIER,  "gpt-4.1",            "1047576 32768 tiles_512",     2 },
    { "an earlier import of an unknown one", EARLIER, "hut-1",             "64000 16000 none",            0.1 },
  }
  for _, list in ipairs { "genai.json", "litellm.json" } do
    for _, case in ipairs(cases) do
      local name, before, model, expected, price = table.unpack(case)
      if not case.only or case.only == list then
        it(("%s: %s"):format(list, name), function()
          if before then command.file("config/ebb/models.json", before) end

          import(list, "--all")
          import(list, "--all")

          assert.equal(("%s %s"):format(expected, price), figures(model))
        end)
      end
    end
  end

  --- An entry of each form: what it says of a model, in dollars per million tokens.
  local FORMS = {
    litellm = function(name, says)
      local members = { litellm_provider = says.provider or "hut", mode = "chat", max_input_tokens = says.window,
        max_output_tokens = says.output, supports_vision = says.vision, supports_pdf_input = says.document }
      for member, field in pairs { input_cost_per_token = "input", output_cost_per_token = "out",
        cache_read_input_token_cost = "cached", cache_creation_input_token_cost = "write" } do
        members[member] = says[field] and says[field] / 1e6 or nil
      end
      return ebb.json.encode { [name] = members }
    end,
    genai = function(name, says)
      return ebb.json.encode(ebb.json.array { { id = says.provider or "hut", model_match = { equals = name },
        models = ebb.json.array { { id = name, context_window = says.window, prices = { input_mtok = says.input,
          output_mtok = says.out, cache_read_mtok = says.cached, cache_write_mtok = says.write,
          input_audio_mtok = says.audio } } } } })
    end,
  }

  --- "input cached write output window | abilities" of a model, as the command shows it.
  local function state(name)
    local model = ebb.json.decode((does(("models %s --json"):format(name))))
    local prices = model.prices or {}
    local words = {}
    for i, key in ipairs { "input", "cachedInput", "cacheWrite", "output" } do
      words[i] = prices[key] and ("%.10g"):format(prices[key]) or "-"
    end
    return ("%s %d | %s"):format(table.concat(words, " "), model.window, table.concat(model.reads or {}, " "))
  end

  local ALL = { input = 2, cached = 0.2, write = 2.5, out = 8, window = 64000, output = 4000, vision = true,
    audio = 30 }
  local second = {
    -- what it shows                    first   second, over ALL or the first   state after                      changes
    { "prices alone",                   ALL, { input = 3, out = 9 },            "3 0.2 2.5 9 64000",
      "prices.input 2 -> 3, prices.output 8 -> 9" },
    { "the same prices",                ALL, { input = 2, out = 8 },            "2 0.2 2.5 8 64000", "" },
    { "a cached price",                 { input = 2, out = 8, window = 9000 }, { input = 2, cached = 0.5, out = 8 },
      "2 0.5 - 8 9000", "prices.cachedInput none -> 0.5" },
    { "a price of writing",             { input = 2, out = 8, window = 9000 }, { input = 2, write = 3, out = 8 },
      "2 - 3 8 9000", "prices.cacheWrite none -> 3" },
    { "another window",                 ALL, { input = 2, out = 8, window = 70000 }, "2 0.2 2.5 8 70000",
      "window 64000 -> 70000" },
    { "all members",                    { input = 1, out = 1, window = 5000 }, ALL, "2 0.2 2.5 8 64000", nil },
  }
  for first_form, first in pairs(FORMS) do
    for second_form, then_ in pairs(FORMS) do
      for _, row in ipairs(second) do
        it(("have what a second list says, and keep the rest: %s, %s over %s"):format(row[1], second_form, first_form),
          function()
            command.file("first.json", first("hut-7", row[2]))
            command.file("second.json", then_("hut-7", row[3]))
            import "first.json"
            local report, words = import "second.json", {}
            for i, each in ipairs(report.changes) do
              words[i] = ("%s %s -> %s"):format(each.field, each.before or "none", each.after or "none")
            end
            contains(row[4] .. " |", state "hut-7")
            if row[5] then assert.equal(row[5], table.concat(words, ", ")) end
            assert.same({ {}, {} }, { report.refused, report.added })
            local before = helper.read(command.path_of "config/ebb/models.json")
            report = import "second.json"
            assert.same({ "hut-7" }, report.unchanged)
            assert.same({}, report.changes)
            assert.equal(before, helper.read(command.path_of "config/ebb/models.json"))
          end)
      end
    end
  end

  it("keep abilities that a second list does not name", function()
    command.file("first.json", FORMS.litellm("hut-7", { input = 1, out = 2, window = 9000, vision = true }))
    command.file("second.json", FORMS.litellm("hut-7", { input = 1, out = 2, document = true }))
    command.file("third.json", FORMS.genai("hut-7", { input = 1, out = 2, audio = 3 }))
    command.file("fourth.json", FORMS.litellm("hut-7", { input = 1, out = 2, vision = false }))
    import "first.json"
    contains("| vision", state "hut-7")
    import "second.json"
    contains("| document vision", state "hut-7")
    import "third.json"
    contains("| audio document vision", state "hut-7")
    local changes = import("fourth.json").changes
    assert.same({ { name = "hut-7", field = "abilities.vision", before = true, after = false } }, changes)
    contains("| audio document", state "hut-7")
  end)

  it("keep the cached price of an earlier import", function()
    command.file("config/ebb/models.json", [[{"hut-7": {"encoding": "cjk", "window": 9000, "dialect": "openai",
      "prices": {"input": 1, "cachedInput": 0.25, "output": 2}}}]])
    command.file("list.json", FORMS.genai("hut-7", { input = 3, out = 4, window = 9000 }))
    import "list.json"
    assert.equal("3 0.25 - 4 9000 | ", state "hut-7")
  end)

  it("are changed price by price by the user, too", function()
    command.file("config/ebb/models.json", '{"hut-7": {"prices": {"cachedInput": 0.75}}}')
    for form, entry in pairs(FORMS) do
      command.file(form .. ".json", entry("hut-7", { input = 2, cached = 0.2, out = 8, window = 9000 }))
      import(form .. ".json")
      assert.equal("2 0.75 - 8 9000 | ", state "hut-7")
    end
  end)

  it("show what changed, old and new", function()
    for form, entry in pairs(FORMS) do
      command.file("first.json", entry("hut-" .. form, { input = 1, out = 2, window = 9000 }))
      command.file("second.json", entry("hut-" .. form, { input = 1.5, cached = 0.5, out = 2 }))
      import "first.json"
      for _, words in ipairs { "--dry-run", "" } do
        contains(("changed 1: hut-%s\n  hut-%s: prices.cachedInput none -> 0.5\n  hut-%s: prices.input 1 -> 1.5\n")
          :format(form, form, form), (does(("models import %s %s"):format(command.path_of "second.json", words))))
      end
    end
  end)

  local PER_TOKEN = '"input_cost_per_token": %s, "output_cost_per_token": %s'
  local PER_MILLION = '"input_mtok": %s, "output_mtok": %s'
  local bad = {
    -- what it shows          of LiteLLM                                 of genai-prices
    { "no price of input",    PER_TOKEN:format("0", "1e-6"),             PER_MILLION:format("0", "1") },
    { "no price of output",   PER_TOKEN:format("1e-6", "0.0"),           PER_MILLION:format("1", "0.0") },
    { "a price below 0",      PER_TOKEN:format("-1e-6", "1e-6"),         PER_MILLION:format("1", "-1") },
    { "a price as a text",    PER_TOKEN:format('"1e-6"', "1e-6"),        PER_MILLION:format('"1"', "1") },
    { "a base of 0, a flag",  PER_TOKEN:format("1e-6", "true"),          PER_MILLION:format('{"base": 0}', "1") },
    { "a cached price of 0",  PER_TOKEN:format("1e-6", "1e-6") .. ', "cache_read_input_token_cost": 0',
      PER_MILLION:format("1", "1") .. ', "cache_read_mtok": 0' },
  }
  for _, row in ipairs(bad) do
    it("are refused with their place, and stay as they were: " .. row[1], function()
      local texts = {
        ('{"hut-8": {"litellm_provider": "hut", "max_input_tokens": 90, %s},\n'
          .. '"hut-7": {"litellm_provider": "hut", "max_input_tokens": 7, %s}}')
          :format(PER_TOKEN:format("1e-6", "2e-6"), row[2]),
        ('[{"id": "hut", "model_match": {"starts_with": "hut-"}, "models": ['
          .. '{"id": "hut-8", "context_window": 90, "prices": {%s}},\n'
          .. '{"id": "hut-7", "context_window": 7, "prices": {%s}}]}]'):format(PER_MILLION:format("1", "2"), row[3]),
      }
      for _, text in ipairs(texts) do
        command.file("config/ebb/models.json", '{"hut-7": {"encoding": "cjk", "window": 9000, "imported": '
          .. '{"prices": {"input": 1, "cachedInput": 0.25, "output": 2}}}}')
        command.file("list.json", text)
        local report = import "list.json"
        assert.same({ 1, "hut-7", { "hut-8" }, {} }, { #report.refused, report.refused[1].name, report.added,
          report.changes })
        contains("list.json:2:", report.refused[1].place)
        contains("expected a price", report.refused[1].problem)
        assert.equal("1 0.25 - 2 9000 | ", state "hut-7")
      end
    end)
  end

  it("take no price of writing where writing costs no more, and tell prices that are not whole", function()
    command.file("list.json", [[{
      "hut-1": {"litellm_provider": "hut", "max_input_tokens": 7, "input_cost_per_token": 1e-6,
        "cache_creation_input_token_cost": 0.0, "output_cost_per_token": 1e-6},
      "hut-2": {"litellm_provider": "hut", "max_input_tokens": 7000, "input_cost_per_token": 1e-6},
      "gpt-4.1": {"litellm_provider": "openai", "output_cost_per_token": 1e-6}}]])
    local report = import "list.json"
    assert.same({ "hut-2", "gpt-4.1" }, report.leftOut["prices that lack input or output"])
    assert.same({ "hut-1", "hut-2" }, report.added)
    assert.equal("1 - - 1 7 | ", state "hut-1")
    assert.equal("- - - - 7000 | ", state "hut-2")
  end)

  it("are without a new import what Ebb says, where an earlier one said nothing", function()
    command.file("config/ebb/models.json", EARLIER)
    assert.equal("300000 128000 tiles_512_5 7", figures "gpt-5.1")
    assert.equal("300000 128000 tiles_512_5 7", figures "openai/gpt-5.1-2026-02-01")
  end)

  it("have prices of the newest list, and abilities of the last one that has them", function()
    import "litellm.json"
    command.file("genai.json", (GENAI:gsub('"input_mtok":1.25', '"input_mtok":1.75')))
    assert.same({ "gpt-5.1" }, import("genai.json", "--only gpt-5.1").changed)
    assert.equal("400000 128000 tiles_512_5 1.75", figures "gpt-5.1")
    assert.same({ "document", "vision" }, ebb.json.decode((does "models gpt-5.1 --json")).reads)
  end)

  it("have the abilities of a list where Ebb knows nothing of them", function()
    command.file("reads.json", [[{
      "gpt-4-turbo": {"litellm_provider": "openai", "supports_pdf_input": true, "supports_audio_input": true},
      "mistral-medium-3": {"litellm_provider": "mistral", "supports_vision": true, "max_input_tokens": 99000}}]])
    import "reads.json"
    local function reads(name) return ebb.json.decode((does("models " .. name .. " --json"))).reads end
    assert.same({ "document", "vision" }, reads "gpt-4-turbo")      -- no sound, as Ebb knows
    assert.same({ "vision" }, reads "mistral-medium-3")
  end)

  it("keep the user's prices, which the report names", function()
    command.file("config/ebb/models.json", '{"gpt-4.1": {"prices": {"input": 3, "output": 4}}}')
    assert.same({ "gpt-4.1" }, import("genai.json", "--dry-run").kept)
    contains("prices kept that models.json has in addition to imported ones: 1: gpt-4.1\n",
      (does("models import " .. command.path_of "genai.json")))
    local entry = ebb.json.decode(helper.read(command.path_of "config/ebb/models.json"))["gpt-4.1"]
    assert.same({ prices = { input = 3, output = 4 }, imported = { prices = { input = 2, output = 8 } } }, entry)
  end)

  it("take the user's word where an import and Ebb have one", function()
    command.file("config/ebb/models.json", [[{"hut-1": {"window": 2000, "imported": {"encoding": "cjk",
      "window": 64000, "output": 32000, "image": "area"}}, "gpt-5.1": {"imported": {"window": 5, "image": "area"}}}]])
    assert.equal("400000 128000 tiles_512_5 -", figures "gpt-5.1")
    assert.equal("2000 500 area -", figures "hut-1")
  end)

  local BODIES = {
    -- form       model             the body
    { "openai",    "gpt-5.1", [[{"model":"%s","messages":[{"role":"user","content":[{"type":"text","text":"see"},
      {"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}}]}]}]] },
    { "responses", "openai/gpt-5.2-mini", [[{"model":"%s","input":[{"role":"user","content":[{"type":"input_text",
      "text":"see"},{"type":"input_image","image_url":"data:image/png;base64,%s"}]}]}]] },
    { "anthropic", "claude-opus-4-9", [[{"model":"%s","max_tokens":5,"messages":[{"role":"user","content":[
      {"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}},
      {"type":"text","text":"see"}]}]}]] },
  }
  for _, list in ipairs { "genai.json", "litellm.json" } do
    for _, body in ipairs(BODIES) do
      it(("leave counts of images and their trust as they are: %s, %s"):format(list, body[1]), function()
        local path = command.file("body.json", body[3]:format(body[2], IMAGE))
        local function count()
          local result = ebb.json.decode((does("count --json " .. path)))[1]
          return { result.tokens, result.trust, result.reason, result.encoding }
        end
        local before = count()
        import(list)
        assert.same(before, count())
      end)
    end
  end

  local wrong = {
    -- models.json                                 place and message
    { '{"gpt-5.1": 5}',                            "config/ebb/models.json:1:13", "expected a table" },
    { '{"gpt-5.1": [1]}',                          "config/ebb/models.json:1:13", "expected a table" },
    { '{"gpt-5.1": {"imported": 5}}',              "config/ebb/models.json:1:26", "imported: expected an object" },
    { '{"gpt-5.1": {"windw": 5}}',                 "config/ebb/models.json:1:23", "windw: unknown field" },
    { '{"gpt-5.1": {"window": 0}}',                "config/ebb/models.json:1:24", "window: expected a whole number" },
  }
  for _, case in ipairs(wrong) do
    it("are refused with the place in models.json, which stays: " .. case[1], function()
      command.file("config/ebb/models.json", case[1])
      local refused = import("genai.json").refused
      assert.same({ 1, "gpt-5.1", command.path_of(case[2]) }, { #refused, refused[1].name, refused[1].place })
      contains(case[3], refused[1].problem)
      assert.same(ebb.json.decode(case[1])["gpt-5.1"],
        ebb.json.decode(helper.read(command.path_of "config/ebb/models.json"))["gpt-5.1"])
    end)
  end

  it("have errors with their place in what is imported", function()
    command.file("config/ebb/models.json", '{"gpt-5.1": {"imported":\n{"prices": {"input": "x", "output": 1}}}}')
    contains("models.json:2:22: model gpt-5.1: prices.input: expected a price",
      fails(command.REFUSED, "models gpt-5.1"))
    command.file("config/ebb/models.json", '{"hut-2": {"imported": 5}}')
    contains("models.json:1:24: model hut-2: imported: expected an object", fails(command.REFUSED, "models hut-2"))
  end)
end)

describe("an assigned model", function()
  local rows = {
    -- what it shows               name             fields                                expected
    { "a family has the rest",     "gpt-5.3",       { margin = 5 },                       "400000 128000 tiles_512_5" },
    { "of own fields, too",        "gemini-1.5-x",  { output = 7 },                       "1048576 7 tiles_258" },
    { "an output that fits stays", "gpt-5.3",       { window = 128001 },                  "128001 128000 tiles_512_5" },
    { "a larger one is no reserve", "gpt-5.3",      { window = 128000 },                  "128000 32000 tiles_512_5" },
    { "nor of a listed model",     "o3-2031-01-01", { window = 1000 },                    "1000 250 tiles_512_o" },
    { "an own one counts",         "gpt-5.3",       { window = 1000, output = 999 },      "1000 999 tiles_512_5" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      finally(function() ebb.models[row[2]] = nil end)
      ebb.models[row[2]] = row[3]
      local model = ebb.models[row[2]]
      assert.equal(row[4], ("%d %d %s"):format(model.window, model.output, model.image))
    end)
  end

  it("keeps prices and abilities that an assignment leaves out", function()
    finally(function() ebb.models["hut-4"] = nil end)
    ebb.models["hut-4"] = { encoding = "cjk", window = 900, abilities = { vision = true },
      prices = { input = 2, cached_input = 1, output = 8 } }
    ebb.models["hut-4"] = { prices = { input = 3, output = 9 }, abilities = { audio = true } }
    assert.same({ input = 3, cached_input = 1, output = 9 }, ebb.models["hut-4"].prices)
    assert.same({ vision = true, audio = true }, ebb.models["hut-4"].abilities)
    ebb.models["hut-4"] = { prices = { cached_input = 2 } }
    assert.same({ input = 3, cached_input = 2, output = 9 }, ebb.models["hut-4"].prices)
  end)

  it("without a family needs all that is required, and a reserve below the window", function()
    contains("encoding is missing", helper.refusal(function() ebb.models["hut-3"] = { window = 5 } end).message)
    contains("output: expected less than the window", helper.refusal(function()
      ebb.models["gpt-5.3"] = { window = 5, output = 5 }
    end).message)
  end)
end)
