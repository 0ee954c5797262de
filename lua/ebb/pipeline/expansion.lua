--- Macros of a run: one environment, made from whatever the run is made for.
--
-- Processors expand through the context. Variables that they set live in the
-- environment until the run is done: its result says what they have become, and the
-- conversation keeps them (variables.lua).

local macros = require "ebb.macros"
local own_macros = require "ebb.pipeline.own_macros"
local suggest = require "ebb.support.suggest"
local tool_texts = require "ebb.pipeline.tool_texts"

local expansion = {}

---@class ebb.Expansion
---@field environment ebb.MacroEnvironment
---@field budget ebb.RunBudget
---@field loading? ebb.Loading
---@field registry? ebb.MacroRegistry         of the pipeline, its sandboxes unused
---@field reported table<string, boolean>     unknown names that have been logged
---@field literal table<string, boolean>      names in braces that escapes keep
---@field volatile { text: string, names: string[] }[]   texts that are others in each request
local Expansion = {}
Expansion.__index = Expansion

--- The instant of the user's last message that tells one.
local function last_instant(chat)
  for i = #chat, 1, -1 do
    local at = chat[i].role == "user" and chat[i].timestamp
    if at then return at end
  end
end

--- Facts of the visible history, for {{lastMessage}} and its like.
local function history_of(chat)
  return function(kind)
    if kind == "id" then return #chat > 0 and tostring(#chat - 1) or nil end
    if kind == "instant" then return last_instant(chat) end
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
  local tools = tool_texts.of(function() return fields.run.tools() end)
  return {
    tools = tools.tools, tool_usage = tools.tool_usage, tool_context = fields.session.tool_context,
    user = user.name, persona = user.description, char = agent.nickname or agent.name, agent = agent.name,
    description = agent.description, personality = agent.personality, scenario = agent.scenario,
    agent_version = agent.version, mes_examples = agent.mes_examples, creator_notes = agent.creator_notes,
    char_prompt = agent.char_prompt, char_instruction = agent.char_instruction,
    model = abilities.model, model_id = abilities.model, model_name = abilities.model_name,
    provider = abilities.provider,
    profile_id = abilities.profile, profile_name = abilities.profile, input = fields.input,
  }
end

---@param fields table    the fields of the context, and chat, variables, seed, zone, input; `run` has `tools` once it
---                         is prepared
---@param registry? ebb.MacroRegistry   nil: the built-in macros
---@param budget ebb.RunBudget
---@param loading? ebb.Loading          how macros of the user's folder are run
---@return ebb.Expansion
function expansion.new(fields, registry, budget, loading)
  local environment = macros.environment {
    values = values_of(fields), variables = fields.variables, now = fields.timestamp, zone = fields.zone,
    seed = fields.seed, virtual_time = fields.agent_config.virtual_time,
    error_text = fields.agent_config.macro_errors,
    session_id = fields.session.id, history = history_of(fields.chat),
    registry = own_macros.fresh(registry, loading),
  }
  environment.check = function(name) budget:check(("macro {{%s}}"):format(name)) end
  environment.hold = function(bytes) budget:add(bytes, "the macro variables") end
  return setmetatable({ environment = environment, registry = registry, budget = budget, loading = loading,
    reported = {}, literal = {}, volatile = {} }, Expansion)
end

--- A fork for previews: its variables and reports stay in it.
---@return ebb.Expansion
function Expansion:fork()
  local environment = self.environment:fork()
  environment.registry = own_macros.fresh(self.registry, self.loading) or environment.registry
  environment.check = self.environment.check
  return setmetatable({ environment = environment, registry = self.registry, budget = self.budget,
    loading = self.loading, reported = {}, literal = {}, volatile = {} }, Expansion)
end

--- True the first time that a name is asked for: each is reported once in a run.
---@param name string       in any case
---@return boolean
function Expansion:is_first(name)
  name = name:lower()
  if self.reported[name] then return false end
  self.reported[name] = true
  return true
end

--- A problem of a macro that was found: "{{roll::x}}: not dice: expected NdM, such as 2d6; it stays".
local function line_of(problem, error_text)
  if not problem.source then return problem.message end
  local stays = problem.level == "error" and not error_text and "; it stays" or ""
  return ("%s: %s%s"):format(problem.source, problem.message, stays)
end

--- Logs the entries of a report. `where` names the text that was expanded.
local function tell(self, context, report, where)
  where = where and where .. ": " or ""
  for name in pairs(report.literal) do self.literal[name] = true end
  for _, each in ipairs(report.unknown) do
    if self:is_first(each.name) then
      local near = suggest.nearest(each.name, self.environment.registry:names())
      context:log("warn", ("%sunknown macro {{%s}} stays as it is%s"):format(where, each.name,
        near and (": did you mean '%s'?"):format(near) or ""))
    end
  end
  for _, problem in ipairs(report.errors) do
    context:log("warn", where .. line_of(problem, self.environment.error_text))
    if problem.name and problem.level == "error" then self:is_first(problem.name) end
  end
end

---@param context ebb.Context
---@param text string
---@param options? { values?: table }
---@param where? string        what the text is, for the log
---@return string
function Expansion:expand(context, text, options, where)
  if not text:find("{{", 1, true) then return text end
  local _ <close> = self.budget:enter()
  self.budget.place = where
  local expanded, report = macros.expand(text, self.environment, options)
  self.budget:add(math.max(0, #expanded - #text), "the macros")
  self.budget.place = nil
  tell(self, context, report, where)
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
