--- Checks the output to a terminal: no byte of a stranger's file, name or argument steers it, in any view of any
--- command; and JSON is the same JSON.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local commands = require "ebb.cli.command_list"
local core = require "ebb.support.core"
local ebb = helper.ebb
local json = core.json

local EVIL = "\u{9B}31mA\u{202E}B\u{2066}C\u{7F}D\u{200B}E\u{E0041}F\27]0;G\7"

local HIDDEN = { { 0x7F, 0x9F }, { 0x61C, 0x61C }, { 0x200B, 0x200B }, { 0x202A, 0x202E }, { 0x2066, 0x2069 },
  { 0xE0000, 0xE007F } }

--- Finds what would steer a terminal: the first hidden character, or a sequence other than our colours.
local function steering(text)
  for at, point in utf8.codes(core.utf8(text)) do
    for _, range in ipairs(HIDDEN) do
      if point >= range[1] and point <= range[2] then return ("U+%04X at %d"):format(point, at) end
    end
  end
  return text:find("\27]", 1, true) and "ESC ]" or text:find "\7" and "BEL" or nil
end

local function call(id)
  return { id = id, type = "function", ["function"] = { name = "f" .. EVIL, arguments = json.encode { [EVIL] = 1 } } }
end

local BODY = {
  model = "gpt" .. EVIL, user = EVIL, ["member" .. EVIL] = true, stop = { EVIL },
  tools = { { type = "function", ["function"] = { name = "f" .. EVIL, description = EVIL,
    parameters = { type = "object", properties = { [EVIL] = { type = "string" } } } } } },
  messages = { { role = "system", content = "s" .. EVIL, name = EVIL },
    { role = "user", content = { { type = "text", text = "u" .. EVIL }, { type = "odd" .. EVIL } }, ["m" .. EVIL] = 1 },
    { role = "assistant", content = json.null, tool_calls = { call("c" .. EVIL) } },
    { role = "tool", tool_call_id = "c" .. EVIL, content = "r" .. EVIL }, { role = "user", content = "bye " .. EVIL } },
}

local AGENT = {
  name = EVIL, description = EVIL .. "{{" .. EVIL .. "}}",
  presets = { { id = EVIL, content = "{{description}}" .. EVIL }, { type = "chat_history" } },
  rules = { { name = EVIL, rules = { { name = "r" .. EVIL, regex = "(", replacement = "x" } } } },
  lorebooks = { { name = EVIL, entries = { { name = EVIL, keys = { "u", "/(/" },
    useRegex = true, content = EVIL } } } },
}

local CARD = { spec = "chara_card_v2", spec_version = "2.0", data = { name = EVIL, description = "d",
  first_mes = "{{q" .. EVIL .. "}}", mes_example = "", ["odd" .. EVIL] = 1, creator = EVIL, tags = { EVIL },
  extensions = { [EVIL] = 1 } } }

local FLOW = { { type = "trim", budget = 100000, policy = "keep_recent" }, { type = "check" } }

local SCRIPT = { name = "s" .. EVIL, rules = { { name = EVIL, regex = "(", replacement = EVIL } } }

--- Lines of arguments: F the conversation, G another one, A an agent, C a card, W a workflow, R rules, T a text, D a
--- database, O a file that is written, E the characters themselves.
local LINES = {
  "count F", "count F --json", "count F --by message", "count F --by message --json", "count F --by role --json",
  "count --text T --json", "count 'no E'", "check F", "check F --json", "check F --strict",
  "check F --dialect anthropic --json", "check F --dialect gemini --strict", "check F --from openai --profile vllm",
  "convert F --to openai", "convert F --to anthropic", "convert F --to gemini", "convert F --to responses",
  "convert F --to ebb", "convert F --to gemini --strict", "convert F --to anthropic --repair",
  "convert F --to responses --model claude-opus-4-5", "convert F --to gemini --dry-run --json",
  "inspect F", "inspect F --json", "report F", "trim F --budget 100000", "trim F --budget 100000 --json",
  "trim F --budget 500 --policy keep_recent --explain", "trim F --budget 30 --json",
  "trim F --budget 100000 --to gemini",
  "trim F --budget 500 --replay", "trim F --budget 500 --suggest", "trim F --budget 'E'",
  "filter 'return function(m) return m.role ~= \"tool\" end' --input F --explain --json",
  "filter 'return function(m) error(m.text) end' --input F",
  "apply '[{\"operation\":\"truncate\",\"keepLast\":2}]' F --json", "apply '[{\"operation\":\"E\"}]' F",
  "window open V F", "window open V F --explain", "window show 'wE' V", "window close 'E' F", "window 'E' V F",
  "input 'hi E {{E}}' F", "input 'hi E' F --json --dry-run", "run W --input F", "run W --input F --trace",
  "run W --graph", "pipeline F --agent A", "pipeline F --agent A --to anthropic --preview",
  "pipeline F --agent A --preview --json", "pipeline F --agent A --show-config", "pipeline F --agent A --trace",
  "pipeline F --agent A --display", "pipeline F --agent A --to gemini --dry-run --json", "import C --dry-run",
  "import C --dry-run --json", "import C --dry-run --explain", "import C --agent - --chat O",
  "import C --agent - --chat O --json", "rules test R --text 'uE'", "rules test R --text 'uE' --json", "diff F G",
  "diff F G --json", "recall r1-2 F", "recall r1-2 F --json", "recall 'rE' F",
  "each F --do 'trim --budget 100000' --out O",
  "session new s F --db D", "session new 'tE' F --db D", "session ls --db D", "session ls --json --db D",
  "session show s --db D", "session log s --db D", "session log s --json --db D", "session export s --db D",
  "session show 'E' --db D", "models 'E'", "policies 'E'", "processors 'E'", "macros 'E'", "profiles 'E'",
  "limits --json", "vocab 'E'", "completion 'E'", "help 'E'", "nosuch'E'", "repl F <T",
}

local has_script = os.execute "script -qec true /dev/null </dev/null >/dev/null 2>&1"

describe("a terminal", function()
  local letters

  setup(function()
    command.make_folder()
    local other = json.decode(json.encode(BODY))
    other.messages[2].content = "other " .. EVIL
    letters = {
      F = command.file("chat.json", json.encode(BODY)), G = command.file("other.json", json.encode(other)),
      A = command.file("agent.json", json.encode(AGENT)), C = command.file("card.json", json.encode(CARD)),
      W = command.file("flow.json", json.encode(FLOW)), R = command.file("rules.json", json.encode { SCRIPT }),
      T = command.file("text.txt", "a = '" .. EVIL .. "'\nchat[2].text\nprint(a)\n"),
      V = command.file("window.json", json.encode { id = "w" .. EVIL, content = EVIL, description = EVIL }),
      D = command.path_of "s.db", O = command.path_of "out", E = EVIL:gsub("\27", ""):gsub("\7", ""),
    }
  end)
  teardown(command.remove_folder)

  local function line_of(words)
    return (words:gsub("%f[%w]%u%f[%W]", letters):gsub("(%l)E'", "%1" .. letters.E .. "'"))
  end

  for _, words in ipairs(LINES) do
    it("is not steered by: ebb " .. words, function()
      if not has_script then return pending "the program `script` is not there, or no pseudo terminals" end

      local text = command.on_terminal(line_of(words))

      assert.is_nil(steering(text), text)
      assert.is_nil(text:find "internal error", text)
      assert.is_nil(text:find "0x%x%x%x%x%x%x", text)
    end)
  end

  it("is written to by each command", function()
    local used = {}
    for _, words in ipairs(LINES) do used[words:match "^%l+"] = true end
    for _, name in ipairs(commands.names) do assert.is_true(used[name] or false, name) end
  end)

  it("gets the same JSON that a pipe gets as it is", function()
    if not has_script then return pending "the program `script` is not there, or no pseudo terminals" end
    local lines = { "convert F --to anthropic", "check F --json", "pipeline F --preview --json",
      "trim F --budget 100000" }
    for _, words in ipairs(lines) do
      local line = line_of(words)
      local piped = command.ebb(line).out

      local shown = command.on_terminal(line .. " 2>/dev/null")

      assert.is_truthy(steering(piped), piped)
      assert.same(json.decode(piped), json.decode(shown))
    end
  end)
end)

describe("what a processor logs", function()
  it("has no address in it, sandboxed or not", function()
    finally(helper.clean)
    local words = [[return { id = "p", name = "p", execute = function(context)
      context:log("error", {})
      context:log("warn", { a = 1 }, { b = {} })
      context:log("info", nil)
    end }]]
    local chat = ebb.conversation {}
    chat:append { role = "user", content = "hi" }
    local file = helper.lua_file(words)

    for _, options in ipairs { { processors = { file } }, { processors = { file }, trusted = true },
      { processors = { load(words)() } } } do
      local lines = {}
      for _, entry in ipairs(assert(ebb.pipeline(options):run(chat)).logs) do
        if entry.processor == "p" then lines[#lines + 1] = entry.message end
      end
      assert.equal(3, #lines)
      for _, line in ipairs(lines) do assert.is_nil(line:find "0x%x%x%x%x%x%x%x", line) end
    end
  end)

  it("nor what a macro raises", function()
    local agent = { presets = { { content = "{{bad}}" }, { type = "chat_history" } } }
    local bad = { name = "bad", summary = "", stability = "stable", run = function() error({ print }) end }
    local chat = ebb.conversation {}
    chat:append { role = "user", content = "hi" }

    local result = assert(ebb.pipeline { agent = agent, macros = { bad } }:run(chat))

    for _, entry in ipairs(result.logs) do assert.is_nil(entry.message:find "0x%x%x%x%x%x%x", entry.message) end
  end)
end)
