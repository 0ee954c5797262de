--- The context of processors, declared once: for those of the program (pipeline/context.lua),
-- for those in sandboxes (processor_context.lua), and for what crosses between (processor.lua).
--
--     own        messages, shared_data: may be assigned, and cross both ways
--     read       the others: may only be read, and cross inward
--     methods    called by name; those in `crossing` also from within a sandbox

local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local context_fields = {
  own = { "messages", "shared_data" },
  read = { "session", "user_profile", "agent_config", "capabilities", "timestamp", "preview" },
  crossing = { "log", "expand", "call", "weigh", "history", "missing_windows", "only_core_follows", "forecast" },
}

local function assign(assignable, name, value)
  if assignable[name] == nil then
    local hint = "processors change messages and shared_data"
    refuse("argument", ("context.%s can only be read"):format(tostring(name)), hint)
  end
  if type(value) ~= "table" then
    refuse("shape", ("context.%s: expected a table, got %s"):format(name, schema.describe(value)))
  end
  assignable[name] = value
end

--- Refuses a field that no context has; a known one may be nil, such as user_profile.
local function refuse_unknown(assignable, methods, name)
  local names = tables.keys(assignable)
  for _, list in ipairs { context_fields.read, { "logs" }, tables.keys(methods) } do
    table.move(list, 1, #list, #names + 1, names)
  end
  if not tables.contains(names, name) then suggest.refuse_field("context", name, names) end
end

--- A context with these fields: `assignable` ones cross both ways, `read` ones can only be read.
---@param assignable table<string, table>
---@param read table<string, any>
---@param methods table<string, function>
---@param logs fun(): ebb.LogEntry[]   the log so far, for the field `logs`
---@return ebb.Context
function context_fields.context(assignable, read, methods, logs)
  return setmetatable({}, {
    __index = function(_, name)
      if name == "logs" then return logs() end
      local value = assignable[name]
      if value == nil then value = read[name] end
      if value == nil then value = methods[name] end
      if value == nil then refuse_unknown(assignable, methods, name) end
      return value
    end,
    __newindex = function(_, name, value) assign(assignable, name, value) end,
    __name = "Context",
  })
end

return context_fields
