--- Turns a provider's response (status, head and body) into an answer or a problem.

local core = require "ebb.support.core"
local events = require "ebb.provider.events"
local schema = require "ebb.support.schema"

local answers = {}

---@class ebb.ProviderAnswer
---@field messages string      a JSON list, in the dialect's own form
---@field roles? any[]         of the messages, where the server names them; "" where it should and does not
---@field stop? string         why it ended, in the provider's words
---@field usage { input: integer?, output: integer?, cached: integer? }
---@field body string          the whole response, for a recording
---@field cut? boolean         it ended at a limit

---@class ebb.ProviderProblem
---@field message string
---@field again boolean        asking again may help
---@field after? number        seconds, as the provider says

local SHOWN = 200   -- bytes of a body that an error shows

--- The begin of a text, without the key of the request: a server may have echoed it.
local function excerpt(form, text)
  if form.mask then text = form.mask(text) end
  local line = core.utf8(text:sub(1, SHOWN)):gsub("%s+", " "):match "^ ?(.-) ?$"
  return #text > SHOWN and line .. "..." or line
end

--- The fields of a head by name, in lower case.
---@param head string
---@return table<string, string>
function answers.fields(head)
  local fields = {}
  for name, value in head:gmatch "([%w-]+):[ \t]*([^\r\n]*)" do
    fields[name:lower()] = value
  end
  return fields
end

--- The words of a provider's error; nil if a body has none.
local function error_of(body)
  if type(body) == "table" and type(body[1]) == "table" then body = body[1] end   -- Gemini's streams begin a list
  local problem = type(body) == "table" and body.error
  if type(problem) == "string" then return problem end
  if type(problem) ~= "table" or type(problem.message) ~= "string" then return nil end
  local kind = problem.type or problem.status or problem.code
  return type(kind) == "string" and ("%s: %s"):format(kind, problem.message) or problem.message
end

local AGAIN = { [408] = true, [409] = true, [425] = true, [429] = true }

--- Seconds until the provider wants to be asked again.
local function wait_of(fields, now)
  local milliseconds = tonumber(fields["retry-after-ms"])
  if milliseconds then return math.max(0, milliseconds / 1000) end
  local word = fields["retry-after"]
  if not word then return nil end
  if tonumber(word) then return math.max(0, tonumber(word)) end
  local day, month, year, hour, minute, second = word:match "(%d+) (%a+) (%d+) (%d+):(%d+):(%d+)"
  local place = month and ("JanFebMarAprMayJunJulAugSepOctNovDec"):find(month, 1, true)
  if not place then return nil end
  local days = answers.days(tonumber(year), (place + 2) // 3, tonumber(day))
  return math.max(0, ((days * 24 + hour) * 60 + minute) * 60 + second - now)
end

--- Days from 1970-01-01 to a date of the Gregorian calendar.
---@param year integer
---@param month integer
---@param day integer
---@return integer
function answers.days(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  return 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719469
end

--- Makes the problem of a failed status: its text, whether to try again, and after how many seconds.
---@return ebb.ProviderProblem
local function refusal(form, status, fields, text, now)
  local body = core.json.decode(text)
  local words = error_of(body) or excerpt(form, text)
  local again = AGAIN[status] or status >= 500
  return { message = ("HTTP %d%s"):format(status, words ~= "" and ": " .. words or ""), again = again or false,
    after = again and wait_of(fields, now) or nil }
end

local function problem(message, again) return nil, { message = message, again = again or false } end

local function unusable(why) return problem("the answer cannot be used: " .. why) end

--- Returns why the messages of an answer are not the model's; nil if all are. Every trim keeps a system message, so a
--- server that sends one would stay for good.
local function other_role(form, answer)
  for _, role in ipairs(answer.roles or {}) do
    if role == "" then return "its message has no role" end
    if role ~= form.role then
      return ("its message has the role %s, not '%s'"):format(schema.describe(role), form.role)
    end
  end
end

--- Reads a whole response body.
---@param form table           of a dialect; `mask` takes the key out of a text that an error shows
---@param text string
---@return ebb.ProviderAnswer?
---@return ebb.ProviderProblem?
function answers.read(form, text)
  local body, why = core.json.decode(text)
  if why then return problem(("the answer is not JSON (%s): %s"):format(why.message, excerpt(form, text)), true) end
  if type(body) ~= "table" then return problem("the answer is not a JSON object: " .. excerpt(form, text)) end
  local failed = error_of(body)
  if failed then return problem("the provider answered an error: " .. failed) end
  local answer, lack = form.read(text, body)
  local other = answer and other_role(form, answer)
  if other then answer, lack = nil, other end
  if not answer then return unusable(("%s: %s"):format(lack, excerpt(form, text))) end
  if type(answer.stop) ~= "string" then answer.stop = nil end
  answer.body, answer.cut = text, form.cut[answer.stop or ""] or nil
  return answer
end

---- Streams ----

---@class ebb.ProviderListener   Hears an answer while it comes
---@field hear fun(status: integer, head: string, bytes: string)
---@field close fun(): ebb.ProviderAnswer?, ebb.ProviderProblem?
---@field streams boolean       the answer is a stream of events

--- A listener for a streamed answer; an answer that is no stream after all is read whole.
---@param form table
---@param show fun(text: string)   gets the text as it comes
---@return ebb.ProviderListener
function answers.listen(form, show)
  local reader, stream, failed = events.new(), form.stream(), nil
  local listener = { streams = false }
  local function on_event(data)
    if data == "[DONE]" or failed then return end
    local event, why = core.json.decode(data)
    if why or type(event) ~= "table" then
      failed = { message = "an event of the stream is not JSON: " .. excerpt(form, data), again = true }
      return
    end
    local said = error_of(event) or form.failure and error_of { error = form.failure(event) }
    if said then
      failed = { message = "the provider ended the stream: " .. said, again = true }
      return
    end
    local ok, text, wrong = pcall(stream.event, event)
    if not ok then wrong = "an event has another form than expected" end
    if wrong then
      failed = { message = ("the answer cannot be used: %s: %s"):format(wrong, excerpt(form, data)), again = false }
      return
    end
    if type(text) == "string" and text ~= "" then show(text) end
  end
  function listener.hear(status, head, bytes)
    if status ~= 200 or failed then return end
    listener.streams = (answers.fields(head)["content-type"] or ""):find "^text/event%-stream" ~= nil
    if listener.streams and not reader:feed(bytes, on_event) then
      failed = { message = "an event of the stream is longer than 16 MiB", again = false }
    end
  end
  function listener.close()
    reader:close(on_event)
    if failed then return nil, failed end
    local body = stream.body()
    if not body then return problem("the stream was cut: the answer has no end", true) end
    local ok, text = pcall(core.json.encode, body)
    if not ok then return unusable "its events do not fit together" end
    return answers.read(form, text)
  end
  return listener
end

--- Reads the response to a request.
---@param form table
---@param response { status: integer, head: string, body: string }
---@param listener? ebb.ProviderListener
---@param now integer          seconds since 1970
---@return ebb.ProviderAnswer?
---@return ebb.ProviderProblem?
function answers.of(form, response, listener, now)
  local fields = answers.fields(response.head)
  if response.status >= 300 and response.status < 400 then
    return problem(("HTTP %d: the address has moved to %s"):format(response.status, fields.location or "another"))
  end
  if response.status ~= 200 then return nil, refusal(form, response.status, fields, response.body, now) end
  if listener and listener.streams then return listener.close() end
  local kind = fields["content-type"] or "application/json"
  if not kind:find "json" then
    return problem(("the answer is %s, not JSON: %s"):format(kind, excerpt(form, response.body)))
  end
  return answers.read(form, response.body)
end

return answers
