--- ebb_task_replay: a recorded chat, played once under each of several policies (ebb.replay).

local core = require "ebb.support.core"
local ebb = require "ebb"
local json_arguments = require "ebb.support.json_arguments"
local trim_options = require "ebb.trim.options"

local replays = {}

local OPTIONS = trim_options.with({ "budget", "reserve", "guards" }, {
  policies = {
    type = "list", expected = "a list of policies, with one or more in it",
    check = function(list)
      if #list == 0 then return "expected a list of policies, with one or more in it" end
    end,
  },
})

local function camel_case(fields)
  local result = {}
  for name, value in pairs(fields) do
    result[name:gsub("_(%l)", string.upper)] = value
  end
  return result
end

--- Each entry is played by itself: a name, {name, options ..}, or a list of these that run in order.
local function read_policies(list, policy_list)
  local specs = {}
  for i, entry in ipairs(list) do
    local several = type(entry) == "table" and entry[1] ~= nil
    specs[i] = policy_list(several and entry or { entry })
  end
  return specs
end

local function play(chat, options)
  local results, problem = ebb.replay(chat, options)
  if not results then error(problem, 0) end
  local list = core.json.array {}
  for i, result in ipairs(results) do
    list[i] = camel_case(result)
  end
  return core.json.encode(list)
end

---@param with_hints fun(run: function): function
---@param policy_list fun(list: any[]): table[]
function replays.task(with_hints, policy_list, chat, text)
  local options = json_arguments.options(text, OPTIONS, "a replay")
  if options.policies ~= nil then options.policies = read_policies(options.policies, policy_list) end
  return with_hints(function() return play(chat, options) end)
end

return replays
