--- ebb profiles: what servers demand or refuse beyond their dialect, or one of them in full.

local core = require "ebb.support.core"
local ebb = require "ebb"
local failure = require "ebb.cli.failure"
local grid = require "ebb.cli.view.grid"
local json_text = require "ebb.cli.view.json_text"
local options = require "ebb.cli.io.options"
local profile_file = require "ebb.cli.io.profile_file"
local registry = require "ebb.models.profiles"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"

local command = {}

function command.declare(parser)
  parser:argument("profile", "The name of a profile."):args("?")
  options.output(parser)
  options.json(parser)
  parser:epilog(options.examples { "ebb profiles", "ebb profiles mistral", "ebb check chat.json --profile mistral" })
end

local function as_data(name)
  local profile = failure.typed(registry.find, name)
  local id, limits = profile.call_id, profile.limits
  return {
    name = name, summary = profile.summary, dialects = profile.dialects, models = core.json.array(profile.models),
    hosts = core.json.array(profile.hosts), refuses = core.json.array(profile.refuses),
    accepts = core.json.array(profile.accepts), members = core.json.array(profile.members), callId = id,
    toolName = profile.tool_name, reasoning = profile.reasoning, limits = limits,
    sources = core.json.array(profile.sources),
  }
end

local COLUMNS = {
  { title = "profile" }, { title = "dialects", rank = 2 }, { title = "what it is", wrap = true },
  { title = "refuses", wrap = true, rank = 1 },
}

local function list(profiles, page)
  local rows = {}
  for i, profile in ipairs(profiles) do
    rows[i] = { profile.name, table.concat(profile.dialects, ", "), profile.summary,
      table.concat(profile.refuses, ", ") }
  end
  return grid.render(COLUMNS, rows, page)
end

local LISTS = { "dialects", "models", "hosts", "refuses", "accepts", "members", "sources" }

local function describe(profile, page)
  local lines = { ("%s: %s"):format(profile.name, profile.summary) }
  for _, name in ipairs(LISTS) do
    local values = profile[name]
    if #values > 0 then lines[#lines + 1] = ("  %-10s%s"):format(name, table.concat(values, ", ")) end
  end
  local id = profile.callId
  if id then
    lines[#lines + 1] = ("  %-10s%s to %s characters, %s"):format("call ids", id.min or 0, id.max or "any number of",
      id.characters)
  end
  if profile.reasoning then lines[#lines + 1] = ("  %-10s%s"):format("reasoning", profile.reasoning) end
  for _, name in ipairs(tables.keys(profile.limits or {})) do
    lines[#lines + 1] = ("  %-10s%s"):format(name, profile.limits[name])
  end
  return terminal.fill(page, table.concat(lines, "\n"), "            ")
end

function command.run(args)
  profile_file.load(args.profile)
  local profiles = core.json.array {}
  local names = args.profile and { args.profile } or tables.keys(ebb.profiles)
  for i, name in ipairs(names) do profiles[i] = as_data(name) end
  local page = terminal.results(args.output)
  if args.json then
    return terminal.result(json_text.format(args.profile and profiles[1] or profiles), args.output)
  end
  terminal.result(args.profile and describe(profiles[1], page) or list(profiles, page), args.output)
end

return command
