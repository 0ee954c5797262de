---@meta
--- Types for authors of policies and filters: their options, and the drafts that they work on.

---@class ebb.Walk             What a walk visits: all conditions hold
---@field from? "oldest"|"newest"   where it begins; default: oldest
---@field role? ebb.Role|ebb.Role[]
---@field marked? string       a mark
---@field matches? string      a Lua pattern on the text
---@field has? ebb.PartKind|ebb.PartKind[]   a kind of part that the message has, or kinds of which it has one
---@field empty? boolean       messages without text, parts, calls, results, reasoning and refusal
---@field calls? string        a tool's name: the message calls it
---@field droppable? boolean   only what no guard holds
---@field skip_last? integer   leave out the newest n of those that meet all other conditions
---@field window? true|string  items of windows, or of the one with this id
---@field obsolete? boolean    items of windows that are obsolete, or those that are not
---@field important? boolean   items of windows that are important, or those that are not

--- Drafts keep what a policy puts into `memory` with the batch, as JSON, and give it to the policy's next run: after a
--- rollback, what it knew there. The policies of a batch share 1 MiB. Values without a JSON form (functions, keys that
--- are neither strings nor 1 to n) make the trim fail with the code "policy".
---@class ebb.Draft: ebb.List  A private fork on which guards hold; edits take effect at once
---@field memory table         the policy's own, kept for its next run
local Draft = {}
--- The messages that the walk chooses, with their tokens: `for message, tokens in draft:messages { role = "tool" } do`.
---@param walk? ebb.Walk
---@return fun(): ebb.Message?, integer?   # a message and its tokens
function Draft:messages(walk) end
--- The units that the walk chooses, with what most loops ask of them:
--- `for unit, tokens, age in draft:units { from = "oldest", droppable = true } do ... end`.
---@param walk? ebb.Walk
---@return fun(): ebb.Unit?, integer?, integer?   # a unit, its tokens, its age
function Draft:units(walk) end
--- The turns, in the same way.
---@param walk? ebb.Walk
---@return fun(): ebb.Turn?, integer?, integer?   # a turn, its tokens, its age
function Draft:turns(walk) end
--- The newest message that the walk would give.
---@param walk? ebb.Walk
---@return ebb.Message?
function Draft:last(walk) end
--- A message takes its unit along.
---@param what ebb.Message|ebb.Unit|ebb.Turn|ebb.Selection|integer
---@param reason? string
---@return integer|false tokens    freed; false when refused
---@return ebb.Error? problem
function Draft:drop(what, reason) end
--- Changes only the named fields, and removes those that are ebb.null (but content); never role and ids,
--- and calls keep their ids and names.
---@param message ebb.Message|integer
---@param fields table
---@param reason? string
---@return integer|false tokens    freed, may be negative; false when refused
---@return ebb.Error? problem
function Draft:replace(message, fields, reason) end
--- Puts a message before a position; refused inside a unit.
---@param position integer     1 to #draft + 1
---@param message ebb.MessageTable
---@param reason? string
---@return ebb.Message|false message    false when refused
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
--- Hands on to another policy; options that are not given keep their defaults.
---@param policy string|function|table
---@param options? table
function Draft:run(policy, options) end
--- Asks the host's model for a summary of the messages from `first` to `last`, and
--- replaces those that no guard holds by it. Calls and results stay
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
---@return integer|false tokens    freed; false when refused
---@return ebb.Error? problem
---@return string? code            "model" if there was no answer that could be used
function Draft:summarize(first, last, options) end
--- Adds a line to the notes of the ledger, under the name of the policy.
---@param text string
function Draft:note(text) end

---@class ebb.OptionDeclaration
---@field type "integer"|"number"|"string"|"boolean"|"choice"|"list"|"table"
---@field default? any
---@field min? number
---@field max? number
---@field choices? any[]
---@field required? boolean    there is no default, and it must be set
---@field help? string

---@class ebb.Policy
---@field name? string         default: the file's name without .lua
---@field summary? string
---@field help? string         what `ebb policies NAME` says below the options
---@field example? string      a command line
---@field options? table<string, ebb.OptionDeclaration>
---@field check? fun(options: table): string|boolean?, string?   what is wrong with options that are right one by one:
---                            a text, or nil and a text; nil, false or true: nothing
---@field trim fun(draft: ebb.Draft, budget: integer, options: table)

---@class ebb.Limits         Of one run of a file's or text's functions; 0: no such limit
---@field fuel? integer      VM instructions, and other work in their measure; default: 200 million and 2000 per message
---@field deadline? number   milliseconds; default: 2000 and 0.02 per message
---@field memory? integer    bytes, 1 MiB or more; default: 64 MiB and 64 per message

---@class ebb.Loading        How files and texts are run
---@field trusted? boolean   in the program's own state, with all that it may do and without limits
---@field limits? ebb.Limits
---@field folder? string     of a file that names the script, ending with a slash: paths lead to regular files below it

---@class ebb.FilterFile
---@field name? string
---@field summary? string
---@field options? table<string, ebb.OptionDeclaration>
---@field check? fun(options: table): string|boolean?, string?   what is wrong with options that are right one by one:
---                            a text, or nil and a text; nil, false or true: nothing
---@field exact? boolean       may tear units
---@field filter fun(message: ebb.Message, options: table): any

---@class ebb.Replay
---@field policies? any[]      each as in chat:trim, and each played by itself; default: keep_recent
---@field budget? integer      tokens of each request; default: the model's window less its output
---@field reserve? integer
---@field guards? boolean
---@field model? fun(request: ebb.ModelRequest): (string|table)?, string?   as in chat:trim
---@field limits? ebb.Limits   as in chat:trim
---@field trusted? boolean
---@field cache? string        whose prompt cache serves: the name of a rule; default: the model's
---@field prices? ebb.Prices   default: the model's
---@field progress? fun(policy: string, position: integer)   called before each message
---@field requests? fun(request: ebb.ReplayRequest)   called with each request, as it was sent
---@class ebb.ReplayResult
---@field policy string
---@field budget integer       less the reserve and the margin of estimates
---@field margin integer       tokens that were taken off the budget, for estimates may be too low; 0 for exact counts
---@field requests integer     that were sent: one before each message of the assistant
---@field requests_over integer   of these, the ones for which the whole history would have been too long
---@field refusals integer     that could not be made to fit, and were not sent
---@field refused_tokens integer   of the whole histories of refused requests
---@field first_refusal? string
---@field sent integer         tokens of all requests
---@field trust string
---@field shared integer       of these, tokens of the beginning that a request has in common with the one before
---@field thinking_lost integer  tokens of thinking that all requests lacked since a trim had changed what came before it:
---                            of models that bind thinking to that. They are not in `sent`
---@field share number         shared / sent
---@field fill? number         how full the budget was, 0 to 1, on average over the requests for which the whole
---                            history would have been too long; nil: there were none
---@field cache string         the rule by which the cache served: "openai", "anthropic" ...; "own" for fields of a model
---@field cached integer       tokens that the cache served
---@field written integer      tokens that it took in
---@field smallest_budget? integer  tokens with which the guarded part of each refused request fits; nil: none was refused
---@field cost number          of input, of the requests that were sent
---@field cost_unit "money"|"tokens"   the currency of the prices; without prices, tokens of fresh input
---@field relative_cost? number   relative to no trimming; nil: there was no request
---@field reply_tokens integer
---@field reply_cost? number   in money; nil: no prices are known
---@field optimum? number      the greatest share that plans of cuts have which send 99 % of these tokens or more, knowing
---                            the future; nil: none sends so many within the budget, or requests were refused
---@field distance? number     optimum - share
---@field units_dropped integer
---@field messages_dropped integer
---@field messages_replaced integer
---@field messages_inserted integer
---@field recall_arguments? number   0 to 1: present / total of `arguments`; nil: the total is 0
---@field recall_values? number      the same of `values`
---@field recall_labelled? number    labelled / total of both
---@field arguments ebb.ReplayRecall    values that the replies handed to tools: strings and numbers of three characters
---                            or more in the JSON of their calls
---@field values ebb.ReplayRecall   what the replies named in their text: runs of letters, digits and _ . / @ : # - with
---                            a digit or one of / _ @ . in them
---@field losses ebb.ReplayLoss[]   those of both that are not labelled, by reply
---@class ebb.ReplayLoss       A value of the history that a reply used, and its request did not have as it was
---@field reply integer        position of the reply in the recording
---@field use "argument"|"value"
---@field value string
---@field message integer      position of the first message that says it; 0: a body's system text
---@field present boolean      the request has it without its label
---@class ebb.ReplayRecall     Over the requests whose history is over the budget; each value once for each reply
---@field total integer        values of the history: of a message before the reply, or of a body's system text
---@field present integer      of these, in the request as it was sent; a refused request holds none
---@field labelled integer     of those present, with a word before them that they had in the history, or they had none there
---@class ebb.ReplayRequest    One request of a replay
---@field policy string
---@field number integer       of the request, refused ones included
---@field reply integer        position of the recorded message that answered it; those before it are its history
---@field before integer       tokens of a request with all that was said so far
---@field budget integer       less the reserve
---@field over boolean         the whole history is more than the budget, or the request was refused
---@field refused boolean      it could not be made to fit, and was not sent
---@field tokens? integer      as it was sent; nil for a refused one
---@field messages? string[]   their JSON, each in one line; nil for a refused one
