--- Shell commands that answer what processors ask the host: transcripts, files of attachments, and other services.
--
-- A command reads the request as JSON on standard input:
--
--     transcribe   {kind, mime, name, id, sha256, prompt, data = a data URI}     answers a text, or {"text": ..}
--     asset        {id, name, mime, path, url}                                   answers the file's bytes, or
--                                                                                {"data": a data URI, mime, name}
--     others       what their processor says                                     answer JSON, or a text
--
-- One that fails has no answer; the log says why. Transcripts can be kept in a folder, by what was transcribed.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local options = require "ebb.cli.io.options"

local service_commands = {}

service_commands.SECONDS = 120
service_commands.TRANSCRIPT_MAX = 16 * 1024 * 1024   -- bytes

local function seconds(word)
  local number = tonumber(word)
  if number and number > 0 and number <= 86400 then return number end
  return nil, ("--service-timeout: expected seconds up to 86400, got '%s'"):format(word)
end

local function pair(word)
  local name, line = word:match "^([%a_][%w_]*)=(.+)$"
  if name then return { name = name, line = line } end
  return nil, ("--service: expected name=command, got '%s'"):format(word)
end

---@param parser table
function service_commands.declare(parser)
  options.group(parser, "Commands for what processors ask", function()
    parser:option("--transcribe-command", "Shell command that transcribes audio, video and images: the request with "
      .. "the file on its standard input, the text on its standard output."):argname("<command>")
    parser:option("--asset-command", "Shell command that answers attachments known by id or address: the request on "
      .. "its standard input, the file on its standard output."):argname("<command>")
    parser:option("--service", "Shell command for another service of processors, such as retrieve=./search.sh. "
      .. "Repeatable."):argname("<name=command>"):count("*"):convert(pair):target("services")
    parser:option("--transcripts", "Keep transcripts in this folder, by what was transcribed."):argname("<folder>")
    parser:option("--service-timeout", ("Time limit for an answer in seconds (default %d).")
      :format(service_commands.SECONDS)):argname("<seconds>"):convert(seconds)
  end)
end

--- A command's answer to a request; nil and why not.
local function ask(line, request, limit)
  return host.converse(line, core.json.encode(request) .. "\n", limit)
end

local ANSWERS = {}

function ANSWERS.transcribe(output)
  local value = output:find "^%s*{" and core.json.decode(output)
  return type(value) == "table" and type(value.text) == "string" and value.text or (output:gsub("%s+$", ""))
end

function ANSWERS.asset(output)
  local value = output:find '^%s*{%s*"' and core.json.decode(output)
  return type(value) == "table" and type(value.data) == "string" and value or { bytes = output }
end

local function other(output)
  local value = core.json.decode(output)
  if value ~= nil then return value end
  return (output:gsub("%s+$", ""))
end

--- Keeps texts in files that have the checksums of their keys as names.
local function cache_in(folder)
  return function(request)
    local path = ("%s/%s.txt"):format(folder, core.sha256(request.get or request.set))
    if request.get then return core.file_identity(path) and core.read_file(path, service_commands.TRANSCRIPT_MAX) end
    failure.check(core.write_file(path, request.text))
  end
end

--- Returns the functions that answer services by the command line's programs; nil if it names none.
---@param args table
---@return table<string, fun(request: table): any, string?>?
function service_commands.host(args)
  local lines, services = { transcribe = args.transcribe_command, asset = args.asset_command }, {}
  for _, service in ipairs(args.services) do
    if lines[service.name] or service.name == "cache" then
      failure.usage(("--service: '%s' is named twice, or has an option of its own"):format(service.name))
    end
    lines[service.name] = service.line
  end
  for name, line in pairs(lines) do
    local read = ANSWERS[name] or other
    services[name] = function(request)
      local output, why = ask(line, request, args.service_timeout or service_commands.SECONDS)
      if not output then return nil, ("the command for '%s': %s"):format(name, why) end
      return read(output)
    end
  end
  if args.transcripts then
    failure.check(host.make_folder(args.transcripts))
    services.cache = cache_in(args.transcripts)
  end
  return next(services) and services or nil
end

return service_commands
