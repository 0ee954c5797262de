---@meta ebb
--- Annotations for LuaLS. Positions and seq count from 1, ranges are inclusive,
--- batch numbers count from 0. An invalid edit or argument raises an ebb.Error;
--- what the world may refuse (trim, load, save, edits of a draft) returns nil and an ebb.Error.
--- A test holds this file against what is registered.

---@alias ebb.Role "system"|"user"|"assistant"|"tool"
---@alias ebb.Action "dropped"|"replaced"|"inserted"
---@alias ebb.PartKind "text"|"image"|"file"|"audio"|"asset"|"tool_use"|"tool_result"|"reasoning"|"other"

<<<<<<< HEAD
---@alias ebb.ErrorCode
---| "absent"            # a file does not exist, or the host has no answer
---| "ambiguous"         # an action's name without its window: several open windows have it
---| "argument"          # a value is missing or not allowed
---| "busy"              # the call comes from a function that may not change this now
---| "cannot_fit"        # a trim: the guarded part alone is over the budget
---| "cancelled"         # the host stopped it
---| "closed"            # the window, draft or conversation is closed
---| "conflict"          # the conversation was changed while a task worked on its copy
---| "damaged"           # a saved conversation contradicts itself
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
---| "role"              # an unknown role
---| "script"            # a script failed
---| "shape"             # JSON or Lua, but not of the expected form
---| "syntax"            # not JSON, Lua, or whatever was expected
---| "unknown_name"      # no such option, policy, field, model, encoding ...
---| "unknown_version"   # a config or a saved conversation of a newer version

---@class ebb.Error            What a refused edit or argument raises; tostring is readable
---@field code ebb.ErrorCode
=======
---@class ebb.Error            What a refused edit or argument raises, and what stands behind nil; tostring gives
---                           the message, with the hint in parentheses
---@field code string          "out_of_range", "argument", "unknown_name", "role", "shape", "syntax", "memory", ...
>>>>>>> 9789524 (Face: refusals of the world answer nil and the error object, hint and all)
---@field message string
---@field hint? string         what to do instead, such as "did you mean 'keep_last'?"

---@class ebb.MessageTable     A message as plain data; unknown fields survive
---@field role? string         any spelling of a role; none in an item that names a window
---@field window? string       without a role: the id of the window that it shows, {window = "todo"}
---@field content? string|table[]
---@field id? string
---@field name? string
---@field timestamp? integer   ms since 1970
---@field metadata? table
---@field tool_calls? table[]
---@field tool_call_id? string

---@class ebb.Call
---@field id? string
---@field name string
---@field arguments string     JSON, exactly as the model wrote it

---@class ebb.Age              How far from the newest: 0 is the newest. In a draft ages hold still while messages
---                           are dropped; an insertion counts anew
---@field messages integer
---@field units integer
---@field turns integer

---@class ebb.Message          A message of a list; the handle may be kept
---@field index? integer       position in its list now; nil when it is not visible
---@field seq integer          number in the store, never reused
---@field role? ebb.Role       nil: an item that names a window
---@field spelling? string     the role as written: "developer", "function" ...
---@field window? string       the id of the window that it shows
---@field obsolete boolean     an item: a later one of the list names the same window, or that is closed
---@field content string|table[]|nil   a string, parts as tables, or nothing
---@field text string          string content, text parts and tool arguments, joined by newlines
---@field parts table[]        {kind, text?, value} per part; a string content is one text part
---@field calls ebb.Call[]
---@field call? ebb.Call       the call that it answers
---@field tokens integer
---@field age ebb.Age
---@field marks string[]
---@field unit ebb.Unit
---@field id? string
---@field name? string
---@field timestamp? integer
---@field metadata? table
---@field reasoning? string
---@field json string          its bytes as they came
local Message = {}
--- The message as a table, without the parts of one kind.
---@param kind ebb.PartKind
---@return ebb.MessageTable
function Message:without(kind) end
--- The message as a table.
---@return ebb.MessageTable
function Message:totable() end

---@class ebb.Unit             What may not be torn: calls with their results, or one message
---@field messages ebb.Message[]
---@field first integer        position of its first message
---@field count integer
---@field tokens integer
---@field role ebb.Role        of its first message
---@field open boolean         a call has no visible result
---@field pending boolean      open, and no user message stands after it
---@field guarded boolean      neither dropped nor replaced
---@field age integer          in units; 0 is the newest

---@class ebb.Turn             From a user message to the next
---@field messages ebb.Message[]
---@field first integer
---@field count integer
---@field tokens integer
---@field age integer

---@class ebb.Where            All conditions hold; an empty list is none
---@field role? ebb.Role|ebb.Role[]
---@field since? integer       ms; messages without a timestamp never match
---@field before? integer
---@field marked? string
---@field matches? string      Lua pattern on the text
---@field name? string|string[]
---@field id? string|string[]
---@field window? true|string  items of windows, or of the one with this id
---@field obsolete? boolean    items of windows that are obsolete, or those that are not
---@field important? boolean   items of windows that are important, or those that are not

---@class ebb.Selection        Messages chosen by a query, in order
local Selection = {}
---@param n integer
---@return ebb.Selection
function Selection:first(n) end
---@param n integer
---@return ebb.Selection
function Selection:last(n) end
---@param i integer
---@param j integer
---@return ebb.Selection
function Selection:slice(i, j) end
---@return integer
function Selection:count() end
---@return integer
function Selection:tokens() end
---@return integer[]
function Selection:positions() end

---@class ebb.List             The queries that conversations, batches and drafts share; #list, list[i] and ipairs(list) work too
local List = {}
--- Tokens of the request: messages, framing, and what else the request carries; of a
--- conversation also the windows that it shows, which are rendered for it. By
--- another encoding or model (conversations and batches only) each message is counted
--- once, on first use; nothing else changes.
---@param options? { encoding?: string, model?: string }
---@return integer tokens
function List:tokens(options) end
---@alias ebb.Trust "exact"|"derived"|"estimated"|"calibrated"|"given"
--- How far these tokens can be trusted: "derived" (exact text, published rules), "estimated", "calibrated"
--- (estimated, times what was reported) or "given" (a counter of your own). Takes the options of `tokens`.
---@param options? { encoding?: string, model?: string }
---@return ebb.Trust trust
function List:trust(options) end
---@param conditions ebb.Where
---@return ebb.Selection
function List:where(conditions) end
--- The last n messages of a role; without a role, of all.
---@param role ebb.Role|ebb.Role[]|integer  `recent(n)` is enough for all roles
---@param n? integer
---@return ebb.Selection
function List:recent(role, n) end
--- The i-th to j-th message of a role.
---@param role ebb.Role|ebb.Role[]
---@param i integer
---@param j integer
---@return ebb.Selection
function List:range(role, i, j) end
--- How many messages, of a role or in all.
---@param role? ebb.Role|ebb.Role[]
---@return integer
function List:count(role) end
--- Marked messages that are visible.
---@param name string
---@return ebb.Selection
function List:marked(name) end
--- All but obsolete items of windows. Costs O(k log n) for k items, however long the list is.
---@return ebb.Selection
function List:active() end
---@alias ebb.Dialect "openai"|"anthropic"
---@class ebb.Violation
---@field code string          "orphan_result", "unanswered_call", ...
---@field index integer        position of the message in the list
---@field seq integer
---@field text string          what is wrong
---@field hint string          what to do
---@field mendable boolean     chat:repaired mends it
--- What a provider would refuse in this list, sent as it is, in the order of the list.
---@param dialect? ebb.Dialect     default: as the messages are written
---@return ebb.Violation[] violations
---@return ebb.Dialect dialect
function List:check(dialect) end

--- Whose rules the messages' own form calls for.
---@return ebb.Dialect
function List:dialect() end
---@class ebb.Batch: ebb.List  A read-only snapshot

---@class ebb.BatchInfo
---@field index integer
---@field parent? integer      nil for batch 0
---@field parent_length? integer
---@field operation string
---@field description string
---@field timestamp integer    ms
---@field message_count integer
---@field name? string       of the newest checkpoint in it
---@field name_length? integer  messages of the state that the checkpoint names

---@class ebb.Stats
---@field total_messages integer    ever stored
---@field current_batch_messages integer
---@field total_batches integer
---@field current_batch_index integer

---@class ebb.Diff
---@field added ebb.Message[]
---@field removed ebb.Message[]
---@field replaced { before: ebb.Message, after: ebb.Message }[]

---@class ebb.LedgerEntry
---@field action ebb.Action
---@field seq integer
---@field role ebb.Role
---@field by string            the policy or processor
---@field reason string
---@field tokens integer       freed: tokens before less tokens after
---@field replacement? integer seq of what took its place

---@class ebb.Ledger           A list of ebb.LedgerEntry: #ledger, ledger[i], ipairs
local Ledger = {}
---@class ebb.LedgerRun        Neighbours that were dropped for one cause, or one message
---@field action ebb.Action
---@field seq integer          of the first
---@field count integer
---@field by string
---@field reason string
---@field tokens integer       freed by all of them
---@field replacement? integer
--- The entries as runs.
---@return ebb.LedgerRun[]
function Ledger:runs() end
--- The runs as JSON, a run per line.
---@return string
function Ledger:json() end
---@return { by: string, text: string }[]
function Ledger:notes() end
--- What draft:keep held, and why: messages that nothing else held.
---@return { seq: integer, by: string, reason: string }[]
function Ledger:keeps() end

---@class ebb.Conversation: ebb.List
---@field limit? integer       tokens; set by the options, or the model's window
---@field shape? "array"|"jsonl"|"body"   of what was loaded
---@field windows ebb.Windows
local Conversation = {}
--- Extends the current batch; several: all or none.
---@param messages ebb.MessageTable|ebb.MessageTable[]
---@return integer batch
function Conversation:append(messages) end
---@param position integer     1 to #chat + 1
---@param messages ebb.MessageTable|ebb.MessageTable[]
---@return integer batch
function Conversation:insert(position, messages) end
---@param index integer|ebb.Message
---@param message ebb.MessageTable
---@return integer batch
function Conversation:replace(index, message) end
--- Cuts the list; each field works on the result of those before it: keep_first, keep_last, remove_first,
--- remove_last, range.
---@class ebb.Truncate
---@field keep_first? integer  keeps the first n messages
---@field keep_last? integer   keeps the last n messages
---@field remove_first? integer   removes the first n messages
---@field remove_last? integer removes the last n messages
---@field range? integer[]     {first, last}, inclusive: keeps these
---@field role? ebb.Role       counts messages of this role only; alone it keeps all of them
---@field scope? "only"|"within"   messages of other roles: "only" (default) removes them, "within" keeps them
---@field whole_units? boolean keeps every message of a unit if it keeps one of them; default false
---@param options ebb.Truncate
---@return integer batch
function Conversation:truncate(options) end
--- Removes all messages but the system messages, or with keep_system_message = false these too.
---@param options? { keep_system_message?: boolean }   default true
---@return integer batch
function Conversation:clear(options) end
---@class ebb.Filter
---@field roles? ebb.Role[]    keeps messages of these roles; an empty list is no condition
---@field content_contains? string[]   keeps messages whose text contains one of these
---@field content_excludes? string[]   removes messages whose text contains one of these
---@field include_names? string[]      keeps messages with one of these names
---@field exclude_names? string[]      removes messages with one of these names
---@field include_ids? string[]        keeps messages with one of these ids
---@field exclude_ids? string[]        removes messages with one of these ids
---@field exclude_tool_calls? boolean|string[]   true: removes calls and results; a list: those of these tools
---@field where? fun(message: ebb.Message): any
---@field pattern? any         an LPeg pattern that must match somewhere in the text
---@field marked? string
---@field since? integer
---@field before? integer
---@field whole_units? boolean keeps every message of a unit if it keeps one of them; default false
--- Keeps the messages that conditions or a filter let through; a filter may also replace them.
--- A filter stands first, in a table with what belongs to the call, as a policy does in `trim`:
--- `chat:filter { "no_tools.lua", options = { words = 20 }, limits = { deadline = 500 } }`; alone it needs no table.
---@param filter ebb.Filter|function|string|ebb.FilterFile|{ [1]: any, options?: table, limits?: ebb.Limits, trusted?: boolean }
---@return integer batch
function Conversation:filter(filter) end
--- Makes a batch current, in its latest state, or in the state when it had `length` messages.
---@param batch integer|string     number, or a checkpoint's name
---@param length? integer
---@return integer batch
function Conversation:rollback(batch, length) end
--- Names the present state.
---@param name string
---@return integer batch       the current one, whose state it names
function Conversation:checkpoint(name) end
---@return ebb.BatchInfo[]
function Conversation:batches() end
---@param batch integer|string
---@param length? integer
---@return ebb.Batch
function Conversation:batch(batch, length) end
---@param a integer|string
---@param b integer|string
---@return ebb.Diff
function Conversation:diff(a, b) end
--- An independent conversation that begins with all messages and batches of this
--- one and shares them. Neither sees what the other adds: both number it on.
---@return ebb.Conversation
function Conversation:fork() end
--- Removes all batches but the newest `keep` (default 1), the current one and those
--- with a checkpoint, then every message that no remaining batch shows, and gives
--- their memory back. Numbers and seqs are not used again. Forks keep theirs. Ledger
--- entries of removed messages have no tokens; their runs do.
---@param options? { keep?: integer }
---@return integer pruned
function Conversation:prune(options) end
--- Overwrites one message's text for good, in every batch and in every fork that
--- shares it; within a task of libebb, once the task commits. Its seq, role, ids and
--- tool names stay, and it weighs what it weighed.
---@param message integer|ebb.Message
---@return integer batch       the current one: forgetting makes none
function Conversation:forget(message) end
---@return ebb.Stats
function Conversation:stats() end
--- Every message that is stored, by seq: all there ever were, but those pruned.
---@return ebb.Selection
function Conversation:all() end
--- Marks a message. A mark belongs to the message, in whatever batch it stands, and outlives replacements.
---@param message integer|ebb.Message  a position or a message
---@param name string
---@return integer batch       the current one: marks make none
function Conversation:mark(message, name) end
--- Takes a mark away; without such a mark nothing happens.
---@param message integer|ebb.Message
---@param name string
---@return integer batch       the current one
function Conversation:unmark(message, name) end
---@return boolean
function Conversation:over_limit() end
--- Runs operations in their JSON form, as text or tables: one or a list.
---@param operations string|table
---@return { operation: string, affected_batch_index: integer }[]
function Conversation:apply(operations) end
---@class ebb.Input: ebb.PipelineOptions   of these: agent, user_profile, model, session, now, zone, seed, limits, trusted
---@field attachments? (string|{ path?: string, data?: string, id?: string, name?: string, mime?: string })[]
--- What the user has just said: macros expanded, files attached by reference, appended.
---@param text string
---@param options? ebb.Input    a list alone is the attachments
---@return integer batch
---@return { local: table, global: table } variables   as the macros left them
function Conversation:input(text, options) end
--- Everything as the seeds' state table (camelCase, positions from 0).
---@return table
function Conversation:state() end
--- What a batch did to which message, and why; nil for operations, which say it themselves.
---@param batch? integer|string    default: the current one
---@return ebb.Ledger?
function Conversation:ledger(batch) end
---@class ebb.Event
---@field action ebb.Action|"kept"|"absent"   absent: in no batch that led to the current one
---@field by? string           the policy, or the operation; of a kept one: that did draft:keep
---@field reason? string       the policy's, or the batch's description
---@field batch integer        in which it happened; the current one if nothing did
---@field seq integer          of the message, or of what had replaced it by then
---@field replacement? integer
---@field before integer       tokens
---@field after integer
---@class ebb.Explanation: ebb.Event   The last of what happened to a message on the way to the current batch
---@field events ebb.Event[]   all of it, in order; empty for what was simply kept
---@field visible boolean      it, or what replaced it, is in the list now
---@param message ebb.Message|integer  a message (also of a batch), or its seq: what is gone has no position
---@return ebb.Explanation
function Conversation:explain(message) end
---@class ebb.Repair
---@field dialect? ebb.Dialect     default: as the messages are written
---@field calls? "drop"|"synthesize"   what becomes of unanswered calls; default: drop
---@field codes? string[]          mend these violations only
---@class ebb.RepairReport
---@field dialect ebb.Dialect
---@field ledger? ebb.Ledger       nil: there was nothing to mend
---@field mended integer           messages dropped, replaced, inserted
---@field left ebb.Violation[]     what only a conversion mends
--- A fork that the provider will take: for sending, while the conversation stays as it is.
---@param options? ebb.Repair
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function Conversation:repaired(options) end
--- From now on it is counted by this encoding, or for this model; forks stay as they are.
---@param options { encoding?: string, model?: string }
---@return integer tokens
function Conversation:recount(options) end
--- What counts: the name of a vocabulary ("o200k_base") or of an estimator; nil for a counter of your own.
---@return string?
function Conversation:encoding() end
--- What the provider reported for a request with the messages as they are now. Where they are
--- estimated, totals and budgets are from then on multiplied by reported / counted: by the greatest
--- ratio so far, never by less than 1. Weights of messages and what policies see stay as they are.
--- Reports of more than ten times the count are not believed.
---@param usage { prompt_tokens: integer }
---@return number? ratio
---@return ebb.Error? problem
function Conversation:report_usage(usage) end
--- What estimates are multiplied by: 1 or more.
---@return number
function Conversation:calibration() end
---@class ebb.Trim
---@field budget? integer      tokens of the whole request; default: the model's window less its output reserve
---@field policy? string|function|table   a name, a file, a text, a function, a policy, {name, options...}, or a list of
---these; it may stand first instead: chat:trim { "keep_recent", budget = 8000 }
---@field options? table       of a single policy
---@field reserve? integer     tokens to leave free
---@field guards? boolean      false lets policies drop what is guarded
---@field dry_run? boolean
---@field limits? ebb.Limits   of each policy that is a file or a text
---@field trusted? boolean     runs those in the program's own state, with all that it may do and without limits
---@field encoding? string     counts by this encoding, in this trim only
---@field model? string|fun(request: ebb.ModelRequest): (string|table)?, string?  a name: counts for this model, in
---this trim only, and gives the default budget; a function: answers requests for summaries: a text,
---a provider's response, or nil and why
---@class ebb.ModelRequest     In the form of a chat completion
---@field purpose string       "summarize"
---@field messages { role: string, content: string }[]
---@field max_tokens integer
---@field tokens integer       of what is to be summarized
---@class ebb.TrimReport
---@field before integer       tokens
---@field after integer
---@field budget integer
---@field trust string        of before and after, which are calibrated; the ledger has weights
---@field batch integer        the batch it led to; the current one if nothing changed
---@field dropped integer      messages, by what became of each in the end:
---@field replaced integer     kept + dropped + replaced are those before
---@field inserted integer     besides; the ledger tells every step
---@field kept integer
---@field refused integer      edits that the draft refused
---@field refusals? string     how many these were, and why the first was
---@field ledger ebb.Ledger
--- Lets policies edit a draft until it fits the budget, and makes that one batch; whatever fails, nothing changes.
---@param options? ebb.Trim|string|function   a policy alone needs no table: chat:trim "keep_recent"
---@return ebb.TrimReport? report
---@return ebb.Error? problem code: "cannot_fit", "over_budget" or "policy"
function Conversation:trim(options) end
--- The list in the shape and bytes of what was loaded; an array for a new conversation.
---@return string
function Conversation:json() end
--- Writes the list, whole or not at all; "-" is standard output.
---@param path string
---@param options? { dialect?: "openai", shape?: "array"|"jsonl" }
---@return true? done
---@return ebb.Error? problem
function Conversation:save(path, options) end
---- Windows: live state in the context. A list names them, a request shows their latest state. ----
---@class ebb.WindowAction     What the model may do with a window
---@field id string            "close" is built in
---@field label? string
---@field params? string       "text:string, n:int?": string, int, number, bool, enum(a|b), type[] for a list, type? where
---                           it may be left out. Checked when the window is made
---@field run? fun(params: table, window: ebb.Window): any, string?   gets what the model gave, checked. What it gives back
---                           is a text for the model: a string, a number, a table as JSON; nil or true for "done"; nil or
---                           false and why where it refuses. It may raise, and not yield. It is not saved
---@class ebb.WindowOptions
---@field id? string           of 1 to 256 bytes; needed to open one
---@field description? string
---@field content? string|table|fun(window: ebb.Window): string|table|nil
---                           text; elements: {"item", id = 1, "text", ...}, a list of these, {window = id} for a window
---                           in it; or a function giving either, called once per rendering within limits: 5 million
---                           instructions, 256 KiB of markup, 10,000 nodes. It is not saved
---@field actions? ebb.WindowAction[]
---@field closable? boolean    the model may close it; default true
---@field pinned? boolean      guards keep it; default false
---@field important? boolean   default true; keep_turns lets others go with old messages
---@field render? "full"|"compact"     compact: neither description nor actions
---@field refresh? "in_place"|"append" append: an update appends a new item
---@field hidden? boolean      its items show nothing
---@field item? boolean        append an item that shows it; default true (windows:open only)
---@class ebb.Window: ebb.WindowOptions   A window of a conversation; the handle may be kept. Content, actions and options are as they are now
---@field closed boolean
---@field summary string       that it was closed with, or ""
---@field created integer      chat.windows.seq when it was opened
---@field updated integer      and when it was changed last
---@field version integer      1, 2, 3 ...
---@field chat ebb.Conversation
local Window = {}
--- Sets the fields that are given; without any it only says that the state has changed.
--- Raises {code = "closed"} for a closed window.
---@param fields? ebb.WindowOptions
---@return ebb.Window
function Window:update(fields) end
--- Closes it, whether the model could or not: its items are obsolete until it is opened anew.
---@param summary? string
---@return ebb.Window
function Window:close(summary) end
---@return ebb.Window
function Window:hide() end
---@return ebb.Window
function Window:show() end
---@param flag? boolean        default true
---@return ebb.Window
function Window:pin(flag) end
--- What ebb.windows.markup writes of it now.
---@return ebb.WindowView
function Window:view() end
--- What the model reads of it now. Always valid; a content that fails is a line that says so.
---@return string
function Window:markup() end
--- The function that runs an action, if the script gave one.
---@param action string
---@return function?
function Window:handler(action) end
---@class ebb.Windows           chat.windows: the windows of a conversation
---@field seq integer          the logical clock: seq of the newest message ever stored, 0 if there is none
local Windows = {}
--- Opens a window, and appends an item that shows it: both or neither. Raises {code = "exists"} if
--- a window of that id is open; a closed one is opened anew.
---@param options ebb.WindowOptions
---@return ebb.Window
function Windows:open(options) end
---@param id string
---@return ebb.Window?         also a closed one
function Windows:get(id) end
---@return ebb.Window[]        in the order in which they were first opened, closed ones too
function Windows:list() end
---@class ebb.Render
---@field max_tokens? integer  what is rendered is trimmed to it by keep_turns; the conversation stays as it is
---@field include_system? boolean      default true
---@field include_obsolete? boolean    default false
--- The messages as they are sent, as plain tables: items of windows are user messages with the
--- state of now (and `window`, its id), behind the unit in which they stand. Nothing of a window
--- that there is not, which the log says, or that is hidden.
---@param options? ebb.Render
---@return ebb.MessageTable[]? messages
---@return ebb.Error? problem code: "cannot_fit" or "over_budget"
function Windows:render(options) end
---@return { total: integer, active: integer, obsolete: integer, windows: integer, estimated_tokens: integer }
function Windows:stats() end
---@class ebb.WindowCall       A call, as a model wrote it
---@field name? string         "window.action", or an action that only one open window has
---@field window? string       or both of these
---@field action? string
---@field params? table        as JSON decodes
---@field id? string
---@field position? integer    of its tag in the text, in bytes
---@field problem? string      then there is no call: what is wrong, for the model
---@field code? string         of the problem: "syntax", "encoding", "shape", "limit"
---@class ebb.ActionResult     What became of a call
---@field ok boolean
---@field text string          for the model: "todo.add: added", "todo.add: error: params.text is required: expected string"
---@field code? string         "syntax", "encoding", "shape", "limit": no call; "unknown_name", "ambiguous", "closed", "argument":
---                           not performed; "absent": the action has no function; "failed" or "memory": it raised; "limit": it
---                           took too long or too much memory; "refused": it said no, or the window is not closable
---@field window? string
---@field action? string
---@field name? string         as the model wrote it
---@field params? table
---@field id? string           of the call
---@class ebb.WindowEvent
---@field type "opened"|"updated"|"closed"|"action"|"refused"   action: it was run, well or not; refused: it was not
---@field seq integer          chat.windows.seq
---@field window? string
---@field summary? string      of "closed"
---@field action? string       of the last two, like all below
---@field name? string
---@field params? table
---@field ok? boolean
---@field text? string
---@field code? string
--- Performs the calls of a model's text (append that first), or those of a list: each is answered, and none stops the
--- others. Built in is `close`, with an optional summary, where the window is closable. A window whose action
--- is done is updated, unless the action did that. `results.text` has all texts, a line per call.
--- Raises {code = "busy"} when called by an action.
---@param calls string|ebb.WindowCall|ebb.WindowCall[]
---@param options? { instructions?: integer }   for all actions of the text; default 50 million, about half a second
---@return ebb.ActionResult[] results
---@return integer quoted      calls that were not performed because they are quoted: in a fenced block, behind a backtick
function Windows:act(calls, options) end
--- From now on `listener` is told what happens to windows, after it has happened; nil ends it. Not inherited by
--- forks. If it fails, the log says so.
---@param listener? fun(event: ebb.WindowEvent)
function Windows:on(listener) end
--- Opens a window that lists what happens to the others, a line each, the newest `lines` of them (20); or goes on
--- with the open one of that id ("activity"), as after loading. The model cannot close it.
---@param options? { id?: string, lines?: integer, item?: boolean }
---@return ebb.Window
function Windows:log(options) end
--- A line per visible message: "[✓] [0004] Window: todo", "[X]" where it is obsolete.
---@return string
function Windows:listing() end
--- What loading found odd, and what a lenient reading skipped, mended or let pass
--- (lenient = true): {code, message, line, byte, lenient}.
---@return table[]
function Conversation:warnings() end
--- The name of the model in use: the one that options or `recount` name, else that of the loaded body.
---@return string?
function Conversation:model() end

---@class ebb.Walk
---@field from? "oldest"|"newest"
---@field role? ebb.Role|ebb.Role[]
---@field marked? string
---@field matches? string
---@field has? ebb.PartKind
---@field calls? string        a tool's name: the message calls it
---@field droppable? boolean   only what no guard holds
---@field skip_last? integer   leave out the newest n
---@field window? true|string  items of windows, or of the one with this id
---@field obsolete? boolean    items of windows that are obsolete, or those that are not
---@field important? boolean   items of windows that are important, or those that are not

--- What a policy puts into `memory` is kept with the batch, as JSON, and given to its next run: after a rollback
--- what it knew there. Up to 1 MiB of all policies of a batch. What has no JSON form (functions, keys that are neither
--- strings nor 1 to n) makes the trim fail with the code "policy".
---@class ebb.Draft: ebb.List  A private fork on which guards hold; edits take effect at once
---@field memory table         the policy's own, kept for its next run
local Draft = {}
--- The walks hand out what most loops want to know, so that they need not ask again.
---@param walk? ebb.Walk
---@return fun(): ebb.Message?, integer? tokens
function Draft:messages(walk) end
---@param walk? ebb.Walk
---@return fun(): ebb.Unit?, integer? tokens, integer? age
function Draft:units(walk) end
---@param walk? ebb.Walk
---@return fun(): ebb.Turn?, integer? tokens, integer? age
function Draft:turns(walk) end
--- The newest message that the walk would give.
---@param walk? ebb.Walk
---@return ebb.Message?
function Draft:last(walk) end
--- A message takes its unit along.
---@param what ebb.Message|ebb.Unit|ebb.Turn|ebb.Selection|integer
---@param reason? string
---@return integer? tokens    freed; nil when refused
---@return ebb.Error? problem
function Draft:drop(what, reason) end
--- Changes only the named fields, and removes those that are ebb.null (but content); never role and ids,
--- and calls keep their ids and names.
---@param message ebb.Message|integer
---@param fields table
---@param reason? string
---@return integer? tokens    freed, may be negative; nil when refused
---@return ebb.Error? problem
function Draft:replace(message, fields, reason) end
---@param position integer     1 to #draft + 1
---@param message ebb.MessageTable
---@param reason? string
---@return ebb.Message? message
---@return ebb.Error? problem
function Draft:insert(position, message, reason) end
--- The tokens that such a message would add; nothing changes.
---@param message ebb.MessageTable
---@return integer tokens
function Draft:cost(message) end
--- Guards it for the rest of this trim; `ledger:keeps` and `chat:explain` tell why.
---@param what ebb.Message|ebb.Unit|ebb.Turn|ebb.Selection|integer
---@param reason? string
function Draft:keep(what, reason) end
--- Drops droppable units, the oldest first, no more than needed.
---@param options { to: integer, keep?: integer, reason?: string }
---@return integer messages    dropped
---@return integer tokens      freed
function Draft:drop_oldest(options) end
--- Hands on to another policy; what is not given keeps its default.
---@param policy string|function|table
---@param options? table
function Draft:run(policy, options) end
--- Asks the host's model for a summary of the messages from `first` to `last`, and
--- puts it in the place of those that no guard holds. Calls and results stay
--- together; an earlier summary among them is folded into the new one.
---@class ebb.Summarize
---@field instructions? string
---@field heading? string       the first line of the summary, by which a later one finds it
---@field role? "user"|"assistant"
---@field max_tokens? integer   that the summary may have
---@field min_savings? integer  tokens that it must free
---@param first integer|ebb.Message
---@param last integer|ebb.Message
---@param options? ebb.Summarize
---@return integer? tokens    freed; nil when refused
---@return ebb.Error? problem
---@return string? code            "model" if there was no answer that could be used
function Draft:summarize(first, last, options) end
---@param text string
function Draft:note(text) end

---@class ebb.OptionDeclaration
---@field type "integer"|"number"|"string"|"boolean"|"choice"|"list"|"table"
---@field default? any
---@field min? number
---@field max? number
---@field choices? any[]
---@field help? string

---@class ebb.Policy
---@field name string
---@field summary? string
---@field help? string         what `ebb policies NAME` says below the options
---@field example? string      a command line
---@field options? table<string, ebb.OptionDeclaration>
---@field trim fun(draft: ebb.Draft, budget: integer, options: table)

---@class ebb.Limits         Of one run of a file's or text's functions; 0: no such limit
---@field fuel? integer      VM instructions, and other work in their measure; default: 200 million and 2000 per message
---@field deadline? number   milliseconds; default: 2000 and 0.02 per message
---@field memory? integer    bytes, 1 MiB or more; default: 64 MiB and 64 per message

---@class ebb.Loading        How files and texts are run
---@field trusted? boolean   in the program's own state, with all that it may do and without limits
---@field limits? ebb.Limits

---@class ebb.FilterFile
---@field name? string
---@field summary? string
---@field options? table<string, ebb.OptionDeclaration>
---@field exact? boolean       may tear units
---@field filter fun(message: ebb.Message, options: table): any

---@class ebb.ConversationOptions
---@field messages? ebb.MessageTable[]   what it begins with (ebb.conversation only)
---@field model? string
---@field encoding? string     a vocabulary that is installed ("o200k_base", "cl100k_base"), or an estimator: "bytes4", "cjk" (default), "utf16_2_5"
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

---@class ebb.Tokenizer       Counts text exactly, by a vocabulary; text that spells a special token is plain text
---@field name string          of the encoding
---@field size integer         ids are below it
local Tokenizer = {}
---@param text string          any bytes; what is no UTF-8 is counted byte by byte
---@return integer tokens
function Tokenizer:count(text) end
--- Counts, but reads little further once there are more than `limit` (0 or more).
---@param text string
---@param limit integer
---@return integer tokens       exact up to `limit`; any number above it means more than `limit`
function Tokenizer:count_up_to(text, limit) end
---@param text string
---@return integer[] ids
function Tokenizer:encode(text) end
--- Raises {code = "out_of_range"} for an id that is no token, with its position.
---@param ids integer[]
---@return string bytes        may end within a character
function Tokenizer:decode(ids) end

---@class ebb.Model
---@field encoding string      of a vocabulary, or an estimator
---@field window integer       tokens
---@field output? integer      tokens that a trim leaves free for the reply; default: a quarter of the window
---@field dialect? string      "openai" (default), "responses", "anthropic", "gemini"
---@field image? string|{ rule: string, base?: integer, tile?: integer, multiplier?: number }
---@field prices? { input: number, cached_input?: number, output: number }   per million tokens

---@class ebb
---@field policies table       built-in policies by name
---@field policy_path string[] folders in which policies are found by name
---@field filter_path string[] the same for filters
---@field models table<string, ebb.Model>   what is known per model; assign to add or change: fields left out stay
---@field version string
local ebb = {}
---@param options? ebb.ConversationOptions
---@return ebb.Conversation
function ebb.conversation(options) end
--- Loads a JSON array, JSONL, or a request body from a file ("-": standard input).
---@param path string
---@param options? ebb.ConversationOptions
---@return ebb.Conversation? chat
---@return ebb.Error? problem file:line:byte and what was expected
function ebb.load(path, options) end
--- The same from a string.
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

---@class ebb.Replay
---@field policies? any[]      each as in chat:trim, and each played by itself; default: keep_recent
---@field budget? integer      tokens of each request; default: the model's window less its output
---@field reserve? integer
---@field guards? boolean
---@field model? fun(request: ebb.ModelRequest): (string|table)?, string?   as in chat:trim
---@field limits? ebb.Limits   as in chat:trim
---@field trusted? boolean
---@field progress? fun(policy: string, position: integer)   called before each message
---@class ebb.ReplayResult
---@field policy string
---@field budget integer       less the reserve
---@field requests integer     that were sent: one before each message of the assistant
---@field refusals integer     that could not be made to fit, and were not sent
---@field first_refusal? string
---@field sent integer         tokens of all requests
---@field trust string
---@field shared integer       of these, tokens of the beginning that a request has in common with the one before
---@field share number         shared / sent
---@field fill? number         how full the budget was, 0 to 1, on average over the requests for which the whole
---                            history would have been too long; nil: there were none
---@field cost? number         of input, in the currency of the model's prices; nil: it has none
---@field units_dropped integer
---@field messages_dropped integer
---@field messages_replaced integer
---@field messages_inserted integer
--- Plays a recorded conversation turn by turn, once for each policy; the recording stays as it is.
---@param chat ebb.Conversation
---@param options? ebb.Replay
---@return ebb.ReplayResult[]? results    one per policy
---@return ebb.Error? problem code: "policy": one of them failed
function ebb.replay(chat, options) end

--- What makes the body of a request from a conversation; lua/ebb/pipeline/context.lua
--- describes what processors get.
---@class ebb.PipelineOptions
---@field agent? string|table      a file (JSON in camelCase, or Lua), or a table in snake_case: name, presets, rules,
---                                processors, variables, parameters, asset_root ...
---@field model_config? string|table   model, provider, capabilities, processors, parameters
---@field user_profile? string|table   name, description, rules, variables
---@field model? string            the model's name; default: the model's file, the agent, the body
---@field encoding? string
---@field counter? fun(message: ebb.Message): integer
---@field set? string[]            single settings: { "token-limiter.budget=4000" }
---@field processors? (string|table)[]   processors, Lua files that return some, folders of these
---@field on_error? "stop"|"skip"  when a processor fails; default: stop
---@field limits? ebb.Limits       of each run of a processor, policy or agent from a file; its fuel also holds for
---                                processors that are functions
---@field trusted? boolean         files run in this state instead, without limits
---@field asset_root? string       the folder of attachments, instead of the agent's own
---@field session? { id?: string, name?: string, variables?: { local?: table, global?: table } }
---@field host? table<string, fun(request: table): any, string?>   answers transcribe, asset, retrieve ...
---@field reads? string[]         services of the host that a preview may ask, too: they only read. asset, retrieve and
---                                the cache's get always may
---@field now? integer             ms since 1970; default: the clock
---@field zone? integer            minutes east of UTC; default: 0
---@field seed? integer            for dice; default: made from the conversation
---@field role_map? table<string, ebb.Role>
---@field max_message? integer
---@field max_file? integer
---@class ebb.PipelineResult
---@field body string              the request, as JSON
---@field chat ebb.Conversation    the same, as a conversation of its own
---@field tokens integer
---@field trust string
---@field budget? integer
---@field logs { processor: string, level: "info"|"warn"|"error", message: string, details?: any }[]
---@field parts { role: string, source: string, tokens: integer, text: string }[]
---@field shares { source: string, messages: integer, tokens: integer, share: number }[]
---@field repair? ebb.RepairReport   what was mended before it was written
---@field skipped string[]         processors that are disabled
---@field unasked { service: string, request: table }[]   what a preview has not asked the host: if there is nothing,
---                                the real request is the same, byte for byte
---@field shared_data table
---@field variables { local: table, global: table }   as the macros left them
---@class ebb.Pipeline
local Pipeline = {}
--- Runs all processors on copies of the visible history; the conversation is only read.
---@param chat ebb.Conversation
---@param asked? { preview?: boolean, trace?: function }
---@return ebb.PipelineResult? result
---@return ebb.Error? problem names the processor that failed; code: "cannot_fit", "processor", "absent" ...
---@return { logs: table[] }? partial
function Pipeline:run(chat, asked) end
--- The same run, without effects outside of it.
---@param chat ebb.Conversation
---@param asked? { trace?: function }
---@return ebb.PipelineResult? result
---@return ebb.Error? problem
function Pipeline:preview(chat, asked) end
--- A run that waits where the host is asked and has no function for it: task:step(answer)
--- gives the next {service, request}, or nil once task.done.
---@param chat ebb.Conversation
---@param asked? { preview?: boolean }
---@return { done: boolean, result?: ebb.PipelineResult, error?: ebb.Error }
function Pipeline:task(chat, asked) end
--- Changes one setting: "token-limiter.budget=4000".
---@param word string
function Pipeline:set(word) end
--- The processors in the order in which they run, disabled ones too, with their settings.
---@return { processor: table, setting: table, is_core: boolean }[]
function Pipeline:order() end
---@param options? ebb.PipelineOptions
---@return ebb.Pipeline
function ebb.pipeline(options) end
--- The calls of a model's text in order, broken ones among them; chat.windows:act performs them. Two forms, in either tag,
--- one or a list: <tool_call>{"name": .., "arguments": {..}}</tool_call>,
--- <action_call>{"calls": [{"window_id": .., "action_id": .., "params": {..}}]}</action_call>. One malformed call spoils
--- its tag; behind broken JSON nothing is read.
---@param text string
---@return ebb.WindowCall[] calls
---@return integer quoted      tags in fenced blocks and directly behind a backtick
function ebb.read_calls(text) end
--- Reads the markup of one window back: values of attributes are strings, neighbouring texts one, a list whose first node
--- is a text has an empty list before it. No DTD, comments and the like; 64 levels, 10,000 nodes, 4 MiB.
---@param text string
---@param options? { indented?: boolean }   white space with a line's end in it, between tags, is no content
---@return ebb.WindowView? view
---@return ebb.Error? problem "line:byte: expected ..."; code: "syntax", "encoding", "limit"
function ebb.read_window(text, options) end

---@class ebb.json
---@field null lightuserdata   JSON's null
ebb.json = {}
--- Reads one JSON value. A number that no Lua number holds exactly comes as ebb.json.raw; null as ebb.null.
---@param text string
---@param options? { raw?: table<string, boolean> }  raw: keys whose values come as ebb.json.raw
---@return any value           nil when refused
---@return ebb.Error? problem  "line:byte: expected ..."; code: "syntax", "encoding", "limit"
function ebb.json.decode(text, options) end
--- Reads the value that begins at a byte, whatever follows it.
---@param text string
---@param position integer     from 1
---@param options? { raw?: table<string, boolean> }
---@return any value           nil when refused
---@return integer|ebb.Error after   the position behind the value; with nil the error
function ebb.json.decode_at(text, position, options) end
--- Keys in sorted order; a table with a[1] or none at all under ebb.json.array is a list.
---@param value any
---@param options? { indent?: integer }
---@return string
function ebb.json.encode(value, options) end
--- Marks a table as a list, so that an empty one is written as [].
---@param list table
---@return table
function ebb.json.array(list) end
--- JSON that is written as it stands; checked.
---@param text string
---@return table
function ebb.json.raw(text) end
ebb.null = ebb.json.null

return ebb
