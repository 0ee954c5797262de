--- Files of many conversations, one in each line: read, checked or converted, and forgotten one after the other.
--
--     local many = conversations.open(args.file, args)
--     if many then
--       for chat, result in many:each() do ... end
--       many:finish()
--     end
--
-- Memory holds one conversation at a time, however large the file is. Standard input and pipes are read as a whole,
-- by options.load: whether they hold many conversations is not known before some of them is read.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local imported = require "ebb.cli.io.imported"
local options = require "ebb.cli.io.options"
local stream = require "ebb.import.stream"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local conversations = {}

local PIECE_BYTES = 256 * 1024   -- that are read at once

---@class ebb.cli.Conversations
---@field path string
---@field title string          of the form
---@field count integer         conversations so far
---@field next_result fun(): ebb.Import?
---@field report ebb.import.Report
---@field notes ebb.import.Report   what the conversations reported, by kind
local Conversations = {}
Conversations.__index = Conversations

--- Opens a regular file; nil for standard input, a pipe, a folder, or a file that does not exist.
local function open_file(path)
  local handle = path and path ~= "-" and io.open(path, "rb")
  if not handle then return nil end
  if handle:seek "end" and handle:seek "set" and handle:read(0) then return handle end
  handle:close()
  return nil
end

--- Opens a file of many conversations. Nil for other files, and where one conversation is named: options.load reads
--- those. Bad lines are counted under --lenient.
---@param path? string
---@param args table            the parsed command line
---@return ebb.cli.Conversations?
function conversations.open(path, args)
  local handle = not args.conversation and open_file(path)
  if not handle then return nil end
  local function read()
    local piece, why = handle:read(PIECE_BYTES)
    if why then failure.raise(failure.IO, ("%s: %s"):format(path, why)) end
    return piece
  end
  local next_result, report, title = failure.typed(stream.open, read,
    { path = path, from = args.from, branch = args.branch, skip_bad = args.lenient, max_line = args.max_file })
  if not next_result then
    handle:close()
    return nil
  end
  if args.from_dialect then
    handle:close()
    failure.usage(("--from %s is for one conversation, and %s holds many"):format(args.from_dialect, path),
      "without --from the form is recognised")
  end
  terminal.guard(path, args.output)
  return setmetatable({
    path = path, title = title, count = 0, next_result = next_result, report = report, handle = handle,
    lenient = args.lenient, chat_options = options.of_conversation(args), notes = require("ebb.import.report").new(),
  }, Conversations)
end

--- The next result; raises what is wrong with its line, with the name of the file.
local function next_result(many)
  local ok, result = pcall(many.next_result)
  if ok then return result end
  if not core.is_error(result) then error(result, 0) end
  return failure.raise(failure.exit_of(result), ("%s:%s"):format(many.path, result.message), result.hint)
end

--- The conversation of a result; nil for one that is counted under --lenient.
local function parse(many, result)
  local chat, problem = failure.typed(ebb.parse, ebb.import.body(result), many.chat_options)
  if chat then
    if options.warn(("%s:%d"):format(many.path, result.line), chat:warnings(), true) then failure.lenient = true end
    return chat
  end
  local message = problem.message:gsub("^text:%d+:%d+: ", "")
  if not many.lenient then
    failure.raise(failure.exit_of(problem), ("%s:%d: %s"):format(many.path, result.line, message), problem.hint)
  end
  many.report:add("bad conversation", message, result.line)
end

--- Iterates over the conversations, with what an importer says of each.
---@return fun(): ebb.Conversation?, ebb.Import?
function Conversations:each()
  return function()
    for result in next_result, self do
      local chat = parse(self, result)
      for _, entry in ipairs(result.report) do self.notes:add(entry.kind, "", nil, entry.count) end
      if chat then
        self.count = self.count + 1
        terminal.progress(("%s: conversation %d"):format(self.path, self.count))
        return chat, result
      end
    end
  end
end

--- Closes the file, and says what was read and what was not.
function Conversations:finish()
  self.handle:close()
  terminal.progress(nil)
  for _, entry in ipairs(self.report) do
    if entry.kind:find "^bad " then failure.lenient = true end
  end
  if terminal.quiet then return end
  local words = { text.count(self.count, "conversation") }
  imported.add_counts(words, self.report)
  imported.add_counts(words, self.notes)
  terminal.say(("%s: read as %s: %s"):format(self.path, self.title, table.concat(words, ", ")))
end

return conversations
