--- Providers: a conversation goes out as a request, and the answer comes back as messages.
--
--     chat --request.write--> body --http--> answer --convert--> messages of the conversation's own form
--                                     \
--                                      429, 500, cut, slow: asked again, later each time
--
-- The host moves the bytes: the command sends them through libcurl, a recording answers them itself.

local answers = require "ebb.provider.answer"
local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local repair = require "ebb.models.repair"
local request = require "ebb.request"
local tables = require "ebb.support.tables"
local target = require "ebb.models.target"

local provider = {}

---@type table<ebb.Dialect, table>
local FORMS = {
  openai = require "ebb.provider.openai", responses = require "ebb.provider.responses",
  anthropic = require "ebb.provider.anthropic", gemini = require "ebb.provider.gemini",
}

provider.RETRIES, provider.BACK_OFF, provider.WAIT_MAX = 4, 1, 120   -- times; seconds at first; seconds at most
provider.SECONDS, provider.IDLE_SECONDS = 600, 120                  -- of a whole answer; without a byte

---@class ebb.ProviderSettings
---@field model? string        default: the conversation's
---@field dialect? ebb.Dialect
---@field profile? string
---@field base_url? string     default: the environment's, or the provider's own
---@field key_env? string      name of the variable of the environment that has the key
---@field tools? ebb.RequestTool[]     nil: the conversation's own
---@field max_tokens? integer
---@field temperature? number
---@field choice? string       "auto", "none", "required", or a tool's name
---@field members? table<string, any>   of the body, written as they are
---@field timeout? number      seconds
---@field idle? number
---@field retries? integer
---@field back_off? number

---@class ebb.ProviderHost
---@field http fun(request: table, hear?: function): integer|nil, string, string
---@field sleep fun(seconds: number)
---@field say? fun(line: string)        of what is asked again
---@field show? fun(text: string)       the text of a stream as it comes; nil: answers come whole

--- Returns the module that speaks a dialect.
---@param dialect ebb.Dialect
---@return table
function provider.form(dialect) return FORMS[dialect] end

---- Where to ----

--- The first of these variables that is set, and its name.
local function environment(names)
  for _, name in ipairs(names) do
    local value = os.getenv(name)
    if value and value ~= "" then return value, name end
  end
end

---@class ebb.Endpoint
---@field dialect ebb.Dialect
---@field form table
---@field model string
---@field profile string
---@field base string
---@field key? string

--- Chooses the endpoint of a conversation's request; returns nil and an error if the model or the key is missing.
---@param chat ebb.Conversation
---@param wants ebb.ProviderSettings
---@return ebb.Endpoint?
---@return ebb.Error? problem
function provider.endpoint(chat, wants)
  local model = wants.model or chat:model()
  if not model then
    return nil, core.error("model", "which model answers is not known: the conversation names none",
      'model = "gpt-4o" in the node, or --model')
  end
  local base_url = wants.base_url or environment { "EBB_BASE_URL" }
  local goal = target.of { to = wants.dialect, model = model, profile = wants.profile, base_url = base_url,
    input = chat:dialect() }
  local form = FORMS[goal.dialect]
  local base = (base_url or environment(form.base_names) or form.base):gsub("/+$", "")
  local names = wants.key_env and { wants.key_env } or { "EBB_API_KEY", table.unpack(form.key_names) }
  local key = environment(names)
  if key and key:find "%c" then
    return nil, core.error("model", ("the key in %s has a control character"):format(select(2, environment(names))))
  end
  if not key and (wants.key_env or base == form.base) then
    return nil, core.error("model", ("%s asks for a key, and %s is not set"):format(base, table.concat(names, " or ")),
      ("export %s=..."):format(names[#names > 1 and 2 or 1]))
  end
  return { dialect = goal.dialect, form = form, model = model, profile = goal.profile, base = base, key = key }
end

---- The body ----

local CHOICES = { auto = "auto", none = "none", required = "required" }

local READING = { max_message = math.maxinteger, max_file = math.maxinteger }

--- Returns the body as its provider takes it; the repairs for that; and the violations that are left.
local function mended(chat, body, endpoint)
  local options = tables.copy(READING)
  options.role_map = (core.state(chat).options or {}).role_map
  local copy, problem = core.parse(body, options)
  if not copy then refuse(problem.code, "the request: " .. problem.message, problem.hint) end
  local request_copy, report = repair.outgoing(copy,
    { dialect = endpoint.dialect, profile = endpoint.profile, model = endpoint.model })
  return report and report.ledger and request_copy:json() or body, report
end

--- The body of a request to an endpoint, mended where the provider would refuse it.
---@param chat ebb.Conversation
---@param wants ebb.ProviderSettings
---@param endpoint { dialect: ebb.Dialect, model: string, profile: string, form: table }
---@param is_stream boolean
---@return string body
---@return ebb.Loss[] losses
---@return ebb.RepairReport? report    nil: nothing was refused
function provider.body(chat, wants, endpoint, is_stream)
  local text, losses = request.write(chat, endpoint.dialect, { shape = "body", model = endpoint.model,
    profile = endpoint.profile })
  local fields, form, dropped = {}, endpoint.form, {}
  for name, value in pairs(wants.members or {}) do fields[name] = core.json.encode(value) end
  for name, value in pairs(form.stream_members) do
    if is_stream then fields[name] = value else dropped[#dropped + 1] = name end
  end
  if form.model_in_path then dropped[#dropped + 1] = "model" end
  local mends = request.refuses_schemas(endpoint.profile)
  local changes
  text, changes = request.set(text, endpoint.dialect, {
    tools = wants.tools, mends_schemas = mends, max_tokens = wants.max_tokens and core.json.encode(wants.max_tokens),
    temperature = wants.temperature and core.json.encode(wants.temperature),
    choice = wants.choice and (CHOICES[wants.choice] or { name = wants.choice }),
  }, fields, dropped)
  table.move(changes, 1, #changes, #losses + 1, losses)
  local body, report = mended(chat, text, endpoint)
  return body, losses, report
end

---- Asking ----

--- A function that takes the endpoint's key out of a text: a server may echo it.
local function masker(endpoint)
  local key = endpoint.key
  if not key or key == "" then return function(text) return text end end
  local pattern = key:gsub("%p", "%%%0")
  return function(text) return (text:gsub(pattern, "[key]")) end
end

--- A number of seconds for people.
local function figure(seconds) return (seconds < 1e15 and "%.0f" or "%.3g"):format(math.ceil(seconds)) end

--- Seconds before the next attempt; nil if asking again is of no use.
local function wait_before(problem, attempt, wants)
  if not problem.again or attempt > (wants.retries or provider.RETRIES) then return nil end
  local usual = (wants.back_off or provider.BACK_OFF) * 2 ^ (attempt - 1)
  local seconds = problem.after or usual * (0.75 + 0.5 * math.random())
  if seconds > provider.WAIT_MAX then return nil end
  return seconds
end

local KINDS = { timeout = "no answer in time", cut = "the connection broke", connect = "no connection",
  limit = "too much", absent = "no way to ask" }

--- Sends a body once.
---@return ebb.ProviderAnswer?
---@return ebb.ProviderProblem?
local function ask_once(endpoint, wants, body, host, mask)
  local form, is_stream = setmetatable({ mask = mask }, { __index = endpoint.form }), host.show and true or false
  local listener = is_stream and answers.listen(form, host.show) or nil
  local headers = form.headers(endpoint.key)
  headers[#headers + 1] = "Content-Type: application/json"
  headers[#headers + 1] = "Accept: " .. (is_stream and "text/event-stream, application/json" or "application/json")
  local status, head, text = host.http({
    url = endpoint.base .. form.path(endpoint.model, is_stream, endpoint.base), headers = headers, body = body,
    seconds = wants.timeout or provider.SECONDS, idle_seconds = wants.idle or provider.IDLE_SECONDS,
  }, listener and listener.hear)
  if not status then
    local kind = text
    return nil, { message = ("%s: %s"):format(KINDS[kind] or kind, head), again = kind ~= "limit" and kind ~= "absent" }
  end
  return answers.of(form, { status = status, head = head, body = text }, listener, core.now() // 1000)
end

--- The address of an endpoint, without the user's name and password.
local function address_of(endpoint) return (endpoint.base:gsub("://[^/]*@", "://")) end

--- Sends a body until it is answered, or asking again is of no use.
---@param endpoint ebb.Endpoint
---@param wants ebb.ProviderSettings
---@param body string
---@param host ebb.ProviderHost
---@return ebb.ProviderAnswer?
---@return ebb.Error? problem    code: "model"
function provider.ask(endpoint, wants, body, host)
  local attempt, mask = 0, masker(endpoint)
  while true do
    attempt = attempt + 1
    local answer, problem = ask_once(endpoint, wants, body, host, mask)
    if answer then return answer end
    problem.message = mask(problem.message)
    local seconds = wait_before(problem, attempt, wants)
    if not seconds then
      local tries = attempt > 1 and (" (asked %d times)"):format(attempt) or ""
      local late = problem.after and problem.after > provider.WAIT_MAX
        and ("; it wants to be asked again in %s seconds"):format(figure(problem.after)) or ""
      return nil, core.error("model", ("%s: %s%s%s"):format(address_of(endpoint), problem.message, late, tries))
    end
    if host.say then host.say(("%s; asked again in %.1f seconds"):format(problem.message, seconds)) end
    host.sleep(seconds)
  end
end

---- What comes back ----

--- Appends an answer's messages, in the conversation's own form.
---@param chat ebb.Conversation
---@param answer ebb.ProviderAnswer
---@param dialect ebb.Dialect      of the answer
---@return integer count           messages that were appended
function provider.append(chat, answer, dialect)
  local before, form = #chat, chat:dialect()
  local list = answer.messages
  if list == "[]" then return 0 end
  if dialect ~= form then
    local parsed = assert(core.parse(('{"%s":%s}'):format(request.list_name(dialect), list), {}))
    list = request.write(parsed, form, { shape = "array" })
  end
  chat:append(core.json.raw(list))
  return #chat - before
end

return provider
