--- Regex rules: what people write to rewrite texts before a model, or a reader,
-- sees them.
--
--     local set, problems = rules.compile { global = {...}, agent = {...}, user = {...} }
--     local report = set:apply(messages, { stage = "request", log = log })
--
-- Rules run one after the other, each on what the one before has made: by their
-- preset's priority, then by their own order, then by their place; global ones
-- before those of the agent, and those before the user's. All matching and
-- replacing is one call into the core per text.
--
-- A bad rule is a problem, and left out. A rule that takes too long on a message
-- leaves that message as it is; the log says so.

local core = require "ebb.support.core"
local refuse = require "ebb.support.refuse"
local rule_schema = require "ebb.rules.schema"
local schema = require "ebb.support.schema"
local sillytavern = require "ebb.rules.sillytavern"
local substitution = require "ebb.rules.substitution"

local rules = { parse = rule_schema.parse, from_sillytavern = sillytavern.rule }

local LEVELS = { "global", "agent", "user" }
local KINDS = rule_schema.KINDS
local TEXT_PARTS = { text = true, input_text = true, output_text = true }

local RuleSet = {}
RuleSet.__index = RuleSet

-- ---- compiling ----

--- Sorts in place; equal items keep their order.
local function stable_sort(list, keys_of)
  local place, keys = {}, {}
  for i, item in ipairs(list) do
    place[item], keys[item] = i, { keys_of(item) }
  end
  table.sort(list, function(a, b)
    for i, key in ipairs(keys[a]) do
      if key ~= keys[b][i] then return key < keys[b][i] end
    end
    return place[a] < place[b]
  end)
end

local function preset_title(preset, place)
  local id = type(preset) == "table" and (preset.name or preset.id)
  return type(id) == "string" and ("preset '%s'"):format(id) or ("preset %d"):format(place)
end

--- Adds the problem of a preset or its rule, whose path leads through the level's presets.
local function add_problem(problems, level, path, problem, preset, rule)
  local where = rule and ("%s, %s"):format(preset, rule) or preset
  for _, step in ipairs(problem.path or {}) do path[#path + 1] = step end
  problems[#problems + 1] = {
    rule = rule, preset = preset, message = ("%s: %s"):format(where, schema.say(problem)), level = level, path = path,
  }
end

--- Returns a complaint about the rule's pattern or flags; nil if they are valid, or if that shows
--- only with its macros expanded.
local function pattern_problem(rule)
  local bad = rule.flags:match "[^gimsuy]"
  if bad then return { path = { "flags" }, message = ("'%s' is none of gimsuy"):format(bad) } end
  local twice = rule.flags:match "(.).*%1"
  if twice then return { path = { "flags" }, message = ("'%s' occurs twice"):format(twice) } end
  if rule.mode ~= "NONE" and substitution.wanted(rule) then return nil end
  local _, problem = core.regex.check(rule.pattern, rule.flags)
  return problem and { path = { "regex" }, message = problem.message } or nil
end

local function read_rule(source)
  local is_script = sillytavern.is_script(source)
  if is_script then source = sillytavern.rule(source) end
  local rule, problem = rule_schema.rule(source)
  problem = problem or pattern_problem(rule)
  if not problem then return rule end
  if is_script then problem = { path = {}, message = schema.say(problem) } end   -- its members have other names
  return nil, problem
end

--- A path through the presets of a level, as its file has them.
local function path_of(level, ...)
  return level.presets and { "presets", ... } or { ... }
end

--- Adds the rules of one preset that can run. Compiling each takes time of the run.
local function read_rules(list, level, name, preset, problems, budget)
  local title = preset.title
  for place, source in ipairs(preset.rules) do
    local rule, problem = read_rule(source)
    if budget then budget:check(("%s, %s"):format(title, rule_schema.title(rule or source, place))) end
    if not rule then
      local path = path_of(level, preset.place, "rules", place)
      add_problem(problems, name, path, problem, title, rule_schema.title(source, place))
    elseif rule.enabled and preset.enabled then
      rule.title, rule.preset, rule.priority = rule_schema.title(rule, place), title, preset.priority
      list[#list + 1] = rule
    end
  end
end

--- Adds the rules of one level: of its presets by their order.
local function read_level(list, level, name, problems, budget)
  local presets = {}
  for place, source in ipairs(level.presets or level) do
    local title = preset_title(source, place)
    local preset, problem = rule_schema.preset(source)
    if preset then
      preset.title, preset.place = title, place
      presets[#presets + 1] = preset
    else
      add_problem(problems, name, path_of(level, place), problem, title)
    end
  end
  stable_sort(presets, function(preset) return preset.order end)
  for _, preset in ipairs(presets) do
    read_rules(list, level, name, preset, problems, budget)
  end
end

--- The set of all rules that can run.
---@param presets table      a list of presets; or { global =, agent =, user = } of such lists, or of { presets = list }
---@param budget? table         of the run (pipeline/run_budget.lua), whose limit of time raises
---@return ebb.RuleSet
---@return ebb.RuleProblem[] problems
function rules.compile(presets, budget)
  if type(presets) ~= "table" then
    refuse("argument", "rules: expected a list of presets, got " .. tostring(presets))
  end
  local list, problems = {}, {}
  if presets.global or presets.agent or presets.user then
    for _, level in ipairs(LEVELS) do
      read_level(list, presets[level] or {}, level, problems, budget)
    end
  else
    read_level(list, presets, nil, problems, budget)
  end
  stable_sort(list, function(rule) return rule.priority, rule.order end)
  return setmetatable({ list = list, made = {} }, RuleSet), problems
end

-- ---- the core's set for a stage ----

--- The rules of a stage as the core takes them; `key` tells whether an earlier set will do.
local function rules_for(list, stage, options)
  local chosen, key = {}, { stage }
  for _, rule in ipairs(list) do
    if rule[stage] and (rule.streaming or not options.streaming) then
      local pattern, replacement = rule.pattern, rule.replacement
      if options.expand and substitution.wanted(rule) then
        pattern, replacement = substitution.apply(rule, options.expand)
      end
      chosen[#chosen + 1] = { rule = rule, pattern = pattern, replacement = replacement }
      key[#key + 1] = pattern
      key[#key + 1] = replacement
    end
  end
  return chosen, table.concat(key, "\0")
end

--- A set of the core, and for each of its rules the one that it was made from. Raises at a limit of the run.
local function make_set(chosen, log, budget)
  local set, sources = core.regex.set(), {}
  for _, item in ipairs(chosen) do
    local rule = item.rule
    local index, result        -- the bytes of its expression, or what is wrong with it
    if item.pattern == "" then     -- it would match everywhere, which nobody meant
      result = { message = "nothing is left of it with its macros expanded" }
    else
      index, result = set:add {
        pattern = item.pattern, replacement = item.replacement, flags = rule.flags, trims = rule.trims,
        kinds = rule.kinds, depth_first = rule.depth_first, depth_last = rule.depth_last,
      }
    end
    if budget then budget:hold(index and result or 0, ("%s, %s"):format(rule.preset, rule.title)) end
    if index then sources[index] = rule
    else log("warn", ("%s, %s: regex: %s"):format(rule.preset, rule.title, result.message), { rule = rule.title }) end
  end
  return set, sources
end

function RuleSet:_set_for(options, log)
  local chosen, key = rules_for(self.list, options.stage or "request", options)
  local slot = (options.stage or "request") .. (options.streaming and " streaming" or "")
  local entry = self.made[slot]
  if not entry or entry.key ~= key then
    local set, sources = make_set(chosen, log, options.budget)
    entry = { key = key, set = set, sources = sources }
    self.made[slot] = entry
  end
  entry.set:begin()
  return entry.set, entry.sources
end

-- ---- applying ----

--- Notes and logs rules that hit a limit on a message, or an error of the message's text.
---@param failures table        of the rule set; or an error object
local function note_failures(run, message, failures)
  if core.is_error(failures) then        -- of the text, not of a rule
    run.failures[#run.failures + 1] = { message = message, reason = failures.message }
    run.log("warn", ("regex rules: message %d: %s; it is left as it is"):format(message, failures.message))
    return
  end
  for _, failure in ipairs(failures) do
    local rule = run.sources[failure.rule]
    run.failures[#run.failures + 1] = { rule = rule.title, message = message, reason = failure.reason }
    local more = failure.skipped_from_now and ", and so are all that follow: it failed too often" or ""
    run.log("warn", ("%s, %s: message %d: %s; the message is left as it is%s"):format(
      rule.preset, rule.title, message, failure.reason, more), { rule = rule.title, message = message })
  end
end

--- Notes what the rules made of a text and returns the new text, or nil if it stays. Raises at a limit of the run; the
--- error names the rule.
local function rewritten(run, index, text, result, failures, stopped)
  if stopped then
    local rule = run.sources[stopped]
    run.budget:refuse(failures, ("%s, %s, message %d"):format(rule.preset, rule.title, index))
  end
  if failures then note_failures(run, index, failures) end
  if result then run.growth = run.growth + math.max(0, #result - #text) end
  return result
end

--- Rewrites the text parts; true if any changed. A changed part is a new table, since
--- others may hold the old one.
local function apply_parts(run, index, parts, kind, depth)
  local changed = false
  for i, part in ipairs(parts) do
    if type(part) == "table" and TEXT_PARTS[part.type] and type(part.text) == "string" then
      local text = rewritten(run, index, part.text, run.set:apply(part.text, kind, depth))
      if text then
        local copy = {}
        for key, value in pairs(part) do
          copy[key] = value
        end
        copy.text = text
        parts[i], changed = copy, true
      end
    end
  end
  return changed
end

--- Goes on with the messages after position `i`, of which the first has a depth less than `depth`; `kinds`: by role.
---@return integer position     of the last one that was looked at
---@return integer depth        of that
---@return integer changed      messages
local function advance(run, messages, i, depth, kinds)
  local position, at, changed, growth, result, failures, stopped = run.set:sweep(messages, i + 1, depth, kinds)
  run.growth = run.growth + growth
  if result == nil and failures == nil then return position, at, changed end
  local message, is_changed = messages[position]
  if result == false then
    is_changed = apply_parts(run, position, message.content, kinds[message.role], at)
  else
    local text = rewritten(run, position, message.content, result, failures, stopped)
    if text then message.content = text end
    is_changed = text ~= nil
  end
  if is_changed then message.seq, changed = nil, changed + 1 end
  return position, at, changed
end

local function report_of(run, count)
  local report = {
    rules = #run.sources, messages = count, replacements = 0, counts = core.json.array {}, failures = run.failures,
  }
  for i, rule in ipairs(run.sources) do
    local messages, replacements, failures = run.set:count(i)
    report.replacements = report.replacements + replacements
    if messages + failures > 0 then
      report.counts[#report.counts + 1] =
        { rule = rule.title, messages = messages, replacements = replacements, failures = failures }
    end
  end
  return report
end

--- Counts the messages that have a depth: what windows read is no history.
local function spoken(messages)
  local count = 0
  for _, message in ipairs(messages) do
    if message.source ~= "window" then count = count + 1 end
  end
  return count
end

--- The kinds of text that the run may touch, as bits, by role.
local function allowed_kinds(roles)
  if not roles then return KINDS end
  local allowed, kinds = 0, {}
  for _, role in ipairs(roles) do
    if not KINDS[role] then refuse("role", ("rules: unknown role '%s'"):format(tostring(role))) end
    allowed = allowed | KINDS[role]
  end
  for role, kind in pairs(KINDS) do kinds[role] = kind & allowed end
  return kinds
end

local function no_log() end

local OPTIONS = { stage = true, streaming = true, roles = true, depth = true, expand = true, log = true, budget = true }

local function check_options(options)
  for name in pairs(options) do
    if not OPTIONS[name] then refuse("unknown_name", ("rules: unknown option '%s'"):format(tostring(name))) end
  end
  local stage = options.stage or "request"
  if stage ~= "request" and stage ~= "render" then
    refuse("argument", ("rules: stage is 'request' or 'render', not '%s'"):format(tostring(stage)))
  end
end

--- Rewrites messages in place. Windows are left alone. A message that changes is no
--- longer that of the store: it loses its `seq`.
---@param messages ebb.WorkingMessage[]
---@param options? { stage: "request"|"render"?, streaming: boolean?, roles: string[]?, depth: integer?,
---  expand: (fun(text: string): string)?, log: (fun(level: string, message: string, details: table?))?,
---  budget: ebb.RunBudget? }
---  `roles`: no others are touched; `depth`: of the last message, 0 unless given; `budget`: of the run
---  (pipeline/run_budget.lua), whose limits raise
---@return ebb.RuleReport
function RuleSet:apply(messages, options)
  options = options or {}
  check_options(options)
  local log = options.log or no_log
  local set, sources = self:_set_for(options, log)
  local run = { set = set, sources = sources, log = log, failures = core.json.array {}, growth = 0,
    budget = options.budget }
  if run.budget then set:limit(run.budget:microseconds(), run.budget:left()) end
  local kinds, changed = allowed_kinds(options.roles), 0
  if #sources == 0 then return report_of(run, 0) end
  local i, depth = 0, (options.depth or 0) + spoken(messages)
  while i < #messages do
    local some
    i, depth, some = advance(run, messages, i, depth, kinds)
    changed = changed + some
  end
  if run.budget then run.budget:add(run.growth, "the rules") end
  return report_of(run, changed)
end

-- ---- trying a rule ----

--- An error with the path of a value in a rule, for who knows the file.
local function problem_at(path, message)
  local problem = core.error("shape", message)
  problem.path = path
  return problem
end

--- Applies a rule to a text, by default its own `testInput`, whatever its roles,
--- depths, stages and whether it is enabled.
---@param rule table         as it is in a file
---@param options? { input: string?, expand: (fun(text: string): string)? }
---@return string? output
---@return integer|ebb.Error replacements   with nil the error: "shape" for a rule that is wrong, "limit" for one that
---                          took too long, "absent" without a text
function rules.test(rule, options)
  options = options or {}
  local read, problem = read_rule(rule)
  if not read then return nil, problem_at(problem.path, schema.say(problem)) end
  local input = options.input or read.test_input
  if not input then return nil, core.error("absent", "testInput: the rule has none, and no input is given") end
  local pattern, replacement = read.pattern, read.replacement
  if options.expand then pattern, replacement = substitution.apply(read, options.expand) end
  local set = core.regex.set()
  local index, refusal = set:add {
    pattern = pattern, replacement = replacement, flags = read.flags, trims = read.trims,
  }
  if not index then return nil, problem_at({ "regex" }, "regex: " .. refusal.message) end
  local text, failures = set:apply(input, 1, 0)
  if core.is_error(failures) then return nil, failures end
  if failures then return nil, core.error("limit", failures[1].reason) end
  return text or input, (select(2, set:count(1)))
end

rules.methods = RuleSet   -- for prompts and tests

return rules
