--- Runs each input of fuzz_windows.c: a text with markup of windows and calls of a
--- model, read, written and performed.
--
-- Whatever the text is, each call ends; what is refused is an error object or a problem
-- for the model; what is read as a window reads back equal; what is performed leaves a
-- conversation that saves and loads.

require "lpeg"   -- without it every input would be refused

local ebb = require "ebb"
local core = require "ebb.support.core"
local markup = require "ebb.windows.markup"

local CODES = { syntax = true, encoding = true, shape = true, limit = true }

--- Actions of the window, with the parameters that they get and their answers.
local ACTIONS = {
  { id = "add", params = "text:string, n:int?, tags:string[]?, kind:enum(a|b)?",
    run = function(params) return params.text end },
  { id = "fail", run = function() error "it fails" end },
  { id = "refuse", params = "ok:bool", run = function() return nil, "not now" end },
}

local function conversation(text)
  local chat = ebb.conversation { clock = function() return 1000 end, counter = function() return 1 end }
  chat:append { { role = "user", content = "Hello." } }
  chat.windows:open { id = "todo", description = "A list", content = { { "item", "tea", id = "1" } },
    actions = ACTIONS }
  chat.windows:open { id = "note", content = text, render = "compact" }
  return chat
end

local function check_problem(problem, what)
  assert(core.is_error(problem), what .. ": " .. tostring(problem))
  assert(CODES[problem.code], ("%s: [%s] %s"):format(what, problem.code, problem.message))
end

local function check_window(text)
  local view, problem = ebb.read_window(text)
  if not view then return check_problem(problem, "read_window") end
  local written = markup.write(view)
  local again = assert(ebb.read_window(written))
  assert(markup.write(again) == written, "a window does not read back equal")
end

local function check_calls(text)
  local calls, quoted = ebb.read_calls(text)
  assert(math.type(quoted) == "integer" and quoted >= 0)
  for _, call in ipairs(calls) do
    if call.problem then assert(CODES[call.code], call.code)
    else assert(call.name or call.window and call.action) end
  end
end

local function check_acts(text)
  if not utf8.len(text) then text = core.utf8(text) end
  local chat = conversation(text)
  chat.windows:act(text)
  for _, window in ipairs(chat.windows:list()) do
    assert(ebb.read_window(window:markup()), "the markup of a window cannot be read")
  end
  local rendered = assert(chat.windows:render {})
  for _, message in ipairs(rendered) do
    message.window = nil
  end
  assert(ebb.parse(ebb.json.encode(rendered), { lenient = true }))
end

--- One input.
return function(text)
  check_window(text)
  check_calls(text)
  check_acts(text)
end
