--- Traders remember prices: each message that has one shrinks to its sentence.
return {
  summary = "prices stay, what was said around them goes",
  trim = function(draft, budget)
    for message in draft:messages { role = "assistant", from = "oldest", skip_last = 2 } do
      if draft:tokens() <= budget then return end
      local price = message.text:match "[^.:]*[.:]?[^.:]* %d+ gold"
      if price and #price < #message.text then draft:replace(message, { content = price }, "the price alone") end
    end
    draft:drop_oldest { to = budget }
  end,
}
