--- The tree of a text, evaluated: one walk from left to right, each occurrence
-- evaluated, arguments before the macro that takes them, values never read again.
--
-- Three levels of state, from the longest-lived:
--
--     environment   variables and draws; outlives the expansion
--     budget        remaining limits of one expansion, nested ones included
--     run           one text: its registry, its report
--
-- Whatever stops an expansion (a limit, an error of the host's) takes back the
-- variables it has set: either all of a text is expanded or nothing of it.

local environments = require "ebb.macros.environment"
local messages = require "ebb.macros.messages"
local parse = require "ebb.macros.parse"
local registry = require "ebb.macros.registry"
local texts = require "ebb.macros.text"
local traceback = require "ebb.support.traceback"

local evaluate = {}

--- Limits of one expansion.
evaluate.LIMITS = {
  -- The text that comes out, and any argument: no model reads more than 2 million tokens, which are about this.
  output = 8 * 1024 * 1024,
  -- All that is built on the way, so that doubling a variable 10,000 times ends; half a second of copying at most.
  work = 64 * 1024 * 1024,
  -- Macros evaluated: a template of 1 MB that consists of nothing else has about as many; half a second.
  evaluations = 100000,
  -- Macros that expand texts of their own within such a macro: each level is one of C's, of which Lua has 200.
  levels = 16,
  -- Entries in each list of a report; the rest is only counted.
  entries = 100,
}
local LIMITS = evaluate.LIMITS

local CHECK_BYTES = 65536   -- that are built between two looks at the time of a run: some 0.1 ms
local MACRO_BYTES = 1024    -- that a macro counts for
local TOKEN_BYTES = 160     -- that a token counts for, which is read: it takes as many in the tree

--- Raised at a limit, with the text for the report.
local Stop = {}

--- Raises at a limit. The budget keeps the error and raises it again at the next macro, so that none can swallow it.
local function stop(run, what)
  local budget = run.environment.budget
  budget.stopped = budget.stopped or setmetatable({ what = what }, Stop)
  error(budget.stopped, 0)
end

local function is_stop(problem)
  return getmetatable(problem) == Stop
end

-- ---- Buffers: a text in the making ----

local function new_buffer()
  return { size = 0, eat = false }
end

local function charge(run, bytes)
  local budget = run.environment.budget
  budget.work = budget.work - bytes
  budget.unchecked = budget.unchecked + bytes
  if budget.work < 0 then stop(run, ("more than %d bytes were built"):format(LIMITS.work)) end
end

local function add(run, buffer, text)
  if buffer.eat then
    text = texts.strip_left(text)
    if text == "" then return end
    buffer.eat = false
  end
  charge(run, #text)
  buffer.size = buffer.size + #text
  if buffer.size > LIMITS.output then stop(run, ("the text grows beyond %d bytes"):format(LIMITS.output)) end
  buffer[#buffer + 1] = text
end

--- {{trim}}: removes the white space before it now, and that after it once it is there.
local function eat_space(buffer)
  buffer.eat = true
  while #buffer > 0 do
    local stripped = texts.strip_right(buffer[#buffer])
    buffer.size = buffer.size - #buffer[#buffer] + #stripped
    if stripped ~= "" then
      buffer[#buffer] = stripped
      return
    end
    buffer[#buffer] = nil
  end
end

-- ---- Reports ----

local function new_notes()
  return { rank = 1, volatile = {}, seen = {} }
end

local function note(run, name, position, rank)
  local notes = run.notes
  if rank > notes.rank then
    notes.rank, notes.least = rank, { name = name, position = position }
  end
  if rank == registry.RANK.volatile and not notes.seen[name] then
    notes.seen[name] = true
    notes.volatile[#notes.volatile + 1] = name
  end
end

local function report_in(report, list, entry)
  if #report[list] < LIMITS.entries then
    table.insert(report[list], entry)
  else
    report.omitted = report.omitted + 1
  end
end

local SOURCE_BYTES_MAX = 200   -- of a macro's source in a report: enough to find it

local function source(run, node)
  return run.text:sub(node.first, node.last)
end

--- The position is where the text that is expanded has it; a text within a macro has the macro's.
local function complain(run, level, code, node, message)
  report_in(run.report, "errors", {
    level = level, code = code, name = node.name, position = run.at or node.first, message = message,
    source = node.name and texts.short(source(run, node), SOURCE_BYTES_MAX),
  })
end

local function new_report()
  return { unknown = {}, errors = {}, volatile = {}, literal = {}, stability = "stable", count = 0, omitted = 0,
    stopped = false }
end

local function finish_report(run)
  local report, notes = run.report, run.notes
  report.stability, report.least, report.volatile = registry.STABILITIES[notes.rank], notes.least, notes.volatile
  return report
end

local function add_problems(run, problems)
  for _, problem in ipairs(problems) do
    local level = problem.code == "unclosed" and "warning" or "error"
    complain(run, level, problem.code, { first = problem.position }, messages.text("en", problem.code, problem.limit))
  end
end

-- ---- The call object of macros ----

local Call = {}
Call.__index = Call
evaluate.call_methods = Call

--- A value of the environment as a text, or nil. One that is a template is expanded; what its macros give is not.
---@param name string
---@return string?
function Call:value(name)
  local values = self.run.values
  local value = values and values[name]
  if value == nil then value = self.environment.values[name] end
  if type(value) == "function" then value = value() end
  if type(value) == "number" then return texts.of_number(value) end
  local text = value ~= nil and traceback.text(value) or nil
  return text and environments.TEMPLATES[name] and self:expand(text) or text
end

--- Takes bytes from the budget before a macro makes a text that is larger than its arguments; stops the run at a limit.
---@param bytes integer
function Call:allow(bytes)
  if math.type(bytes) ~= "integer" or bytes < 0 then    -- a macro may not give back what all of them have
    error("allow: bytes: expected a whole number from 0 on, got " .. tostring(bytes), 0)
  end
  if bytes > LIMITS.output then stop(self.run, ("%s would make %d bytes"):format(self.name, bytes)) end
  charge(self.run, bytes)
end

-- ---- The walk ----

local evaluate_items   -- items lie in nodes, which lie in items

--- An argument: its own white space at both ends is layout, that of values is not.
local function evaluate_argument(run, items)
  local buffer, count = new_buffer(), #items
  if count == 1 and type(items[1]) == "string" then
    add(run, buffer, texts.strip_right(texts.strip_left(items[1])))
  else
    evaluate_items(run, items, buffer, "argument")
  end
  return table.concat(buffer)
end

local function split_commas(arguments)
  local list = {}
  for piece in (arguments[1] .. ","):gmatch "(.-)," do
    list[#list + 1] = texts.strip_right(texts.strip_left(piece))
  end
  return list
end

local function evaluate_arguments(run, node, macro)
  local arguments = {}
  if node.inline then arguments[1] = evaluate_argument(run, node.inline) end
  for _, items in ipairs(node) do
    arguments[#arguments + 1] = evaluate_argument(run, items)
  end
  if node.inline and macro.commas and #arguments == 1 then return split_commas(arguments) end
  return arguments
end

--- The arguments, and how long what they are made of holds. What a silent macro
--- takes does not reach the text, so it is not the text's.
local function take_arguments(run, node, macro)
  if #node == 0 and not node.inline then return {}, 1 end
  local outer = run.notes
  run.notes, run.arguments = new_notes(), run.arguments + 1
  local arguments = evaluate_arguments(run, node, macro)
  local inner = run.notes
  run.notes, run.arguments = outer, run.arguments - 1
  if not macro.silent then
    for _, name in ipairs(inner.volatile) do
      note(run, name, inner.least.position, registry.RANK.volatile)
    end
    if inner.least then note(run, inner.least.name, inner.least.position, inner.rank) end
  end
  return arguments, inner.rank
end

--- A macro that failed: its error where the environment wants it. Else it stays as it
--- is, and so do those around it: they would make something of its source.
local function fail(run, node, code, key, ...)
  complain(run, "error", code, node, messages.text("en", key, ...))
  local language = run.environment.error_text
  if language then return messages.wrap(language, messages.text(language, key, ...)) end
  run.failed = true
  return source(run, node)
end

--- The result of a macro's function as a text, or nil where it failed and the text that stands for that.
local function settle(run, node, ok, result, key, ...)
  if not ok then
    if is_stop(result) then error(result, 0) end
    return nil, fail(run, node, "raised", "raised", node.name, traceback.text(result))
  end
  if result == nil and type(key) == "string" then return nil, fail(run, node, "argument", key, ...) end
  if type(result) == "number" then return texts.of_number(result) end
  if type(result) ~= "string" then
    return nil, fail(run, node, "raised", "no_text", node.name, type(result))
  end
  return result
end

local function call_macro(run, node, macro, arguments, lifetime)
  local running = run.environment.budget.running
  if running[macro] then return nil, fail(run, node, "self_reference", "self_reference", node.name) end
  local call = setmetatable({
    run = run, environment = run.environment, name = node.name, position = run.at or node.first, held = lifetime,
  }, Call)
  local count = math.min(#arguments, macro.most)
  running[macro] = true
  local text, failure = settle(run, node, pcall(macro.run, call, table.unpack(arguments, 1, count)))
  running[macro] = nil
  if text then
    local rank = call.stability and registry.RANK[call.stability] or macro.rank
    note(run, node.name, call.position, rank)
  end
  return text, failure
end

--- Writes a macro with its parameters: "setvar::name::value".
local function form_of(name, macro)
  return table.concat({ name, table.unpack(macro.parameters) }, "::")
end

--- Checks the number of arguments. Returns the text of the error if it is wrong.
local function check_count(run, node, macro, count)
  if count < macro.least then
    local key = macro.most > macro.least and "needs_some" or "needs"
    return fail(run, node, "arguments", key, node.name, macro.least, form_of(node.name, macro))
  end
  if count > parse.ARGUMENTS_MAX then
    return fail(run, node, "arguments", "too_many", node.name, parse.ARGUMENTS_MAX)
  end
  if count > macro.most then
    complain(run, "warning", "extra", node, messages.text("en", "extra", node.name, macro.most))
  end
end

--- A node without a macro stays as it is written; only macros within are evaluated.
local function write_unknown(run, node, buffer)
  report_in(run.report, "unknown", { name = parse.label(node, run.text), position = run.at or node.first })
  add(run, buffer, "{{")
  evaluate_items(run, node.head, buffer, "raw")
  for _, items in ipairs(node) do
    add(run, buffer, "::")
    evaluate_items(run, items, buffer, "raw")
  end
  add(run, buffer, "}}")
end

--- The macro of a node; blanks and a single colon lead to arguments only where it takes some.
local function macro_of(run, node)
  local macro = node.name and run.environment.registry:find(node.name)
  if macro and node.inline and macro.most == 0 then return nil end
  return macro
end

--- Calls the check of the environment once for every CHECK_BYTES of work; it raises where a run has no time left.
local function check_run(run, name, bytes)
  local budget, check = run.environment.budget, run.environment.check
  budget.unchecked = budget.unchecked + bytes
  if not check or budget.unchecked < CHECK_BYTES then return end
  budget.unchecked = 0
  check(name or "?")
end

local function evaluate_node(run, node, buffer)
  local budget = run.environment.budget
  if budget.stopped then error(budget.stopped, 0) end
  run.current = node.first
  budget.evaluations = budget.evaluations - 1
  if budget.evaluations < 0 then stop(run, ("more than %d macros"):format(LIMITS.evaluations)) end
  check_run(run, node.name, MACRO_BYTES)
  local macro = macro_of(run, node)
  if not macro then return write_unknown(run, node, buffer) end
  run.report.count = run.report.count + 1
  if node.too_many then
    return add(run, buffer, fail(run, node, "arguments", "too_many", node.name, parse.ARGUMENTS_MAX))
  end
  if macro.unread then return end
  local failed = run.failed
  run.failed = false
  local arguments, lifetime = take_arguments(run, node, macro)
  if run.failed then return add(run, buffer, source(run, node)) end
  run.failed = failed
  if macro.trims and #arguments == 0 then return eat_space(buffer) end
  local text, failure = nil, check_count(run, node, macro, #arguments)
  if not failure then text, failure = call_macro(run, node, macro, arguments, lifetime) end
  if text and run.transform and run.arguments == 0 then text = run.transform(text) end
  add(run, buffer, text or failure)
end

--- `mode`: in "text" only \{{ is an escape, in an "argument" all three are, "raw" keeps them as written.
local function escaped(item, mode)
  if mode == "argument" or mode == "text" and item.text == "{{" then return item.text end
  return item.raw
end

--- Notes the name after braces that an escape keeps: they are meant to be text.
local function note_literal(run, behind)
  local name = type(behind) == "string" and behind:match(parse.NAME)
  if name then run.report.literal[name] = true end
end

function evaluate_items(run, items, buffer, mode)
  local count = #items
  for i = 1, count do
    local item = items[i]
    if type(item) ~= "string" then
      if item.raw then
        if item.text == "{{" then note_literal(run, items[i + 1]) end
        add(run, buffer, escaped(item, mode))
      else
        evaluate_node(run, item, buffer)
      end
    else
      if mode == "argument" and i == 1 then item = texts.strip_left(item) end
      if mode == "argument" and i == count then item = texts.strip_right(item) end
      add(run, buffer, item)
    end
  end
end

local function expand_text(run, text)
  check_run(run, nil, #text)
  local tree, problems = parse.tree(text, function(tokens, first)
    check_run(run, text:match("^{{%s*([%w_]+)", first), tokens * TOKEN_BYTES)
  end)
  add_problems(run, problems)
  local buffer = new_buffer()
  evaluate_items(run, tree, buffer, "text")
  return table.concat(buffer)
end

--- Expands a text within a macro: for macros that stand for templates. What it
--- costs counts as the outer text's, and so does what it reports.
---@param text string       trusted: its macros are evaluated
---@return string
function Call:expand(text)
  local outer, budget = self.run, self.environment.budget
  if type(text) ~= "string" then error("expected a text to expand, got a " .. type(text), 0) end
  if not text:find("{{", 1, true) then return text end
  if budget.levels == 0 then stop(outer, ("macros expand macros more than %d deep"):format(LIMITS.levels)) end
  local inner = setmetatable({ text = text, at = self.position, transform = false }, { __index = outer })
  budget.levels = budget.levels - 1
  local expanded = expand_text(inner, text)
  budget.levels = budget.levels + 1
  return expanded
end

-- ---- One expansion ----

local function new_run(text, environment, options)
  return {
    text = text, environment = environment, notes = new_notes(), report = new_report(), arguments = 0, failed = false,
    values = options.values and environments.check_values(options.values), transform = options.transform,
  }
end

local function new_budget()
  return { work = LIMITS.work, evaluations = LIMITS.evaluations, levels = LIMITS.levels, running = {},
    unchecked = CHECK_BYTES }
end

--- Runs with a budget: the environment's, if a macro called us, else a new one.
local function within_budget(environment, work, ...)
  local outer, journal = environment.budget, environment.journal
  local drawn = environment.state.draws
  if outer and outer.over then outer = nil end   -- a fork made within an expansion may outlive it
  environment.budget, environment.journal = outer or new_budget(), {}
  local ok, result = pcall(work, ...)
  if ok and environment.budget.stopped then ok, result = false, environment.budget.stopped end
  if not ok then
    environment:roll_back(environment.journal, drawn)
  elseif journal then
    table.move(environment.journal, 1, #environment.journal, #journal + 1, journal)
  end
  environment.budget.over = not outer
  environment.budget, environment.journal = outer, journal
  return ok, result
end

--- See macros.expand.
---@param text string
---@param environment ebb.MacroEnvironment
---@param options { values: table?, transform: (fun(text: string): string)? }
---@return string text
---@return ebb.MacroReport report
function evaluate.expand(text, environment, options)
  if not text:find("{{", 1, true) then return text, new_report() end
  local run = new_run(text, environment, options)
  local ok, result = within_budget(environment, expand_text, run, text)
  if ok then return result, finish_report(run) end
  if not is_stop(result) then error(result, 0) end
  local report = finish_report(run)
  table.insert(report.errors, 1, {   -- first, so that no full list leaves it out
    level = "error", code = "limit", position = run.current or 1, message = messages.text("en", "limit", result.what),
  })
  report.stopped = true
  return text, report
end

evaluate.call_methods = Call   -- for tests

return evaluate
