--- Node `filter`: chat:filter with conditions, a function, a filter, or a file.
--
--     { type = "filter", filter = "my/filter.lua", options = { words = 20 } }
--     { type = "filter", filter = { roles = { "user", "assistant" } } }

local filter = require "ebb.trim.filter"
local locate = require "ebb.workflow.locate"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local trim_options = require "ebb.trim.options"

---@type ebb.NodeType
return {
  summary = "filters messages, as chat:filter does",
  example = '{ type = "filter", filter = "drop_tool_noise.lua", options = { words = 20 } }',
  fields = trim_options.with({ "limits", "trusted" }, {
    filter = { type = "any", expected = "conditions, a function, a filter or a file",
      help = "required: conditions such as { roles = { \"user\" } }, a function, or the name of a file" },
    options = { type = "table", help = "the filter's own options" },
  }),
  prepare = function(options, place)
    if options.filter == nil then
      refuse("argument", "a filter node needs filter = conditions, a function or a file")
    end
    local wanted = options.filter
    local loading = { limits = options.limits, trusted = options.trusted }
    if type(wanted) == "string" then wanted, loading.folder = locate.path(wanted, place) end
    local declared = filter.find(wanted, loading)
    if declared then schema.options_of(declared, options.options, filter.owner(declared), "filter") end
    local request = {
      declared or wanted, options = options.options, limits = options.limits, trusted = options.trusted,
    }
    return function(chat) return chat:filter(request) end
  end,
}
