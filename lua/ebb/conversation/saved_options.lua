--- The options of a conversation that are saved with it (runtime/state/state.h), as JSON:
--
--     {"model": "gpt-4o", "encoding": .., "limit": .., "tools": [{name, description}], "toolsHeading": ..,
--      "roleMap": {"pirate": "user"}, "run": {..}, "steps": [..]}
--
-- `run` is where a workflow that was ended goes on (workflow/runner.lua), `steps` what commands did to a session
-- (session/steps.lua).
--
-- The options of a saved conversation stay as they were written, byte for byte, until one is changed.

local core = require "ebb.support.core"
local json_arguments = require "ebb.support.json_arguments"
local names = require "ebb.support.names"
local refuse = require "ebb.support.refuse"
local roles = require "ebb.conversation.roles"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local saved_options = {}

local json = core.json

local ANY = { type = "any" }
local ROLE = {
  type = "string", expected = "the name of a role",
  check = function(role)
    if tables.contains(roles, role) then return nil end
    return ("unknown role '%s'"):format(role), suggest.hint(role, roles), "unknown_name"
  end,
}
local NAME = { type = "string", required = true }

--- The options that may be saved. Options of libebb for reading a text have no use after that.
local FIELDS = {
  model = { type = "string" }, encoding = { type = "string" }, limit = { type = "integer", min = 0, unit = "tokens" },
  tools = { type = "list", items = { type = "object", fields = { name = NAME, description = NAME }, items = ANY } },
  tools_heading = { type = "string" },
  role_map = { type = "object", fields = {}, items = ROLE, camel = true, expected = "an object" },
  lenient = ANY, max_message = ANY, max_file = ANY,
  run = { type = "object", fields = {}, items = ANY, expected = "an object" },
  steps = { type = "list", items = ANY },
}

---- Out ----

--- The options as they are saved: a JSON object, or nothing.
---@param chat ebb.Conversation
---@return string
function saved_options.text(chat)
  local state = core.state(chat)
  if state.options_text then return state.options_text end
  local options = state.options or {}
  local tools = options.tools and json.array {}
  for i, tool in ipairs(options.tools or {}) do
    tools[i] = { name = tool.name, description = tool.description }
  end
  local was_read = chat.shape ~= nil
  local values = {
    model = options.model, encoding = options.encoding, limit = options.limit, tools = tools,
    toolsHeading = tools and options.tools_heading, roleMap = was_read and options.role_map or nil,
    run = state.run or nil, steps = state.steps or nil,
  }
  return next(values) and json.encode(values) or ""
end

--- Sets a member that commands keep besides the caller's options; nil removes it.
local function keep(chat, name, value)
  local state = core.state(chat)
  state[name] = value or false
  if not state.options_text then return end
  local options = state.options_text ~= "" and json.decode(state.options_text) or {}
  options[name] = value
  state.options_text = next(options) and json.encode(options) or ""
end

--- The steps of commands on a session, the oldest first; a list of the caller's own.
---@param chat ebb.Conversation
---@return ebb.SessionStep[]
function saved_options.steps(chat)
  local steps = core.state(chat).steps or {}
  return table.move(steps, 1, #steps, 1, {})
end

---@param chat ebb.Conversation
---@param steps ebb.SessionStep[]
function saved_options.keep_steps(chat, steps) keep(chat, "steps", json.array(steps)) end

--- Returns the position at which an ended workflow continues; nil if none was saved.
---@param chat ebb.Conversation
---@return ebb.WorkflowPosition?
function saved_options.run(chat) return core.state(chat).run or nil end

--- Saves where a workflow goes on, with the conversation; nil: nowhere.
---@param chat ebb.Conversation
---@param run? ebb.WorkflowPosition
function saved_options.keep_run(chat, run) keep(chat, "run", run) end

---- In ----

local CHANGES = { "model", "encoding", "limit", "tools", "tools_heading", "role_map" }

local KNOWN = {}
for name in pairs(FIELDS) do KNOWN[names.camel(name)] = true end

--- Refuses an option that only newer versions know: what it asks for would not be done.
local function check_names(text)
  for name in pairs(json_arguments.object(text, "options")) do
    if not KNOWN[name] then
      refuse("unknown_version", ("they have '%s', which this version of Ebb does not know"):format(name),
        "a newer version of Ebb saved it, and reads it")
    end
  end
end

--- Reads the options of a saved conversation; the caller's take the place of saved ones. A model or counter of the
--- caller's takes the place of the saved encoding, too. Raises what is wrong.
---@param text string            JSON
---@param caller? ebb.ConversationOptions
---@return ebb.ConversationOptions
---@return string? text          to be saved again; nil if the caller changes an option
---@return ebb.WorkflowPosition? run
---@return ebb.SessionStep[]? steps
function saved_options.read(text, caller)
  check_names(text)
  local options = json_arguments.options(text, FIELDS, "a saved conversation")
  local merged, changed = {}, false
  caller = caller or {}
  for name, value in pairs(options) do merged[name] = value end
  if caller.counter or caller.model and not caller.encoding then merged.encoding = nil end
  for name, value in pairs(caller) do merged[name] = value end
  merged.run, merged.steps = nil, nil
  for _, name in ipairs(CHANGES) do changed = changed or merged[name] ~= options[name] end
  return merged, not changed and text or nil, options.run, options.steps
end

return saved_options
