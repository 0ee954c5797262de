--- Builds the host of `ebb run`'s workflows: HTTP, programs, processes, recordings, and the terminal.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local options = require "ebb.cli.io.options"
local places = require "ebb.cli.io.places"
local service_commands = require "ebb.cli.host.service_commands"
local terminal = require "ebb.cli.view.terminal"
local usage_reports = require "ebb.models.usage_reports"

local run_host = {}

function run_host.declare(parser)
  options.group(parser, "Models", function()
    parser:option("--model-command", "Shell command that answers model nodes: the request on its standard input, a "
      .. "text or a response on its standard output."):argname("<command>")
    parser:option("--base-url", "Address of the model's server; default: EBB_BASE_URL, or the provider's own variable.")
      :argname("<url>")
    parser:flag("--stream", "Show answers on standard error as they come; on a terminal they are shown anyway.")
    places.writes(parser:option("--record", "Write requests and answers of model nodes to a new file.")
      :argname("<file>"))
    parser:option("--replay-model", "Answer model nodes from such a file."):argname("<file>")
  end)
  service_commands.declare(parser)
end

local function check(args)
  if args.record and args.replay_model then
    failure.usage("--record and --replay-model do not go together", "a replay asks no model")
  end
  if args.base_url and not args.base_url:find "^https?://[^%s/]" then
    failure.usage(("--base-url: expected http:// or https://, got '%s'"):format(args.base_url))
  end
end

--- Writes the text of an answer as it comes.
local function show(text)
  terminal.progress(nil)
  io.stderr:write((core.printable(core.utf8(text), "\n\t")))
end

--- Runs a function for several numbers, each in a process of its own; their texts in order.
local function together(count, run)
  local texts, failed = {}, nil
  io.stdout:flush()
  io.stderr:flush()
  host.workers(count, run, function(number, succeeded, text)
    texts[number] = text
    if not succeeded then failed = failed or text end
  end)
  if failed then return nil, core.error("script", failed) end
  return texts
end

--- Returns how the host runs the command of a tool, or a server: with the variables that it may have, and its standard
--- error through ours.
local function apart(wanted)
  return wanted and { variables = wanted.variables, hear = terminal.listener() } or nil
end

local function converse(command, input, seconds, wanted)
  return host.converse(command, input, seconds, apart(wanted))
end

local function dialogue(command, wanted) return host.dialogue(command, apart(wanted)) end

--- Keeps what a provider counted, so that later runs keep smaller margins for its model.
local function reported(chat, ratio)
  local model = chat:model()
  if model then usage_reports.add(chat, model, ratio) end
end

--- The host of one run.
---@param args table
---@return ebb.WorkflowHost
function run_host.new(args)
  check(args)
  local recording = (args.record or args.replay_model) and require "ebb.cli.host.recording"
  local shows = args.stream or terminal.talks_to_person and not args.quiet
  return {
    http = host.http, sleep = host.sleep, converse = converse, dialogue = dialogue, together = together,
    reported = reported, say = terminal.say, show = shows and show or false,
    services = service_commands.host(args), model_command = args.model_command, base_url = args.base_url,
    record = args.record and recording.writer(args.record) or nil,
    replay = args.replay_model and recording.reader(args.replay_model) or nil,
  }
end

return run_host
