--- Parts of the message array, which nests a call, a result and an image's URL in a member of their own, are written in
--- the form of each provider; none takes them as they stand.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local ebb = helper.ebb
local json = core.json

local PIXEL = "iVBORw0KGgo="
local TARGETS = { "openai", "responses", "anthropic", "gemini" }

local function load(messages) return assert(ebb.parse(json.encode(messages))) end

local function use(id, name, input) return { type = "tool_use", tool_use = { id = id, name = name, input = input } } end
local function result(id, content, is_error)
  return { type = "tool_result", tool_result = { tool_use_id = id, content = content, is_error = is_error } }
end
local function image(url) return { type = "image", image_url = { url = url } } end
local function text(said) return { type = "text", text = said } end

--- The same conversation in flat parts of Anthropic's.
local FLAT = {
  { role = "user", content = { text "看图", { type = "image",
    source = { type = "base64", media_type = "image/png", data = PIXEL } } } },
  { role = "assistant", content = { text "查", { type = "tool_use", id = "t1", name = "天气", input = { q = "北京" } },
    { type = "tool_use", id = "t2", name = "f", input = { n = 2 } } } },
  { role = "user", content = { { type = "tool_result", tool_use_id = "t1", content = "晴" },
    { type = "tool_result", tool_use_id = "t2", content = { text "多", text "云" } } } },
}

--- `role`: of the message that has the results.
local function nested(role)
  return {
    { role = "user", content = { text "看图", image("data:image/png;base64," .. PIXEL) } },
    { role = "assistant", content = { text "查", use("t1", "天气", { q = "北京" }), use("t2", "f", { n = 2 }) } },
    { role = role, content = { result("t1", "晴"), result("t2", { text "多", text "云" }) } },
  }
end

describe("nested parts", function()
  for _, role in ipairs { "tool", "user" } do
    for _, target in ipairs(TARGETS) do
      it(("with results of %s are written for %s as flat ones are"):format(role, target), function()
        local written, lost = load(nested(role)):write(target)
        local expected, lost_flat = load(FLAT):write(target)
        assert.same(json.decode(expected), json.decode(written))
        assert.equal(#lost_flat, #lost)
        local left = assert(ebb.parse(written)):check { dialect = target }
        for _, violation in ipairs(left) do assert.is_nil(violation.code:match "^[^f].*_part$", violation.text) end
      end)
    end
  end

  it("keep an error, and a URL", function()
    local written = load {
      { role = "user", content = { image "https://a.example/猫.png" } },
      { role = "assistant", content = { use("t1", "f", {}) } },
      { role = "tool", content = { result("t1", "无", true) } },
    }:write "anthropic"
    local messages = json.decode(written)
    assert.same({ type = "url", url = "https://a.example/猫.png" }, messages[1].content[1].source)
    assert.is_true(messages[3].content[1].is_error)
  end)

  it("are refused where they are no objects", function()
    local ok, problem = ebb.parse '[{"role":"assistant","content":[{"type":"tool_use","tool_use":"f"}]}]'
    assert.is_nil(ok)
    assert.match("expected an object", problem.message)
  end)
end)
