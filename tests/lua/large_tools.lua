--- Recordings of an agent whose tools and system messages take most of each request, as those of coding agents do.
--
--     large_tools.body { tools = 4000, steps = 12, result = 300 }     a request body of the Chat Completions form
--
-- Each step reads a page of a ledger, of which later steps use an account; some results name several. Written for tests
-- and for tests/bench/replays.sh, which runs this file: it then writes the body to standard output.

local large_tools = {}

local TOOL = "Reads a page of the ledger. Pages have a hundred lines; a line has an account, a day and an amount. "
local RULE = "Keep the books as the house keeps them, and say the account with every amount. "
local NAMES = { "read_page", "find_account", "book", "ask_clerk" }

--- A text of about `tokens` tokens, of four bytes each.
local function fill(text, tokens)
  return text:rep(math.max(1, tokens * 4 // #text))
end

local function account(step) return ("AC-%04d"):format(1000 + step * 37) end

local function tools_of(tokens)
  local tools = {}
  for i, name in ipairs(NAMES) do
    tools[i] = { type = "function", ["function"] = { name = name, description = fill(TOOL, tokens // #NAMES),
      parameters = { type = "object", properties = { account = { type = "string" } }, required = { "account" } } } }
  end
  return tools
end

local function call(id, name, step)
  return { id = id, type = "function",
    ["function"] = { name = name, arguments = ('{"account":"%s","page":%d}'):format(account(step), step) } }
end

local function result_text(step, tokens)
  local lines = { ('account %s leads to %s'):format(account(step), account(step + 1)) }
  for i = 1, tokens // 8 do lines[i + 1] = ("line %d: %d.%02d"):format(i, step * 100 + i, i % 100) end
  return table.concat(lines, "\n")
end

--- Adds a call of one or two tools, and its results.
local function add_step(messages, step, options)
  local first = "c" .. step
  local calls = { call(first, "read_page", step) }
  if step % 3 == 0 then calls[2] = call(first .. "b", "find_account", step) end
  messages[#messages + 1] = { role = "assistant", content = "Now " .. account(step) .. ".", tool_calls = calls }
  for i, one in ipairs(calls) do
    messages[#messages + 1] = { role = "tool", tool_call_id = one.id, content = result_text(step, options.result // i) }
  end
end

---@class LargeTools
---@field tools? integer       tokens of the tools, roughly; default: 4000
---@field system? integer      of the system message; default: 100
---@field task? integer        of the user's message
---@field note? integer        of system messages between the steps; default: none
---@field steps? integer
---@field result? integer      tokens of a result, roughly
---@field ending? string       "user": a question comes after the last answer; default: a result is to be answered

---@param options LargeTools
---@return table body
function large_tools.body(options)
  options.result = options.result or 200
  local messages = { { role = "system", content = fill(RULE, options.system or 100) },
    { role = "user", content = fill("Please follow the ledger from AC-1037 on. ", options.task or 10) } }
  for step = 1, options.steps or 12 do
    add_step(messages, step, options)
    if options.note and step % 4 == 0 then
      messages[#messages + 1] = { role = "system", content = fill("A note of the house. ", options.note) }
    end
  end
  if options.ending == "user" then
    messages[#messages + 1] = { role = "assistant", content = "That was all of it." }
    messages[#messages + 1] = { role = "user", content = "Thanks. And the last account?" }
  end
  return { model = "gpt-4o", tools = tools_of(options.tools or 4000), messages = messages }
end

--- Makes a body as `body` does, with a reply after each result: a recording that a replay plays.
---@return table body
function large_tools.recording()
  local body = large_tools.body { tools = 4000, system = 400, steps = 24, result = 150 }
  table.insert(body.messages, { role = "assistant", content = "It ends at " .. account(25) .. "." })
  return body
end

if arg and arg[0] and arg[0]:find "large_tools%.lua$" then
  io.write(require("ebb.support.core").json.encode(large_tools.recording()), "\n")
end

return large_tools
