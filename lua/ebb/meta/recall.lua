---@meta
--- ebb.recall: handles for what trims leave out, and a tool by which a model asks for it. `chat:recall` reads one.

---@class ebb.recall
---@field NAME string          of the tool: "recall"
local recall = {}
--- The definition of the tool, as the list of tools of a request has it.
---@param dialect? "openai"|"responses"|"anthropic"|"gemini"   default: openai
---@return table
function recall.tool(dialect) end
--- Answers the calls of the tool in the newest message of the assistant: appends a result for each that has none.
--- A result says so if nothing can be recalled. `while ebb.recall.answer(chat) > 0 do ask_again(chat) end`
---@param chat ebb.Conversation
---@param options? { tokens?: integer }   tokens: most of each result, default 2000
---@return integer answered
function recall.answer(chat, options) end
--- The text of a handle.
---@param tokens integer       that were left out
---@param first integer        seq
---@param last? integer        seq; default: first
---@return string
function recall.handle(tokens, first, last) end
--- Reads the last handle of a text; nil if it has none.
---@param text string
---@return integer? tokens
---@return integer? first
---@return integer? last
function recall.read_handle(text) end
--- Reads a handle as `chat:recall(name, options)` does.
---@param chat ebb.Conversation
---@param name string
---@param options? { tokens?: integer }
---@return string? text
---@return ebb.Message[]|ebb.Error messages
function recall.read(chat, name, options) end
