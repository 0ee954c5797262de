--- ebb each: a workflow or a command over many conversations, in as many processes as there are processors.
--
-- Each result is a file of its own, written whole by the process that made it; then the journal has a line. A run
-- that was killed goes on where the journal ends. What fails for one conversation does not stop the others.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local hints = require "ebb.cli.hints"
local host = require "ebb.host"
local items = require "ebb.cli.many.each_items"
local journals = require "ebb.cli.many.each_journal"
local nodes = require "ebb.workflow"
local options = require "ebb.cli.io.options"
local places = require "ebb.cli.io.places"
local run_host = require "ebb.cli.host.run_host"
local sessions = require "ebb.cli.io.sessions"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local each = {}

local CHUNKS, CHUNK_MAX = 8, 64   -- shares of a process, so that all end together; conversations of one
local FAILURES_SHOWN = 20

local function shard_of(word)
  local part, of = word:match "^(%d+)/(%d+)$"
  part, of = tonumber(part), tonumber(of)
  if part and part >= 1 and part <= of then return { part = part, of = of } end
  return nil, ("--shard: expected such as 1/4, got '%s'"):format(word)
end

function each.declare(parser)
  parser:argument("paths", "Conversations: files, folders of .json and .jsonl, files with one in each line, "
    .. "sessions as session:NAME, where * stands for any characters.")
    :args("+"):argname("<path>")
  parser:option("--run", "A workflow for each conversation: a Lua file that returns nodes, or JSON."):argname("<file>")
  parser:option("--do", "A command for each file, such as 'trim --budget 8k', 'check' or 'report'.")
    :argname("<command>"):target("command")
  parser:option("--out", "Folder of the results, which is made; required."):argname("<folder>")
  places.writes(parser:option("--journal", "File that says what is done; a rerun skips that (default: journal.jsonl in "
    .. "--out)."):argname("<file>"))
  parser:flag("--retry", "Run again what failed.")
  parser:option("--jobs", "Processes at a time (default: one per processor)."):argname("<n>")
    :convert(options.positive "--jobs")
  parser:option("--shard", "Every n-th conversation from the i-th, for n machines."):argname("<i/n>"):convert(shard_of)
  options.quiet(parser)
  options.json(parser, ": what became of how many, and the failures")
  run_host.declare(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    "ebb each chats/ --run clean_up.lua --out done/", "ebb each chats/ --do 'trim --budget 8k' --out short/",
    "ebb each chats/ --do 'check --json' --out checks/",
    "ebb each all.jsonl --run flow.lua --out done/ --shard 1/4",
    "ebb each 'session:*' --run flow.lua --out done/",
  })
end

---- What is run ----

--- Runs nodes on an item, and saves the result.
local function workflow_job(args)
  local workflow = failure.check(nodes.load(args.run))
  hints.in_lua(nodes.check, workflow)
  local run_options
  return function(item, out)
    run_options = run_options or { host = run_host.new(args) }
    local chat
    if item.first then
      local problem
      chat, problem = ebb.parse(items.text(item), options.of_conversation(args))
      failure.check(chat, problem)
      options.warn(item.name, chat:warnings(), true)
    else
      chat = options.load(item.path, args)
    end
    local done, result = nodes.run(chat, workflow, run_options)
    failure.check(done, result)
    failure.check(result:save(out))
  end
end

--- The words of a command, as a shell would take them apart.
local function words_of(line)
  local words, word, at = {}, nil, 1
  while at <= #line do
    local quoted, past = line:match("^'([^']*)'()", at)
    if not quoted then quoted, past = line:match('^"([^"]*)"()', at) end
    if quoted then
      word, at = (word or "") .. quoted, past
    elseif line:find("^%s", at) then
      if word then words[#words + 1] = word end
      word, at = nil, at + 1
    else
      word, at = (word or "") .. line:sub(at, at), at + 1
    end
  end
  if word then words[#words + 1] = word end
  return words
end

local COMMANDS = { "trim", "filter", "apply", "convert", "pipeline", "count", "check", "report" }

--- Endings of results that are no conversations.
local ENDINGS = { count = ".txt", check = ".txt", report = ".html" }

--- Runs a command on an item.
local function command_job(args)
  local words = words_of(args.command)
  local name = table.remove(words, 1)
  if not tables.contains(COMMANDS, name) then
    failure.usage(("--do: expected one of %s, got '%s'"):format(table.concat(COMMANDS, ", "), name or ""),
      "--run FILE.lua runs nodes")
  end
  local parser = require "ebb.cli.parser"
  local command_parser, command = parser.new(name), require("ebb.cli.commands." .. name)
  local function parse(file, out)
    local all = table.move(words, 1, #words, 1, {})
    for _, word in ipairs { "-o", out } do all[#all + 1] = word end
    if name == "filter" then all[#all + 1] = "--input" end
    all[#all + 1] = file
    return parser.parse(command_parser, all)
  end
  local parsed = parse("x", "y")   -- mistakes in the words are found before anything runs
  parsed.output, parsed.file, parsed.files = nil, nil, nil
  local named = places.of(command_parser, parsed)
  for _, read in ipairs(named.reads) do   -- the command line of each item names them again
    if host.is_descriptor(read.path) then places.copy_of(read.path) end
  end
  return function(item, out)
    if item.first then failure.usage("--do runs on files, and this is a line of one", "--run FILE.lua") end
    local code = command.run(parse(item.path, out))
    if code and code ~= 0 then failure.raise(code, ("the command ended with exit code %d"):format(code)) end
  end, named, not parsed.json and ENDINGS[name] or nil
end

local function job_of(args)
  if (args.run == nil) == (args.command == nil) then
    failure.usage("--run or --do is needed, and not both", "--run flow.lua")
  end
  if args.record or args.replay_model then
    failure.usage("--record and --replay-model are for one run", "ebb run FILE.lua --record tape.jsonl")
  end
  if args.run then
    local source = failure.check(core.read_file(args.run, nodes.BYTES_MAX))
    return workflow_job(args), args.run, core.sha256(source)
  end
  local job, named, ending = command_job(args)
  return job, args.command, core.sha256(args.command), named, ending
end

--- Refuses results that would replace the conversations, the script, the journal, or what a command of --do names.
local function check_places(list, args, journal, named)
  local files = named or { reads = {}, writes = {} }
  for _, item in ipairs(list) do
    if not sessions.name_of(item.path) then files.reads[#files.reads + 1] = { path = item.path } end
    files.writes[#files.writes + 1] = { path = args.out .. item.out, option = "--out" }
  end
  if args.run then files.reads[#files.reads + 1] = { path = args.run } end
  for _, path in ipairs(sessions.files(args)) do
    files.reads[#files.reads + 1] = { path = path, what = "the database" }
  end
  files.writes[#files.writes + 1] = { path = journal, option = "--journal" }
  places.check(files)
end

---- Running ----

local function entry_of(item, problem)
  return { item = item.name, identity = item.identity, ok = not problem, exit = problem and problem.exit,
    message = problem and problem.message, hint = problem and problem.hint }
end

--- Runs the items of one chunk in a child, which writes the journal; their entries, as JSON.
local function run_chunk(job, chunk, args, journal)
  local folder, entries = args.out, core.json.array {}
  terminal.quiet, terminal.talks_to_person, terminal.is_silent = true, false, args.quiet
  for i, item in ipairs(chunk) do
    terminal.name_lines(item.name)
    local ok, problem = pcall(job, item, folder .. item.out)
    local failed = not ok and (failure.from_value(problem) or { exit = failure.SCRIPT, message = tostring(problem) })
    entries[i] = entry_of(item, failed or nil)
    journal:write(entries[i])
  end
  return core.json.encode(entries)
end

--- Items in chunks: large enough that a process is worth its start, small enough that all processors end together.
local function chunks_of(list, jobs)
  local size = math.max(1, math.min(CHUNK_MAX, #list // (jobs * CHUNKS)))
  local chunks = {}
  for first = 1, #list, size do
    chunks[#chunks + 1] = table.move(list, first, math.min(first + size - 1, #list), 1, {})
  end
  return chunks
end

local function duration(seconds)
  if seconds < 60 then return ("%d s"):format(math.ceil(seconds)) end
  if seconds < 3600 then return ("%d min"):format(math.ceil(seconds / 60)) end
  return ("%.1f h"):format(seconds / 3600)
end

---@class ebb.cli.EachReport
---@field done integer
---@field skipped integer       the journal has them
---@field failed integer        in this run
---@field failures { item: string, message: string, hint: string?, exit: integer }[]   of earlier ones, too

local function progress(report, count, begin)
  local ended = report.done + report.failed
  local seconds = math.max(0.001, (core.now() - begin) / 1000)
  local rate = ended / seconds
  terminal.progress(("%d of %d, %d failed, %.0f per second, %s left"):format(ended, count, report.failed, rate,
    duration((count - ended) / rate)), true)
end

local function run_all(list, job, args, journal, report)
  local jobs = args.jobs or host.processors
  local chunks, begin = chunks_of(list, jobs), core.now()
  io.stdout:flush()
  io.stderr:flush()
  host.workers(#chunks, function(number)
    return run_chunk(job, chunks[number], args, journal)
  end, function(number, succeeded, answer)
    local entries = succeeded and core.json.decode(answer) or {}
    for i, item in ipairs(chunks[number]) do
      local entry = entries[i]
      if entry then journal:note(entry)
      else journal:write(entry_of(item, { exit = failure.SCRIPT, message = answer })) end
      if entry and entry.ok then report.done = report.done + 1 else report.failed = report.failed + 1 end
    end
    progress(report, #list, begin)
  end, jobs)
  terminal.progress(nil)
end

--- The items that are to be run; the others are done, or failed and are not retried.
local function remaining(list, args, journal, report)
  local rest = {}
  for _, item in ipairs(list) do
    local entry = journal:entry(item)
    local is_there = entry and entry.ok and core.file_identity(args.out .. item.out)
    if is_there then report.skipped = report.skipped + 1
    elseif not entry or entry.ok or args.retry then rest[#rest + 1] = item end
  end
  return rest
end

local function tell(report, args)
  if args.json then
    return terminal.result(core.json.encode({ done = report.done, skipped = report.skipped,
      failures = core.json.array(report.failures) }, { indent = 2 }) .. "\n")
  end
  for i, failed in ipairs(report.failures) do
    if i > FAILURES_SHOWN then break end
    local is_named = failed.message:sub(1, #failed.item + 1) == failed.item .. ":"
    terminal.say(is_named and failed.message or ("%s: %s"):format(failed.item, failed.message))
  end
  local words = { text.count(report.done, "conversation") .. " done" }
  if report.skipped > 0 then words[#words + 1] = ("%d done before"):format(report.skipped) end
  if #report.failures > 0 then words[#words + 1] = ("%d failed (--retry runs them again)"):format(#report.failures) end
  if not args.quiet or #report.failures > 0 then terminal.say(table.concat(words, ", ")) end
end

function each.run(args)
  if not args.out then failure.usage("--out is needed", "--out results/") end
  args.out = args.out:gsub("/*$", "/")
  local job, work, digest, named, ending = job_of(args)
  local all = items.find(args.paths, args, ending)
  local list = items.shard(all, args.shard)
  local name = args.shard and ("journal-%d-%d.jsonl"):format(args.shard.part, args.shard.of) or "journal.jsonl"
  local path = args.journal or args.out .. name
  check_places(all, args, path, named)
  failure.check(host.make_folder(args.out))
  local journal = journals.open(path, work, digest)
  local report = { done = 0, skipped = 0, failed = 0, failures = {} }
  run_all(remaining(list, args, journal, report), job, args, journal, report)
  for _, item in ipairs(list) do
    local entry = journal:entry(item)
    if entry and not entry.ok then
      table.insert(report.failures, { item = item.name, message = entry.message, hint = entry.hint, exit = entry.exit })
    end
  end
  tell(report, args)
  return report.failures[1] and report.failures[1].exit or 0
end

return each
