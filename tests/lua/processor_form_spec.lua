--- A program makes a form of a processor's settings from the JSON of `ebb processors ID --json`: it has all that the
--- form needs. Chromium, where it is installed, shows the form.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local ebb = helper.ebb
local does, fails, contains = command.does, command.fails, command.contains

setup(command.make_folder)
teardown(command.remove_folder)

local PLUGIN = [[return { id = "tone", name = "Tone", description = "says it <otherwise>", icon = "music",
  isCore = true, defaultEnabled = false, configFields = {
    { key = "pace", type = "select", label = "节奏", default = "slow", help = "How much is left out.",
      options = { { label = "快 & kurz", value = "fast" }, { label = "慢", value = "slow" } } },
    { key = "level", type = "select", label = "Level", default = 2,
      options = { 1, 2, { label = "three", value = 3 } } },
    { key = "maxItems", type = "number", label = "Items", default = 4, whole = true, min = 1, max = 9 },
    { key = "share", type = "number", label = "Share", min = 0.5 },
    { key = "loud", type = "boolean", label = "Loud", default = true },
    { key = "mark", label = "Mark", default = "\"<!\"", placeholder = "a sign" } },
  execute = function(context, config) context:log("info", "items " .. config.maxItems) end }]]

--- PLUGIN's fields as the JSON describes them.
local FIELDS = {
  { key = "pace", type = "select", label = "节奏", default = "slow", help = "How much is left out.",
    options = { { label = "快 & kurz", value = "fast" }, { label = "慢", value = "slow" } } },
  { key = "level", type = "select", label = "Level", default = 2,
    options = { 1, 2, { label = "three", value = 3 } } },
  { key = "maxItems", type = "number", label = "Items", default = 4, whole = true, min = 1, max = 9 },
  { key = "share", type = "number", label = "Share", min = 0.5 },
  { key = "loud", type = "boolean", label = "Loud", default = true },
  { key = "mark", type = "text", label = "Mark", default = '"<!"', placeholder = "a sign" },
}

local function json_of(words) return (does("processors " .. words .. " --json")) end

--- Makes the form from the JSON in the page, and writes next to it what would be sent.
local PAGE = [[<!DOCTYPE html><meta charset="utf-8"><form id="form"></form><pre id="sent"></pre>
<script type="application/json" id="data">%s</script><script>
const data = JSON.parse(document.getElementById("data").textContent), form = document.getElementById("form");
function add(parent, tag, members) { return parent.appendChild(Object.assign(document.createElement(tag), members)); }
for (const field of data.configFields) {
  const label = add(form, "label", { textContent: field.label, title: field.help || "" });
  if (field.type === "select") {
    const select = add(label, "select", { name: field.key });
    for (const option of field.options) {
      const value = typeof option === "object" ? option.value : option;
      add(select, "option", { value: value, textContent: option.label || value });
    }
    select.value = field.default;
  } else {
    const kinds = { number: "number", boolean: "checkbox", text: "text" };
    const input = add(label, "input", { name: field.key, type: kinds[field.type] });
    if (field.type === "number") Object.assign(input, { step: field.whole ? 1 : "any",
      min: field.min ?? "", max: field.max ?? "" });
    if (field.type === "boolean") input.checked = field.default === true; else input.value = field.default ?? "";
    input.placeholder = field.placeholder || "";
  }
}
document.getElementById("sent").textContent = form.checkValidity() + " " + new URLSearchParams(new FormData(form));
</script>]]

local function has_chromium() return os.execute "command -v chromium >/dev/null 2>&1" == true end

--- The document that Chromium makes of a page.
local function rendered(html)
  local page, folder = command.file("form.html", html), command.path_of "profile"
  local words = "HOME=%s timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir=%s --dump-dom "
    .. "file://%s 2>/dev/null"
  local pipe <close> = assert(io.popen(words:format(folder, folder, page)))
  return pipe:read "a"
end

describe("a form of settings", function()
  it("has all that it needs in the JSON, labels of options, too", function()
    local data = ebb.json.decode(json_of("tone --plugin " .. command.file("tone.lua", PLUGIN)))

    assert.same({ "tone", "Tone", "says it <otherwise>", "music", true, false, 900 },
      { data.id, data.name, data.description, data.icon, data.isCore, data.enabled, data.priority })
    assert.same(FIELDS, data.configFields)
  end)

  it("is complete for each processor of Ebb's own", function()
    local count = 0
    for _, processor in ipairs(ebb.json.decode(json_of "")) do
      for _, field in ipairs(processor.configFields) do
        count = count + 1
        local where = processor.id .. "." .. field.key
        assert.truthy(field.label and field.label ~= "", where)
        assert.truthy(field.type ~= "select" or field.options and #field.options > 1, where)
      end
    end
    assert.truthy(count > 20, count)
  end)

  it("is shown by a browser", function()
    if not has_chromium() then return pending "chromium is not installed: no form is rendered" end
    local json = json_of("tone --plugin " .. command.file("tone.lua", PLUGIN)):gsub("<", "\\u003c")

    local dom = rendered(PAGE:format((json:gsub("%%", "%%%%"))))

    contains('<label title="How much is left out.">节奏<select name="pace"><option value="fast">快 &amp; kurz</option>'
      .. '<option value="slow">慢</option></select></label>', dom)
    contains('<option value="3">three</option>', dom)
    contains('<input name="maxItems" type="number" step="1" min="1" max="9"', dom)
    contains("true pace=slow&amp;level=2&amp;maxItems=4&amp;share=&amp;loud=on&amp;mark=%22%3C%21%22", dom)
  end)
end)

local function plugin(fields)
  return ('return { id = "x", name = "X", %s, execute = function() end }'):format(fields)
end

describe("fields of processors in camelCase", function()
  it("are read as those in snake_case, and reach execute as they are spelled", function()
    local file = command.file("tone.lua", PLUGIN)
    local chat = ebb.conversation { messages = { { role = "user", content = "one" } } }
    for _, case in ipairs { { "tone.maxItems=7", "items 7" }, { "tone.max_items=8", "items 8" } } do
      local pipeline = ebb.pipeline { processors = { file }, set = { case[1], "tone.enabled=yes" } }
      local result = assert(pipeline:run(chat))
      local said = {}
      for _, entry in ipairs(result.logs) do if entry.processor == "tone" then said[1] = entry.message end end
      assert.equal(case[2], said[1])
      assert.matches("core processor", helper.refusal(pipeline.remove, pipeline, "tone").message)
    end
    local agent = { processors = { tone = { max_items = 5 } } }
    assert.equal(5, helper.settings(ebb.pipeline { processors = { file }, agent = agent }).tone.maxItems)
  end)

  it("leave the program's own table as it is", function()
    local mine = { id = "x", name = "X", isCore = true, configFields = { { key = "a" } }, execute = function() end }
    ebb.pipeline { processors = { mine } }
    assert.same({ true, nil, "a" }, { mine.isCore, mine.is_core, mine.configFields[1].key })
  end)

  local wrong = {
    { "isCore = true, is_core = true", "there are two" },
    { "configFields = {}, config_fields = {}", "there are two" },
    { "defaultEnabled = 1", "defaultEnabled: expected true or false, got 1" },
    { "isCor = true", "unknown field" },
    { 'configFields = { { key = "aB" }, { key = "a_b" } }', "config_fields[2]: 'a_b' is there already" },
    { 'configFields = { { key = "enabled" } }', "'enabled' is there already" },
    { 'configFields = { { key = "a", type = "select", options = { {} } } }', "value is missing" },
    { 'configFields = { { key = "a", type = "select", options = { { value = {} } } } }', "expected a string" },
    { 'configFields = { { key = "a", label = {} } }', "label: expected a string" },
  }
  for _, case in ipairs(wrong) do
    it("are refused: " .. case[1], function()
      local file = command.file("wrong.lua", plugin(case[1]))
      contains(case[2], (fails(command.SCRIPT, "processors --plugin " .. file)))
    end)
  end
end)
