--- Node `tool`: performs the open calls of the model, and appends their results.
--
--     { type = "tool" }                             the tools of the workflow, and the actions of windows
--     { type = "tool", at_most = 8, only = { "add" } }
--
-- A tool marked `once` is called once, even if the run is killed: the position says that the call begins, before it
-- does, and what it answered. What was ended meanwhile is not called again: the model is told.

local act = require "ebb.windows.act"
local call_results = require "ebb.conversation.call_results"
local core = require "ebb.support.core"
local open_calls = require "ebb.conversation.open_calls"
local quantity = require "ebb.support.quantity"
local tables = require "ebb.support.tables"

--- The result of one call: refused beyond a number of them, and where its tool is not among those of the node.
local function perform(call, number, options, run)
  if number > options.at_most then
    return ("error: not performed: at most %d calls of one message are"):format(options.at_most), true
  end
  if options.only and not tables.contains(options.only, call.name) then
    return ("error: the tool '%s' cannot be called now"):format(call.name), true
  end
  local chat = run.chat
  if run.toolset.by_name[call.name] or #act.tools(chat) == 0 then return run.toolset:perform(call, chat, run.host) end
  local result = act.native(chat, { call })[1]
  return result.text, not result.ok
end

local UNKNOWN = "error: not called again: an earlier run was ended during this call, and whether it is done is unknown"

--- The result of a call of a tool marked `once`; nil and the error where it cannot be saved. Each save puts another
--- conversation instead of run.chat, and may close the one before.
local function perform_once(call, number, options, run)
  if run.copies > 0 then
    return nil, core.error("argument", ("%s: a tool marked once is not called inside of parallel"):format(call.name),
      "call it after the parallel node")
  end
  local key = ("%d:%s"):format(number, call.id or call.name)
  local earlier = run.calls[key]
  if earlier then return earlier.text or UNKNOWN, earlier.failed ~= false end
  run.calls[key] = { begun = true }
  local saved, problem = run:save(("the begin of %s"):format(call.name))
  if not saved then return nil, problem end
  local text, failed = perform(call, number, options, run)
  run.calls[key] = { text = text, failed = failed }
  saved, problem = run:save(("the end of %s"):format(call.name))
  if not saved then return nil, problem end
  return text, failed
end

--- The result of one call.
local function result_of(call, number, options, run)
  local tool = run.toolset.by_name[call.name]
  if tool and tool.once and run.keep then return perform_once(call, number, options, run) end
  return perform(call, number, options, run)
end

---@type ebb.NodeType
return {
  summary = "performs the calls that the model has made, and appends their results",
  example = '{ type = "tool", at_most = 8 }',
  fields = {
    at_most = { type = "integer", min = 1, default = 32, unit = "calls",
      help = "of one message; the others are answered with an error" },
    only = { type = "list", items = { type = "string" }, help = "names of the tools that may be called" },
    on_error = { type = "choice", choices = { "tell", "fail" }, default = "tell",
      help = "tell: the model reads the error; fail: the run ends" },
  },
  prepare = function(options)
    return function(chat, run)
      local opened, problem = run.toolset:open(run.host)
      if not opened then return nil, problem end
      local results = {}
      for i, call in ipairs(open_calls(chat)) do
        local text, failed = result_of(call, i, options, run)
        if not text then return nil, failed end
        if failed and options.on_error == "fail" then
          return nil, core.error("host", ("%s: %s"):format(call.name, (text:gsub("^error: ", ""))))
        end
        run:note(("%s: %s"):format(call.name, failed and text or quantity(#text, "byte")))
        results[i] = { id = call.id, name = call.name, text = text, failed = failed }
      end
      if results[1] then run.chat:append(call_results(run.chat:dialect(), results)) end
      return true
    end
  end,
}
