--- The arguments of chat:trim and chat:filter, which have one shape: the policy or filter
-- first, in one table with what belongs to the call; alone it needs no table.
--
--     chat:trim { "keep_recent", budget = 8000 }
--     chat:trim { { "keep_recent", keep = 3 }, budget = 8000 }     or options = { keep = 3 }
--     chat:filter { "no_tools.lua", options = { words = 20 }, limits = { deadline = 500 } }
--     chat:filter "no_tools.lua"                                   the same without options
--
-- A table without a first element is read by the method itself: options of a trim,
-- conditions of a filter.

local refuse = require "ebb.support.refuse"

local call = {}

--- The options of a call, with its first element under `name`.
---@param argument any
---@param name "policy"|"filter"
---@param method string        for errors: "trim"
---@return any options         a table of its own where the call names a policy or filter first
function call.read(argument, name, method)
  if type(argument) == "string" or type(argument) == "function" then return { [name] = argument } end
  if type(argument) ~= "table" or argument[1] == nil then return argument end
  local example = ('chat:%s { { "a.lua", "b.lua" }, ... }'):format(method)
  if argument[2] ~= nil then
    refuse("argument", ("%s: one %s is expected first"):format(method, name),
      name == "policy" and "a list of policies is one element: " .. example or nil)
  end
  if argument[name] ~= nil then
    local hint = ("it comes first, or under %s"):format(name)
    refuse("argument", ("%s: the %s is named twice"):format(method, name), hint)
  end
  local options = {}
  for key, value in pairs(argument) do
    if key ~= 1 then options[key] = value end
  end
  options[name] = argument[1]
  return options
end

return call
