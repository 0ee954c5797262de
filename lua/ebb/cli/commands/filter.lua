--- ebb filter: runs Lua filters over the messages, in order, one batch each.

local edits = require "ebb.cli.io.edits"
local failure = require "ebb.cli.failure"
local filters = require "ebb.trim.filter"
local options = require "ebb.cli.io.options"
local outgoing = require "ebb.cli.io.outgoing"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"

local filter = {}

function filter.declare(parser)
  parser:argument("filters",
    "Lua file that returns a filter, its name or its text; files and names with options as :key=value,...; "
    .. "a conversation may come last")
    :args("+"):argname("<filter>")
  options.filter_path(parser)
  options.sandbox(parser)
  options.input_option(parser)
  edits.declare(parser)
  outgoing.declare(parser)
  options.edited(parser)
  options.reading(parser)
  parser:epilog(options.examples {
    [[ebb filter 'return function(m) return m.role ~= "tool" end' \
    --input chat.json]],
    "ebb filter drop_tool_noise.lua:max=200 --input chat.jsonl -o short.jsonl",
  } .. "\n\nA filter answers true or nil to keep a message, false to drop it, a table to replace it.")
end

--- Loads the filter of "file.lua:key=value", and reads its options.
local function find(word, loading)
  local path, rest = script_file.split_options(word, "filter")
  local filter_file = filters.find(path, loading)
  local values = schema.parse(filter_file.options, rest or "", "filter " .. filter_file.name)
  return { filter = filter_file, options = values }
end

--- True if this file is a conversation. Its first byte begins no Lua file.
local function is_conversation(word)
  local file = io.open(word, "rb")
  local begin = file and file:read(1)
  if file then file:close() end
  return begin == "[" or begin == "{"
end

--- Takes a conversation that comes last among the filters as the input.
local function take_input(args)
  local last = args.filters[#args.filters]
  if not args.file and #args.filters > 1 and is_conversation(last) then args.file = table.remove(args.filters) end
  for _, word in ipairs(args.filters) do
    if is_conversation(word) then
      failure.usage(("%s is not a filter; it looks like a conversation"):format(word), "--input " .. word)
    end
  end
end

function filter.run(args)
  take_input(args)
  options.use_in_place(args)
  edits.check(args)
  local list, loading = {}, options.loading(args)
  options.use_filter_path(args)
  for i, word in ipairs(args.filters) do
    list[i] = failure.typed(find, word, loading)
  end
  local chat = options.load(args.file, args)
  local rules = outgoing.rules(chat, args)
  for _, each in ipairs(list) do
    local request = { each.filter, options = each.options, limits = loading.limits, trusted = loading.trusted }
    failure.typed(chat.filter, chat, request)
  end
  outgoing.save(chat, args, rules, { by = "filter" })
end

return filter
