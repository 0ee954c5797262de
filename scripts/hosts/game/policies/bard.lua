--- Bards forget their own songs, and remember that they sang.
return {
  summary = "old songs give way to a line, then the oldest goes",
  trim = function(draft, budget)
    for message in draft:messages { role = "assistant", from = "oldest", skip_last = 3 } do
      if draft:tokens() <= budget then return end
      if #message.text > 40 then draft:replace(message, { content = "(a song)" }, "old song") end
    end
    draft:drop_oldest { to = budget }
  end,
}
