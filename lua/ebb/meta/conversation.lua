---@meta
--- Conversations: lists with a history of batches.

---@class ebb.List             The queries of conversations, batches and drafts; #list, list[i], ipairs(list) work too
local List = {}
--- Tokens of the request: messages, framing, and what else the request carries; of a
--- conversation also the windows that it shows, which are rendered for it. By
--- another encoding or model (conversations and batches only) each message is counted
--- once, on first use; nothing else changes.
---@param options? { encoding?: string, model?: string }
---@return integer tokens
function List:tokens(options) end
---@alias ebb.Trust "exact"|"derived"|"estimated"|"calibrated"|"given"
--- Returns how far these tokens can be trusted: "derived" (exact text, published rules), "estimated", "calibrated"
--- (estimated, times what was reported) or "given" (a counter of your own). Takes the options of `tokens`.
---@param options? { encoding?: string, model?: string }
---@return ebb.Trust trust
function List:trust(options) end
--- The messages that meet all conditions, in order: `chat:where { role = "tool", marked = "pinned" }`.
--- Raises {code = "argument"} for a bad pattern, {code = "unknown_name"} for an unknown condition.
---@param conditions ebb.Where
---@return ebb.Selection
function List:where(conditions) end
--- The last n messages of a role; without a role, of all.
---@param role ebb.Role|ebb.Role[]|integer  `recent(n)`: of all, items of windows among them
---@param n? integer
---@return ebb.Selection
function List:recent(role, n) end
--- The i-th to j-th message of a role; without a role, of all.
---@param role ebb.Role|ebb.Role[]|integer  `range(i, j)`: of all, items of windows among them
---@param i integer
---@param j? integer
---@return ebb.Selection
function List:range(role, i, j) end
--- Counts the messages, of a role or in all.
---@param role? ebb.Role|ebb.Role[]
---@return integer
function List:count(role) end
--- Marked messages that are visible.
---@param name string
---@return ebb.Selection
function List:marked(name) end
--- Positions of the messages of each role; every role has a list, which may be empty: `chat:indices().user[1]`. Items of
--- windows have no role: `where { window = true }:positions()`.
---@return table<ebb.Role, integer[]>
function List:indices() end
--- Returns all messages but obsolete items of windows. Costs O(k log n) for k items, however long the list is.
---@return ebb.Selection
function List:active() end
--- Returns which texts occur in the list's texts (contents, results, arguments of calls) as whole words: with no ASCII
--- letter or digit right before or after them. Walks once over all texts, however many are looked for.
---@param texts string[]
---@return boolean[] shown     per text; an empty text is never shown
function List:shows(texts) end
---@alias ebb.Dialect "openai"|"responses"|"anthropic"|"gemini"
---@class ebb.CheckOptions    Where the list is sent; what is left out follows from the rest
---@field dialect? ebb.Dialect  default: the profile's, the model's, or as the messages are written
---@field profile? string     of ebb.profiles; default: the server's, by its address, or the model's
---@field model? string       default: the one of the conversation
---@field base_url? string    of the server
---@field severity? ebb.Severity  the least severe violations to list; default: refused
---@field members? boolean     false: members that requests lack are no violations, for a writer leaves them out
---@alias ebb.Severity "refused"|"strict"|"changed"    strict: refused by some servers or models
---@class ebb.Violation
---@field code string          "orphan_result", "unanswered_call", ...
---@field index? integer       position of the message in the list; nil: in the request's other members
---@field seq? integer
---@field text string          what is wrong
---@field hint string          what to do
---@field severity ebb.Severity    at the target
---@field servers string       who refuses it; "": all of the dialect
---@field models string        for which models it holds; "": all
---@field source string        where it is documented or reported
---@field mendable boolean     chat:repaired mends it
--- Lists what a provider would refuse if this list were sent as it is, in the order of the list.
---@param options? ebb.Dialect|ebb.CheckOptions
---@return ebb.Violation[] violations
---@return ebb.Dialect dialect
---@return string profile
function List:check(options) end

--- Returns the dialect that the messages are written in: its rules apply.
---@return ebb.Dialect
function List:dialect() end
---@class ebb.Batch: ebb.List  A read-only snapshot

---@class ebb.BatchInfo
---@field index integer
---@field parent? integer      nil for batch 0
---@field parent_length? integer
---@field operation string
---@field description string  the caller's own, of the call that made the batch; else what it did: "truncate keepLast 5"
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

---@class ebb.Conversation: ebb.List
---@field limit? integer       tokens; set by the options, or the model's window
---@field shape? "array"|"jsonl"|"body"   of what was loaded
---@field saved boolean        read as a saved conversation, in Ebb's own form
---@field windows ebb.Windows
local Conversation = {}
--- Extends the current batch; several: all or none.
---@param messages ebb.MessageTable|ebb.MessageTable[]
---@return integer batch
function Conversation:append(messages) end
--- Puts messages before a position, in a new batch. All or none: raises for a message that is not valid, and
--- for a position outside of 1 to #chat + 1.
---@param position integer     1 to #chat + 1
---@param messages ebb.MessageTable|ebb.MessageTable[]
---@param options? { description?: string }   of the batch, in the caller's own words; default: "insert 2 at 0"
---@return integer batch
function Conversation:insert(position, messages, options) end
--- Replaces a message by another one, in a new batch. The old one keeps its seq and stays in earlier batches;
--- marks go over to the new one.
---@param index integer|ebb.Message
---@param message ebb.MessageTable
---@param options? { description?: string }   of the batch, in the caller's own words
---@return integer batch
function Conversation:replace(index, message, options) end
--- Cuts the list; each field works on the result of those before it: keep_first, keep_last, remove_first,
--- remove_last, range. `chat:truncate { keep_last = 20, whole_units = true }`
---@class ebb.Truncate
---@field keep_first? integer  keeps the first n messages
---@field keep_last? integer   keeps the last n messages
---@field remove_first? integer   removes the first n messages
---@field remove_last? integer removes the last n messages
---@field range? integer[]     {first, last}, inclusive: keeps these
---@field role? ebb.Role       counts messages of this role only; alone it keeps all of them
---@field scope? "only"|"within"   messages of other roles: "only" (default) removes them, "within" keeps them
---@field whole_units? boolean keeps every message of a unit if it keeps one of them; default false
---@field description? string of the batch, in the caller's own words, at most 4096 bytes; default: what was done
---@param options ebb.Truncate
---@return integer batch
function Conversation:truncate(options) end
--- Removes all messages but the system messages, or with keep_system_message = false these too.
---@param options? { keep_system_message?: boolean, description?: string }   default true; description: of the batch
---@return integer batch
function Conversation:clear(options) end
---@class ebb.FilterCall       { filter, options = .. }: the filter is the first element
---@field options? table       of the filter
---@field limits? ebb.Limits   of a file or text
---@field trusted? boolean     runs those in the program's own state, without limits
---@field description? string of the batch; default: the filter's name
---@class ebb.Filter           Conditions; all hold
---@field roles? ebb.Role[]    keeps messages of these roles (or of one: a text); an empty list is no condition
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
---@field description? string of the batch, in the caller's own words, at most 4096 bytes; default: what was done
--- Keeps the messages that conditions or a filter let through; a filter may also replace them.
--- A filter comes first, in a table with what belongs to the call, as a policy does in `trim`:
--- `chat:filter { "no_tools.lua", options = { words = 20 }, limits = { deadline = 500 } }`; alone it needs no table.
---@param filter ebb.Filter|function|string|ebb.FilterFile|ebb.FilterCall
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
--- Lists all batches but the pruned ones, in order: a tree, by `parent`.
---@return ebb.BatchInfo[]
function Conversation:batches() end
--- A batch as a list that can only be read: in its latest state, or when it had `length` messages.
--- Raises {code = "unknown_name"} for an unknown checkpoint, {code = "out_of_range"} for an unknown or pruned batch.
---@param batch integer|string
---@param length? integer
---@return ebb.Batch
function Conversation:batch(batch, length) end
--- Compares two batches: `chat:diff(0, 1).removed`. A replaced message is neither added nor removed.
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
--- tool names stay, and it weighs what it weighed; the name of who wrote it, metadata
--- and unknown members go. So do all its versions (what it replaced, and what replaced
--- it), notes and summaries that trims and filters inserted after it was appended, and
--- all that policies remember: any of them may quote it. Reasons, notes and
--- descriptions of batches that have a word of it, of four bytes and more, become
--- `[forgotten]`. What you appended or inserted yourself stays, whatever it quotes, as
--- do windows, names of checkpoints and marks, and variables of macros.
---@param message integer|ebb.Message
---@return integer batch       the current one: forgetting makes none
function Conversation:forget(message) end
--- Counts of messages and batches. O(1).
---@return ebb.Stats
function Conversation:stats() end
--- Returns every stored message by seq: all there ever were, but those pruned.
---@return ebb.Selection
function Conversation:all() end
--- Marks a message. A mark belongs to the message, in whatever batch it is, and outlives replacements.
---@param message integer|ebb.Message  a position or a message
---@param name string
---@return integer batch       the current one: marks make none
function Conversation:mark(message, name) end
--- Takes a mark away; without such a mark nothing happens.
---@param message integer|ebb.Message
---@param name string
---@return integer batch       the current one
function Conversation:unmark(message, name) end
--- True if the request has more tokens than `limit`; without a limit false.
---@return boolean
function Conversation:over_limit() end
---@class ebb.ApplyReport      A list with { operation, affected_batch_index } for each operation; members as below, which
---    are what `ebb apply --json` tells of the edit
---@field affected_batch_index integer   of the last operation; nil without any
---@field state table          as `chat:state()` gives it
---@field messages table[]     these and the next: members of the state, as they were when the operations had run
---@field batches table[]
---@field currentBatch integer
---@field indices table<ebb.Role, integer[]>   positions from 0
---@field stats table
---@field results table[]
---@field before integer       tokens
---@field after integer
---@field trust "exact"|"estimated"
---@field kept integer         messages
---@field dropped integer
---@field replaced integer
---@field inserted integer
---@field ledger table[]       what changed, and by which operation
--- Runs operations in their JSON form, as text or tables: one or a list.
---@param operations string|table
---@return ebb.ApplyReport
function Conversation:apply(operations) end
---@class ebb.Input: ebb.PipelineOptions   of these agent, macros, user_profile, model, session, now, zone, seed, limits,
---    trusted
---@field attachments? (string|{ path?: string, data?: string, id?: string, name?: string, mime?: string })[]
--- Appends what the user has just said, with macros expanded and files attached by reference. Macro variables that it
--- changes are kept with the message, in a new batch; raises {code = "limit"} beyond 256 KiB of them.
---@param text string
---@param options? ebb.Input    a list alone is the attachments
---@return integer batch
---@return ebb.Variables variables   as the macros left them
function Conversation:input(text, options) end
--- The macro variables that the conversation keeps: what runs of pipelines, `input` and `set_variables` changed, as it
--- holds at the current batch. Those of an agent and a user that nothing changed are not among them. For an environment
--- of your own: `ebb.macros.environment { variables = chat:variables() }`, and `chat:set_variables` when it is done.
---@return ebb.Variables variables   tables of the caller's own
function Conversation:variables() end
--- Makes these the variables that the conversation keeps, in a new batch, which `rollback` undoes; others are removed.
--- Values are texts and numbers, or what has a JSON form. Raises {code = "limit"} beyond 256 KiB.
---@param values { local?: table<string, any>, global?: table<string, any> }
---@return integer batch       the current one, where nothing changed
function Conversation:set_variables(values) end
---@class ebb.OwnAction        An action without a window
---@field id string
---@field label? string        what it does, for the model
---@field params? string       "text:string, n:int?"
---@field run fun(params: table, chat: ebb.Conversation): any, string?   as of a window's action
--- Declares an action of the conversation itself, which a model may call without a window: it may open one. Another
--- action of the same id is replaced. Forks inherit it; saved conversations do not have it.
---@param options ebb.OwnAction
function Conversation:action(options) end
--- Performs the native calls of a message, which has to be in the conversation, by the actions of the conversation
--- and its windows; appends a result for each, in the form of the conversation. `chat.windows:act` performs calls in a
--- text.
---@param message? integer|ebb.Message   default: all calls at the end that have no result
---@return ebb.ActionResult[] results
function Conversation:act(message) end
--- The messages as they are sent, with windows rendered, as plain tables: the same as `chat.windows:render(options)`.
---@param options? ebb.Render
---@return ebb.MessageTable[]? messages
---@return ebb.Error? problem  code: "cannot_fit" or "over_budget"
function Conversation:render(options) end
--- Visible messages, batches and statistics as one table (camelCase, positions from 0). What can be read again is
--- `chat:write "ebb"`.
---@return table
function Conversation:state() end
--- Returns a batch's ledger: what it did to each message, and why; nil for operations, which say it themselves.
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
--- Explains what happened to a message on the way to the current batch: the last event of its `events`.
---@param message ebb.Message|integer  a message (also of a batch), or its seq: what is gone has no position
---@return ebb.Explanation
function Conversation:explain(message) end
---@class ebb.Repair           Where it is sent, as for a check
---@field dialect? ebb.Dialect
---@field profile? string
---@field model? string
---@field base_url? string
---@field calls? "drop"|"synthesize"   what becomes of unanswered calls; default: drop
---@field codes? string[]          mend these violations only
---@class ebb.RepairReport
---@field dialect ebb.Dialect
---@field profile string
---@field ledger? ebb.Ledger       nil: there was nothing to mend
---@field mended integer           messages dropped, replaced, inserted
---@field left ebb.Violation[]     what only a conversion mends
---@field lost ebb.Loss[]          what is left out: calls without a result, results without a call, or of a call that
---                                another one answers which says something else; reasoning. By position before
--- A fork that the provider will take: for sending, while the conversation stays as it is.
---@param options? ebb.Repair
---@return ebb.Conversation copy
---@return ebb.RepairReport report
function Conversation:repaired(options) end
--- Counts the conversation by this encoding, or for this model, from now on; forks stay as they are.
---@param options { encoding?: string, model?: string }
---@return integer tokens
function Conversation:recount(options) end
--- Returns the name of the vocabulary ("o200k_base") or estimator that counts; nil for a counter of your own.
---@return string?
function Conversation:encoding() end
--- Records what the provider reported for a request with the messages as they are now. If they are estimated, totals
--- and budgets are from then on multiplied by reported / counted: by the greatest ratio so far, never by less than 1.
--- Weights of messages and what policies see stay as they are. Reports of more than ten times the count are not
--- believed.
---@param usage { prompt_tokens: integer }
---@return number? ratio
---@return ebb.Error? problem
function Conversation:report_usage(usage) end
--- Returns the factor for estimates: 1 or more.
---@return number
function Conversation:calibration() end
---@class ebb.Trim
---@field budget? integer      tokens of the whole request; default: the model's window less its output reserve
---@field policy? string|function|table   a name, a file, a text, a function, a policy, {name, options...}, or a list of
---these; it may come first instead: chat:trim { "keep_recent", budget = 8000 }
---@field options? table       of a single policy
---@field reserve? integer     tokens to leave free
---@field guards? boolean      false lets policies drop what is guarded
---@field dry_run? boolean
---@field limits? ebb.Limits   of each policy that is a file or a text; in libebb the host's hold, and the log says so
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
---@field before integer       tokens of the request, as it would be sent
---@field after integer        before minus after is what the ledger freed, and what more thinking is left out
---@field thinking_left integer   tokens of thinking that the request leaves out, since what it is bound to has changed
---@field budget integer       less the reserve and the margin
---@field margin integer       tokens that stay free since the counts for the model are estimates
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
---@return ebb.Error? problem  code: "cannot_fit", "over_budget" or "policy"
function Conversation:trim(options) end
--- Reads what a trim left out and put a handle for, such as `[3,120 tokens left out: recall r17-42]`: the messages with
--- the seqs 17 to 42 that the list no longer shows, as text; in the original file, which shows them all, all of them.
---@param name string          "r17-42", or "r17" for one message
---@param options? { tokens?: integer }   tokens: most of the text, at least one message; a handle stands for the rest
---@return string? text
---@return ebb.Message[]|ebb.Error messages    with nil the error; code: "unknown_name", "absent"
function Conversation:recall(name, options) end
--- The list as a request of a dialect, or, in the dialect "ebb", the whole conversation: messages, batches,
--- checkpoints, marks, windows, ledgers, what policies remember, options and the rest of a request body. `ebb.parse`
--- and `ebb_chat_load` of the C library read that; equal conversations have equal texts. Functions (counter, clock, a
--- window's actions) are not in it. In a request, messages that have the dialect's form keep their bytes but for members that
--- requests do not have; others are rewritten. A body that is in the dialect keeps its bytes around the messages.
---@param dialect ebb.Dialect|"ebb"
---@param options? ebb.WriteOptions     of a request
---@return string text
---@return ebb.Loss[] losses   what is left out or changed, message by message
function Conversation:write(dialect, options) end
--- The list in the shape and bytes of what was loaded; an array for a new conversation. A request body has one form:
--- messages in another one that were added to it are written in the body's, while the conversation keeps what it was
--- given.
---@return string
function Conversation:json() end
--- Writes the list, whole or not at all; "-" is standard output. A file that is replaced keeps its mode, and
--- its owner, group and extended attributes where the system allows it. A conversation that was read from a
--- saved one is saved as a whole again, unless options name a dialect or shape.
---@param path string
---@param options? { dialect?: ebb.Dialect|"ebb", shape?: "array"|"jsonl"|"body", unchanged?: string }
---                           dialect: a provider's converts the messages, as `write` does, but keeps ids and times where
---                           the form stays; "ebb" saves the whole conversation. shape: without a dialect, "body" is for
---                           one that was read from a request body. unchanged: the ebb.file_identity of the file when it
---                           was read. A file that has changed since then is not replaced: code "conflict"
---@return true? done
---@return ebb.Error|string? problem   of a file that was replaced: a text, what the new one does not keep of it
---@return ebb.Loss[]? losses          with a provider's dialect: what is left out or changed
function Conversation:save(path, options) end
--- Returns what loading found odd, and what a lenient reading skipped, mended or let pass
--- (lenient = true): {code, message, line, byte, lenient}.
---@return table[]
function Conversation:warnings() end
--- The name of the model in use: the one that options or `recount` name, else that of the loaded body.
---@return string?
function Conversation:model() end

---@class ebb.WriteOptions
---@field shape? "body"|"array"|"jsonl"   default: the input's; body where system texts have no place in a list
---@field model? string                   instead of the body's
---@field profile? string                 of the server: name of one of ebb.profiles; default: the model's
---@field keep_extra? boolean             members that requests do not have, such as id and timestamp, stay in messages that
--- have the target's form; of those that are rewritten they are losses
---@field unbound_from? integer           position of the first message whose signed reasoning cannot be sent any more

---@class ebb.Loss
---@field code string        "lost_reasoning", "lost_media", "changed_id", ...
---@field text string        what is left out, or how it changes
---@field subject string     the id, the name of a member, the kind of media; may be empty
---@field changed boolean    true: the meaning stays; false: something is left out
---@field index? integer     position of the message; nil: of the body
