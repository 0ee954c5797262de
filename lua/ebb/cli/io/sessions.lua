--- Sessions as inputs of commands: `--session NAME`, or a file that is called session:NAME.
--
-- A command edits a branch of the session, and writes its result with a commit. With -o the result goes to the file,
-- and the session stays as it is.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local saved_options = require "ebb.conversation.saved_options"
local steps = require "ebb.session.steps"
local terminal = require "ebb.cli.view.terminal"
local xdg = require "ebb.support.xdg"

local sessions = {}

local PREFIX = "^session:(.+)$"

---@param parser table
---@param with_session boolean
function sessions.declare(parser, with_session)
  if with_session then
    parser:option("--session", "Read this session in place of a file; commands that edit write to it, too.")
      :argname("<name>")
  end
  parser:option("--db", "The database of sessions: a file, or a URL of PostgreSQL (default: $EBB_DB, or the user's "
    .. "own).") :argname("<place>")
end

--- The named place of the database, or the user's own and true; nil without a home folder.
local function find_place(args)
  local place = args.db or os.getenv "EBB_DB"
  if place and place ~= "" then return place, false end
  return xdg.path("data", "sessions.db"), true
end

--- The place of the database.
---@param args table
---@param creates boolean    the folder of the user's own is made where it is missing
---@return string place
---@return boolean is_own      nobody named it
function sessions.place(args, creates)
  local place, is_own = find_place(args)
  if not place then failure.raise(failure.IO, "no home folder for sessions", "--db names a database") end
  if creates and is_own then failure.check(core.make_folder(place:match "^(.*)/")) end
  return place, is_own
end

--- Suffixes of the files that SQLite and Ebb keep next to a database.
local BESIDE = { "", "-wal", "-shm", "-journal", "-checkpoint" }

--- The files of the database, whether they exist or not; none of a server's.
---@param args table
---@return string[]
function sessions.files(args)
  local place = find_place(args)
  local files = {}
  if not place or place:find("://", 1, true) then return files end
  for i, ending in ipairs(BESIDE) do files[i] = place .. ending end
  return files
end

--- The name of a session that is given in place of a file.
---@param path? string
---@return string?
function sessions.name_of(path)
  return path and path:match(PREFIX)
end

local HINTS = { absent = "`ebb session new NAME` begins a session, `ebb session ls` lists them" }

--- Raises what the database refuses.
function sessions.check(result, problem)
  if result == nil then
    local hint = problem.code == "conflict" and "another program wrote to it meanwhile; run the command again"
    failure.raise(failure.exit_of(problem), problem.message, problem.hint or hint or HINTS[problem.code])
  end
  return result
end

--- Opens a session.
---@param args table
---@param name string
---@param conversation? ebb.ConversationOptions
---@return ebb.Session
function sessions.open(args, name, conversation)
  return sessions.check(failure.typed(ebb.session, sessions.place(args, false), name,
    { create = false, conversation = conversation }))
end

--- The session that the running command edits.
local edited

--- Refuses what does not go with a session.
---@param args table
function sessions.check_options(args)
  if not args.session then return end
  local file = args.file or args.files and args.files[1]
  if file then failure.usage(("--session and %s are two inputs"):format(file), "name one of them") end
end

--- Loads a session as the input of the command.
---@param args table
---@param name string
---@param conversation ebb.ConversationOptions
---@return ebb.Conversation branch
function sessions.load(args, name, conversation)
  local session = sessions.open(args, name, next(conversation) and conversation or nil)
  local branch = session:begin()
  if name == args.session then
    if edited then edited.session:close() end      -- of a former run
    edited = { session = session, branch = branch, version = session.version, state = steps.state(branch),
      by = args.command_name or "edit" }
  end
  return branch
end

--- True if the command writes its result to a session.
---@param args table
---@return boolean
function sessions.is_edited(args) return edited ~= nil and args.session ~= nil and not args.output end

--- The branch with the result: convert and pipeline nodes go on with another conversation.
local function branch_of(chat)
  if chat ~= edited.branch then edited.session:put(edited.branch, chat) end
  return edited.branch
end

--- Notes what the command did so far as one step.
local function note_step(branch)
  if edited.step then
    steps.extend(branch, edited.step)
  else
    local step = steps.note(branch, edited.state, edited.by)
    edited.step = step and step.number
  end
  return branch
end

--- Commits the conversation with the position of a workflow.
---@param chat ebb.Conversation
---@param position? ebb.WorkflowPosition
---@return ebb.Conversation? branch     that the workflow goes on with
---@return ebb.Error? problem
function sessions.keep(chat, position)
  local branch = branch_of(chat)
  saved_options.keep_run(note_step(branch), position)
  local version, problem = edited.session:commit(branch)
  if not version then return nil, problem end
  edited.branch = edited.session:begin()
  return edited.branch
end

--- Commits what the command left in the session besides its result, such as macro variables.
---@param args table
function sessions.save_beside(args)
  if not edited or not args.session then return end
  local version = sessions.check(edited.session:commit(note_step(edited.branch)))
  if version ~= edited.version then terminal.inform(("session %s: version %d"):format(args.session, version)) end
end

--- True if another program committed before the result. Tells it once, for a run that fails sooner has no result.
---@return boolean
function sessions.take_late()
  local is_late = edited ~= nil and edited.is_late == true
  if edited then edited.is_late = false end
  return is_late
end

--- Commits the result of the command. False if it goes elsewhere.
---@param chat ebb.Conversation
---@param args table
---@return boolean
function sessions.save(chat, args)
  if not sessions.is_edited(args) then return false end
  local version, problem = edited.session:commit(note_step(branch_of(chat)))
  edited.is_late = not version and problem.code == "conflict"
  sessions.check(version, problem)
  terminal.inform(version == edited.version and ("session %s: nothing changed"):format(args.session)
    or ("session %s: version %d"):format(args.session, version))
  return true
end

return sessions
