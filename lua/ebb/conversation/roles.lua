--- The roles of messages, in the order in which reports list them. Messages may also be
--- spelled "developer" (system) and "function" (tool).

return { "system", "user", "assistant", "tool" }
