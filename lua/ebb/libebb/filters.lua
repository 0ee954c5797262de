--- Filters that a host loads by name, as policies are.

local hints = require "ebb.support.hints"
local filter = require "ebb.trim.filter"
local json_arguments = require "ebb.support.json_arguments"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local filters = {}

---@type table<string, ebb.FilterFile>
local loaded = {}

--- The filter that a text has returned, under the host's name for it.
local function check(name, value)
  if type(value) == "table" and value.filter == nil and value.trim ~= nil then
    refuse("shape", name .. " is a policy, not a filter", hints.policy)
  end
  if type(value) ~= "function" and type(value) ~= "table" then
    refuse("shape", ("%s: expected a filter, the text returned %s"):format(name, type(value)),
      "return function(message, options) ... end")
  end
  local entry = filter.find(type(value) == "table" and value or { filter = value })
  if not entry then refuse("shape", name .. ": expected a filter", "filter = function(message, options) ... end") end
  entry.name = name
  return entry
end

--- Compiles, checks and swaps; whatever fails, the old one stays.
---@param evaluate fun(name: string, source: string): any   what the text returns
function filters.filter_loader(with_hints, evaluate, name, source)
  return with_hints(function() loaded[name] = check(name, evaluate(name, source)) end)
end

function filters.filter_unload(_, _, name)
  if not loaded[name] then
    refuse("unknown_name", ("no filter '%s' is loaded"):format(name), suggest.hint(name, tables.keys(loaded)))
  end
  loaded[name] = nil
end

local function find(name)
  if loaded[name] then return loaded[name] end
  if name:find "%.lua$" then return filter.find(name) end
  return refuse("unknown_name", ("unknown filter '%s'"):format(name), suggest.hint(name, tables.keys(loaded)))
end

--- One batch, or nothing at all.
function filters.filterer(with_hints, _, chat, name, text)
  local entry, options = find(name), json_arguments.object(text, "options")
  return with_hints(function() chat:filter { entry, options = options } end)
end

return filters
