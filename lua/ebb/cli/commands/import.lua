--- ebb import: an agent and a conversation out of another program's file, and what was understood of it.

local core = require "ebb.support.core"
local edits = require "ebb.cli.io.edits"
local differences_view = require "ebb.cli.view.differences"
local difference = require "ebb.conversation.difference"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local files = require "ebb.pipeline.files"
local host = require "ebb.host"
local imported = require "ebb.cli.io.imported"
local json_text = require "ebb.cli.view.json_text"
local macro_options = require "ebb.cli.io.macro_options"
local options = require "ebb.cli.io.options"
local places = require "ebb.cli.io.places"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local unpacked = require "ebb.cli.io.unpacked"

local command = {}

function command.declare(parser)
  parser:argument("file",
    "A character card (PNG, CHARX or JSON), lorebook, preset, regex rules, agent, chat or session.")
  places.writes(parser:option("--agent", "Write the agent to this file; default: NAME.agent.json in the current "
    .. "folder."):argname("<file>"))
  places.writes(parser:option("--chat", "Write the conversation to this file; default: NAME.chat.json.")
    :argname("<file>"))
  parser:option("--greeting", "Which first message begins the conversation, from 0."):argname("<n>")
    :convert(options.integer "--greeting")
  parser:option("--user", "The user's name in that message."):argname("<name>")
  parser:option("--max-file", "The largest file that is read; default 256M."):argname("<bytes>")
    :convert(options.bytes "--max-file")
  parser:flag("--lenient", "Go on after lines that are not JSON, and say so.")
  edits.declare(parser, {
    explain = "Show on standard error what was understood, member by member, and each message.",
    dry_run = "Write no files, only the report.",
    ledger = "Write the report to this file, as JSON.",
    json = " on standard output",
  })
  imported.declare(parser)
  parser:epilog(options.examples {
    "ebb import ann.png",
    "ebb import world.json --agent world.agent.json --dry-run",
    "ebb import preset.json --json",
  })
end

--- The name of a file without folder and ending; "stdin" or "pipe" for one that has none.
local function stem(path)
  if host.is_descriptor(path) and path ~= "/dev/stdin" then return "pipe" end
  local name = options.name(path):match "([^/]+)$" or path
  return name:match "^(.+)%.[^.]+$" or name
end

--- The names of what is written. Names that are made do not replace files.
local function targets(args, result)
  local function target(option, ending, has)
    if not has then
      if option then failure.usage(("%s has no %s"):format(options.name(args.file), ending)) end
      return nil
    end
    if option then return option end
    local path = ("%s.%s.json"):format(stem(args.file), ending)
    if core.file_identity(path) and not args.dry_run then
      failure.raise(failure.REFUSED, path .. " exists", ("--%s names the file to write"):format(ending))
    end
    return path
  end
  local has_messages = result.messages[1] ~= nil or result.body ~= nil
  return target(args.agent, "agent", result.agent ~= nil), target(args.chat, "chat", has_messages)
end

--- Refuses two files in one place: names that are made were not on the command line.
local function check_targets(paths)
  local writes = {}
  for _, option in ipairs { "--agent", "--chat", "--ledger" } do
    if paths[option] then writes[#writes + 1] = { option = option, path = paths[option] } end
  end
  places.check { reads = {}, writes = writes }
end

--- Checks an imported agent as the pipeline would read it, and reports decorators that the pipeline does not know.
local function check_agent(result)
  local agent = files.read("agent", core.json.decode(core.json.encode(result.agent)))
  for _, book in ipairs(agent.lorebooks or {}) do
    for _, line in ipairs(book.skipped) do
      table.insert(result.report, { kind = "ignored decorator", message = line, count = 1 })
    end
  end
end

--- A line of the report: "ignored: data.creator (card metadata)", "2 alternate greetings kept (...)".
local function describe_entry(entry)
  if entry.kind == "alternate greeting" then
    return ("%s %s"):format(text.count(entry.count, entry.kind), entry.message)
  end
  local times = entry.count > 1 and (" (%d times)"):format(entry.count) or ""
  return ("%s: %s%s"):format(entry.kind == "ignored member" and "ignored" or entry.kind, entry.message, times)
end

local function lines_of(result, agent, chat, dry)
  local words = { ("%s (%s)"):format(result.title, result.name) }
  local verb = dry and "would write" or "wrote"
  if agent then words[#words + 1] = ("%s the agent: %s"):format(verb, agent) end
  if chat then
    words[#words + 1] = ("%s the conversation, %s: %s"):format(verb, text.count(#result.messages, "message"), chat)
  end
  if result.understood then words[#words + 1] = ("understood: %s"):format(text.count(#result.understood, "member")) end
  for _, entry in ipairs(result.report) do words[#words + 1] = describe_entry(entry) end
  return text.printable(table.concat(words, "\n"), true) .. "\n"
end

local function data_of(result, agent, chat)
  return {
    form = result.name, title = result.title, agent = result.agent, agentFile = agent, chatFile = chat,
    messages = #result.messages, understood = core.json.array(result.understood or {}),
    report = core.json.array(result.report),
  }
end

--- True for a list of messages, or a body around one, whatever is wrong further on.
local function is_own(bytes)
  local value = core.json.decode(bytes)
  if type(value) ~= "table" then return false end
  local list = value.messages or value.contents or value.input or value
  return type(list) == "table" and type(list[1]) == "table" and type(list[1].role) == "string"
end

--- Refuses a conversation in Ebb's own forms, which needs no import: with its fault, if it has one.
local function refuse_own(bytes, name)
  if not is_own(bytes) then return end
  local chat, problem = ebb.parse(bytes)
  if chat then
    failure.raise(failure.REFUSED, name .. " is a conversation that every command reads as it is",
      "ebb inspect " .. name)
  end
  failure.check(nil, core.error(problem.code, (problem.message:gsub("^text:", name .. ":")), problem.hint))
end

local function read(args)
  local name = options.name(args.file)
  if args.from_dialect then
    failure.usage(("--from %s is a dialect, which every command reads as it is"):format(args.from_dialect),
      "leave it out, or name the form of another program")
  end
  local cap = args.max_file or imported.BYTES_MAX
  local bytes = unpacked.text(failure.check(core.read_file(args.file, cap)), options.name(args.file), cap)
  local result, problem = failure.typed(ebb.import.read, bytes, {
    path = name, from = args.from, branch = args.branch, conversation = args.conversation, skip_bad = args.lenient,
    greeting = args.greeting, user = args.user, now = core.now(), zone = macro_options.zone(),
  })
  if not result and problem.code == "shape" and not args.from then refuse_own(bytes, name) end
  return failure.check(result, problem)
end

--- Shows the members that were understood, and the messages.
local function explain(result)
  for _, member in ipairs(result.understood or {}) do terminal.say("understood: " .. member) end
  if not (result.messages[1] or result.body) then return end
  local chat = failure.check(ebb.parse(ebb.import.body(result)))
  terminal.show(differences_view.lines(difference.compare(ebb.conversation {}, chat), terminal.messages()) .. "\n")
end

--- Writes the report: to standard output, unless one of the files goes there.
local function report(args, result, agent, chat)
  if args.quiet and not args.json then return end
  local lines = args.json and json_text.format(data_of(result, agent, chat))
    or lines_of(result, agent, chat, args.dry_run)
  if agent == "-" or chat == "-" then return terminal.show(lines) end
  terminal.result(lines)
end

function command.run(args)
  if args.ledger == "-" then
    failure.usage("--ledger needs a file", "--json writes the same to standard output")
  end
  local result = read(args)
  if result.conversations then
    failure.usage(("%s has %d conversations, and one is read"):format(options.name(args.file), #result.conversations),
      "--conversation names one:\n" .. require("ebb.import.many").listing(result.conversations))
  end
  if result.agent then check_agent(result) end
  local agent, chat = targets(args, result)
  check_targets { ["--agent"] = agent, ["--chat"] = chat, ["--ledger"] = args.ledger }
  if args.explain then explain(result) end
  edits.write({ ledger = args.ledger, dry_run = args.dry_run }, function() return data_of(result, agent, chat) end,
    function()
      if agent then terminal.result(json_text.format(result.agent), agent) end
      if chat then terminal.result(ebb.import.body(result), chat) end
    end)
  report(args, result, agent, chat)
end

return command
