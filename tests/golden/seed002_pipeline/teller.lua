-- Section 5.1: reads what the processor before it left on the blackboard; changes, adds and removes messages.
return { id = "teller", name = "Teller", priority = 950, execute = function(context)
  local seen = context.shared_data.seen
  table.remove(context.messages, 1)
  context.messages[1].content = "Be quick."
  table.insert(context.messages, { role = "user", content = ("%s saw %d messages of %s at %d."):format(
    seen.agent, seen.messages, seen.user, seen.timestamp) })
  local changed = pcall(function() context.agent_config.name = "Mallory" end)
  context:log("warn", "may change the agent: " .. tostring(changed))
end }
