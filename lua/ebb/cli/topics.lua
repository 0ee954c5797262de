--- Topics of `ebb help` that are not commands.

local topics = {}

topics.list = {
  { name = "input", summary = "Shapes of input and output files." },
  { name = "policies-in-lua", summary = "How to write a trim policy." },
  { name = "filters-in-lua", summary = "How to write a filter." },
  { name = "operations", summary = "The operations of `ebb apply`, with their fields." },
  { name = "environment", summary = "Variables and folders that the command reads." },
}

local TEXTS = {}

TEXTS.input = [[
A conversation is read from one of three shapes:

  array    [{"role": "user", "content": "Hi"}, ...]
  JSONL    a message per line
  body     {"model": "gpt-4o", "messages": [...], "tools": [...]}

Messages may have the form of OpenAI's or Anthropic's API. Output has the shape of the input; messages
that were not edited keep their bytes. `-`, or no file, is standard input. Roles are system, developer,
user, assistant, tool and function; --role-map maps others. --lenient skips invalid messages and repairs
text and keys, with warnings and exit status 3.]]

TEXTS["policies-in-lua"] = [[
A policy is a Lua file that returns a function, or a table with options:

  return function(draft, budget)
    for message in draft:messages { role = "tool", from = "oldest" } do
      if draft:tokens() <= budget then return end
      draft:replace(message, { content = "[left out]" }, "old result")
    end
    draft:drop_oldest { to = budget }
  end

  return {
    name = "mine", summary = "what it does",
    options = { keep = { type = "integer", default = 4, min = 0, help = "units" } },
    trim = function(draft, budget, options) ... end,
  }

It runs in a sandbox on a private draft. System and pinned messages, pending calls and the last user
message are guarded. `ebb trim --policy mine.lua:keep=6` runs it, --explain shows what it did. The guide
your-own-policy and the annotations (share/ebb/lua) have all calls of a draft.]]

TEXTS["filters-in-lua"] = [[
A filter is a Lua file, or a text on the command line, that returns a function. It sees each message and answers:

  nil, true     keep it
  false         drop it, with its unit
  a table       replace it
  a list        put several messages in its place

  return function(message, options)
    if message.role == "tool" and #message.text > 2000 then
      return { role = "tool", tool_call_id = message.call.id, content = message.text:sub(1, 2000) }
    end
  end

`message:without "reasoning"` and `message:totable()` give tables to return. `ebb filter FILE --input
chat.json` runs it.]]

TEXTS.operations = [[
`ebb apply` runs one operation or a list of them, all or none. Positions count from 0, ranges are
half-open. Fields stand beside "operation", or in an object of its name.

  append     messages
  insert     position, messages
  replace    index, message
  truncate   one of keepFirst, keepLast, removeFirst, removeLast, range, role;
             scope, wholeUnits
  clear      keepSystemMessage
  filter     roles, contentContains, contentExcludes, includeNames,
             excludeNames, includeIds, excludeIds, excludeToolCalls,
             wholeUnits
  rollback   targetBatchIndex or checkpoint; length

  {"operation": "truncate", "role": "tool", "keepLast": 3}
  {"operation": "append", "messages": [{"role": "user", "content": "Hi"}]} ]]

TEXTS.environment = [[
  COLUMNS          cells of a line where output goes to no terminal; unset: nothing is cut
  EBB_VOCAB_PATH   a folder of vocabularies that is searched first
  NO_COLOR         no colours
  TERM=dumb        no colours, no progress
  XDG_CONFIG_HOME  ebb/models.json: your models and prices; ebb/policies, ebb/filters (default ~/.config)
  XDG_DATA_HOME    ebb/vocab: vocabularies (default ~/.local/share)
  XDG_STATE_HOME   ebb/history: lines of `ebb repl` (default ~/.local/state)]]

--- The text of a topic; nil for other names.
---@param name string
---@return string?
function topics.text(name)
  local text = TEXTS[name]
  return text and (text:gsub("([^%s])\n([^ \n])", "%1 %2"))   -- a paragraph is one line
end

return topics
