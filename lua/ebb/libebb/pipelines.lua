--- For libebb: pipelines of agents in JSON, and what they make of chats.
--
-- The host answers what processors ask (`transcribe`, `asset`, `retrieve`): by a function that it
-- registered under that name; in a task also by an event. All runs within the host's limits.

local composition = require "ebb.pipeline.composition"
local core = require "ebb.support.core"
local ebb = require "ebb"
local emit = require "ebb.libebb.emit"
local functions = require "ebb.libebb.functions"
local json_arguments = require "ebb.support.json_arguments"
local pipeline = require "ebb.pipeline"
local targets = require "ebb.models.target"

local pipelines = {}

local json = core.json

local OPTIONS, RUN = {}, {}
for _, name in ipairs { "model", "encoding", "to", "keep_extra", "set", "on_error", "zone", "reads" } do
  OPTIONS[name] = pipeline.OPTIONS[name]
end
OPTIONS.model_config, OPTIONS.user_profile = { type = "table" }, { type = "table" }
for _, name in ipairs { "preview", "session", "now", "seed" } do
  RUN[name] = pipeline.RUN[name]
end

--- The host's answer by an event; in a call that does not wait, nil and why.
local function ask(service, request)
  local ok, answer = pcall(_G.request, { type = service, request = request })
  if ok then return answer end
  return nil, core.is_error(answer) and answer.message or type(answer) == "table" and answer.message or tostring(answer)
end

--- The functions of the host, by service.
local host = setmetatable({}, { __index = function(_, service)
  return functions.find(service) or function(request) return ask(service, request) end
end })

--- Checks the agent and its settings; `keep_pipeline` gives the handle its value.
---@param agent string         JSON; "": no agent
---@param text string          options
function pipelines.pipeline_opener(with_hints, api, agent, text, target)
  local options = json_arguments.options(text, OPTIONS, "a pipeline")
  if not agent:find "^%s*{" then json_arguments.object(agent, "agent") end   -- no name of a file
  options.agent = agent ~= "" and agent or nil
  options.host, options.trusted = host, true   -- what runs, runs within the host's limits
  if options.to then targets.of { to = options.to } end
  if options.encoding then ebb.conversation { encoding = options.encoding } end   -- raises what a run would
  return with_hints(function() api.keep_pipeline(pipeline.new(options), target) end)
end

local function write_report(api, result)
  local data = composition.data(result)
  api.write(('{"summary":%s'):format(json.encode(data.summary)))
  for _, name in ipairs { "parts", "ledger", "logs" } do
    api.write((',"%s":'):format(name))
    emit.list(api.write, data[name], json.encode)
  end
  api.write "}"
end

local function run(self, chat, options)
  local result, problem = self:run(chat, options)
  if not result then error(problem, 0) end
  return result
end

--- `api.write_body` takes the body, `api.write` the report.
function pipelines.pipeline_runner(with_hints, api, chat, text, self)
  local options = json_arguments.options(text, RUN, "a run")
  return with_hints(function()
    local result = run(self, chat, options)
    api.write_body(result.body)
    write_report(api, result)
  end)
end

--- The event of a task: {"request": the body, "report": {..}}.
function pipelines.task_pipeline(with_hints, _, chat, text, self)
  local options = json_arguments.options(text, RUN, "a run")
  return with_hints(function()
    local result, pieces = run(self, chat, options), {}
    write_report({ write = function(piece) pieces[#pieces + 1] = piece end }, result)
    return ('{"request":%s,"report":%s}'):format(result.body:match "^(.-)%s*$", table.concat(pieces))
  end)
end

return pipelines
