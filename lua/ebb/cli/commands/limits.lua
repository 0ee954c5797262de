--- ebb limits: every limit, what it bounds, and what raises it.
--
-- The values are read where they hold. tests/lua/limits_spec.lua finds constants that
-- this table lacks.

local core = require "ebb.support.core"
local figures = require "ebb.support.figures"
local grid = require "ebb.cli.view.grid"
local host = require "ebb.host"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local terminal = require "ebb.cli.view.terminal"

local limits = {}

function limits.declare(parser)
  options.output(parser)
  options.json(parser)
end

---@class ebb.cli.LimitRow
---@field [1] string       what is bounded
---@field [2] string       where the value is: a name in C, or "module field"
---@field [3] string       its unit
---@field [4]? string      what raises it; nil: nothing

local AMOUNTS = "limits = { fuel, deadline, memory } in Lua"

---@type { title: string, [integer]: ebb.cli.LimitRow }[]
limits.SECTIONS = {
  { title = "conversations",
    { "a message", "MESSAGE_BYTES_MAX", "bytes", "--max-message, max_message" },
    { "an array or a request body; JSONL has no limit", "FILE_BYTES_MAX", "bytes", "--max-file, max_file" },
    { "objects and lists in one another, in any JSON", "JSON_DEPTH_MAX", "levels" },
    { "messages of one conversation, removed ones among them", "STORE_MESSAGES_MAX", "messages" },
    { "the weight of a message", "MESSAGE_TOKENS_MAX", "tokens" },
    { "a budget, a reserve", "ebb.trim.options fields.budget.max", "tokens" },
    { "a caller's description of a batch", "BATCH_DESCRIPTION_MAX", "bytes" },
    { "what policies remember, at one batch", "POLICY_MEMORY_MAX", "bytes" },
    { "macro variables (as JSON), part of the above", "ebb.pipeline.variables BYTES_MAX", "bytes" },
    { "the same over all batches; the oldest are discarded", "POLICY_MEMORY_KEPT", "bytes" },
    { "names in such a memory that are merged between tasks and chats", "MEMORY_NAMES_MAX", "names" },
    { "reasons and notes of sandboxed policies, at one batch", "LEDGER_TEXTS_MAX", "bytes" },
    { "a provider's report for calibration", "CALIBRATION_REPORT_MAX", "tokens" },
    { "how far such a report may be from the count", "CALIBRATION_RATIO_MAX", "times" },
    { "a file of another program", "ebb.cli.io.imported BYTES_MAX", "bytes", "--max-file" },
    { "a character card in a picture", "ebb.import.png TEXT_BYTES_MAX", "bytes" },
    { "a line of a file with a conversation in each", "ebb.import.stream LINE_BYTES_MAX", "bytes", "--max-file" },
    { "the first two lines of such a file", "ebb.import.stream HEAD_BYTES_MAX", "bytes" },
    { "batches in which `report` looks for the reasons of edits", "ebb.cli.commands.report LOOKS_MAX", "batches" },
    { "a text that `count --text` reads", "ebb.cli.commands.count BYTES_MAX", "bytes", "--max-file" },
  },
  { title = "files besides conversations",
    { "operations", "ebb.cli.commands.apply BYTES_MAX", "bytes" },
    { "a text that `ebb input` reads", "ebb.cli.commands.input BYTES_MAX", "bytes" },
    { "a file of a window", "ebb.cli.io.window_file BYTES_MAX", "bytes" },
    { "a file of --tools", "ebb.cli.io.tool_file BYTES_MAX", "bytes" },
    { "a transcript that --transcripts keeps", "ebb.cli.host.service_commands TRANSCRIPT_MAX", "bytes" },
    { "a lorebook", "ebb.cli.io.lorebooks BYTES_MAX", "bytes" },
    { "an agent, a model's file, a user's profile", "ebb.pipeline.files BYTES_MAX", "bytes" },
    { "profiles.json, models.json", "ebb.cli.io.entries_file BYTES_MAX", "bytes" },
    { "a price list that `models import` reads", "ebb.cli.io.models_import BYTES_MAX", "bytes" },
    { "nodes in JSON", "ebb.workflow.locate BYTES_MAX", "bytes" },
    { "rules", "ebb.cli.commands.rules BYTES_MAX", "bytes" },
    { "a policy, filter, processor, macro, type of nodes or module", "ebb.sandbox.script_file MAX", "bytes" },
  },
  { title = "scripts of others",
    { "instructions", "ebb.sandbox.loader DEFAULT.fuel", "instructions", "--fuel, fuel of ebb.h, " .. AMOUNTS },
    { "and for each message", "ebb.sandbox.loader PER_MESSAGE.fuel", "instructions", "--fuel" },
    { "time", "ebb.sandbox.loader DEFAULT.deadline", "ms", "--deadline, " .. AMOUNTS },
    { "and for each message", "ebb.sandbox.loader PER_MESSAGE.deadline", "ms", "--deadline" },
    { "memory", "ebb.sandbox.loader DEFAULT.memory", "bytes", "--memory, script_memory of ebb.h, " .. AMOUNTS },
    { "and for each message", "ebb.sandbox.loader PER_MESSAGE.memory", "bytes", "--memory" },
    { "a string, or a part of a table", "SANDBOX_BLOCK", "bytes" },
    { "NUL bytes in a string", "SANDBOX_NULS", "bytes" },
    { "what one call or task prints", "PRINT_MAX", "bytes" },
    { "what one run of a processor logs", "ebb.sandbox.processor LOG_MAX", "bytes" },
    { "a list that table.sort sorts", "SORT_MAX", "elements" },
    { "elements that one function of table walks over", "RANGE_MAX", "elements" },
    { "results of one call", "VALUES_MAX", "values" },
    { "a format of string.pack, packsize or unpack", "PACK_FORMAT_MAX", "bytes" },
    { "messages that a filter adds", "ebb.trim.filter ADDED_MAX", "messages" },
    { "values that a call hands out", "MARSHAL_VALUES_MAX", "values" },
    { "memory for them, beyond what a script leaves of its own", "MARSHAL_BYTES_MORE", "bytes", "--memory" },
    { "tables in tables that enter or leave", "MARSHAL_DEPTH_MAX", "levels" },
    { "nested parts of a pattern of string.find", "MATCH_DEPTH_MAX", "levels" },
    { "captures of such a pattern", "MATCH_CAPTURES", "captures" },
    { "coroutine.close in coroutine.close", "CLOSE_DEPTH", "levels" },
    { "what cannot be interrupted, beyond its slice of time", "LATE_MS", "ms" },
    { "the name of a module", "MODULE_NAME_MAX", "bytes" },
    { "an error message", "MESSAGE_MAX", "bytes" },
    { "jumps that the parser of a script may follow", "PARSE_JUMPS_MAX", "jumps" },
    { "names that parsing may compare", "PARSE_LOOKS_MAX", "comparisons" },
    { "texts that a pipeline adds: memory, divided by", "ebb.pipeline.run_budget SHARE", "", "--memory" },
    { "a trusted processor's call", "ebb.pipeline.engine FUEL", "instructions" },
  },
  { title = "ebb run --isolate",
    { "time, by the wall and on the processor", "ebb.cli.host.isolate DEFAULT.deadline", "ms", "--deadline" },
    { "address space", "ebb.cli.host.isolate DEFAULT.memory", "bytes", "--memory" },
    { "a file that is written", "ebb.cli.host.isolate DEFAULT.file_size", "bytes", "--file-size" },
    { "open files", "OPEN_FILES", "files" },
  },
  { title = "workflows",
    { "nodes of one run of a graph", "ebb.workflow.graph STEPS_MAX", "nodes" },
    { "rounds of all loops and nodes of all graphs, in JSON", "ebb.workflow.runner ROUNDS_MAX", "rounds" },
    { "workflows in one another", "ebb.workflow.prepare DEPTH_MAX", "files" },
    { "a model's whole answer", "ebb.provider SECONDS", "s", "timeout of the node" },
    { "time without a byte of it", "ebb.provider IDLE_SECONDS", "s", "idle of the node" },
    { "requests that are sent again", "ebb.provider RETRIES", "times", "retries of the node" },
    { "the wait before one", "ebb.provider WAIT_MAX", "s" },
    { "an event of a streamed answer", "ebb.provider.events BYTES_MAX", "bytes" },
    { "calls of such an answer", "ebb.provider.openai CALLS_MAX", "calls" },
    { "a tool's command, a server's answer", "ebb.workflow.tools SECONDS", "s", "timeout of the tool" },
    { "a tool's result; longer ones are cut", "ebb.workflow.tools RESULT_BYTES", "bytes", "result_bytes of the tool" },
    { "the name of a tool", "ebb.workflow.tools NAME_MAX", "bytes" },
    { "description and schema of a server's tool", "ebb.workflow.tools DEFINITION_BYTES", "bytes" },
    { "lines of an MCP server before its answer", "ebb.workflow.tools.mcp LINES_MAX", "lines" },
    { "tools of an MCP server", "ebb.workflow.tools.mcp TOOLS_MAX", "tools" },
    { "pages of its list", "ebb.workflow.tools.mcp PAGES_MAX", "pages" },
    { "a journal of `each`", "ebb.cli.many.each_journal BYTES_MAX", "bytes" },
    { "a recording of models", "ebb.cli.host.recording BYTES_MAX", "bytes" },
  },
  { title = "a model's command",
    { "its time", "ebb.cli.host.model_command SECONDS", "s", "--model-timeout" },
    { "the time of a command that answers processors", "ebb.cli.host.service_commands SECONDS", "s",
      "--service-timeout" },
    { "its answer", "ANSWER_BYTES_MAX", "bytes" },
  },
  { title = "regex rules",
    { "a pattern", "REGEX_PATTERN_MAX", "bytes" },
    { "a text and what becomes of it", "REGEX_TEXT_MAX", "bytes" },
    { "rules of one set", "RULE_SET_MAX", "rules" },
    { "trimStrings of one rule", "REGEX_TRIMS_MAX", "strings" },
    { "time of one rule on one text", "REGEX_TIME_MS", "ms" },
    { "failures after which a rule is left out of a run", "RULE_STRIKES", "failures" },
  },
  { title = "macros",
    { "the text of an expansion", "ebb.macros.evaluate LIMITS.output", "bytes" },
    { "what is built on the way", "ebb.macros.evaluate LIMITS.work", "bytes" },
    { "macros of one expansion", "ebb.macros.evaluate LIMITS.evaluations", "macros" },
    { "expansions in expansions", "ebb.macros.evaluate LIMITS.levels", "levels" },
    { "entries of each list of a report", "ebb.macros.evaluate LIMITS.entries", "entries" },
    { "macros in macros", "ebb.macros.parse DEPTH_MAX", "levels" },
    { "arguments", "ebb.macros.parse ARGUMENTS_MAX", "arguments" },
    { "dice of a roll", "ebb.macros.bounds DICE_MAX", "dice" },
    { "sides of a die", "ebb.macros.bounds SIDES_MAX", "sides" },
    { "what is added to a roll", "ebb.macros.bounds ADDEND_MAX", "" },
    { "repeat", "ebb.macros.bounds REPEAT_MAX", "times" },
    { "the zone of time_UTC", "ebb.macros.bounds OFFSET_MAX", "hours" },
    { "a speaker's name that lorebooks search", "ebb.lorebook.speech NAME_BYTES_MAX", "bytes" },
    { "depths of one depthConfig", "ebb.injection POINTS_MAX", "depths" },
  },
  { title = "sessions",
    { "the name of a session", "STORAGE_NAME_MAX", "bytes" },
    { "sessions of a database of SQLite, those ever begun", "STORAGE_SESSIONS_MAX", "sessions" },
    { "branches of branches", "STORAGE_ORIGINS_MAX", "branches" },
    { "operation ids that a session keeps", "STORAGE_OPERATIONS_KEPT", "commits" },
    { "the wait for locks of others", "STORAGE_WAIT_MS", "ms", "wait of ebb.session" },
  },
  { title = "windows",
    { "windows of a conversation, closed ones too", "WINDOW_COUNT_MAX", "windows" },
    { "the id of a window", "ebb.windows ID_MAX", "bytes" },
    { "actions of a window", "ebb.windows ACTIONS_MAX", "actions" },
    { "parameters of an action", "ebb.windows.parameters COUNT_MAX", "parameters" },
    { "lists in lists of a parameter", "ebb.windows.parameters NESTING_MAX", "levels" },
    { "a window's markup", "ebb.windows.view BYTES_MAX", "bytes" },
    { "one content function", "ebb.windows.view CALL_LIMIT", "instructions" },
    { "all content functions of a rendering", "ebb.windows.view PASS_LIMIT", "instructions" },
    { "the memory of a content function", "ebb.windows.view MEMORY_MAX", "bytes" },
    { "windows in windows", "ebb.windows.view NESTING_MAX", "levels" },
    { "tags in tags that are written", "ebb.windows.view DEPTH_MAX", "levels" },
    { "tables in a content", "ebb.windows.elements DEPTH_MAX", "levels" },
    { "nodes of a window", "ebb.windows.elements NODES_MAX", "nodes" },
    { "markup that is read", "ebb.windows.markup_read BYTES_MAX", "bytes" },
    { "tags in tags that are read", "ebb.windows.markup_read DEPTH_MAX", "levels" },
    { "attributes of a tag", "ebb.windows.markup_read ATTRIBUTES_MAX", "attributes" },
    { "actions of a window in markup", "ebb.windows.markup_read ACTIONS_MAX", "actions" },
    { "calls in one answer of a model", "ebb.windows.calls COUNT_MAX", "calls" },
    { "an answer that is searched for calls", "ebb.windows.calls TEXT_MAX", "bytes" },
    { "the memory of an action", "ebb.windows.act MEMORY_MAX", "bytes" },
    { "the answer of an action", "ebb.windows.act ANSWER_MAX", "bytes" },
    { "the name of a window and its action", "ebb.windows.act NAME_MAX", "bytes" },
    { "a line of the activity log", "ebb.windows.activity LINE_MAX", "bytes" },
    { "lines of the activity log", "ebb.windows.activity LINES_MAX", "lines" },
    { "events that follow from one", "ebb.windows.events FOLLOW_MAX", "events" },
  },
  { title = "images and vocabularies",
    { "an image, decoded", "IMAGE_BYTES_MAX", "bytes" },
    { "the sides of an image", "IMAGE_SIDE_MAX", "pixels" },
    { "a data URI, decoded", "DATA_URI_BYTES_MAX", "bytes" },
    { "a file that `vocab import` reads", "ebb.cli.commands.vocab BYTES_MAX", "bytes" },
    { "the image of a vocabulary", "VOCAB_IMAGE_BYTES_MAX", "bytes" },
    { "tokens of a vocabulary", "VOCAB_TOKENS_MAX", "tokens" },
    { "a token of a vocabulary", "VOCAB_TOKEN_BYTES_MAX", "bytes" },
    { "the name of a vocabulary", "VOCAB_NAME_MAX", "bytes" },
  },
  { title = "ebb repl",
    { "lines that are kept", "HISTORY_MAX", "lines" },
  },
}

--- The value of a row, from where it holds.
local function value_of(source, of_core)
  local module, path = source:match "^(%S+) (%S+)$"
  if not module then return assert(of_core[source] or host.limits[source], source) end
  local value = require(module)
  for field in path:gmatch "[^.]+" do
    value = value[field]
  end
  return assert(value, source)
end

---@class ebb.cli.Limit
---@field section string
---@field what string          is bounded
---@field source string        where the value is
---@field value number
---@field unit string
---@field raise? string        what raises it

---@return ebb.cli.Limit[]
function limits.list()
  local list, of_core = core.json.array {}, core.limits()
  for _, section in ipairs(limits.SECTIONS) do
    for _, row in ipairs(section) do
      list[#list + 1] = {
        section = section.title, what = row[1], source = row[2], value = value_of(row[2], of_core), unit = row[3],
        raise = row[4],
      }
    end
  end
  return list
end

local BYTE_UNITS = { { "GiB", 1 << 30 }, { "MiB", 1 << 20 }, { "KiB", 1 << 10 } }

--- "16 MiB", "256 levels": an amount as people write it.
local function amount_of(limit)
  if limit.unit == "bytes" then
    for _, unit in ipairs(BYTE_UNITS) do
      if limit.value >= unit[2] and limit.value % unit[2] == 0 then
        return ("%d %s"):format(limit.value // unit[2], unit[1])
      end
    end
  end
  local number = figures.grouped(limit.value)
  return limit.unit == "" and number or number .. " " .. limit.unit
end

--- The sections in their order, each with the rows of a table: what is bounded, the amount, what raises it.
---@return { title: string, rows: string[][] }[]
function limits.tables()
  local sections = {}
  for _, limit in ipairs(limits.list()) do
    local section = sections[#sections]
    if not section or section.title ~= limit.section then
      section = { title = limit.section, rows = {} }
      sections[#sections + 1] = section
    end
    section.rows[#section.rows + 1] = { limit.what, amount_of(limit), limit.raise or "" }
  end
  return sections
end

local COLUMNS = { { title = "limit", min = 24 }, { title = "", right = true }, { title = "raised by", wrap = true } }

local function as_text(page)
  local parts = {}
  for i, section in ipairs(limits.tables()) do
    parts[i] = section.title .. "\n" .. grid.render(COLUMNS, section.rows, page)
  end
  return table.concat(parts, "\n")
end

function limits.run(args)
  if not args.json then return terminal.result(as_text(terminal.results(args.output)), args.output) end
  terminal.result(json_text.format(limits.list()), args.output)
end

return limits
