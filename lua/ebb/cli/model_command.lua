--- --model-command: a model behind a shell command. The command reads the request as JSON on
--- standard input; its answer is a text, a JSON object {"text": ...}, or the
--- response body of a provider.

local core = require "ebb.support.core"
local host = require "ebb.host"
local options = require "ebb.cli.options"

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
  end)
end

--- The function that chat:trim takes as `model`, or nil if no command is given.
---@param args table       the parsed command line
---@return (fun(request: ebb.ModelRequest): (string|table)?, string?)?
function model_command.reader(args)
  if not args.model_command then return nil end
  return function(request)
    local output, why = host.converse(args.model_command, core.json.encode(request) .. "\n", args.model_timeout
      or model_command.SECONDS)
    if not output then return nil, ("--model-command: %s"):format(why) end
    local answer = output:find "^%s*{" and core.json.decode(output)
    return answer or output
  end
end

return model_command
