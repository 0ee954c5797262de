--- ebb session: conversations on disk, by their names.

local commands = require "ebb.cli.command_list"
local core = require "ebb.support.core"
local edits = require "ebb.cli.io.edits"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local own_form = require "ebb.cli.io.own_form"
local parsers = require "ebb.cli.parser"
local session_log = require "ebb.cli.view.session_log"
local sessions = require "ebb.cli.io.sessions"
local steps = require "ebb.session.steps"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local command = {}

---@type table<string, fun(args: table, ...: string): integer?>
local ACTIONS = {}

local NAMES = { "ls", "new", "log", "show", "append", "undo", "rollback", "branch", "checkpoint", "rename", "rm",
  "export", "import", "prune", "vacuum", "check", "backup", "salvage" }

--- Other words for actions: those of the library.
local ALIASES = { batches = "log", fork = "branch" }

function command.declare(parser)
  parser:argument("action", "What to do; see below.")
  parser:argument("words", "What the action takes; see below."):args("*")
  parser:option("-n --count", "log: batches to show (default: 50). show: messages (default: 10).")
    :argname("<n>"):convert(options.integer "--count")
  parser:option("--keep", "prune: the newest batches that stay (default: 1)."):argname("<n>")
    :convert(options.integer "--keep")
  parser:flag("--messages", "export: the visible messages alone, not the whole conversation.")
  options.output(parser)
  edits.declare(parser, {
    explain = "Show on standard error which messages an edit changed.",
    dry_run = "Change nothing, and say what would change: of actions that edit.",
    ledger = "Write what an edit changed to this file, as JSON.",
    json = ": of ls, log, salvage with NEW on standard output; of edits with --dry-run there, else on standard error",
  })
  options.reading(parser, true)
  parser:epilog([[
Actions:
  ls                         list sessions
  new NAME [FILE]            begin a session, with the conversation of a file
  log NAME                   draw the tree of its batches, and list what commands did; also `batches`
  show NAME                  figures, and the last messages
  append NAME [FILE]         append the messages of a file, or of standard input
  trim NAME [options]        cut it down to a budget: the same as ebb trim --session NAME
  undo NAME                  take the last command back, an append too; again: the one before
  rollback NAME BATCH [LENGTH]  make a batch or checkpoint current, or its state of LENGTH
                             messages; rolling forward works, too
  branch NAME NEW            a new session that begins with all of this one; also `fork`
  checkpoint NAME LABEL      give the present state a name
  rename NAME NEW            give it another name
  rm NAME                    remove it; its branches stay
  export NAME [-o FILE]      write it to a file, whole
  import FILE NAME           the same as new NAME FILE
  prune NAME [--keep N]      remove old batches, and messages that no other batch shows
  vacuum                     give free room in the database back
  check                      look for damage
  backup FILE                copy the database while others use it
  salvage FILE [NEW]         get what is left of a damaged database into a new one,
                             or its messages as JSON, a session a line

]] .. options.examples {
    "ebb session new support chat.json", "ebb trim --session support --budget 8k", "ebb session log support",
    "ebb session rollback support 0", "ebb session branch support try", "ebb diff session:support session:try",
  })
end

---- The store ----

local function open_store(args, creates)
  return sessions.check(failure.typed(ebb.sessions, sessions.place(args, creates), { create = creates }))
end

local COLUMNS = {
  { title = "session" }, { title = "messages", right = true }, { title = "tokens", right = true },
  { title = "batches", right = true, rank = 2 }, { title = "version", right = true, rank = 3 }, { title = "changed" },
}

local function when(ms) return os.date("%Y-%m-%d %H:%M", ms // 1000) end

--- Lists what is there; the user's own database, which nobody named, need not be there yet.
local function listed(args)
  local place, is_own = sessions.place(args, false)
  if is_own and not core.file_identity(place) then return {}, place end
  local store <close> = open_store(args, false)
  return sessions.check(store:list()), store.place
end

function ACTIONS.ls(args)
  local infos, place = listed(args)
  local rows = {}
  if args.json then
    for _, info in ipairs(infos) do info.id, info.origin = nil, nil end
    return terminal.result(json_text.format(core.json.array(infos)), args.output)
  end
  for i, info in ipairs(infos) do
    rows[i] = { text.printable(info.name), tostring(info.messages), tostring(info.tokens), tostring(info.batches),
      tostring(info.version), when(info.changed) }
  end
  local page = terminal.results(args.output)
  local none = ("%s: no sessions; `ebb session new NAME` begins one"):format(place)
  terminal.result(#rows == 0 and terminal.fill(page, none) or grid.render(COLUMNS, rows, page), args.output)
end

--- Says what an action would do, on a dry run.
local function would(args, line) if args.dry_run and not args.json then terminal.say(line) end end

local function check_free(store, name)
  if store.db:find(name) then failure.raise(failure.REFUSED, ("session '%s' exists already"):format(name)) end
end

local function create(args, name, chat)
  local store = open_store(args, true)
  sessions.check(store.db:create(name, core.now()))
  store:close()
  local session = sessions.open(args, name, options.of_conversation(args))
  if chat then sessions.check(session:adopt(chat)) end
  terminal.inform(("session %s: %s"):format(name, text.count(#session, "message")))
end

function ACTIONS.new(args, name, file)
  local chat = file and options.load(file, args) or ebb.conversation(options.of_conversation(args))
  local store = args.dry_run and failure.typed(ebb.sessions, sessions.place(args, false), { create = false })
  if store then check_free(store, name) end       -- else there is no database yet
  would(args, ("would begin session %s: %s"):format(name, text.count(#chat, "message")))
  local empty = ebb.conversation {}
  edits.finish(args, { before = empty, after = chat, by = "session", reason = args.action, apart = true },
    function() create(args, name, file and chat) end)
end

function ACTIONS.import(args, file, name) return ACTIONS.new(args, name, file) end

--- Checks the names of an action on a dry run, and says what it would do.
---@param what string
---@param new? string     must be free
---@return boolean is_dry
local function tries(args, what, name, new)
  if not args.dry_run then return false end
  local store = open_store(args, false)
  local info = sessions.check(store.db:find(name))
  if new then check_free(store, new) end
  would(args, ("session %s, %s: %s"):format(name, text.count(info.messages, "message"), what))
  return true
end

function ACTIONS.rename(args, name, new)
  if tries(args, "would be " .. new, name, new) then return end
  sessions.check(open_store(args, false):rename(name, new))
end

function ACTIONS.rm(args, name)
  if tries(args, "would be removed", name) then return end
  sessions.check(open_store(args, false):remove(name))
end

function ACTIONS.branch(args, name, new)
  if tries(args, new .. " would begin with them", name, new) then return end
  local info = sessions.check(open_store(args, false):branch(name, new))
  terminal.inform(("session %s: %s, as %s has them"):format(new, text.count(info.messages, "message"), name))
end

function ACTIONS.vacuum(args)
  sessions.check(open_store(args, false):settle { vacuum = true })
end

function ACTIONS.backup(args, file)
  sessions.check(open_store(args, false):backup(file))
end

function ACTIONS.check(args)
  local store = open_store(args, false)
  local what, warning = store:describe()
  local faults = sessions.check(store:check())
  terminal.say(("%s, %s"):format(store.place, what))
  if warning ~= "" then terminal.say("  " .. warning) end
  for _, fault in ipairs(faults) do terminal.say("  " .. fault) end
  terminal.say(#faults == 0 and "good" or text.count(#faults, "fault"))
  return #faults == 0 and 0 or failure.REFUSED
end

local function range(least, most) return least == most and tostring(most) or ("%d to %d"):format(least, most) end

--- Describes what was found of a damaged session, and what is lost of it.
---@param result ebb.Salvaged
local function salvaged_line(result)
  local line = ("session %s: %s%s"):format(text.printable(result.name), result.whole and "whole, " or "",
    text.count(result.count, "message"))
  if result.whole then return line end
  if result.count == 0 then line = ("session %s: nothing found"):format(text.printable(result.name)) end
  local lost, rows = result.lost, result.rows
  if lost then
    line = ("%s, %s of %d lost (%d of %s are there)"):format(line, range(lost[1], lost[2]), result.stored, rows[1],
      text.count(rows[2], "row"))
  else
    line = line .. ", nothing says how many it had"
  end
  return line .. "; its batches, marks and windows are lost"
end

--- Says a loss always, and what is whole unless --quiet.
local function say_salvaged(args, result)
  if not (result.whole and args.quiet) then terminal.say(salvaged_line(result)) end
end

--- A result for --json.
---@param result ebb.Salvaged
---@param name? string       under which it was written
local function salvaged_data(result, name)
  local lost, rows = result.lost, result.rows
  return {
    session = result.name, whole = result.whole, messages = result.count, writtenAs = name, stored = result.stored,
    lost = lost and { atLeast = lost[1], atMost = lost[2] } or nil,
    rows = rows and { found = rows[1], written = rows[2] } or nil,
    problem = result.problem and tostring(result.problem.message or result.problem) or nil,
  }
end

--- The messages of all sessions, as lines of JSON.
local function salvaged_lines(results)
  local lines = {}
  for i, result in ipairs(results) do
    lines[i] = ('{"session":%s,"whole":%s,"messages":%s}\n'):format(core.json.encode(result.name), result.whole,
      (result.text:gsub("[\r\n]+", " ")))      -- in JSON they are space
  end
  return table.concat(lines)
end

--- Reads what is left of each session of a damaged database, and prints it; fails if nothing is left.
---@return ebb.Salvaged[] results
local function read_damaged(args, file)
  local salvage = require "ebb.session.salvage"
  local store = sessions.check(failure.typed(ebb.sessions, file, { salvage = true }))
  local results, remains = {}, false
  for i, info in ipairs(sessions.check(store:list())) do
    results[i] = sessions.check(salvage.session(store, info))
    remains = remains or results[i].whole or results[i].count > 0
    if not args.json then say_salvaged(args, results[i]) end
  end
  if not remains then failure.raise(failure.REFUSED, ("%s: nothing of a session is left"):format(file)) end
  return results
end

--- Writes what was found into a new database; the names, by the number of the result.
---@return string[] names
local function keep_salvaged(results, new)
  local salvage, names = require "ebb.session.salvage", {}
  local target = sessions.check(failure.typed(ebb.sessions, new, { create = true }))
  if #sessions.check(target:list()) > 0 then
    failure.raise(failure.REFUSED, ("%s: it has sessions"):format(new), "salvage writes to a new database")
  end
  for i, result in ipairs(results) do
    local remains = result.whole or result.count > 0
    names[i] = remains and sessions.check(salvage.keep(target, result)) or nil
  end
  return names
end

function ACTIONS.salvage(args, file, new)
  local results = read_damaged(args, file)
  local names = new and keep_salvaged(results, new) or {}
  local report = core.json.array {}
  for i, result in ipairs(args.json and results or {}) do
    report[i] = salvaged_data(result, names[i])
  end
  local shown = args.json and json_text.format(report)
  if new then return shown and terminal.result(shown, args.output) end
  if shown then terminal.show(shown) end
  terminal.result(salvaged_lines(results), args.output)
end

---- One session ----

local function open(args, name) return sessions.open(args, name, options.of_conversation(args)) end

local LOG_BATCHES, SHOWN_MESSAGES = 50, 10

function ACTIONS.log(args, name)
  local session = open(args, name)
  if args.json then return terminal.result(json_text.format(session_log.data(session.chat)), args.output) end
  terminal.result(session_log.text(session.chat, args.count or LOG_BATCHES, args.output), args.output)
end

local MESSAGE_COLUMNS = {
  { title = "pos", right = true }, { title = "role" }, { title = "tokens", right = true }, { title = "text" },
}

function ACTIONS.show(args, name)
  local transcript = require "ebb.conversation.transcript"
  local session = open(args, name)
  local page, rows = terminal.results(args.output), {}
  for i = math.max(1, #session - (args.count or SHOWN_MESSAGES) + 1), #session do
    local message = session[i]
    rows[#rows + 1] = { tostring(i), text.kind(message), tostring(message.tokens), transcript.line(message),
      colour = message.role or "window" }
  end
  local stats, tokens = session:stats(), session.tail and session.tail.tokens or session:tokens()
  local line = ("session %s, version %d: %s of %d stored, %s, batch %d of %d\n"):format(name, session.version,
    text.count(#session, "message"), stats.total_messages, text.count(tokens, "token"),
    stats.current_batch_index, stats.total_batches)
  terminal.result(terminal.fill(page, line) .. (#rows > 0 and grid.render(MESSAGE_COLUMNS, rows, page) or ""),
    args.output)
end

local RETRIES = 20      -- where others write to the session at the same time

--- Runs an edit on a branch of the session, and says what it has now. True: another program was faster, as `last` says
--- whether to tell.
---@return boolean conflicts
local function try_edit(args, name, session, run, last)
  local branch, conflicts = session:begin(), false
  local before, state = branch:fork(), steps.state(branch)
  local undoes = failure.typed(run, branch)
  steps.note(branch, state, args.action, undoes)
  would(args, ("session %s, now version %d: would have %s, %s, %s"):format(name, session.version,
    text.count(#branch, "message"), text.count(branch:tokens(), "token"),
    ("%d of its batches"):format(#branch:batches())))
  local ok, why = pcall(edits.finish, args, { before = before, after = branch, by = "session", reason = args.action },
    function()
      local version, problem = session:commit(branch)
      conflicts = not version and problem.code == "conflict" and not last
      sessions.check(version, problem)
      terminal.inform(("session %s, version %d: %s, %s"):format(name, session.version,
        text.count(#session, "message"), text.count(session:tokens(), "token")))
    end)
  if not ok and not conflicts then error(why, 0) end
  return conflicts
end

--- Runs an edit, again after each conflict: these actions mean the same in a newer version.
---@param run fun(chat: ebb.Conversation): integer?     the number of the step that it undoes
local function edit(args, name, run)
  local session = open(args, name)
  for try = 0, RETRIES do
    if not try_edit(args, name, session, run, try == RETRIES) then return end
    sessions.check(session:refresh())
  end
end

function ACTIONS.append(args, name, file)
  local more = options.load(file, args)
  local list = table.move(more, 1, #more, 1, {})
  if #list == 0 then
    failure.raise(failure.REFUSED, ("%s: it has no messages to append"):format(options.name(file or "-")))
  end
  edit(args, name, function(chat) chat:append(list) end)
end

function ACTIONS.rollback(args, name, batch, length)
  edit(args, name, function(chat) options.roll_back(chat, batch, "batch", length) end)
end

function ACTIONS.undo(args, name)
  edit(args, name, function(chat)
    local before, step = steps.last(chat)
    if not before then
      failure.raise(failure.REFUSED, ("session %s: no command is left that undo takes back"):format(name),
        ("`ebb session log %s` shows its states, `ebb session rollback` leads to each"):format(name))
    end
    chat:rollback(before[1], before[2])
    return step and step.number or 0
  end)
end

function ACTIONS.checkpoint(args, name, label)
  edit(args, name, function(chat) chat:checkpoint(label) end)
end

function ACTIONS.prune(args, name)
  edit(args, name, function(chat) chat:prune { keep = args.keep or 1 } end)
end

function ACTIONS.export(args, name)
  local session = open(args, name)
  if not args.messages then return terminal.result(session:write "ebb", args.output) end
  local chat = session.chat:fork()
  terminal.result(own_form.text(chat) or chat:json(), args.output)
end

---- The command ----

--- The arguments of each action, those in brackets optional.
local WORDS = {
  ls = "", new = "NAME [FILE]", log = "NAME", show = "NAME", append = "NAME [FILE]", undo = "NAME",
  rollback = "NAME BATCH [LENGTH]",
  branch = "NAME NEW", checkpoint = "NAME LABEL", rename = "NAME NEW", rm = "NAME", export = "NAME",
  import = "FILE NAME", prune = "NAME", vacuum = "", check = "", backup = "FILE", salvage = "FILE [NEW]",
}

--- Actions that write what they call FILE or NEW.
local WRITTEN = { backup = "FILE", salvage = "NEW" }

--- The files among the words of an action.
local function places_of(args)
  local files, i = { reads = {}, writes = {} }, 0
  for label in WORDS[args.action]:gmatch "%u+" do
    i = i + 1
    local list = WRITTEN[args.action] == label and files.writes or label == "FILE" and files.reads
    local path = args.words[i]
    if list and path and path ~= "-" then
      list[#list + 1] = { path = path, option = args.action, owner = args.words, key = i }
    end
  end
  return files
end

--- A set of these names.
local function set(...)
  local names = {}
  for _, name in ipairs { ... } do names[name] = true end
  return names
end

--- The actions that take each option.
local ONLY = {
  count = { log = true, show = true }, keep = { prune = true }, messages = { export = true },
  json = set("ls", "log", "new", "import", "append", "undo", "rollback", "checkpoint", "prune", "salvage"),
  dry_run = set("new", "import", "append", "undo", "rollback", "checkpoint", "prune", "rename", "rm", "branch"),
  explain = set("new", "import", "append", "undo", "rollback", "checkpoint", "prune"),
  ledger = set("new", "import", "append", "undo", "rollback", "checkpoint", "prune"),
  output = { ls = true, log = true, show = true, export = true, salvage = true },
}

--- The hint at an unknown action: it may be a command that takes a session, or the name of an action with a slip.
local function action_hint(action)
  local takes_session = commands.by_name[action] and parsers.has(action, "--session")
  return takes_session and ("`ebb %s --session NAME` does this"):format(action) or suggest.hint(action, NAMES)
    or "see 'ebb session --help'"
end

--- Commands that do for one option what an action does not.
local INSTEAD = { json = "`ebb inspect --session NAME --json` has the messages" }

local function check(args)
  local words = WORDS[args.action]
  if not words then failure.usage(("unknown action '%s'"):format(args.action), action_hint(args.action)) end
  local _, most = words:gsub("%u+", "")
  local least = most - select(2, words:gsub("%[", ""))
  if #args.words < least or #args.words > most then
    failure.usage(("%s takes %s"):format(args.action, words == "" and "no arguments" or words),
      (("ebb session %s %s"):format(args.action, words):gsub(" $", "")))
  end
  for option, actions in pairs(ONLY) do
    if args[option] and not actions[args.action] then
      failure.usage(("--%s does not go with %s"):format((option:gsub("_", "-")), args.action),
        args.action == "show" and INSTEAD[option] or nil)
    end
  end
end

--- Reads the action, and tells which of its words are files.
---@param args table
---@return ebb.cli.Places
function command.places(args)
  args.action = ALIASES[args.action] or args.action
  check(args)
  return places_of(args)
end

function command.run(args)
  return ACTIONS[args.action](args, table.unpack(args.words))
end

return command
