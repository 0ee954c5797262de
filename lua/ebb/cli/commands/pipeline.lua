--- ebb pipeline: builds a request body from a conversation and an agent.

local core = require "ebb.support.core"
local edits = require "ebb.cli.io.edits"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local json_text = require "ebb.cli.view.json_text"
local lorebooks = require "ebb.cli.io.lorebooks"
local macro_options = require "ebb.cli.io.macro_options"
local options = require "ebb.cli.io.options"
local plugins = require "ebb.pipeline.plugins"
local service_commands = require "ebb.cli.host.service_commands"
local sessions = require "ebb.cli.io.sessions"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local command = {}

function command.declare(parser)
  options.input(parser)
  macro_options.declare_speakers(parser)
  parser:option("--lorebook", "A lorebook besides the agent's: Ebb's form, or one that ebb import reads. Repeatable.")
    :argname("<file>"):count("*"):target("lorebooks")
  parser:option("--asset-root", "The folder of attachments; default: the agent's assetRoot, below its file's folder.")
    :argname("<folder>")
  parser:option("--to --dialect", "The dialect of the body: openai, responses, anthropic or gemini; default: the "
    .. "model's."):argname("<dialect>")
  parser:flag("--keep-extra", "Keep members of messages that requests do not have, such as id and timestamp.")
  parser:option("--set", "A setting of one processor: id.key=value. Repeatable."):argname("<setting>"):count("*")
  parser:option("--budget", "Tokens of the whole request: --set token-limiter.budget=<tokens>."):argname("<tokens>")
    :convert(options.tokens "--budget")
  parser:option("--processor --plugin", "Your own processor: a Lua file, or a folder of them. Repeatable.")
    :argname("<file>"):count("*"):target("plugins")
  macro_options.declare(parser)
  parser:option("--on-error", "If a processor fails: stop (default), or skip it."):choices { "stop", "skip" }
    :argname("<way>")
  parser:flag("--display", "Write the messages as a reader is shown them, with the rules of stage render; no request.")
  edits.declare(parser, {
    explain = "Show on standard error what became of each message of the history, and why.",
    dry_run = "Write no request, only what it would be.",
    ledger = "Write what the token limiter did to the history to this file, as JSON.",
    json = ": of --preview and --show-config as their result; else of what the token limiter did, with --dry-run on "
      .. "standard output, else on standard error",
  })
  parser:flag("--preview", "Show the messages of the request and their sources; write no request.")
  parser:flag("--show-config", "Show the merged settings, and where each came from.")
  parser:flag("--trace", "Show on standard error what each processor changed, 200 messages at most.")
  service_commands.declare(parser)
  options.sandbox(parser)
  options.output(parser, true)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb pipeline chat.json --agent agent.json --model gpt-4o -o request.json",
    "ebb pipeline chat.json --agent agent.json --preview",
    "ebb pipeline chat.json --agent agent.json \\\n    --set token-limiter.budget=8000 --show-config",
  })
end

local function set_of(args)
  local set = table.move(args.set, 1, #args.set, 1, {})
  if args.budget then set[#set + 1] = ("token-limiter.budget=%d"):format(args.budget) end
  return set
end

--- Errors in plugins and settings are errors of the command line; all others are those of files.
local function pipeline_of(args)
  macro_options.check_readable(args)
  local loaded, loading = {}, options.loading(args)
  for _, path in ipairs(args.plugins) do
    for _, processor in ipairs(failure.typed(plugins.load, path, loading, plugins.PROCESSOR)) do
      loaded[#loaded + 1] = processor
    end
  end
  local set, trusted = set_of(args), loading.trusted or nil
  failure.typed(ebb.pipeline, { processors = loaded, set = set, limits = loading.limits, trusted = trusted })
  return ebb.pipeline(macro_options.add({
    to = args.to, keep_extra = args.keep_extra, encoding = args.encoding, processors = loaded,
    lorebooks = lorebooks.read(args.lorebooks), asset_root = args.asset_root, set = set, on_error = args.on_error,
    role_map = options.of_conversation(args).role_map, max_message = args.max_message, max_file = args.max_file,
    host = service_commands.host(args),
  }, args, loading))
end

--- Writes warnings and errors of the log, a line each; under --quiet errors only. The error that ended the run comes
--- from the caller.
---@param logs? ebb.LogEntry[]
---@param why? string      the message that ended the run
local function tell(logs, why)
  for i, entry in ipairs(logs or {}) do
    local is_end = why and i == #logs and why:find(entry.message, 1, true)
    if entry.level ~= "info" and not is_end and not (terminal.quiet and entry.level == "warn") then
      terminal.say(("%s: %s: %s"):format(entry.processor, entry.level, entry.message))
    end
  end
end

--- Returns the token limiter's trim as data.
local function data_of(result)
  local trimmed = result.trimmed or { before = result.tokens, dropped = 0 }
  return {
    before = trimmed.before, after = result.tokens, budget = result.budget, trust = result.trust,
    dropped = trimmed.dropped, ledger = result.ledger,
  }
end

local function summary(args, messages, result)
  local dropped = result.trimmed and result.trimmed.dropped or 0
  local budget = result.budget and (", budget %d"):format(result.budget) or ""
  return ("%s, %d dropped; a request of %s%s (%s)%s"):format(text.count(messages, "message"),
    dropped, text.count(result.tokens, "token"), budget, result.trust, args.dry_run and "" or options.target(args))
end

--- Writes the preview, whose JSON is not that of a report.
local function write_preview(args, result)
  local preview = require "ebb.cli.view.preview"
  local shown = args.json and preview.json(result) or preview.table(result, terminal.results(args.output))
  edits.write({ ledger = args.ledger, output = args.output }, function() return data_of(result) end,
    function() terminal.result(shown, args.output) end)
end

--- Writes the request, without making one text of it.
local function write_request(chat, output)
  terminal.conclude(output, function(path, unchanged) return chat:save(path, { unchanged = unchanged }) end)
end

---@param messages integer   of the conversation
local function write(args, messages, result)
  if args.preview then return write_preview(args, result) end
  if args.dry_run and not args.json then
    terminal.say(summary(args, messages, result))
  elseif not args.json then
    terminal.inform(summary(args, messages, result))
  end
  edits.write(args, function() return data_of(result) end, function() write_request(result.chat, args.output) end)
end

--- Writes the messages as a reader is shown them, without what the pipeline adds.
local function display(args, pipeline, chat)
  local messages, logs = pipeline:display(chat)
  local list = core.json.array {}
  for i, message in ipairs(messages) do
    list[i] = { role = message.role, content = message.content, name = message.name, id = message.id,
      tool_calls = message.tool_calls, tool_call_id = message.tool_call_id, timestamp = message.timestamp }
  end
  tell(logs)
  terminal.result(json_text.format(list), args.output)
end

--- Refuses options that ask for two results.
local function check_results(args)
  if args.display and (args.preview or args.show_config or args.explain or args.ledger) then
    failure.usage("--display does not go with --preview, --show-config, --explain or --ledger", "take one of them")
  end
  if args.dry_run and (args.display or args.preview or args.show_config) then
    failure.usage("--dry-run does not go with --display, --preview and --show-config", "these write no request")
  end
  edits.check(args)
end

function command.run(args)
  check_results(args)
  local pipeline = pipeline_of(args)
  if args.show_config then
    return terminal.result(require("ebb.cli.commands.processors").config(pipeline, args), args.output)
  end
  local chat = options.load(args.file, args)
  options.tell_stand_in(chat, args)
  if args.display then return display(args, pipeline, chat) end
  local before = args.explain and require("ebb.cli.view.explain").before(chat, true) or nil
  local on_step = args.trace and require("ebb.cli.view.trace").new() or nil
  local result, problem, partial = pipeline:run(chat, { preview = args.preview or args.dry_run, on_step = on_step })
  tell((result or partial or {}).logs, problem and problem.message)
  failure.check(result, problem)
  if before then require("ebb.cli.view.explain").show(before, { result.ledger }, chat) end
  local messages = #chat
  if not args.preview and not args.dry_run then sessions.save_beside(args) end   -- before any output
  write(args, messages, result)
end

return command
