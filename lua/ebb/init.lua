--- The face of the library: `local ebb = require "ebb"`. lua/ebb/meta describes all of it.
--
-- The core gives conversations their edits and queries. Methods in Lua are added to its
-- types here: trim, filter, apply, state, repaired, windows, and a draft's run. A module
-- is loaded by the first call that needs it: most programs use few of them, and loading
-- all takes longer than a trim.

--- Older Lua reads this file too, but neither the others nor the core.
if _VERSION ~= "Lua 5.4" then
  local jit = rawget(_G, "jit")
  error("ebb needs Lua 5.4, and this is " .. (jit and jit.version or _VERSION), 0)
end

require "ebb.trim.draft_methods"

local built_in = require "ebb.policies"
local core = require "ebb.support.core"
local models = require "ebb.models"
local refuse = require "ebb.support.refuse"
local script_path = require "ebb.sandbox.script_path"
local vocabularies = require "ebb.models.vocabularies"

local ebb = {
  json = core.json,
  null = core.json.null,
  policies = built_in.policies,
  policy_path = script_path.policies,
  filter_path = script_path.filters,
  processor_path = script_path.processors,
  macro_path = script_path.macros,
  type_path = script_path.types,
  models = models.known,
  version = core.version,
}

--- The options of a conversation without its messages, which load and parse do not take.
local function without_messages(options)
  if type(options) ~= "table" or options.messages == nil then return options end
  if type(options.messages) ~= "table" then
    refuse("argument", "conversation: messages is a list of messages, not a " .. type(options.messages))
  end
  local rest = {}
  for name, value in pairs(options) do rest[name] = value end
  rest.messages = nil
  return rest, options.messages
end

--- True if messages describe their tools already, as the core sees it once it has them. Those that it refuses are
--- refused by the caller, too, with their place.
local function has_tools(messages, options)
  local probe = core.conversation({ tools = options.tools, tools_heading = options.tools_heading,
    role_map = options.role_map, max_message = options.max_message }, true)
  return pcall(probe.append, probe, messages) and core.has_tools(probe)
end

--- A new conversation, with the messages of `options.messages` in it.
---@param options? ebb.ConversationOptions
---@return ebb.Conversation
function ebb.conversation(options)
  local rest, messages = without_messages(options)
  local core_options, model = models.resolve(rest, "conversation")
  local has_messages = messages and (messages.role or next(messages) ~= nil)
  local chat = core.conversation(core_options, has_messages and rest.tools and has_tools(messages, core_options))
  models.assign(chat, model, rest and rest.model)
  models.keep_options(chat, rest)
  if has_messages then chat:append(messages) end
  return chat
end

--- Refuses a saved conversation with windows that no call could have created.
local function check_saved_windows(chat)
  if core.window.count(chat) == 0 then return true end
  local ok, problem = pcall(require("ebb.windows").check_saved, chat)
  if not ok and not core.is_error(problem) then error(problem, 0) end
  return ok, problem
end

--- Resolves the options of a saved conversation to those of the core, with its model and its run; raises.
local function resolve_saved(text, body_model, caller)
  local options, unchanged, run, steps = require("ebb.conversation.saved_options").read(text, caller)
  local core_options, model = models.resolve(options)
  models.count_body(core_options, options, body_model)
  return { core_options = core_options, options = options, model = model, text = unchanged, run = run,
    steps = steps }
end

--- Reads a conversation by `read`, core.load or core.parse, for a caller that errors name.
local function read_chat(read, source, options, caller)
  local core_options, model = models.resolve(options, caller)
  local saved
  local chat, problem, bytes = read(source, core_options, function(text, body_model)
    local ok, result = pcall(resolve_saved, text, body_model, options)
    saved = ok and result
    if saved then return saved.core_options end
    if not core.is_error(result) or result.code == "memory" then error(result, 0) end
    return nil, core.error(result.code, "the options of the saved conversation: " .. result.message, result.hint)
  end)
  if not chat then return nil, problem, bytes end
  if saved then options, model = saved.options, saved.model end
  models.assign(chat, model, options and options.model)
  models.keep_options(chat, options, saved and saved.text)
  core.state(chat).run, core.state(chat).steps = saved and saved.run or false, saved and saved.steps or false
  if not saved then models.adopt(chat, options) return chat end
  local ok, why = check_saved_windows(chat)
  if not ok then return nil, why end
  return chat
end

--- Reads a conversation from a file; "-" is standard input.
---@param path string
---@param options? ebb.ConversationOptions
---@return ebb.Conversation? chat
---@return ebb.Error? problem
---@return string? text       of standard input, where it is no conversation
function ebb.load(path, options)
  return read_chat(core.load, path, options, "load")
end

--- Returns the identity of the file that a name leads to, and of its state.
---@param path string
---@return string? identity
---@return ebb.Error? problem
ebb.file_identity = core.file_identity

--- Reads a conversation from a string, as `ebb.load` does from a file.
---@param text string
---@param options? ebb.ConversationOptions
---@return ebb.Conversation? chat
---@return ebb.Error? problem
function ebb.parse(text, options)
  return read_chat(core.parse, text, options, "parse")
end

--- Plays a recorded conversation turn by turn, once for each policy.
---@param chat ebb.Conversation
---@param options? ebb.Replay
---@return ebb.ReplayResult[]? results
---@return ebb.Error? problem
function ebb.replay(chat, options)
  return require("ebb.replay").run(chat, options)
end

--- The title of the form that a text of another program has; nil: none is known.
local function form_of(text)
  local import = require "ebb.import"
  local name = import.recognise(text)
  return name and import.importer(name).title
end

--- Makes a pipeline, which turns a conversation into the body of a request.
---@param options? ebb.PipelineOptions
---@return ebb.Pipeline
function ebb.pipeline(options)
  require("ebb.pipeline.files").form_of = form_of
  return require("ebb.pipeline").new(options)   -- loads macros, rules and LPeg, too
end

--- Adds processors for all pipelines that this program makes from now on.
---@param source ebb.Processor|ebb.Processor[]
function ebb.processor(source)
  require("ebb.pipeline.plugins").add(source)
end

--- Counts, encodes and decodes exactly, by a vocabulary that is installed.
---@param encoding string      "o200k_base", "cl100k_base" or an imported one
---@return ebb.Tokenizer
function ebb.tokenizer(encoding)
  return vocabularies.tokenizer(encoding)
end

--- Reads the calls of a model's text without performing them.
---@param text string
---@return ebb.WindowCall[] calls
---@return integer quoted
function ebb.read_calls(text)
  if type(text) ~= "string" then refuse("argument", "read_calls: a string is expected, not a " .. type(text)) end
  return require("ebb.windows.calls").parse(text)
end

--- Reads the markup of one window.
---@param text string
---@param options? { indented?: boolean }
---@return ebb.WindowView? view
---@return ebb.Error? problem
function ebb.read_window(text, options)
  return require("ebb.windows.markup_read").read(text, options)
end

--- Modules that are fields of `ebb`: loaded by the first use, for some need LPeg, and an idle chat needs none.
local MODULES = {
  import = "ebb.import", macro = "ebb.macros.add", macros = "ebb.macros",
  recall = "ebb.conversation.recall", rules = "ebb.rules",
  workflow = "ebb.workflow",
}

local inherit

setmetatable(ebb, { __index = function(_, name)
  if name == "session" or name == "sessions" then require "ebb.session.face"(ebb, read_chat, inherit)
  elseif name == "profiles" then ebb.profiles = require("ebb.models.profiles").known
  elseif MODULES[name] then ebb[name] = require(MODULES[name]) end
  return rawget(ebb, name)
end })

---- What tostring gives ----

local function describe(value) return require "ebb.conversation.descriptions"(value) end

for _, name in ipairs {
  "Conversation", "Batch", "Draft", "Selection", "Unit", "Turn", "Ledger", "Tokenizer", "Windows",
} do
  core.descriptions[name] = describe
end

---- Methods in Lua ----


local function trim() return require "ebb.trim" end
local function windows() return require "ebb.windows" end
local function listing() return require "ebb.windows.listing" end
local function render() return require "ebb.windows.render" end
local function settle() return require "ebb.windows.inline_windows" end

--- Refuses calls without the colon.
local function check_chat(chat, method)
  if core.type(chat) ~= "Conversation" then
    refuse("argument", method .. ": expected a Conversation", ("chat:%s()"):format(method))
  end
end

local Conversation, Batch = core.methods.Conversation, core.methods.Batch

local core_filter, core_fork = Conversation.filter, Conversation.fork

local core_tokens, core_trust, core_where = Conversation.tokens, Conversation.trust, Conversation.where

--- Tokens and trust by the counter of options; by another one each message is counted once, on
--- first use. Windows that a conversation shows count as their present markup.
local function measure(list, options, method)
  local counter = models.counter(options, method)
  local shows_windows = core.type(list) == "Conversation" and core.window.count(list) > 0
  if shows_windows then return render().tokens(list, counter) end
  return core.counter.tokens(list, counter)
end

local function tokens(list, options)
  if options == nil then return core_tokens(list) end
  return (measure(list, options, "tokens"))
end

local function trust(list, options)
  if options == nil then return core_trust(list) end
  return (select(2, measure(list, options, "trust")))
end

function Conversation.tokens(chat, options)
  if options == nil and core.window.count(chat) > 0 then return (render().tokens(chat)) end
  return tokens(chat, options)
end

function Conversation.trust(chat, options)
  if options == nil and core.window.count(chat) > 0 then return (select(2, render().tokens(chat))) end
  return trust(chat, options)
end

Batch.tokens, Batch.trust = tokens, trust

--- The positions of the messages of each role. It takes no arguments.
local function indices(list, ...)
  local result = {}
  if select("#", ...) > 0 then
    local text = "indices: it takes no arguments, got %s"
    refuse("argument", text:format(require("ebb.support.schema").describe((...))),
      'chat:where { role = "user" }:positions(), for one role')
  end
  for _, role in ipairs(require "ebb.conversation.roles") do
    result[role] = core_where(list, { role = role }):positions()
  end
  return result
end

Conversation.indices, Batch.indices, core.methods.Draft.indices = indices, indices, indices

--- The name of the model in use: the caller's choice, or the loaded body's.
function Conversation.model(chat)
  return models.name(chat)
end

function Conversation.over_limit(chat)
  check_chat(chat, "over_limit")
  local limit = chat.limit
  return limit ~= nil and chat:tokens() > limit
end

--- Counts the conversation by another encoding or for another model from now on.
function Conversation.recount(chat, options)
  local counter, model = models.counter(options, "recount")
  core.counter.recount(chat, counter)
  if model then models.assign(chat, model, options.model) end
  local kept = core.state(chat).options or {}
  models.keep_options(chat, {
    model = options.model or kept.model, encoding = options.encoding, limit = kept.limit, tools = kept.tools,
    tools_heading = kept.tools_heading, role_map = kept.role_map,
  })
  return core_tokens(chat)
end

--- Conditions go to the core; functions and files are run here.
function Conversation.filter(chat, filter, ...)
  if select("#", ...) > 0 then
    refuse("argument", "filter takes one argument", 'chat:filter { "a.lua", options = {} }')
  end
  return require("ebb.trim.filter").run(chat, filter, core_filter)
end

--- Gives a fork what the library knows of its original.
function inherit(fork, chat)
  models.inherit(fork, chat)
  local original, copy = core.state(chat), core.state(fork)
  copy.results, copy.actions = original.results, original.actions
  copy.run, copy.steps = original.run, original.steps
  if original.markup then
    copy.markup = {}   -- each conversation has entries of its own, for its windows' versions
    for id, entry in pairs(original.markup) do
      copy.markup[id] = entry
    end
  end
end

--- A fork has the model of its original.
function Conversation.fork(chat)
  local fork = core_fork(chat)
  inherit(fork, chat)
  return fork
end

--- Appends a text of the user, with macros expanded and files attached.
function Conversation.input(chat, text, options)
  return require("ebb.pipeline.input").run(chat, text, options)
end

--- The macro variables that the conversation keeps.
function Conversation.variables(chat)
  check_chat(chat, "variables")
  return require("ebb.pipeline.variables").read(chat)
end

function Conversation.set_variables(chat, values)
  check_chat(chat, "set_variables")
  return require("ebb.pipeline.variables").set(chat, values)
end

function Conversation.trim(chat, options)
  return trim().run(chat, options)
end

--- Returns the text that a trim left out, by the name in its handle.
function Conversation.recall(chat, name, options)
  return require("ebb.conversation.recall").read(chat, name, options)
end

function Conversation.apply(chat, operations)
  check_chat(chat, "apply")
  return require("ebb.conversation.state").apply(chat, operations)
end

function Conversation.state(chat)
  check_chat(chat, "state")
  return require("ebb.conversation.state").read(chat)
end

function Conversation.repaired(chat, options)
  local repair = require "ebb.models.repair"
  return repair.run(chat, options, core.window.count(chat) > 0 and settle().fork or chat.fork)
end

local core_check = Conversation.check

--- The windows that are shown are checked as the messages that they become.
local function check_windows(chat, rules)
  if core.window.count(chat) == 0 then return core_check(chat, rules) end
  return settle().check(chat, core_check, rules)
end

--- The rules are those of the target: of the options, of the model, or of the messages' own form.
function Conversation.check(chat, options)
  check_chat(chat, "check")
  return require("ebb.models.violations").check(chat, options, check_windows)
end

function Batch.check(batch, options)
  return require("ebb.models.violations").check(batch, options, core_check)
end

--- Declares an action of the conversation itself, which a model may call without a window.
function Conversation.action(chat, options)
  check_chat(chat, "action")
  require("ebb.windows.act").declare(chat, options)
end

--- Performs the calls of a message, and appends their results in the conversation's own form.
function Conversation.act(chat, message)
  check_chat(chat, "act")
  return require("ebb.windows.message_calls")(chat, message)
end

--- The messages as they are sent: those of chat.windows:render.
function Conversation.render(chat, options)
  check_chat(chat, "render")
  return render().run(chat, options, trim().look)
end

---- Windows: the methods of chat.windows ----

local Windows = core.methods.Windows
--- The conversation of chat.windows; raises for a call without the colon.
local function owner(list)
  if core.type(list) ~= "Windows" then
    refuse("argument", "expected a Windows, got " .. require("ebb.support.schema").describe(list),
      "call methods with a colon: chat.windows:open { ... }")
  end
  return core.window.owner(list)
end

function Windows.open(list, options)
  return windows().open(owner(list), options)
end

function Windows.get(list, id)
  return windows().get(owner(list), id)
end

function Windows.list(list)
  return windows().all(owner(list))
end

function Windows.render(list, options)
  return render().run(owner(list), options, trim().look)
end

function Windows.stats(list)
  return listing().stats(owner(list))
end

function Windows.listing(list)
  return listing().text(owner(list))
end

function Windows.act(list, calls, options)
  local chat = owner(list)
  if type(calls) == "table" and calls.role then calls = ebb.conversation { messages = { calls } }[1] end
  if core.type(calls) ~= "Message" then return require("ebb.windows.act").run(chat, calls, options) end
  if #calls.calls > 0 then return require("ebb.windows.message_calls")(chat, calls), 0 end
  return require("ebb.windows.act").run(chat, calls.text, options)
end

--- The logical clock of the windows: the seq of the newest message ever stored.
function Windows.clock(list)
  return owner(list).windows.seq
end

function Windows.tools(list, options)
  if type(options) == "string" then options = { dialect = options } end
  return require("ebb.request.action_tools")(owner(list), options)
end

function Windows.on(list, listener)
  if listener ~= nil and type(listener) ~= "function" then
    refuse("argument", "windows:on: a function or nil is expected, not a " .. type(listener))
  end
  require("ebb.windows.events").listen(owner(list), "host", listener)
end

function Windows.log(list, options)
  return require("ebb.windows.activity").open(owner(list), options)
end

local core_save, core_json = Conversation.save, Conversation.json

local function written(chat)
  return core.window.count(chat) > 0 and render().written(chat) or nil
end

--- The options that are saved with a conversation, if it is to be written as a whole: in our own dialect, or,
--- where nothing else is asked for, because it came so.
---@param chat ebb.Conversation
---@param options any
---@param came_so boolean
---@return string?
local function saved_options(chat, options, came_so)
  local dialect, shape
  if type(options) == "table" then dialect, shape = options.dialect, options.shape end
  if dialect == "ebb" and shape then
    refuse("argument", "shape: a whole conversation has one shape", "leave out dialect for the messages alone")
  end
  local is_whole = dialect == "ebb" or came_so and not dialect and not shape
  return is_whole and require("ebb.conversation.saved_options").text(chat) or nil
end

--- The body of a conversation to which messages in another form were added, all in its own form; nil for others.
local function in_own_form(chat)
  return chat.shape == "body" and core.may_lack_form(chat) and require("ebb.request").in_own_form(chat, false) or nil
end

--- True if options save the messages in the shape in which they came.
local function keeps_shape(chat, options)
  return options == nil or type(options) == "table" and (options.shape == nil or options.shape == chat.shape)
end

--- Saves the conversation. In other dialects than ours, windows' markup replaces their items, and a body has one form.
function Conversation.save(chat, path, options)
  check_chat(chat, "save")
  if type(options) == "table" and options.dialect ~= nil and options.dialect ~= "ebb" then
    return require "ebb.request.save"(chat, path, options, core_save)
  end
  local saved = saved_options(chat, options, chat.saved)
  local text = not saved and keeps_shape(chat, options) and in_own_form(chat)
  if text then return core_save(chat, path, options, text) end
  return core_save(chat, path, options, not saved and written(chat) or nil, saved)
end

function Conversation.json(chat)
  check_chat(chat, "json")
  return in_own_form(chat) or core_json(chat, written(chat))
end

--- The conversation as a request of a dialect, and what that leaves out; or as a whole.
function Conversation.write(chat, dialect, options)
  check_chat(chat, "write")
  if dialect ~= "ebb" then return require("ebb.request").write(chat, dialect, options) end
  if options ~= nil then
    refuse("argument", "write: a whole conversation takes no options", 'chat:write "ebb"')
  end
  return core_json(chat, nil, require("ebb.conversation.saved_options").text(chat)), {}
end

return ebb
