--- Options of commands that expand macros: who speaks, and what the macros of time and chance read.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local files = require "ebb.pipeline.files"
local options = require "ebb.cli.io.options"
local script_file = require "ebb.sandbox.script_file"

local macro_options = {}

local function instant(word)
  local ms = word:find "^%d+$" and math.tointeger(tonumber(word))
  if ms then return ms end
  return nil, ("--now: expected ms since 1970, got '%s'"):format(word)
end

--- Declares the files that name speakers.
---@param parser table
function macro_options.declare_speakers(parser)
  parser:option("--agent", "The agent: presets, rules, settings; JSON or Lua."):argname("<file>")
  parser:option("--model-config", "The model: its name, abilities, settings; JSON or Lua."):argname("<file>")
  parser:option("--user-profile", "The user: name, description; JSON or Lua."):argname("<file>")
end

--- Declares what macros read, and your own.
---@param parser table
function macro_options.declare(parser)
  options.macros(parser)
  parser:option("--now", "The time for macros, in ms since 1970; default: the clock."):argname("<ms>"):convert(instant)
  parser:option("--seed", "Seed for random macros; default: derived from the conversation."):argname("<n>")
    :convert(options.integer "--seed")
end

--- The offset of local time from UTC, in minutes.
---@return integer
function macro_options.zone()
  local sign, hours, minutes = os.date "%z":match "^([+-])(%d%d)(%d%d)$"
  if not sign then return 0 end
  return (sign == "-" and -1 or 1) * (hours * 60 + minutes)
end

--- Refuses files of an agent, a model or a user that cannot be read, as bad input.
---@param args table
function macro_options.check_readable(args)
  for _, path in ipairs { args.agent or false, args.model_config or false, args.user_profile or false } do
    if path and script_file.is_path(path) then failure.check(core.read_file(path, files.BYTES_MAX)) end
  end
end

--- Adds these options to those of a pipeline or of chat:input.
---@param values table
---@param args table          the parsed command line
---@param loading ebb.Loading
---@return table values
function macro_options.add(values, args, loading)
  values.agent, values.model_config, values.user_profile = args.agent, args.model_config, args.user_profile
  values.model, values.macros = args.model, options.macro_registry(args, loading)
  values.now, values.zone, values.seed = args.now, macro_options.zone(), args.seed
  values.limits, values.trusted = loading.limits, loading.trusted or nil
  return values
end

return macro_options
