--- --record and --replay-model of `ebb run` and `ebb trim`: what models were asked and what they answered, a JSON
--- object in each line.
--
--     {"dialect": "openai", "request": {...}, "response": {...}}
--
-- A response that is not one line of JSON is a string. A replay of a run answers the same requests in the same order,
-- and nothing else: a run that asks otherwise than the recorded one ends. Policies of a trim are answered by request,
-- for a replay of conversations plays them in any order.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local settings = require "ebb.request.settings"

local recording = {}

recording.BYTES_MAX = 256 * 1024 * 1024   -- of a file

--- A request with its keys in one order, on one line.
local function canonical(body) return core.json.encode((core.json.decode(body))) end

local function embedded(text)
  local is_object = text:find "^{" and not text:find "[\r\n]" and core.json.decode(text) ~= nil
  return is_object and text or core.json.encode(text)
end

local writers = {}      -- by path: a command that runs again goes on with its file

--- A function that adds to a new file.
---@param path string
---@return fun(body: string, dialect: string, response: string)
function recording.writer(path)
  if writers[path] then return writers[path] end
  if core.file_identity(path) then
    failure.usage(("--record: %s is there already"):format(path), "a recording is not replaced: name another file")
  end
  local file, why = io.open(path, "wb")
  if not file then failure.raise(failure.IO, "--record: " .. why) end
  host.close_on_exec(file)
  writers[path] = function(body, dialect, response)
    local line = ('{"dialect":%s,"request":%s,"response":%s}\n'):format(core.json.encode(dialect), canonical(body),
      embedded(response))
    local ok, broken = file:write(line)
    if ok then ok, broken = file:flush() end
    if not ok then failure.raise(failure.IO, ("--record: %s: %s"):format(path, broken)) end
  end
  return writers[path]
end

local function entry_of(path, number, line)
  local value, problem = core.json.decode(line)
  if problem or type(value) ~= "table" or value.response == nil or type(value.request) ~= "table" then
    failure.raise(failure.REFUSED, ("%s:%d: expected an object with request and response"):format(path, number),
      "`ebb run --record FILE` writes such files")
  end
  local response = settings.members(line).response
  if response:sub(1, 1) == '"' then response = core.json.decode(response) end
  return { request = core.json.encode(value.request), response = response, line = number }
end

--- The first byte in which two texts differ, with what is there.
local function difference(before, now)
  local at = 1
  while at <= #before and before:byte(at) == now:byte(at) do at = at + 1 end
  local from = math.max(1, at - 30)
  local function part(text) return core.utf8(text:sub(from, from + 60)) end
  return ("...%s... was asked then, ...%s... now"):format(part(before), part(now))
end

local function entries_of(path)
  local text = failure.check(core.read_file(path, recording.BYTES_MAX))
  local entries, number = {}, 0
  for line in text:gmatch "([^\n]*)\n?" do
    number = number + 1
    if line:find "%S" then entries[#entries + 1] = entry_of(path, number, line) end
  end
  return entries
end

--- A function that answers requests from a file, in any order. Of several answers to one request each is given once,
--- and the last one from then on.
---@param path string
---@return fun(body: string): string?, string?
function recording.answers(path)
  local by_request, counts = {}, {}
  for _, entry in ipairs(entries_of(path)) do
    local list = by_request[entry.request] or {}
    by_request[entry.request], list[#list + 1] = list, entry.response
  end
  return function(body)
    local request = canonical(body)
    local list = by_request[request]
    if not list then return nil, ("--replay-model: %s has no answer to this request"):format(path) end
    counts[request] = math.min((counts[request] or 0) + 1, #list)
    return list[counts[request]]
  end
end

--- A function that answers from a file.
---@param path string
---@return fun(body: string): string?, ebb.Error?
function recording.reader(path)
  local entries = entries_of(path)
  local place = 0
  return function(body)
    place = place + 1
    local entry, request = entries[place], canonical(body)
    if not entry then
      return nil, core.error("model", ("%s has %d answers, and the run asks once more"):format(path, #entries))
    end
    if entry.request ~= request then
      return nil, core.error("model", ("%s:%d: another request: %s"):format(path, entry.line,
        difference(entry.request, request)), "record the run again")
    end
    return entry.response
  end
end

return recording
