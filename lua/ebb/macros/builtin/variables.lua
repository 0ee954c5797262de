--- Variables: those of the session (local) and those of all sessions (global).
--
-- A decimal number is kept as a number, so that 007 reads back as 7; up to 15
-- digits, which a float holds exactly: longer ones are names or codes and stay texts.

local core = require "ebb.support.core"
local registry = require "ebb.macros.registry"
local text = require "ebb.macros.text"

local DIGITS_MAX = 15

--- A text as the number it looks like, or nil.
local function number_of(value)
  if type(value) == "number" then return value end
  if type(value) ~= "string" then return nil end
  if not value:find "^[+-]?%d+%.?%d*$" and not value:find "^[+-]?%.%d+$" then return nil end
  local _, digits = value:gsub("%d", "")
  return digits <= DIGITS_MAX and tonumber(value) or nil
end

--- A variable as a text. Hosts may have put other things there than macros do.
local function text_of(value)
  if value == nil then return "" end
  if type(value) == "number" then return text.of_number(value) end
  if type(value) == "table" then return core.json.encode(value) end
  return tostring(value)
end

--- A variable is as stable as the arguments it was set from.
local function keep(call, scope, name, value, rank)
  call.environment:set(scope, name, value, math.max(rank or 1, call.held))
  return ""
end

local function set(call, scope, name, value)
  return keep(call, scope, name, number_of(value) or value)
end

local function get(call, scope, name)
  local rank = call.environment.state.held[scope][name]
  if rank and rank > registry.RANK.turn then call.stability = registry.STABILITIES[rank] end
  return text_of(call.environment.variables[scope][name])
end

--- A sum as JavaScript makes it: where whole numbers end to be exact, it is a float, and never wraps around.
local function sum_of(a, b)
  local sum = a + 0.0 + b
  return math.abs(sum) <= 1 << 53 and math.tointeger(sum) or sum
end

--- Adds to a number; nothing counts as 0.
local function step(call, scope, name, amount)
  local value = call.environment.variables[scope][name]
  local number = value == nil and 0 or value == "" and 0 or number_of(value)
  if not number then return nil, "not_number", name end
  return keep(call, scope, name, sum_of(number, amount), call.environment.state.held[scope][name])
end

--- Adds numbers; other texts are appended.
local function add(call, scope, name, value)
  local before, amount = call.environment.variables[scope][name], number_of(value)
  if amount and (before == nil or number_of(before)) then return step(call, scope, name, amount) end
  local joined = text_of(before)
  call:allow(#joined + #value)
  return keep(call, scope, name, joined .. value, call.environment.state.held[scope][name])
end

local function increment(call, scope, name)
  return step(call, scope, name, 1)
end

local function decrement(call, scope, name)
  return step(call, scope, name, -1)
end

local function has(call, scope, name)
  return call.environment.variables[scope][name] ~= nil and "true" or "false"
end

local function remove(call, scope, name)
  call.environment:set(scope, name, nil, nil)
  return ""
end

--- name with % for the scope, parameters, silent, summary, function, alias; all examples begin with a variable n = 5.
local MACROS = {
  { "set%svar", { "name", "value" }, true, "sets a %s variable", set },
  { "get%svar", { "name" }, false, "the value of a %s variable", get },
  { "inc%svar", { "name" }, true, "adds 1 to a %s variable", increment },
  { "dec%svar", { "name" }, true, "subtracts 1 from a %s variable", decrement },
  { "add%svar", { "name", "value" }, true, "adds a number to a %s variable, or appends a text", add },
  { "has%svar", { "name" }, false, "true if there is a %s variable of that name, else false", has, "%svarexists" },
  { "delete%svar", { "name" }, true, "removes a %s variable", remove, "flush%svar" },
}

--- "{{setvar::n::5}}{{incvar::n}}{{getvar::n}}": what the macro does, and what it leaves.
local function example_of(word, name, parameters, silent)
  local call = ("{{%s}}"):format(table.concat({ name, "n", parameters[2] and "3" or nil }, "::"))
  local set_first = ("{{set%svar::n::5}}"):format(word)
  if not silent then return set_first .. call end
  return (name:find "^set" and "" or set_first) .. call .. ("{{get%svar::n}}"):format(word)
end

local macros = {}
for _, scope in ipairs { "local", "global" } do
  local word = scope == "global" and "global" or ""
  for _, row in ipairs(MACROS) do
    local name, parameters, silent, summary, run, alias = table.unpack(row)
    macros[#macros + 1] = {
      name = name:format(word),
      example = example_of(word, name:format(word), parameters, silent),
      aliases = alias and { alias:format(word) },
      parameters = parameters,
      summary = summary:format(scope),
      stability = silent and "stable" or "turn",
      silent = silent,
      run = function(call, ...) return run(call, scope, ...) end,
    }
  end
end

return macros
