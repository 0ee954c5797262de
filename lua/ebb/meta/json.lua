---@meta
--- JSON, as it is in conversations.

---@class ebb.json
---@field null lightuserdata   JSON's null
local json = {}
--- Reads one JSON value. A number that no Lua number holds exactly comes as ebb.json.raw; null as ebb.null.
---@param text string
---@param options? { raw?: table<string, boolean>, unique?: boolean }  raw: keys whose values come as ebb.json.raw;
---                            unique: an object that has a name twice is refused; else the last value counts
---@return any value           nil when refused
---@return ebb.Error? problem  "line:byte: expected ..."; code: "syntax", "encoding", "limit"
function json.decode(text, options) end
--- Reads the value that begins at a byte, whatever follows it.
---@param text string
---@param position integer     from 1
---@param options? { raw?: table<string, boolean>, unique?: boolean }
---@return any value           nil when refused
---@return integer|ebb.Error after   the position after the value; with nil the error
function json.decode_at(text, position, options) end
--- Keys in sorted order; a table with a[1] or none at all under ebb.json.array is a list.
--- With `keep_raw` raw JSON stays byte for byte, with `newline` one is added at the end.
---@param value any
---@param options? { indent?: integer, keep_raw?: boolean, newline?: boolean }
---@return string
function json.encode(value, options) end
--- Marks a table as a list, so that an empty one is written as [].
---@param list table
---@return table
function json.array(list) end
--- JSON that is written unchanged, but for white space in an indented text; checked.
---@param text string
---@return table
function json.raw(text) end
