--- A server's policy: keeps the system messages and the latest talk. Tool
--- results go first, as models rarely need them twice.
return {
  summary = "old tool results go first, then the oldest talk",
  trim = function(draft, budget)
    for message in draft:messages { role = "tool", from = "oldest", skip_last = 2 } do
      if draft:tokens() <= budget then return end
      draft:replace(message, { content = "(cleared)" }, "an old result")
    end
    draft:drop_oldest { to = budget }
  end,
}
