---@meta
--- The module `ebb`, and what all of it has in common. Positions and seq count from 1, ranges are inclusive,
--- batch numbers count from 0. A mistake of the program raises an ebb.Error; what the world may refuse
--- (load, save, trim) returns nil and an ebb.Error; an edit of a draft false and one. Either way nothing has changed.

---@alias ebb.ErrorCode
---| "absent"            # a file does not exist, or the host has no answer
---| "ambiguous"         # an action's name without its window: several open windows have it
---| "argument"          # a value is missing or not allowed
---| "busy"              # the call comes from where this may not change: its own callback, a finalizer
---| "cannot_fit"        # a trim: the guarded part alone is over the budget
---| "cancelled"         # the host stopped it
---| "closed"            # the window, draft or conversation is closed
---| "conflict"          # the conversation was changed while a task worked on its copy, or the file since it was read
---| "damaged"           # a saved conversation or a vocabulary is not as it was written
---| "deadline"          # a script ran longer than it may
---| "duplicate"         # a key or name that must be unique occurs twice
---| "encoding"          # the text is not UTF-8
---| "exists"            # a window with this id is open
---| "filter"            # a filter failed
---| "forbidden"         # a path leads out of its folder, or to something that is not a regular file
---| "fuel"              # a script used up its instructions
---| "guarded"           # a guard holds the message
---| "host"              # a function of the host failed
---| "io"                # reading or writing failed
---| "limit"             # over a limit: bytes, depth, sums, time of an action
---| "memory"            # an allocation failed, or a memory limit was reached
---| "model"             # the model gave no answer that could be used
---| "out_of_range"      # no such position, batch, message or token
---| "over_budget"       # a trim: the policy left more than the budget
---| "policy"            # a policy failed
---| "processor"         # a processor failed
---| "refused"           # a provider would refuse the conversation, or the host refused a request (ebb_refuse)
---| "role"              # an unknown role
---| "script"            # a script failed
---| "shape"             # JSON or Lua, but not of the expected form
---| "syntax"            # not JSON, Lua, or whatever was expected
---| "unknown_name"      # no such option, policy, field, model, encoding ...
---| "unknown_version"   # a config or a saved conversation of a newer version

---@class ebb.Error            What a refused edit or argument raises, and what comes after nil; tostring gives
---                           the message, with the hint in parentheses
---@field code ebb.ErrorCode
---@field message string
---@field hint? string         what to do instead, such as "did you mean 'keep_last'?"

---@class ebb.ConversationOptions
---@field messages? ebb.MessageTable[]   what it begins with (ebb.conversation only)
---@field model? string
---@field encoding? string     an installed vocabulary ("o200k_base", "cl100k_base"), or an estimator: "bytes4",
---                           "cjk" (default), "claude" (to 4.6), "claude_4_7", "utf16_2_5"
---@field counter? fun(message: ebb.Message): integer
---@field limit? integer
---@field on_limit? fun(chat: ebb.Conversation, tokens: integer, limit: integer)
---@field tools? { name: string, description: string }[]
---@field tools_heading? string
---@field max_message? integer bytes
---@field max_file? integer    bytes
---@field lenient? boolean     load, parse: what can be mended or left out is a warning, not an error
---@field role_map? table<string, ebb.Role>  load, parse: reads messages of one role as of another
---@field clock? fun(): integer   ms since 1970, for batch timestamps

---@class ebb
---@field policies table       built-in policies by name
---@field policy_path string[] folders in which policies are found by name
---@field filter_path string[] the same for filters
---@field processor_path string[] the same for processors of pipelines
---@field macro_path string[] the same for macros
---@field type_path string[]  the same for types of nodes in workflows
---@field models table<string, ebb.Model>   what is known per model; assign to add or change: fields left out stay
---@field profiles table<string, ebb.Profile>   what servers demand beyond their dialect; assign to add or change
---@field version string
---@field json ebb.json
---@field import ebb.import
---@field macros ebb.macros
---@field rules ebb.rules
---@field workflow ebb.workflow
---@field null lightuserdata   JSON's null
local ebb = {}
--- Makes a conversation: `ebb.conversation { model = "gpt-4o", messages = { { role = "user", content = "Hi" } } }`.
--- Raises {code = "unknown_name"} for an unknown model, encoding or option.
---@param options? ebb.ConversationOptions
---@return ebb.Conversation
function ebb.conversation(options) end
--- Loads a JSON array, JSONL, a request body, or a saved conversation (`chat:save(path, { dialect = "ebb" })`) from a
--- file ("-": standard input). The options of a saved one are those it was saved with, but for the caller's.
---@param path string
---@param options? ebb.ConversationOptions
---@return ebb.Conversation? chat
---@return ebb.Error? problem file:line:byte and what was expected. Of a saved conversation, code: "damaged" (its
---                           digest differs: `lenient` reads it with a warning), "unknown_version"
---@return string? text       of standard input, which cannot be read again, where it is no conversation
function ebb.load(path, options) end
--- Returns which file a name leads to, and its state: for chat:save { unchanged = ... }. Ask before you load.
---@param path string
---@return string? identity   bytes to compare
---@return integer|ebb.Error size   in bytes; with nil the error
function ebb.file_identity(path) end
--- Reads a conversation from a string, as `ebb.load` does from a file.
---@param text string
---@param options? ebb.ConversationOptions
---@return ebb.Conversation? chat
---@return ebb.Error? problem
function ebb.parse(text, options) end
--- A tokenizer; raises {code = "unknown_name"} for an encoding whose vocabulary is not
--- installed (`ebb vocab ls` lists them, `ebb vocab import` adds one).
---@param encoding string
---@return ebb.Tokenizer
function ebb.tokenizer(encoding) end

--- Opens a conversation on disk, whose edits are durable. Begins the session if there is none.
--- `ebb.session("support", { db = "chats.db" })` is the same as `ebb.session("chats.db", "support")`.
---@param place string         the path of a database, or a URL of PostgreSQL
---@param name? string         of the session; default: "main"
---@param options? ebb.SessionOptions
---@return ebb.Session? session
---@return ebb.Error? problem  code: "absent", "damaged", "unknown_version", "read_only", "io"
function ebb.session(place, name, options) end
--- A database of sessions.
---@param place string
---@param options? ebb.StoreOptions
---@return ebb.Store? store
---@return ebb.Error? problem
function ebb.sessions(place, options) end
--- Plays a recorded conversation turn by turn, once for each policy; the recording stays as it is.
---@param chat ebb.Conversation
---@param options? ebb.Replay
---@return ebb.ReplayResult[]? results    that of `none`, which trims nothing, then one per policy
---@return ebb.Error? problem  code: "policy": one of them failed
function ebb.replay(chat, options) end

--- Makes a pipeline. Reads and checks the files that the options name; raises if one is wrong.
---@param options? ebb.PipelineOptions
---@return ebb.Pipeline
function ebb.pipeline(options) end
--- Adds a macro for all pipelines, inputs and expansions of this program that name no registry of their own; one of
--- the same name gives way.
---@param declaration ebb.MacroDeclaration
function ebb.macro(declaration) end
--- Adds processors for all pipelines that this program makes from now on; one with the id of another takes its place.
---@param source ebb.Processor|ebb.Processor[]
function ebb.processor(source) end

--- Reads the calls of a model's text, in order, malformed ones among them; chat.windows:act performs them. Two forms:
--- <tool_call>{"name": .., "arguments": {..}}</tool_call>, and
--- <action_call>{"calls": [{"window_id": .., "action_id": .., "params": {..}}]}</action_call>; in either tag one call
--- or a list. One malformed call spoils its tag; parsing stops at broken JSON.
---@param text string
---@return ebb.WindowCall[] calls
---@return integer quoted      tags in fenced blocks and directly after a backtick
function ebb.read_calls(text) end
--- Reads the markup of one window, as `window:markup()` writes it: values of attributes are strings, neighbouring
--- texts one; a list whose first node is a text gets an empty list before it. No DTD, no comments; at most 64
--- levels, 10,000 nodes, 4 MiB.
---@param text string
---@param options? { indented?: boolean }   true: white space with a newline between tags is not content
---@return ebb.WindowView? view
---@return ebb.Error? problem  "line:byte: expected ..."; code: "syntax", "encoding", "limit"
function ebb.read_window(text, options) end

return ebb
