-- Section 5.1: what a processor sees of its context, and what the next one finds on the blackboard.
local function look(context)
  context.shared_data.seen = {
    agent = context.agent_config.name, user = context.user_profile.name, timestamp = context.timestamp,
    images = context.capabilities and context.capabilities.image, messages = #context.messages,
    session = context.session ~= nil,
  }
  context:log("info", "looked", context.shared_data.seen)
end

return { id = "looker", name = "Looker", priority = 210, execute = look }
