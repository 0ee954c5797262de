--- One trim under way: policies that edit a draft, one after the other, or one
--- from within another. The same for those in sandboxes (sandboxed_run.lua) and outside.
--
-- A policy from a file or text runs in the sandbox that it came from: the draft is
-- lent to it, and what it remembers crosses there and back.

local core = require "ebb.support.core"
local memory = require "ebb.trim.memory"
local policies = require "ebb.trim.policies"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"
local loader = require "ebb.sandbox.loader"

local run = {}

loader.provide "trim"
loader.provide "policies"

---@class ebb.Run              Found by its draft, for draft:run and draft:summarize
---@field draft ebb.Draft
---@field budget integer       in the draft's weights
---@field memories table<string, table>   by policy name
---@field model? fun(request: table): any, string?
---@field loading? ebb.Loading
---@field no_answer? string    why the model gave none that could be used, the last time
---@field is_part? boolean     of a request that has other messages, too
---@field answered? fun(why: string?)     within a sandbox: tells the program so
---@field rules? fun(options: table|string?, input: ebb.Dialect): table, string   within a sandbox: asks the program,
---    which knows models

---@type table<ebb.Draft, ebb.Run>
local runs = setmetatable({}, { __mode = "k" })

---@param record ebb.Run
function run.open(record)
  runs[record.draft] = record
  return record
end

--- Ends a run: its draft finds it no more. A script that keeps drafts and what they remembered could build a long
--- chain of weak keys of them otherwise.
---@param record ebb.Run
function run.close(record)
  runs[record.draft] = nil
end

--- Puts the draft in the hands of a policy; the value gives it back when closed,
--- also when the policy raises and another one catches that.
local function hand_over(record, name)
  local draft = record.draft
  local outer_name, outer_memory = core.draft.by(draft, name), draft.memory
  record.memories[name] = record.memories[name] or {}
  draft.memory = record.memories[name]
  return setmetatable({}, { __close = function()
    record.memories[name] = draft.memory   -- the policy may have put another table there
    draft.memory = outer_memory
    core.draft.by(draft, outer_name)
  end })
end

--- Returns the functions and values of a run that a policy in a sandbox may use.
local function host_of(record)
  return {
    model = record.model,
    answered = function(why) record.no_answer = why end,
    recall = function(name) return record.memories[name] end,
    rules = function(options, input) return run.rules(record.draft, options, input) end,
  }
end

--- The names of the options that a policy declares; nil where it declares none, and may be given any.
local function declared(step)
  return step.policy.options and tables.keys(step.policy.options) or step.declared
end

--- Makes reads of options that the policy does not declare raise, as slips of the pen are.
local function strict_options(options, names)
  return names and tables.strict(options, "an options table", names) or options
end

local function run_sandboxed(record, step)
  local policy, draft = step.policy, record.draft
  loader.begin(policy.trim, record.loading and record.loading.limits, #draft)
  local text, names = loader.use(policy.trim, "ebb.trim.sandboxed_run", "trim", draft, policy.name, record.budget,
    step.options, host_of(record), declared(step))
  local memories = memory.tables(text)
  for _, name in ipairs(names) do
    record.memories[name] = memories[name] or {}
  end
  draft.memory = record.memories[policy.name]
end

---@param record ebb.Run
---@param step ebb.PolicyStep
---@return true
function run.step(record, step)
  local _ <close> = hand_over(record, step.policy.name)
  if loader.holds(step.policy.trim) then run_sandboxed(record, step)
  else step.policy.trim(record.draft, record.budget, strict_options(step.options, declared(step))) end
  return true
end

--- The first one always runs, later ones only while the draft is over budget.
---@param record ebb.Run
---@param steps ebb.PolicyStep[]
---@param run_one fun(record: ebb.Run, step: ebb.PolicyStep): true?, ebb.Error?
---@return true?
---@return ebb.Error? problem
function run.steps(record, steps, run_one)
  for i, step in ipairs(steps) do
    if i == 1 or record.draft:tokens() > record.budget then
      local ok, problem = run_one(record, step)
      if not ok then return nil, problem end
    end
  end
  return true
end

--- The rules by which a draft is checked.
---@param draft ebb.Draft
---@param options? string|ebb.CheckOptions
---@param input ebb.Dialect    the draft's own form
---@return table rules
---@return string profile
function run.rules(draft, options, input)
  local record = runs[draft]
  if record and record.rules then return record.rules(options, input) end
  return require("ebb.models.violations").rules_for(draft, options, input)
end

--- draft:run(policy, options): hands on to another policy, within the same trim.
---@param draft ebb.Draft
---@param policy string|function|table
---@param options? table
function run.hand_on(draft, policy, options)
  local record = runs[draft]
  if not record then refuse("closed", "run works inside a trim only") end
  if policy == nil then refuse("argument", "run needs a policy", 'draft:run("keep_recent")') end
  run.steps(record, policies.resolve(policy, options, record.loading), run.step)
end

--- draft:summarize(first, last, options): one message that replaces several.
---@param draft ebb.Draft
---@param first integer|ebb.Message
---@param last integer|ebb.Message
---@param options? ebb.Summarize
---@return integer? tokens    freed
---@return ebb.Error? problem
function run.summarize(draft, first, last, options)
  local record = runs[draft]
  if not record then refuse("closed", "summarize works inside a trim only") end
  local freed, problem = require("ebb.trim.summary").run(draft, first, last, options, record.model)
  record.no_answer = problem and problem.code == "model" and problem.message or nil
  if record.answered then record.answered(record.no_answer) end
  return freed, problem
end

return run
