--- For libebb: chats written as texts, checked for a provider, and mended for it.

local core = require "ebb.support.core"
local emit = require "ebb.libebb.emit"
local json_arguments = require "ebb.support.json_arguments"
local refuse = require "ebb.support.refuse"
local repair = require "ebb.models.repair"

local documents = {}

local json = core.json

local WRITE = { shape = { type = "choice", choices = { "array", "jsonl" } }, ["repair"] = { type = "boolean" } }
for name, field in pairs(repair.OPTIONS) do
  WRITE[name] = field
end

local function read_write(text)
  local options = json_arguments.options(text, WRITE, "a writing")
  for _, name in ipairs { "dialect", "calls", "codes" } do
    if options[name] ~= nil and not options["repair"] then
      refuse("argument", ("a writing: %s is for a repair"):format(name), '"repair": true')
    end
  end
  return options
end

local function repair_options(options)
  return { dialect = options.dialect, calls = options.calls, codes = options.codes }
end

--- `api.write_document` writes the list.
function documents.writer(with_hints, api, chat, text)
  local options = read_write(text)
  return with_hints(function()
    local list = options["repair"] and chat:repaired(repair_options(options)) or chat
    local windows = core.window.count(list) > 0
    local texts = windows and require("ebb.windows.render").written(list) or nil
    api.write_document(list, texts, options.shape)
  end)
end

---@param violation ebb.Violation
---@return string
local function violation_of(violation)
  return json.encode {
    code = violation.code, index = violation.index and violation.index - 1, seq = violation.seq,
    text = violation.text, hint = violation.hint, mendable = violation.mendable, severity = violation.severity,
    servers = violation.servers, models = violation.models, source = violation.source,
  }
end

function documents.checker(with_hints, api, chat, dialect)
  return with_hints(function()
    local violations, checked_dialect = chat:check(dialect)
    api.write(('{"dialect":%s,"violations":'):format(json.encode(checked_dialect)))
    emit.list(api.write, violations, violation_of)
    api.write "}"
  end)
end

local REQUEST = { model = { type = "string" }, profile = { type = "string" }, keep_extra = { type = "boolean" } }

---@param loss ebb.Loss
---@return string
local function loss_of(loss)
  return json.encode {
    code = loss.code, text = loss.text, subject = loss.subject, changed = loss.changed or false,
    index = loss.index and loss.index - 1,
  }
end

--- `api.write_body` takes the body, `api.write` the report.
function documents.request_writer(with_hints, api, chat, dialect, text)
  local options = json_arguments.options(text, REQUEST, "a request")
  return with_hints(function()
    local request, targets = require "ebb.request", require "ebb.models.target"      -- loaded by the first use
    local goal = targets.of_list(chat, { dialect = dialect, profile = options.profile, model = options.model })
    local body, losses = request.write(chat, goal.dialect, {
      shape = "body", model = options.model, profile = options.profile, keep_extra = options.keep_extra,
    })
    api.write_body(body)
    api.write(('{"dialect":%s,"losses":'):format(json.encode(goal.dialect)))
    emit.list(api.write, losses, loss_of)
    api.write "}"
  end)
end

--- The copy is `target`'s from then on.
function documents.repairer(with_hints, api, chat, text, target)
  local options = json_arguments.options(text, repair.OPTIONS, "a repair")
  return with_hints(function()
    local copy, report = chat:repaired(options)
    api.write(('{"dialect":%s,"mended":%d,"ledger":'):format(json.encode(report.dialect), report.mended))
    emit.list(api.write, report.ledger or {}, json.encode)
    api.write ',"lost":'
    emit.list(api.write, report.lost, loss_of)
    api.write ',"left":'
    emit.list(api.write, report.left, violation_of)
    api.write "}"
    api.keep_conversation(copy, target)
  end)
end

return documents
