--- ebb check: what the target of a request would refuse, and why; or what a rule says.

local conversations = require "ebb.cli.many.conversations"
local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local models = require "ebb.models"
local options = require "ebb.cli.io.options"
local outgoing = require "ebb.cli.io.outgoing"
local suggest = require "ebb.support.suggest"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"
local violations = require "ebb.models.violations"

local check = {}

local VIOLATED = 1     -- exit status

function check.declare(parser)
  parser:argument("files", "JSON arrays, JSONL or request bodies, or folders of them; - is standard input."):args("*")
  outgoing.declare_dialect(parser)
  parser:flag("--strict", "Count what only some servers or models refuse, too.")
  parser:option("--explain", "Explain a rule by its code, or list them all (all); checks nothing."):argname("<code>")
  options.output(parser)
  options.json(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb check chat.json", "ebb check chat.json --dialect anthropic --json", "ebb check chat.json --profile mistral",
    "ebb check chats/", "ebb check --explain orphan_result",
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

local ROWS = 5       -- of one code; with more they become one row
local PLACES = 6     -- that such a row shows
local TEXTS = 3      -- and texts

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

--- The first places of violations of one kind: "; at 2, 4, 6 and 60 more messages".
local function places(group)
  local shown, more, last = {}, 0, nil
  for _, violation in ipairs(group) do
    local index = violation.index
    if index and index ~= last then
      if #shown < PLACES then shown[#shown + 1] = tostring(index) else more = more + 1 end
    end
    last = index
  end
  if #shown == 0 then return "" end
  local rest = more > 0 and " and " .. text.count(more, "more message") or ""
  return ("; at %s%s"):format(table.concat(shown, ", "), rest)
end

--- Joins the first texts of a group that differ.
local function what(group)
  local texts, seen = {}, {}
  for _, violation in ipairs(group) do
    if not seen[violation.text] then
      seen[violation.text] = true
      texts[#texts + 1] = violation.text
    end
  end
  local first = table.concat(texts, "; ", 1, math.min(#texts, TEXTS))
  return #texts > TEXTS and first .. "; .." or first
end

--- Rows of violations: each has its own, or all of a code that occurs often have one, in place of the first.
local function grouped(listed)
  local counts, rows, groups = {}, {}, {}
  for _, violation in ipairs(listed) do counts[violation.code] = (counts[violation.code] or 0) + 1 end
  for _, violation in ipairs(listed) do
    local group = counts[violation.code] > ROWS and groups[violation.code]
    if group then
      group[#group + 1] = violation
    else
      rows[#rows + 1] = { violation }
      groups[violation.code] = rows[#rows]
    end
  end
  return rows
end

local function table_of(chat, listed, page)
  local positions, seqs, roles, codes, texts = {}, {}, {}, {}, {}
  for i, group in ipairs(grouped(listed)) do
    local violation = group[1]
    local index = violation.index
    positions[i], seqs[i], roles[i] = "-", "-", "request"
    if index then
      positions[i], seqs[i], roles[i] = tostring(index), text.seq(index, violation.seq), text.kind(chat[index])
    end
    codes[i], texts[i] = violation.code, violation.text
    if #group > 1 then codes[i], texts[i] = ("%s x %d"):format(violation.code, #group), what(group) .. places(group) end
  end
  return grid.render_columns(COLUMNS, { positions, seqs, roles, codes, texts }, page)
end

--- The lines in place of the table, for a body in another form than its model takes: all of it is refused.
local function mismatch(chat, form, dialect, count, page)
  local line = "%s in %s's form, and the model %s takes %s's: the request would be refused as it is. "
    .. "'ebb convert --to %s' writes it in that form; --dialect %s checks it by the rules of its own; "
    .. "--json lists the %s by the rules of %s."
  return terminal.fill(page, line:format(text.count(#chat, "message"), form, models.name(chat), dialect, dialect, form,
    text.count(count, "violation"), dialect))
end

--- Counts the violations of a severity; their codes, each once.
local function count_severity(listed, severity)
  local count, codes, seen = 0, {}, {}
  for _, violation in ipairs(listed) do
    if violation.severity == severity then
      count = count + 1
      if not seen[violation.code] then codes[#codes + 1] = violation.code end
      seen[violation.code] = true
    end
  end
  return count, table.concat(codes, ", ")
end

local OTHERS = {
  { severity = "strict", line = "%s that only some servers or models reject (--strict shows them): %s" },
  { severity = "changed", line = "%s that the server accepts and changes (--json has them): %s" },
}

--- Lists violations that the target does not refuse, a line for each severity. `some`: refused ones precede them.
local function others_lines(others, some, page)
  local lines = ""
  for _, other in ipairs(OTHERS) do
    local count, codes = count_severity(others, other.severity)
    if count > 0 then
      local number = some and ("%d more"):format(count) or text.count(count, "violation")
      lines = lines .. terminal.fill(page, other.line:format(number, codes))
    end
  end
  return lines
end

local function as_text(chat, counted, others, name, page)
  local rest = others_lines(others, #counted > 0, page)
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

--- Checks the conversation, or the many conversations, of a file.
---@param args table
---@param path? string
---@return ebb.cli.CheckedFile
local function check_file(args, path)
  local many = conversations.open(path, args)
  if many then return require("ebb.cli.many.check_many").run(args, many) end
  local chat = options.load(path, args)
  local goal = outgoing.target(args)
  goal.severity = "changed"
  local listed, dialect, profile = failure.typed(chat.check, chat, goal)
  local counted, others = divide(listed, args.strict)
  local form = chat:dialect()
  local differs = form ~= dialect and not (args.dialect or args.profile)
  if differs and (args.json or #counted == 0) then outgoing.tell_form(chat, dialect, args) end
  if args.json then
    return { violated = #counted, data = { form = form, dialect = dialect, profile = profile,
      violations = core.json.array(table.move(listed, 1, #listed, 1, {})) } }
  end
  local page = terminal.results(args.output)
  return { violated = #counted, data = {}, text = differs and #counted > 0
    and mismatch(chat, form, dialect, #counted, page) or as_text(chat, counted, others, profile, page) }
end

function check.run(args)
  if args.explain then return explain(args) end
  local paths = require("ebb.cli.replay.replay_files").expand(args.files, args)
  local function check_one(path) return check_file(args, path) end
  local is_one = #paths == 1 and (args.files[1] or paths[1]) == paths[1]
  local checked = is_one and check_one(paths[1])
    or require("ebb.cli.many.check_files").run(paths, check_one, not args.json and terminal.results(args.output) or nil)
  terminal.result(args.json and json_text.format(checked.data) or checked.text, args.output)
  return checked.failed and checked.failed.exit or checked.violated > 0 and VIOLATED or 0
end

return check
