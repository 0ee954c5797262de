---@meta
--- Messages, and selections of them.

---@alias ebb.Role "system"|"user"|"assistant"|"tool"
---@alias ebb.Action "dropped"|"replaced"|"inserted"
---@alias ebb.PartKind "text"|"image"|"file"|"audio"|"asset"|"tool_use"|"tool_result"|"reasoning"|"other"

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
---                           are dropped; an insertion counts again
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
---@field answers string[]     ids of the calls that it answers, or names of calls without id; a legacy function
---result has none
---@field tokens integer
---@field reasoning_tokens integer   of these, tokens that are saved without its thinking, by the conversation's counter; 0 with one
---                           of your own. After a change, models that bind thinking get none of what was written before
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
---@field pending boolean      open, and no user message comes after it
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
--- The first n of them, or all if there are fewer.
---@param n integer
---@return ebb.Selection
function Selection:first(n) end
--- The last n of them, or all if there are fewer.
---@param n integer
---@return ebb.Selection
function Selection:last(n) end
--- Returns the i-th to j-th of them, both included; positions outside are left out.
---@param i integer
---@param j integer
---@return ebb.Selection
function Selection:slice(i, j) end
--- Returns the number of messages; #selection is the same.
---@return integer
function Selection:count() end
--- Tokens of these messages, without the framing of a request. O(n).
---@return integer
function Selection:tokens() end
--- Returns the messages' positions in the list, in order.
---@return integer[]
function Selection:positions() end
--- Returns the messages' seqs, in order: their numbers in the full history, which stay when positions change.
---@return integer[]
function Selection:seqs() end
