--- ebb filter: runs Lua filters over the messages, in order, one batch each.

local failure = require "ebb.cli.failure"
local filters = require "ebb.trim.filter"
local options = require "ebb.cli.options"
local outgoing = require "ebb.cli.outgoing"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"

local filter = {}

function filter.declare(parser)
  parser:argument("filters",
    "Lua file that returns a filter, its name or its text; files and names with options as :key=value,...")
    :args("+"):argname("<filter>")
  options.filter_path(parser)
  options.sandbox(parser)
  options.input_option(parser)
  outgoing.declare(parser)
  options.output(parser)
  options.quiet(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    [[ebb filter 'return function(m) return m.role ~= "tool" end' --input chat.json]],
    "ebb filter drop_tool_noise.lua:max=200 --input chat.jsonl -o short.jsonl",
  } .. "\n\nA filter answers true or nil to keep a message, false to drop it, a table to replace it.")
end

--- "file.lua:key=value" taken apart, the file loaded, its options read.
local function find(word, loading)
  local path, rest = nil, nil
  if not script_file.is_source(word) then path, rest = word:match "^(.-):([%w_%-]+=.*)$" end
  local found = filters.find(path or word, loading)
  return { filter = found, options = schema.parse(found.options, rest or "", "filter " .. found.name) }
end

--- No Lua file begins as every conversation does.
local function refuse_conversation(word)
  local file = io.open(word, "rb")
  local begin = file and file:read(1)
  if file then file:close() end
  if begin == "[" or begin == "{" then
    failure.usage(("%s is no filter, it looks like a conversation"):format(word), "--input " .. word)
  end
end

function filter.run(args)
  local found, loading = {}, options.loading(args)
  options.use_filter_path(args)
  for i, word in ipairs(args.filters) do
    refuse_conversation(word)
    found[i] = failure.typed(find, word, loading)
  end
  local chat = options.load(args.file, args)
  local rules = outgoing.rules(chat, args)
  for _, each in ipairs(found) do
    local request = { each.filter, options = each.options, limits = loading.limits, trusted = loading.trusted }
    failure.typed(chat.filter, chat, request)
  end
  outgoing.save(chat, args, rules)
end

return filter
