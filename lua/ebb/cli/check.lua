--- ebb check: what the target of a request would refuse, and why; or what a rule says.

local conversations = require "ebb.cli.conversations"
local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.grid"
local json_text = require "ebb.cli.json_text"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.terminal"
local text = require "ebb.cli.text"
local violations = require "ebb.models.violations"

local check = {}

local VIOLATED = 1     -- exit status

function check.declare(parser)
  options.input(parser)
  outgoing.declare_dialect(parser)
  parser:flag("--strict", "Count what only some servers or models refuse, too.")
  parser:option("--explain", "Explain a rule by its code, or list them all (all); checks nothing."):argname("<code>")
  options.output(parser)
  options.json(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb check chat.json", "ebb check chat.json --dialect anthropic --json", "ebb check chat.json --profile mistral",
    "ebb check --explain orphan_result",
  })
end

---- A rule ----

local SEVERITIES = {
  refused = "refused", strict = "refused by strict servers or by some models", changed = "accepted, but changed",
  none = "refused by these servers only",
}

local function rule_lines(rule)
  local lines = { ("%s, %s: %s"):format(rule.code, table.concat(rule.dialects, ", "), rule.text:gsub("%%", "..")) }
  local function add(name, value)
    if value ~= "" then lines[#lines + 1] = ("  %-10s%s"):format(name, value) end
  end
  add("hint", rule.hint)
  add("severity", SEVERITIES[rule.severity])
  add("servers", rule.servers)
  add("models", rule.models)
  add("example", rule.example)
  add("repair", rule.mendable and "--repair mends it" or "")
  add("source", rule.source)
  return table.concat(lines, "\n")
end

local RULE_COLUMNS = {
  { title = "rule" }, { title = "dialects", rank = 2 }, { title = "severity", rank = 1 },
  { title = "what is wrong", wrap = true },
}

local function list_rules(rules, page)
  local rows = {}
  for i, rule in ipairs(rules) do
    rows[i] = { rule.code, table.concat(rule.dialects, ", "), rule.severity, (rule.text:gsub("%%", "..")) }
  end
  return grid.render(RULE_COLUMNS, rows, page)
end

--- The rules of a code; an unknown code gets a hint.
local function explain(args)
  local all = args.explain == "all"
  local rules = violations.explain(not all and args.explain or nil)
  if #rules == 0 then
    local codes = {}
    for _, rule in ipairs(violations.explain()) do codes[#codes + 1] = rule.code end
    failure.usage(("unknown rule '%s'"):format(args.explain), suggest.hint(args.explain, codes)
      or "'ebb check --explain all' lists them")
  end
  if args.json then return terminal.result(json_text.format(core.json.array(rules)), args.output) end
  local page, pieces = terminal.results(args.output), {}
  if all then return terminal.result(list_rules(rules, page), args.output) end
  for i, rule in ipairs(rules) do pieces[i] = terminal.fill(page, rule_lines(rule), "            ") end
  terminal.result(table.concat(pieces, "\n"), args.output)
end

---- A conversation ----

local function as_json(listed, dialect, profile)
  local list = core.json.array(table.move(listed, 1, #listed, 1, {}))
  return json_text.format({ dialect = dialect, profile = profile, violations = list })
end

local COLUMNS = {
  { title = "pos", right = true }, { title = "seq", right = true, rank = 2 }, { title = "role", max = 12, min = 6 },
  { title = "violation", min = 12 }, { title = "what", wrap = true },
}

--- A line per kind of violation that says what to do, and who refuses it if not all do.
local function hints(listed)
  local seen, lines = {}, {}
  for _, violation in ipairs(listed) do
    if not seen[violation.code] then
      seen[violation.code] = true
      local who = violation.severity ~= "refused" and violation.servers .. violation.models or ""
      lines[#lines + 1] = ("%s: %s%s"):format(violation.code, violation.hint, who ~= "" and (" (%s)"):format(who) or "")
    end
  end
  return table.concat(lines, "\n")
end

local function table_of(chat, listed, page)
  local positions, seqs, roles, codes, texts = {}, {}, {}, {}, {}
  for i, violation in ipairs(listed) do
    local index = violation.index
    positions[i], seqs[i], roles[i] = "-", "-", "request"
    if index then
      positions[i], seqs[i], roles[i] = tostring(index), text.seq(index, violation.seq), text.kind(chat[index])
    end
    codes[i], texts[i] = violation.code, violation.text
  end
  return grid.render_columns(COLUMNS, { positions, seqs, roles, codes, texts }, page)
end

--- What only some servers refuse, in a line.
local function others_line(others, page)
  if #others == 0 then return "" end
  local counts, codes = {}, {}
  for _, violation in ipairs(others) do
    if not counts[violation.code] then codes[#codes + 1] = violation.code end
    counts[violation.code] = (counts[violation.code] or 0) + 1
  end
  local line = "%s that only some servers or models refuse or change, --strict lists them: %s"
  return terminal.fill(page, line:format(text.count(#others, "violation"), table.concat(codes, ", ")))
end

local function as_text(chat, counted, others, name, page)
  local rest = others_line(others, page)
  if #counted == 0 then
    local line = ("%s, nothing that %s would refuse"):format(text.count(#chat, "message"), name)
    return page.paint("good", terminal.fill(page, line)) .. rest
  end
  local figures = ("%s in %s, by the rules of %s"):format(text.count(#counted, "violation"),
    text.count(#chat, "message"), name)
  return ("%s\n%s%s%s"):format(table_of(chat, counted, page), terminal.fill(page, figures),
    terminal.fill(page, hints(counted), "  "), rest)
end

--- Parts the violations that count from the others.
local function divide(listed, strict)
  local counted, others = {}, {}
  for _, violation in ipairs(listed) do
    local counts = violation.severity == "refused" or strict and violation.severity == "strict"
    local list = counts and counted or others
    list[#list + 1] = violation
  end
  return counted, others
end

function check.run(args)
  if args.explain then return explain(args) end
  local many = conversations.open(args.file, args)
  if many then return require("ebb.cli.check_many").run(args, many) and VIOLATED or 0 end
  local chat = options.load(args.file, args)
  local goal = outgoing.target(args)
  goal.severity = "changed"
  local listed, dialect, profile = failure.typed(chat.check, chat, goal)
  local counted, others = divide(listed, args.strict)
  outgoing.tell_form(chat, dialect, args)
  terminal.result(args.json and as_json(listed, dialect, profile)
    or as_text(chat, counted, others, profile, terminal.results(args.output)), args.output)
  return #counted > 0 and VIOLATED or 0
end

return check
