--- Price lists of others, and ebb models import.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local javascript = require "ebb.models.javascript"
local price_list = require "ebb.models.price_list"
local ebb, refusal = helper.ebb, helper.refusal
local contains, does, fails = command.contains, command.does, command.fails

local LITELLM = [[{
  "sample_spec": { "max_input_tokens": "explains the field", "litellm_provider": "one of" },
  "gpt-9": { "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 300000, "max_output_tokens": 50000,
    "input_cost_per_token": 1.25e-06, "cache_read_input_token_cost": 1.25e-07, "output_cost_per_token": 1e-05,
    "input_cost_per_token_above_200k_tokens": 2.5e-06, "supports_vision": true },
  "claude-test-9": { "litellm_provider": "anthropic", "max_input_tokens": 200000, "max_output_tokens": 200000,
    "input_cost_per_token": 3e-06, "cache_creation_input_token_cost": 3.75e-06, "cache_read_input_token_cost": 3e-07,
    "output_cost_per_token": 1.5e-05 },
  "gpt-4o": { "litellm_provider": "openai", "mode": "chat", "max_input_tokens": 1, "input_cost_per_token": 2.5e-06,
    "output_cost_per_token": 1e-05 },
  "local-free": { "litellm_provider": "ollama", "mode": "chat", "max_tokens": 8192, "max_input_tokens": null },
  "router/gpt-9": { "litellm_provider": "router", "max_input_tokens": 300000, "input_cost_per_token": 2e-06 },
  "embed-9": { "litellm_provider": "openai", "mode": "embedding", "max_input_tokens": 8192 },
  "broken": { "litellm_provider": "openai", "mode": "chat", "max_input_tokens": "many" },
  "windowless": { "litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06 },
  "worse": 5
}]]

--- As data.json has it, and as the module of the npm package does.
local GENAI = [[[
{"id":"anthropic","model_match":{"contains":"claude"},"models":[
  {"id":"claude-test-9","context_window":200000,"prices":[
    {"prices":{"input_mtok":{"base":3,"tiers":[{"start":200000,"price":6}]},"output_mtok":15}},
    {"constraint":{"start_date":"2026-03-13"},
     "prices":{"input_mtok":2,"output_mtok":10,"cache_read_mtok":0.2,"cache_write_mtok":2.5}},
    {"constraint":{"start_date":"2027-01-01"},"prices":{"input_mtok":1,"output_mtok":5}}]},
  {"id":"text-test","prices":{"input_mtok":1,"output_mtok":2}}]},
{"id":"openai","model_match":{"or":[{"starts_with":"gpt-"},{"regex":"^o[134]"}]},"models":[
  {"id":"gpt-9","context_window":300000,"prices":{"input_mtok":{"base":1.25,"tiers":[]},"output_mtok":10}},
  {"id":"gpt-embed","prices":{"input_mtok":0.1}},
  {"id":"gpt-windowless","prices":{"input_mtok":1,"output_mtok":2}},
  {"id":"gpt-broken","prices":{"input_mtok":-1,"output_mtok":2}},
  {"id":"o3","context_window":200000,"prices":[{"prices":{"input_mtok":2,"output_mtok":8}},
    {"constraint":{"start_time":"00:30:00Z","end_time":"16:30:00Z"},"prices":{"input_mtok":4,"output_mtok":9}}]}]},
{"id":"shop","models":[{"id":"gpt-9","context_window":300000,"prices":{"input_mtok":2,"output_mtok":12}}]}
]
]]

local MODULE = [[
"use strict"; /* data: */ const E=[{id:"anthropic",model_match:{contains:"claude"},models:[
  {id:'claude-test-9',name:`two
lines \`quoted\` and \x41\u00e9`,context_window:2e5,deprecated:!1,on:!0,prices:{input_mtok:.8,output_mtok:4,},},
  {id:"claude-wrong",context_window:"big",prices:{input_mtok:1,output_mtok:2}}, // a comment, with "quotes"
]}],J={requests:{per:1e3}};class Y{}
]]

local function entries(text, day)
  local list, by_name = price_list.read("list", text, day or "2026-11-23"), {}
  for _, entry in ipairs(list.entries) do by_name[entry.name] = entry end
  return by_name, list
end

describe("a price list", function()
  it("that is damaged anywhere is refused with its place, or its entries say what is wrong", function()
    local read = dofile "tests/fuzz/price_lists.lua"
    local bytes = [[{}[],:"'`!\\/e.-0 ]]
    for _, text in ipairs { LITELLM, GENAI, MODULE } do
      for i = 1, 400 do
        local at, byte = i * #text // 400, 1 + (i * 7919) % #bytes
        read(text:sub(1, at - 1) .. bytes:sub(byte, byte) .. text:sub(at + 1))
        read(text:sub(1, at))
      end
    end
  end)

  it("of LiteLLM becomes models", function()
    local by_name, list = entries(LITELLM)
    assert.equal("LiteLLM", list.form)
    assert.is_nil(by_name.sample_spec)
    assert.same({ encoding = "o200k_base", window = 300000, output = 50000, dialect = "openai",
      abilities = { vision = true }, prices = { input = 1.25, cached_input = 0.125, output = 10 } },
      by_name["gpt-9"].model)
    assert.is_true(by_name["gpt-9"].tiers)
    -- an output that fills the window is no reserve
    assert.same({ encoding = "claude_4_7", window = 200000, dialect = "anthropic", image = "area_high",
      prices = { input = 3, cached_input = 0.3, cache_write = 3.75, output = 15 } }, by_name["claude-test-9"].model)
    assert.same({ encoding = "cjk", window = 8192, dialect = "openai" }, by_name["local-free"].model)
    assert.equal("offered by other providers", by_name["router/gpt-9"].left_out)
    assert.equal("not for chats: embedding", by_name["embed-9"].left_out)
    assert.equal("model broken: max_input_tokens: expected a whole number of tokens, 1 or more, got 'many'",
      by_name.broken.problem)
    assert.equal("list:14:13", list.place(by_name.broken.at))
    assert.equal("list:16:12", list.place(by_name.worse.at))
    assert.truthy(by_name.worse.problem)
  end)

  it("of genai-prices becomes models, by the prices of the day", function()
    local by_name, list = entries(GENAI)
    assert.equal("genai-prices", list.form)
    assert.same({ encoding = "claude_4_7", window = 200000, dialect = "anthropic", image = "area_high",
      prices = { input = 2, cached_input = 0.2, cache_write = 2.5, output = 10 } }, by_name["claude-test-9"].model)
    assert.same({ input = 3, output = 15 }, entries(GENAI, "2026-03-12")["claude-test-9"].model.prices)
    assert.same({ input = 1, output = 5 }, entries(GENAI, "2027-06-01")["claude-test-9"].model.prices)
    assert.is_true(entries(GENAI, "2026-03-12")["claude-test-9"].tiers)
    assert.is_false(by_name["claude-test-9"].tiers)
    assert.same({ input = 2, output = 8 }, by_name.o3.model.prices)
    assert.is_true(by_name.o3.tiers)
    assert.same({ input = 1.25, output = 10 }, by_name["gpt-9"].model.prices)
    assert.equal("offered by other providers", by_name["shop/gpt-9"].left_out)
    assert.equal("offered by other providers", by_name["anthropic/text-test"].left_out)
    assert.equal("not for chats: no prices of input and output", by_name["gpt-embed"].left_out)
    assert.truthy(by_name["gpt-broken"].problem:find("prices", 1, true))
    assert.equal("list:13:3", list.place(by_name["gpt-broken"].at))
  end)

  it("in a module of JavaScript is read as data, with places in the module", function()
    local by_name, list = entries(MODULE)
    assert.same({ input = 0.8, output = 4 }, by_name["claude-test-9"].model.prices)
    assert.equal(200000, by_name["claude-test-9"].model.window)
    assert.truthy(by_name["claude-wrong"].problem:find("context_window", 1, true))
    assert.equal("list:4:3", list.place(by_name["claude-wrong"].at))
    local literal = javascript.literal("list", MODULE, MODULE:find "%[")
    assert.equal("two\nlines `quoted` and Aé", ebb.json.decode(literal.json)[1].models[1].name)
  end)

  it("in a module has characters by their numbers, in pairs too", function()
    local text = [[x=["\ud83d\ude00 \u{1F600} \xe9 \ud83d \u{110000}"]]
    assert.equal("😀 😀 é \u{FFFD} \u{FFFD}", ebb.json.decode(javascript.literal("list", text .. "]", 3).json)[1])
  end)

  it("has no model without a name", function()
    local list = price_list.read("list", '{"":{"max_tokens":5},"m":{"max_tokens":5}}', "2026-11-23")
    assert.equal("expected the name of a model", list.entries[1].problem)
    assert.is_nil(list.entries[2].problem)
  end)

  it("has no price beyond what a token can cost", function()
    local list = price_list.read("list", '{"m":{"max_tokens":5,"input_cost_per_token":1e308}}', "2026-11-23")
    contains("model m: input_cost_per_token: expected a price, got 1e+308", list.entries[1].problem)
  end)

  local wrong = {
    -- what it shows                    text                          the message
    { "nothing",                        "",                           "list:1:1: expected JSON, or a module" },
    { "text",                           "no list",                    "list:1:1: expected JSON, or a module" },
    { "JSON that ends early",           '{"gpt-9": {',                "list:1:12" },
    { "an object of other things",      '{"a": {"b": 1}}',            "list:1:1: expected models of LiteLLM's" },
    { "an empty list",                  "[]",                         "list:1:1: expected models of LiteLLM's" },
    { "a list of other things",         "\n [1]",                     "list:2:3: the list: [0]: expected a table" },
    { "a provider without models",      '[{"id": "a"}]',              "list:1:2: the list: [0].models is missing" },
    { "code in a literal",              "x=[{id:f()}]",               "list:1:8: expected a literal" },
    { "a template with an expression",  "x=[{id:`${y}`}]",            "list:1:8: expected a literal" },
    { "a literal without an end",       "x=[{id:'a',\n",              "list:2:1: expected a literal" },
    { "a string without an end",        "x=[{id:'a\n'}]",             "list:1:8: expected a literal" },
    { "a string that is not UTF-8",     "x=[{id:'a\x90'}]",           "list:1:8: expected a literal" },
    { "a number beyond all others",     "x=[{id:1e999}]",             "list:1:8: expected a literal" },
  }
  for _, case in ipairs(wrong) do
    it("is refused: " .. case[1], function()
      local message = refusal(price_list.read, "list", case[2], "2026-11-23").message
      contains(case[3], message)
    end)
  end
end)

describe("ebb models import", function()
  local models_json

  before_each(function()
    command.make_folder()
    command.environment = "XDG_CONFIG_HOME=" .. command.path_of "config"
    os.execute("mkdir -p " .. command.path_of "config/ebb")
    models_json = command.path_of "config/ebb/models.json"
    command.file("litellm.json", LITELLM)
    command.file("genai.json", GENAI)
  end)
  after_each(function()
    command.environment = nil
    command.remove_folder()
  end)

  local function import(words)
    return ebb.json.decode((does("models import --json " .. words:gsub("^%S+", command.path_of))))
  end

  local function file() return ebb.json.decode(helper.read(models_json)) end

  it("adds models, and gives prices to those that are known", function()
    local report = import "litellm.json"
    assert.same({ "gpt-9", "claude-test-9", "gpt-4o", "local-free" }, report.added)
    assert.same({ "gpt-9" }, report.basePrices)
    assert.same({ "windowless" }, report.leftOut["no window: models.json can say it"])
    assert.same({ "router/gpt-9" }, report.leftOut["offered by other providers"])
    assert.same({ "broken", "worse" }, { report.refused[1].name, report.refused[2].name })
    assert.equal(command.path_of "litellm.json" .. ":14:13", report.refused[1].place)
    assert.equal(models_json, report.written)
    local models = file()
    assert.same({ imported = { prices = { input = 2.5, output = 10 } } }, models["gpt-4o"])   -- no window of 1
    assert.same({ input = 1.25, cachedInput = 0.125, output = 10 }, models["gpt-9"].imported.prices)
    local listed = ebb.json.decode((does "models claude-test-9 --json"))
    assert.same({ 3, 0.3, 3.75, 15 }, { listed.prices.input, listed.prices.cachedInput, listed.prices.cacheWrite,
      listed.prices.output })
    assert.same({ 1000000, "anthropic" }, { listed.window, listed.dialect })   -- of its family
    listed = ebb.json.decode((does "models local-free --json"))                -- which has none
    assert.same({ 8192, 2048, "cjk" }, { listed.window, listed.output, listed.encoding })
  end)

  it("keeps what models.json says besides, and tells what changed", function()
    command.file("config/ebb/models.json", '{"mine": {"encoding": "cjk", "window": 9}, '
      .. '"windowless": {"encoding": "cjk", "window": 77}, '
      .. '"claude-test-9": {"encoding": "bytes4", "window": 5, "cache": "anthropic_1h"}}')
    local report = import "litellm.json"
    assert.same({ "claude-test-9", "windowless" }, report.changed)
    local own = file()["claude-test-9"]
    assert.same({ "anthropic_1h", 5, "bytes4" }, { own.cache, own.window, own.encoding })
    assert.same({ encoding = "cjk", window = 9 }, file().mine)
    assert.equal(77, file().windowless.window)
    report = import "litellm.json"
    assert.same({ 0, 0, 5 }, { #report.added, #report.changed, #report.unchanged })
    report = import "genai.json --only claude-*"
    assert.same({ "claude-test-9" }, report.changed)
    assert.equal(2, file()["claude-test-9"].imported.prices.input)
  end)

  it("writes nothing under --dry-run", function()
    local report = import "genai.json --dry-run"
    assert.same({ "claude-test-9", "gpt-9", "o3" }, report.added)
    assert.is_nil(report.written)
    assert.is_nil(io.open(models_json))
    contains("nothing is written: --dry-run", (does("models import --dry-run " .. command.path_of "genai.json")))
  end)

  it("takes other providers' models under --all, and what --only names", function()
    assert.same({ "claude-test-9", "gpt-9", "o3", "shop/gpt-9" }, import("genai.json --all").added)
    assert.same({ "shop/gpt-9" }, import("genai.json --dry-run --only shop/*").unchanged)
    assert.same({ "gpt-9", "shop/gpt-9" }, import("genai.json --dry-run --only *gpt-9").unchanged)
  end)

  it("reports as text", function()
    local text = does("models import " .. command.path_of "litellm.json")
    contains("litellm.json: LiteLLM, 9 entries\nadded 4: gpt-9, claude-test-9, gpt-4o, local-free\n", text)
    contains("left out, not for chats: embedding: 1: embed-9\n", text)
    contains("refused: " .. command.path_of "litellm.json" .. ":14:13: model broken: max_input_tokens", text)
    contains("models.json is written\n", text)
    text = does("models import --only 'gpt-9' " .. command.path_of "litellm.json")
    contains("left out, not named by --only: 8\n", text)
  end)

  it("leaves a wrong models.json as it is", function()
    command.file("config/ebb/models.json", "[1]")
    contains("models.json:1:1: models: expected an object of models by name",
      fails(command.REFUSED, "models import " .. command.path_of "litellm.json"))
    assert.equal("[1]", helper.read(models_json))
  end)

  it("refuses what belongs to an import without one, and an import without a file", function()
    contains("import needs a file", fails(command.USAGE, "models import"))
    contains("belong to import and update", fails(command.USAGE, "models --dry-run"))
    contains("too many arguments", fails(command.USAGE, "models gpt-4o gpt-5"))
    contains("list.json", fails(command.IO, "models import " .. command.path_of "list.json"))
  end)

  it("says what models read besides text, to pipelines, too", function()
    command.file("reads.json", [[{"gpt-4o": {"litellm_provider": "openai", "mode": "chat", "supports_vision": true,
      "supports_audio_input": false, "supports_pdf_input": true}}]])
    import "reads.json"
    assert.same({ "document", "vision" }, ebb.json.decode((does "models gpt-4o --json")).reads)
    contains("reads      document, vision\n", (does "models gpt-4o"))
    ebb.models["gpt-4o"] = { abilities = { document = true, audio = false } }
    local pipeline = { options = { model = "gpt-4o" }, agent = {} }
    local capabilities = require("ebb.pipeline.request_model").capabilities(pipeline, ebb.conversation {})
    assert.same({ true, false }, { capabilities.document, capabilities.audio })
    ebb.models["gpt-4o"] = { abilities = {} }
  end)

  --- An npm that brings a package with this content as dist/index.cjs.
  local function with_npm(content)
    command.file("package/dist/index.cjs", content)
    command.file("bin/npm", ([[#!/bin/sh
      [ "$*" = "${*%%genai-prices}" ] && exit 9
      while [ "$1" != --pack-destination ]; do shift; done
      tar -czf "$2/x.tgz" -C %s package]]):format(command.folder))
    os.execute("chmod +x " .. command.path_of "bin/npm")
    return command.EBB, ("PATH=%s:/usr/bin:/bin %s"):format(command.path_of "bin", command.EBB)
  end

  it("is updated from the newest package of npm, or says why not", function()
    require("ebb.support.core").make_folder(command.path_of "package/dist")
    require("ebb.support.core").make_folder(command.path_of "bin")
    local before, with = with_npm(MODULE)
    command.EBB = with
    local text, said = does "models update"
    contains("fetching @pydantic/genai-prices with npm", said)
    contains("added 1: claude-test-9", text)
    contains("refused: @pydantic/genai-prices/dist/index.cjs:4:", text)
    assert.equal(0.8, file()["claude-test-9"].imported.prices.input)
    contains("update takes no file", fails(command.USAGE, "models update x.json"))
    command.file("bin/npm", "#!/bin/sh\necho 'npm error offline' >&2; exit 1\n")
    local refused = fails(command.IO, "models update")
    command.EBB = before
    contains("npm brought no @pydantic/genai-prices: it failed with exit status 1", refused)
    contains("`ebb models import FILE` takes a list from elsewhere", refused)
  end)

  it("makes replays cost money", function()
    import "litellm.json"
    command.file("chat.json", ebb.json.encode(helper.messages "u2000 a500 u300 a1"))
    local report = ebb.json.decode((does("trim --replay --json --model claude-test-9 " .. command.path_of "chat.json")))
    assert.equal("money", report.policies[1].costUnit)
    assert.equal("anthropic", report.policies[1].cache)
  end)
end)
