---@meta
--- Windows: live state in the context. A list names them, a request shows their latest state.

---@class ebb.WindowAction     What the model may do with a window
---@field id string            "close" is built in where the window is closable; an action of this id gives it a label
---                           and a place, and has neither params nor run
---@field label? string
---@field params? string       "text:string, n:int?": string, int, number, bool, enum(a|b); type[] is a list, type? may be
---                           left out. Checked when the window is opened or updated
---@field run? fun(params: table, window: ebb.Window): any, string?   gets the checked parameters. Its result is a text
---                           for the model: a string, a number, a table as JSON; nil or true for "done"; nil or
---                           false and a reason to refuse. It may raise, but not yield. It is not saved

---@class ebb.WindowOptions
---@field id? string           1 to 256 bytes; required by open
---@field description? string
---@field content? string|table|fun(window: ebb.Window): string|table
---                           text; elements: {"item", id = 1, "text", ...}, a list of these, {window = id} for a nested
---                           window; or a function that returns either, called once per rendering within limits:
---                           5 million instructions, 256 KiB of markup, 10,000 nodes. A function is not saved
---@field actions? ebb.WindowAction[]
---@field closable? boolean    the model may close it; default true
---@field pinned? boolean      guards keep it; default false
---@field important? boolean   default true; keep_turns lets others go with old messages
---@field render? "full"|"compact"     compact: neither description nor actions
---@field refresh? "in_place"|"append" append: an update appends a new item
---@field hidden? boolean      its items show nothing
---@field item? boolean        append an item that shows it; default true (windows:open only)

---@class ebb.Window: ebb.WindowOptions   A handle of a window, which may be kept; its fields read the present state
---@field closed boolean
---@field summary string       of its closing, or ""
---@field created integer      chat.windows.seq when it was opened
---@field updated integer      chat.windows.seq of the last change
---@field version integer      1, 2, 3 ...
---@field chat ebb.Conversation
local Window = {}
--- Sets some of its options; without any it only counts a change (version, event, new item).
--- Raises {code = "closed"} for a closed window.
---@param fields? ebb.WindowOptions
---@return ebb.Window
function Window:update(fields) end
--- Closes it, closable or not: its items are obsolete until it is opened again.
---@param summary? string
---@return ebb.Window
function Window:close(summary) end
--- Hides the window: its items show nothing until `show`; actions can still be called.
---@return ebb.Window
function Window:hide() end
--- Undoes `hide`.
---@return ebb.Window
function Window:show() end
--- Lets guards keep its items, or with false no longer.
---@param flag? boolean        default true
---@return ebb.Window
function Window:pin(flag) end
--- Returns the window's state as a table, in the form that markup is written from.
---@return ebb.WindowView
function Window:view() end
--- The text that the model reads. Always valid markup: a content that fails becomes one line with the error.
---@return string
function Window:markup() end
--- The function of an action; nil if it has none, as after loading.
---@param action string
---@return function?
function Window:handler(action) end
---@class ebb.Windows           chat.windows: the windows of a conversation
---@field seq integer          the logical clock: seq of the newest message ever stored, 0 if there is none
local Windows = {}
--- Opens a window, and appends an item that shows it: both or neither. Raises {code = "exists"} if
--- a window of that id is open; a closed one is opened again.
---@param options ebb.WindowOptions
---@return ebb.Window
function Windows:open(options) end
--- The window with this id; nil if none was ever opened.
---@param id string
---@return ebb.Window?         also a closed one
function Windows:get(id) end
--- Returns all windows of the conversation.
---@return ebb.Window[]        in the order in which they were first opened, closed ones too
function Windows:list() end
---@class ebb.Render
---@field max_tokens? integer  what is rendered is trimmed to it by keep_turns; the conversation stays as it is
---@field include_system? boolean      default true
---@field include_obsolete? boolean    default false
--- The messages as they are sent, as plain tables: an item of a window is a user message with the present
--- state (and `window`, its id), after the unit in which it is. Missing windows are logged and skipped;
--- hidden ones are skipped.
---@param options? ebb.Render
---@return ebb.MessageTable[]? messages
---@return ebb.Error? problem  code: "cannot_fit" or "over_budget"
function Windows:render(options) end
--- Counts of messages: in all, without obsolete items, obsolete items, items of windows; and the tokens of the request.
---@return { total: integer, active: integer, obsolete: integer, windows: integer, estimated_tokens: integer }
function Windows:stats() end
---@class ebb.WindowCall       A call, as a model wrote it
---@field name? string         "window.action", or an action that only one open window has
---@field window? string       or both of these
---@field action? string
---@field params? table        as JSON decodes
---@field is_json? boolean     params were JSON, in which {} is no list
---@field id? string
---@field position? integer    of its tag in the text, in bytes
---@field problem? string      what is wrong with it, for the model; it has no other fields but position and code then
---@field code? string         of the problem: "syntax", "encoding", "shape", "limit"
---@class ebb.ActionResult     What became of a call
---@field ok boolean
---@field text string          for the model: "todo.add: added", "todo.add: error: params.text is required: .."
---@field code? string         not a call: "syntax", "encoding", "shape", "limit"; not performed: "unknown_name",
---                           "ambiguous", "closed", "argument", "absent" (no function); "failed", "memory": it raised;
---                           "limit": too long or too much memory; "refused": by the action, or not closable
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
--- A message of the conversation stands for its text; one with native calls is performed as by chat:act(message).
---@param calls string|ebb.Message|ebb.WindowCall|ebb.WindowCall[]
---@param options? { instructions?: integer }   for all actions of the text; default 50 million, about half a second
---@return ebb.ActionResult[] results
---@return integer quoted      calls that were skipped because they are quoted: in a fenced block, after a backtick
function Windows:act(calls, options) end
--- The actions that a model may call now, those of the conversation and of open windows, as the list of tools of a
--- request: `todo__add` is the action `add` of the window `todo`. chat:act() performs such calls.
---@param options? ebb.Dialect|{ dialect?: ebb.Dialect }   default: where the conversation is sent
---@return string json
function Windows:tools(options) end
--- The logical clock, as `seq`: seq of the newest message ever stored, 0 if there is none.
---@return integer
function Windows:clock() end
--- Sets the listener, which is called after each event of the windows; nil removes it. Forks do not inherit it.
--- Errors of the listener are logged.
---@param listener? fun(event: ebb.WindowEvent)
function Windows:on(listener) end
--- Opens a window that lists the newest events of the others, one line each; or continues the open one with this id,
--- as after loading. The model cannot close it. Defaults: id = "activity", lines = 20.
---@param options? { id?: string, lines?: integer, item?: boolean }
---@return ebb.Window
function Windows:log(options) end
--- A line per visible message: "[✓] [0004] Window: todo", "[X]" where it is obsolete.
---@return string
function Windows:listing() end

---@class ebb.WindowView        What is written of a window: plain data
---@field id string
---@field description? string
---@field content? string|ebb.WindowNode[]|ebb.WindowNode
---@field actions ebb.WindowAction[]
---@field compact boolean
---@field failed? string        why there is no content

---@alias ebb.WindowNode string|number|boolean|table
