--- Macros of a run: one environment, made from whatever the run is made for.
--
-- Processors expand through the context. Variables that they set live in the
-- environment, never in the session: the result of a run says what they have become,
-- and the keeper of sessions stores them.

local core = require "ebb.support.core"
local macros = require "ebb.macros"
local own_macros = require "ebb.pipeline.own_macros"

local expansion = {}

---@class ebb.Expansion
---@field environment ebb.MacroEnvironment
---@field registry? ebb.MacroRegistry         of the pipeline, its sandboxes unused
---@field reported table<string, boolean>     unknown names that have been logged
---@field volatile { text: string, names: string[] }[]   texts that are others in each request
local Expansion = {}
Expansion.__index = Expansion

--- Texts of the visible history, for {{lastMessage}} and its like.
local function history_of(chat)
  return function(kind)
    local role = kind ~= "last" and kind or nil
    for i = #chat, 1, -1 do
      local message = chat[i]
      if (message.role == "user" or message.role == "assistant") and (not role or message.role == role) then
        return message.text
      end
    end
  end
end

local function values_of(fields)
  local agent, user, abilities = fields.agent_config, fields.user_profile or {}, fields.capabilities
  return {
    user = user.name, persona = user.description, char = agent.name, agent = agent.name,
    description = agent.description, personality = agent.personality, scenario = agent.scenario,
    agent_version = agent.version, model = abilities.model, model_id = abilities.model,
    model_name = abilities.model_name, provider = abilities.provider,
    profile_id = abilities.profile, profile_name = abilities.profile, input = fields.input,
  }
end

---@param fields table    the fields of the context, and chat, variables, seed, zone, input
---@param registry? ebb.MacroRegistry   nil: the built-in macros
---@return ebb.Expansion
function expansion.new(fields, registry)
  local environment = macros.environment {
    values = values_of(fields), variables = fields.variables, now = fields.timestamp, zone = fields.zone,
    seed = fields.seed,
    session_id = fields.session.id, history = history_of(fields.chat),
    registry = own_macros.fresh(registry),
  }
  return setmetatable({ environment = environment, registry = registry, reported = {}, volatile = {} }, Expansion)
end

--- A fork for previews: its variables and reports stay in it.
---@return ebb.Expansion
function Expansion:fork()
  local environment = self.environment:fork()
  environment.registry = own_macros.fresh(self.registry) or environment.registry
  return setmetatable({ environment = environment, registry = self.registry, reported = {}, volatile = {} }, Expansion)
end

local function tell(self, context, report)
  for _, each in ipairs(report.unknown) do
    if not self.reported[each.name] then
      self.reported[each.name] = true
      context:log("warn", ("unknown macro {{%s}} stays as it is"):format(each.name))
    end
  end
  for _, problem in ipairs(report.errors) do
    local message = type(problem) == "table" and (problem.message or core.json.encode(problem)) or problem
    context:log("warn", tostring(message))
  end
end

---@param context ebb.Context
---@param text string
---@param options? { values?: table }
---@return string
function Expansion:expand(context, text, options)
  if not text:find("{{", 1, true) then return text end
  local expanded, report = macros.expand(text, self.environment, options)
  tell(self, context, report)
  if report.volatile[1] and expanded:find "%S" then
    self.volatile[#self.volatile + 1] = { text = expanded, names = report.volatile }
  end
  return expanded
end

--- The variables as they are now.
---@return { local: table, global: table }
function Expansion:variables()
  return self.environment.variables
end

return expansion
