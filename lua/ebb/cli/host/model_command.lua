--- --model-command: a shell command as the model. The command reads the request as JSON on
--- standard input; its answer is a text, a JSON object {"text": ...}, or the
--- response body of a provider. --record keeps both, --replay-model answers from that.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local options = require "ebb.cli.io.options"
local places = require "ebb.cli.io.places"
local recording = require "ebb.cli.host.recording"

local model_command = {}

model_command.SECONDS = 120

local function seconds(word)
  local number = tonumber(word)
  if number and number > 0 and number <= 86400 then return number end
  return nil, ("--model-timeout: expected seconds up to 86400, got '%s'"):format(word)
end

function model_command.declare(parser)
  options.group(parser, "A model for policies that ask one", function()
    parser:option("--model-command", "Shell command that answers requests of policies: JSON in, text or JSON out.")
      :argname("<command>")
    local help = "Time limit for an answer in seconds (default %d)."
    parser:option("--model-timeout", help:format(model_command.SECONDS)):argname("<seconds>"):convert(seconds)
    places.writes(parser:option("--record", "Write these requests and answers to a new file."):argname("<file>"))
    parser:option("--replay-model", "Answer the same requests from such a file; no command is run.")
      :argname("<file>")
  end)
end

local function check(args)
  if args.record and args.replay_model then
    failure.usage("--record and --replay-model do not go together", "a replay asks no model")
  end
  if args.record and not args.model_command then
    failure.usage("--record keeps what --model-command answers, and there is none", "name the command, too")
  end
end

--- An answer as policies read it: a text, or an object.
local function read_answer(output) return output:find "^%s*{" and core.json.decode(output) or output end

--- The function that chat:trim takes as `model`, or nil if neither a command nor a recording is named. One for all
--- requests of a run: --record begins a new file.
---@param args table       the parsed command line
---@return (fun(request: ebb.ModelRequest): (string|table)?, string?)?
function model_command.reader(args)
  check(args)
  local recorded = args.replay_model and recording.answers(args.replay_model)
  local record = args.record and recording.writer(args.record)
  if not recorded and not args.model_command then return nil end
  return function(request)
    local body = core.json.encode(request)
    local output, why
    if recorded then
      output, why = recorded(body)
      if not output then return nil, why end
    else
      output, why = host.converse(args.model_command, body .. "\n", args.model_timeout or model_command.SECONDS)
      if not output then return nil, ("--model-command: %s"):format(why) end
      if record then record(body, "policy", output) end
    end
    return read_answer(output)
  end
end

return model_command
