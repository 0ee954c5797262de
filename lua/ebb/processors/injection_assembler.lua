--- Puts the agent's preset messages around and into the history.

local assets = require "ebb.processors.assets"
local injection = require "ebb.injection"
local references = require "ebb.processors.references"
local quantity = require "ebb.support.quantity"

--- The tools' macros are put in where the agent asks for it and no preset has them.
local function wants_tools(agent)
  local tools = agent.tool_call_config
  return tools ~= nil and tools.enabled == true and tools.auto_inject_if_macro_missing == true
end

---@type ebb.Processor
return {
  id = "injection-assembler",
  name = "Injection assembler",
  description = "weaves preset messages into the history: around it, at depths, at anchors",
  priority = 300,
  is_core = true,

  execute = function(context)
    local agent, before = context.agent_config, #context.messages
    local lore = context.shared_data.lorebook or {}
    local messages = injection.assemble(context.messages, agent.presets or {}, {
      model = context.capabilities.model,
      profile = context.capabilities.profile,
      templates = agent.anchors,
      tools_if_missing = wants_tools(agent),
      expand = function(text, title) return context:expand(text, nil, title) end,
      log = function(level, message, details) context:log(level, message, details) end,
      budget = context.run.budget,
      ready = lore.messages, around = lore.around, disabled = lore.disabled,
    })
    if not assets.none(context) then references.take_all(messages) end
    table.move(messages, 1, #messages, 1, context.messages)   -- never fewer than there were
    context:log("info", quantity(#messages - before, "preset message") .. " put in")
  end,
}
