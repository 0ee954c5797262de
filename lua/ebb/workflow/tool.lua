--- Node `tool`: performs the open calls of the model, and appends their results.
--
--     { type = "tool" }                             the tools of the workflow, and the actions of windows
--     { type = "tool", at_most = 8, only = { "add" } }

local act = require "ebb.windows.act"
local call_results = require "ebb.conversation.call_results"
local core = require "ebb.support.core"
local open_calls = require "ebb.conversation.open_calls"
local tables = require "ebb.support.tables"

--- The result of one call: refused beyond a number of them, and where its tool is not among those of the node.
local function perform(call, number, options, chat, run)
  if number > options.at_most then
    return ("error: not performed: at most %d calls of one message are"):format(options.at_most), true
  end
  if options.only and not tables.contains(options.only, call.name) then
    return ("error: the tool '%s' cannot be called now"):format(call.name), true
  end
  if run.toolset.by_name[call.name] or #act.tools(chat) == 0 then return run.toolset:perform(call, chat, run.host) end
  local result = act.native(chat, { call })[1]
  return result.text, not result.ok
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
        local text, failed = perform(call, i, options, chat, run)
        if failed and options.on_error == "fail" then
          return nil, core.error("host", ("%s: %s"):format(call.name, (text:gsub("^error: ", ""))))
        end
        run:note(("%s: %s"):format(call.name, failed and text or ("%d bytes"):format(#text)))
        results[i] = { id = call.id, name = call.name, text = text, failed = failed }
      end
      if results[1] then chat:append(call_results(chat:dialect(), results)) end
      return true
    end
  end,
}
