--- Rewrites the texts of the history by the rules of the agent, of the user and of
--- this processor's own configuration (the global ones).

local core = require "ebb.support.core"
local json_file = require "ebb.support.json_file"
local refuse = require "ebb.support.refuse"
local rules = require "ebb.rules"

local PLACED = 20         -- problems whose place is looked for: each takes a walk through the file

--- Returns "name:line:byte: " for a fault in the rules of a JSON file; "" for others.
local function place_of(context, problem)
  local source = context.run.sources[problem.level]
  if not source or not source.text then return "" end
  return json_file.where(source, { source.rules_member, table.unpack(problem.path) }) .. ": "
end

--- Logs failures of rules: they do not fail the request.
local function log_problems(context, problems)
  for i, problem in ipairs(problems) do
    local what = problem.rule and "rule" or "preset of rules"
    local place = i <= PLACED and place_of(context, problem) or ""
    local message = ("%s%s; the %s is left out"):format(place, problem.message, what)
    context:log("warn", message, problem)
  end
end

--- The global rules: a list of presets, or its JSON as it comes from a command line.
local function global_rules(value)
  if type(value) ~= "string" then return value or {} end
  local list, problem = core.json.decode(value)
  if type(list) == "table" then return list end
  refuse("argument", "regex-processor.rules: expected a list of presets: " .. (problem and problem.message or value))
end

local rewriting = {}

--- Rewrites messages by the rules of a stage.
---@param context ebb.Context
---@param config table          of the processor
---@param messages ebb.WorkingMessage[]
---@param options { stage: "request"|"render", streaming?: boolean }
---@return ebb.RuleReport
function rewriting.apply(context, config, messages, options)
  local user = context.user_profile
  local set, problems = rules.compile({
    global = global_rules(config.rules), agent = context.agent_config.rules or {}, user = user and user.rules or {},
  }, context.run.budget)
  log_problems(context, problems)
  return set:apply(messages, {
    stage = options.stage, streaming = options.streaming,
    expand = function(text) return context:expand(text) end,
    log = function(level, message, details) context:log(level, message, details) end,
    budget = context.run.budget,
  })
end

---@type ebb.Processor
rewriting.processor = {
  id = "regex-processor",
  name = "Regex processor",
  description = "applies regex rules to the texts of the history",
  priority = 200,
  is_core = true,
  config_fields = {
    { key = "rules", type = "text", label = "Global rules", placeholder = "JSON: a list of presets" },
  },

  execute = function(context, config)
    local report = rewriting.apply(context, config, context.messages, { stage = "request" })
    local words = report.rules == 0 and "no rules for requests"
      or ("rules: %d; replacements: %d, in messages: %d"):format(report.rules, report.replacements, report.messages)
    context:log("info", words, report)
  end,
}

return rewriting
