--- Topics of `ebb help` that are not commands: a command of the same name would hide one.

local topics = {}

topics.list = {
  { name = "files", summary = "Shapes of input and output files." },
  { name = "policies-in-lua", summary = "How to write a trim policy." },
  { name = "filters-in-lua", summary = "How to write a filter." },
  { name = "processors-in-lua", summary = "How to write a stage of a pipeline." },
  { name = "macros-in-lua", summary = "How to write a macro." },
  { name = "workflows", summary = "How to write nodes for `ebb run`, and types of your own." },
  { name = "operations", summary = "The operations of `ebb apply`, with their fields." },
  { name = "environment", summary = "Variables and folders that the command reads." },
}

local TEXTS = {}

TEXTS.files = [[
A conversation is read from one of three shapes:

  array    [{"role": "user", "content": "Hi"}, ...]
  JSONL    a message per line
  body     {"model": "gpt-4o", "messages": [...], "tools": [...]}
           or with `input` (items, or a text) or `contents` in their place

Messages may have the form of OpenAI's APIs (Chat Completions, Responses), of Anthropic's or of
Gemini's. Output has the shape of the input; messages that were not edited keep their bytes. `-`, or no
file, is standard input. Roles are system, developer, user, assistant, tool and function; --role-map maps
others. --lenient skips invalid messages and repairs text and keys, with warnings and exit status 3.

Sessions of coding agents (Claude Code, Codex, Gemini CLI, pi, opencode, Cline, Roo Code), exports of
chat programs and data sets are recognised by their content, and read as what their model would
get now; a line says what was read and what was left out. --branch reads another branch, --conversation
one of several, --from names the form. They are never written back: -o names another file.]]

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
    options = {
      keep = { type = "integer", default = 4, min = 0, help = "units" },
    },
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
      local copy = message:totable()
      copy.content = message.text:sub(1, 2000)
      return copy
    end
  end

`message:without "reasoning"` and `message:totable()` give tables to return. `ebb filter FILE --input
chat.json` runs it.]]

TEXTS["processors-in-lua"] = [[
A processor is a Lua file that returns a table. It changes context.messages, copies of the conversation's:

  return {
    id = "shout", name = "Shout", priority = 900,
    config_fields = {
      { key = "mark", type = "text", default = "!", label = "what it adds" },
    },
    execute = function(context, config)
      local last = context.messages[#context.messages]
      local says = context:expand("{{char}} says: ")
      last.content = says .. last.content .. config.mark
      context:log("info", "shouted")
    end,
  }

A lower priority runs earlier; `ebb processors` lists the built-in ones. It runs in a sandbox, above
priority 400 several times: the token limiter tries what comes after it. `ebb pipeline chat.json --processor
shout.lua --set shout.mark=?` runs it, `ebb processors shout --processor shout.lua` shows its settings. The guide
your-own-processor and the annotations (share/ebb/lua) have all of the context.]]

TEXTS["macros-in-lua"] = [[
A macro is a Lua file that returns a table, or a list of tables:

  return {
    name = "loud", summary = "a text in capitals", stability = "stable",
    parameters = { "text", "marks?" },
    run = function(call, text, marks)
      if text == "" then return nil, "there is nothing to say" end
      return text:upper() .. (marks or "!")
    end,
  }

Parameters are "name", "name?" (may be left out) or "name..." (one or more). Stability is stable, session, turn or
volatile: how long the value stays the same. `ebb pipeline --macro loud.lua` and `ebb rules test --macro
loud.lua` use it in a sandbox, `ebb macros --macro loud.lua` lists it with the built-in ones. The guide
your-own-processor and the annotations (share/ebb/lua) have all of `call`.]]

TEXTS.workflows = [[
A workflow is a list of nodes, run in order on the input: a Lua file that returns it, or JSON. All nodes are
checked before the first one runs; `ebb run flow.lua --check` does only that, `--graph` draws them, `--trace`
shows what each did.

  return {
    { operation = "truncate", truncate = { keepLast = 20 } },
    { type = "filter", filter = "no_thoughts.lua" },
    { type = "script", file = "step.lua" },
    { type = "trim", budget = 8000, policy = "keep_recent" },
  }

Types are context_processor (an operation), filter, trim, pipeline, check, convert, save, branch, loop,
parallel, model, tool, script and workflow (another file). A model that calls tools until it has an answer:

  return {
    tools = { { name = "add", parameters = "a:number, b:number",
      run = function(arguments) return arguments.a + arguments.b end } },
    nodes = {
      { type = "loop", stop_when = { answered = true }, at_most = 8, nodes = {
        { type = "trim", budget = 60000 },
        { type = "model", model = "gpt-4o-mini" },
        { type = "tool" },
      } },
    },
  }

The key and address come from the environment (OPENAI_API_KEY, OPENAI_BASE_URL and so on), or a command answers
(--model-command), or a recording (--record, --replay-model). A tool is a function, a command that reads
the call as JSON, a sandboxed file, or a server: { mcp = "npx -y some-server" }.

With edges, nodes are a graph; a branch has an edge for each answer, and "end" ends the run:

  return {
    nodes = { { id = "ask", type = "model" }, { id = "work", type = "tool" },
      { id = "more", type = "branch", when = { calls = true } } },
    edges = { { "ask", "more" }, { "more", "work", when = true },
      { "more", "end", when = false }, { "work", "ask" } },
  }

A script is a function of the conversation, as `run` or in a file; an error, or nil and a reason, ends
the run. A step with options is a type of your own:

  return {
    types = { "tag.lua" },
    nodes = { { type = "tag", word = "urgent" } },
  }

  tag.lua:
  return {
    name = "tag",
    fields = {
      word = { type = "string", required = true, help = "what to look for" },
    },
    run = function(chat, options) ... end,
  }

Names of files are looked for next to the workflow's file, then in the current folder. `ebb run flow.lua chat.json
-o out.json` runs it.]]

TEXTS.operations = [[
`ebb apply` runs one operation or a list of them, all or none. Positions count from 0, ranges are
half-open. Fields are next to "operation", or in an object of its name.

  append     messages
  insert     position, messages
  replace    index, message
  truncate   any of role, keepFirst, keepLast, removeFirst, removeLast,
             range; scope, wholeUnits
  clear      keepSystemMessage
  filter     roles, contentContains, contentExcludes, includeNames,
             excludeNames, includeIds, excludeIds, excludeToolCalls,
             wholeUnits
  rollback   targetBatchIndex or checkpoint; length

Those that start a batch, all but append and rollback, take a description of it, too.

  {"operation": "truncate", "role": "tool", "keepLast": 3}
  {"operation": "append", "messages": [{"role": "user", "content": "Hi"}]} ]]

TEXTS.environment = [[
  COLUMNS          cells of a line where output goes to no terminal;
                   unset: nothing is cut
  EBB_DB           the database of sessions, a file or a URL of PostgreSQL,
                   where --db names none
  EBB_API_KEY, EBB_BASE_URL
                   key and address of model calls, before those of a provider
  EBB_VOCAB_PATH   a folder of vocabularies that is searched first
  OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL,
  GEMINI_API_KEY, GOOGLE_API_KEY, GEMINI_BASE_URL, GOOGLE_GEMINI_BASE_URL
                   key and address of a provider, by the model's dialect
  NO_COLOR         no colours
  TERM=dumb        no colours, no progress
  XDG_CACHE_HOME   ebb/vocab: vocabularies that were checked (default ~/.cache)
  XDG_CONFIG_HOME  ebb/models.json: your models and prices; ebb/policies,
                   ebb/filters, ebb/processors, ebb/macros, ebb/types: your
                   own Lua; ebb/profiles.json: servers (default ~/.config)
  XDG_DATA_HOME    ebb/sessions.db: sessions; ebb/vocab: vocabularies (default
                   ~/.local/share)
  XDG_STATE_HOME   ebb/history: lines of `ebb repl`; ebb/usage: what providers
                   counted, by model (default ~/.local/state)]]

--- The text of a topic; nil for other names.
---@param name string
---@return string?
function topics.text(name)
  local text = TEXTS[name]
  return text and (text:gsub("([^%s])\n([^ \n])", "%1 %2"))   -- a paragraph is one line
end

return topics
