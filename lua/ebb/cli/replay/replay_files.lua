--- The recordings of a replay: files, and folders of them, played over all processors.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local host = require "ebb.host"
local model_command = require "ebb.cli.host.model_command"
local options = require "ebb.cli.io.options"
local terminal = require "ebb.cli.view.terminal"

local files = {}

local RECORDING = { "%.json$", "%.jsonl$" }   -- what is read of a folder

local function is_recording(name)
  for _, pattern in ipairs(RECORDING) do
    if name:find(pattern) then return true end
  end
  return false
end

--- The recordings in a folder, by name; nil if the path is no folder.
local function entries_of(folder)
  local entries = host.entries(folder)
  if not entries then return nil end
  local paths = {}
  for _, entry in ipairs(entries) do
    if is_recording(entry) then paths[#paths + 1] = folder:gsub("/*$", "/") .. entry end
  end
  if not paths[1] then failure.raise(failure.IO, ("%s: no .json or .jsonl file is in this folder"):format(folder)) end
  table.sort(paths)
  return paths
end

--- The recordings that the words of the command line name.
---@param words string[]
---@param args table
---@return string[] paths
function files.expand(words, args)
  local paths = {}
  for _, word in ipairs(words) do
    local entries = entries_of(word) or { word }
    table.move(entries, 1, #entries, #paths + 1, paths)
  end
  return options.files(paths, args)
end

---@class ebb.cli.Played       One recording
---@field file string
---@field budget integer       less the reserve and the margin
---@field margin integer       tokens
---@field requested integer    as it was asked for
---@field results ebb.ReplayResult[]

local function progress_of(chat, hears)
  local count = #chat
  return hears and function(policy, position)
    terminal.progress(("%s: message %d of %d"):format(policy, position, count))
  end or nil
end

--- Plays one recording in this process.
---@param args table
---@param path string
---@param specs table[]
---@param loading ebb.Loading
---@param hears? boolean       a person sees the progress
---@return ebb.cli.Played
---@return ebb.Conversation
function files.play(args, path, specs, loading, hears)
  local chat = options.load(path, args)
  local budget = options.budget_of(args.budget, chat)
  local results = failure.check(failure.typed(ebb.replay, chat, {
    policies = specs, budget = budget, reserve = args.reserve, guards = not args.unguarded,
    model = model_command.reader(args), progress = progress_of(chat, hears), prices = args.price, cache = args.cache,
    requests = args.on_request, limits = loading.limits, trusted = loading.trusted,
  }))
  terminal.progress(nil)
  local available, margin = results[1].budget, results[1].margin
  return { file = terminal.name_of(path), budget = available, margin = margin,
    requested = budget or available + margin + (args.reserve or 0), results = results }, chat
end

--- Plays one recording in a child process; returns its result, or its failure, as JSON.
local function play_apart(args, path, specs, loading)
  terminal.quiet = true
  local ok, played = pcall(files.play, args, path, specs, loading)
  if ok then return core.json.encode { played = played, lenient = failure.lenient } end
  local problem = failure.from_value(played)
  if not problem then error(played, 0) end
  return core.json.encode { exit = problem.exit, message = problem.message, hint = problem.hint }
end

--- Takes over what a child answered.
local function take(path, succeeded, text)
  local answer = succeeded and core.json.decode(text)
  if not answer then failure.raise(failure.SCRIPT, ("%s: %s"):format(path, text)) end
  if answer.message then
    local place = answer.message:find(path, 1, true) and "" or path .. ": "
    failure.raise(answer.exit, place .. answer.message, answer.hint)
  end
  failure.lenient = failure.lenient or answer.lenient
  return answer.played
end

--- A field that is the same for all recordings; nil where it is not.
---@param played ebb.cli.Played[]
---@param field "budget"|"margin"|"requested"
---@return integer?
function files.common(played, field)
  for _, one in ipairs(played) do
    if one[field] ~= played[1][field] then return nil end
  end
  return played[1][field]
end

--- Plays all recordings. What fails for one ends the replay.
---@return ebb.cli.Played[]
function files.play_all(args, paths, specs, loading)
  if #paths == 1 then return { (files.play(args, paths[1], specs, loading, true)) } end
  local list, ended = {}, 0
  io.stdout:flush()
  io.stderr:flush()
  host.workers(#paths, function(number)
    return play_apart(args, paths[number], specs, loading)
  end, function(number, succeeded, text)
    list[number] = take(paths[number], succeeded, text)
    ended = ended + 1
    terminal.progress(("%d of %d recordings: %s"):format(ended, #paths, paths[number]), true)
  end)
  terminal.progress(nil)
  return list
end

return files
