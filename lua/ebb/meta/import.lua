---@meta
--- Files of other programs: sessions of coding agents, exports of chat programs, data sets, character cards, lorebooks,
--- presets and rules. The form is told by
--- the file's content, not by its name.

---@class ebb.import.Options
---@field from? string          a form of ebb.import.list(), instead of recognition
---@field path? string          the name of the file, for errors
---@field branch? string        a branch: its id, the beginning of one, or its number; default: the current one
---@field conversation? string  of files that hold several: its number, id or title
---@field skip_bad? boolean     reads on after lines that are not JSON
---@field greeting? integer     of an agent with several first messages, from 0: the one that begins the conversation
---@field user? string          the user's name in that message; default: "User"
---@field now? integer          ms since 1970, for macros of time in that message; without it they stay
---@field zone? integer         minutes east of UTC

---@class ebb.import.ReportEntry   Records besides messages, and what was left out or mended, counted
---@field kind string          a noun in the singular: "other line", "missing parent"
---@field message string       which, or why
---@field count integer
---@field line? integer        of the first one

---@class ebb.Import            What the model would get now
---@field name string          of the form: "claude_code"
---@field title string         "Claude Code session"
---@field dialect "openai"|"anthropic"|"responses"|"gemini"   the form of the messages
---@field messages (string|table)[]   as JSON, or as tables
---@field lines? integer[]     of each message, the line where it begins
---@field system? string|table[]   blocks of text in Anthropic's form; most files have no system prompt
---@field tools? table[]       in the dialect's own form; most files have none
---@field model? string        of the last reply
---@field report ebb.import.ReportEntry[]
---@field branches integer     leaves of the main line
---@field conversations? ebb.Import[]   of a file that holds several; then there are no messages besides them
---@field agent? table         of a file that describes an agent, a lorebook, rules or a preset: as it is in an
---agent file, for `ebb.pipeline`; what has no meaning for Ebb is in its `extra`
---@field understood? string[]  with an agent: the members that were read, by path
---@field body? string         a whole request body, where the file has one
---@field number? integer      of one among several, from 1
---@field line? integer        of one among several, in JSONL
---@field id? string           of one among several
---@field conversation? string the title of one among several

---@class ebb.import
local import = {}
--- Lists the forms that can be read, in the order in which files are compared with them.
---@return { name: string, title: string, kind: "jsonl"|"json"|"text" }[]
function import.list() end
--- The name of the form that a text has. A text that fits none, or several, has none.
---@param text string
---@return string? name
---@return ebb.Error? problem  what it looks like
function import.recognise(text) end
--- Reads a text of another program. Raises {code = "unknown_name"} for an unknown form.
---@param text string
---@param options? ebb.import.Options
---@return ebb.Import? result
---@return ebb.Error? problem  file:line:byte and what was expected
---@return string? name        with a problem: the form that the text has; nil: it has none
function import.read(text, options) end
--- A request body of the result's dialect, for `ebb.parse`: the one that the file has, or one whose messages are in
--- lines 2, 3 and so on.
---@param result ebb.Import
---@return string json
function import.body(result) end

return import
