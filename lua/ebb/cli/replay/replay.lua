--- ebb trim --replay: what each policy costs and loses over recorded conversations.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local files = require "ebb.cli.replay.replay_files"
local places = require "ebb.cli.io.places"
local tables = require "ebb.cli.replay.replay_table"
local terminal = require "ebb.cli.view.terminal"
local together = require "ebb.replay.together"

local replay = {}

--- Refuses two results in one place, and one that is a recording's file.
local function check_targets(args, paths)
  local named = { reads = {}, writes = {} }
  for i, path in ipairs(paths) do named.reads[i] = { path = path, what = "the recording" } end
  for _, write in ipairs { { "-o", args.output or "-" }, { "--html", args.html }, { "--requests", args.requests } } do
    if write[2] then table.insert(named.writes, { option = write[1], path = write[2] }) end
  end
  places.check(named)
end

local function check(args, paths)
  if args.json and args.csv then failure.usage("--json and --csv are two forms of one report", "take one of them") end
  if args.requests and paths[2] then
    failure.usage("--requests goes with one recording", "replay each recording by itself")
  end
  if args.record and paths[2] then
    failure.usage("--record goes with one recording", "record the answers for each by itself")
  end
  check_targets(args, paths)
end

--- Collects requests as JSON lines; returns what writes them.
local function collect_requests(args)
  if not args.requests then return function() end end
  local lines = {}
  function args.on_request(request)
    local messages = request.messages and "[" .. table.concat(request.messages, ",") .. "]" or "null"
    request.messages = core.json.raw(messages)
    lines[#lines + 1] = core.json.encode(request) .. "\n"
  end
  return function()
    terminal.written(args.requests, core.write_file(args.requests, table.concat(lines)))
  end
end

---@param played ebb.cli.Played[]
---@param words string[]
---@return ebb.cli.ReplayReport
local function report_of(played, words)
  local lists = {}
  local report = { files = {}, budget = files.common(played, "budget"), margin = files.common(played, "margin") }
  for i, one in ipairs(played) do
    lists[i] = one.results
    report.files[i] = { file = one.file, budget = one.budget, margin = one.margin,
      rows = tables.rows(one.results, words) }
  end
  report.rows = played[2] and tables.rows(together.of(lists), words) or report.files[1].rows
  return report
end

local function write(args, report)
  if args.html then
    local page = require("ebb.cli.replay.replay_page").render(report)
    terminal.written(args.html, core.write_file(args.html, page))
  end
  if args.json then terminal.result(tables.json(report), args.output)
  elseif args.csv then terminal.result(tables.csv(report), args.output)
  else terminal.result(tables.text(report, terminal.results(args.output)), args.output) end
end

local LOST, UNLABELLED = "lost", "there without its label"

--- Says of each reply what it used and its request lost.
local function explain(report)
  for _, file in ipairs(report.files) do
    local place = report.files[2] and file.file .. ": " or ""
    for _, row in ipairs(file.rows) do
      for _, loss in ipairs(row.result.losses) do
        terminal.say(("%s%s: reply %d used the %s %s of message %d: %s"):format(place, row.policy, loss.reply, loss.use,
          loss.value, loss.message, loss.present and UNLABELLED or LOST))
      end
    end
  end
end

--- The file whose replay was the first to be refused under a policy; nil if none was.
local function refused_file(report, number)
  for _, file in ipairs(report.files) do
    if file.rows[number].result.first_refusal then return file.file end
  end
end

--- Says why a request was refused, of each policy for the first one.
local function say_refusals(report)
  for i, row in ipairs(report.rows) do
    local refusal = row.result.first_refusal
    local place = refusal and report.files[2] and refused_file(report, i) .. ": " or ""
    if refusal then terminal.say(("%s%s: first refusal: %s"):format(place, row.policy, refusal)) end
  end
end

---@param args table           the parsed command line for trim
---@param specs table[]         one policy each
---@param words string[]        as on the command line
---@param loading ebb.Loading
function replay.run(args, specs, words, loading)
  local paths = files.expand(args.files, args)
  check(args, paths)
  local write_requests = collect_requests(args)
  local report = report_of(files.play_all(args, paths, specs, loading), words)
  write_requests()
  write(args, report)
  if args.explain then explain(report) end
  say_refusals(report)
end

return replay
