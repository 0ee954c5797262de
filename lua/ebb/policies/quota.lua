--- Trim policy: limits the messages or tokens of a role.

local idle = require "ebb.support.idle"
local roles = require "ebb.conversation.roles"
local tables = require "ebb.support.tables"

--- Returns a complaint about limits per role, such as {tool = 5}, or nil if they are valid.
local function complaint_about(limits, name)
  for _, role in ipairs(tables.keys(limits)) do
    if not tables.contains(roles, role) then
      return ("%s: unknown role '%s'; roles are %s"):format(name, tostring(role), table.concat(roles, ", "))
    end
    local limit = limits[role]
    if math.type(limit) ~= "integer" or limit < 0 then
      return ("%s: the limit of %s is a whole number from 0, not %s"):format(name, role, tostring(limit))
    end
  end
end

--- Messages and tokens of a role in a unit.
local function share(unit, role)
  local count, tokens = 0, 0
  for _, message in ipairs(unit.messages) do
    if message.role == role then count, tokens = count + 1, tokens + message.tokens end
  end
  return count, tokens
end

--- Drops the oldest units with messages of the role until the limits hold.
local function enforce(draft, role, most_messages, most_tokens)
  local count, tokens = draft:count(role), draft:where({ role = role }):tokens()
  for unit in draft:units { role = role, droppable = true } do
    if count <= most_messages and tokens <= most_tokens then return end
    local unit_count, weight = share(unit, role)
    if draft:drop(unit, ("over the quota of %s"):format(role)) then
      count, tokens = count - unit_count, tokens - weight
    end
  end
end

---@type ebb.Policy
return {
  name = "quota",
  summary = "limit the messages or tokens of a role",
  options = {
    messages = { type = "table", help = [[most messages per role, such as {"tool": 5}]] },
    tokens = { type = "table", help = [[most tokens per role, such as {"tool": 2000}]] },
    idle = idle.OPTION,
  },
  help = [[
The newest of a role stay; the oldest go, with their units: a tool result takes its
call along. The budget plays no part, so another policy usually comes after it.
All messages of the role count, guarded ones too. With `idle` half of each limit
stays where the provider's cache is cold anyway, so that the next cut is not due
at once.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message), even over its quota.]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 700 --policy 'quota:messages={"tool": 2}']],

  check = function(options)
    local messages, tokens = options.messages or {}, options.tokens or {}
    if next(messages) == nil and next(tokens) == nil then return "quota needs messages or tokens" end
    return complaint_about(messages, "messages") or complaint_about(tokens, "tokens")
  end,

  ---@param draft ebb.Draft
  ---@param options { messages?: table<string, integer>, tokens?: table<string, integer>, idle: integer }
  trim = function(draft, _, options)
    local messages, tokens = options.messages or {}, options.tokens or {}
    for _, role in ipairs(roles) do
      if messages[role] or tokens[role] then
        enforce(draft, role, idle.limit(draft, messages[role] or math.maxinteger, options.idle),
          idle.limit(draft, tokens[role] or math.maxinteger, options.idle))
      end
    end
  end,
}
