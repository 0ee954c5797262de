--- ebb count: tokens of conversations or of plain text, and how far to trust them.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local options = require "ebb.cli.options"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"

local count = {}

local TEXT_MAX = 256 * 1024 * 1024   -- bytes, unless --max-file says otherwise

function count.declare(parser)
  parser:argument("files", "JSON arrays, JSONL or request bodies; - is standard input."):args("*")
  parser:flag("--text", "The files are plain text, not conversations.")
  parser:option("--by", "A line per message."):choices { "message" }
  options.output(parser)
  options.json(parser)
  options.reading(parser)
end

local function messages_of(chat)
  local messages = core.json.array {}
  for i, message in ipairs(chat) do
    messages[i] = { index = i, seq = message.seq, role = message.spelling, tokens = message.tokens }
  end
  return messages
end

local function count_conversation(given, path)
  local chat = options.load(path, given)
  local tokens, trust = chat:tokens()
  return { file = path, tokens = tokens, trust = trust, messages = given.by and messages_of(chat) or nil }
end

--- A text costs what it adds to a message.
local function count_text(given, path)
  local cap = given.max_file or TEXT_MAX
  local content = failure.check(core.read_file(path, cap))
  local asked = { model = given.model, encoding = given.encoding, max_message = cap * 2 }   -- escapes take room
  local chat = failure.typed(ebb.conversation, asked)
  chat:append { { role = "user", content = "" }, { role = "user", content = content } }
  local _, trust = chat:tokens()
  return { file = path, tokens = chat[2].tokens - chat[1].tokens, trust = trust }
end

local function total_of(results)
  local total = { file = "total", tokens = 0, trust = results[1].trust }
  for _, result in ipairs(results) do
    total.tokens = total.tokens + result.tokens
  end
  return total
end

--- Rows for one file: its messages if they were asked for, then itself.
local function add_rows(rows, result)
  for _, message in ipairs(result.messages or {}) do
    local place = ("%s[%d] %s"):format(result.file, message.index, message.role)
    rows[#rows + 1] = { tostring(message.tokens), result.trust, place }
  end
  rows[#rows + 1] = { tostring(result.tokens), result.trust, result.file }
end

local function as_table(results)
  local columns = { { title = "tokens", right = true }, { title = "trust" }, { title = "file" } }
  local rows = {}
  for _, result in ipairs(results) do
    add_rows(rows, result)
  end
  if #results > 1 then add_rows(rows, total_of(results)) end
  return grid.render(columns, rows, math.maxinteger)
end

function count.run(given)
  local files = given.files[1] and given.files or { options.path(nil) }
  if given.by and given.text then failure.usage("--by message and --text do not go together") end
  local results = core.json.array {}
  for i, path in ipairs(files) do
    results[i] = given.text and count_text(given, path) or count_conversation(given, path)
  end
  local out = given.json and core.json.encode(results, { indent = 2 }) .. "\n" or as_table(results)
  terminal.result(given.json and out or text.printable(out, true), given.output)
end

return count
