--- Innkeepers forget small talk first: what names a room is kept as long as it fits.
return {
  summary = "talk that names no room goes first, then the oldest",
  trim = function(draft, budget)
    for unit in draft:units { from = "oldest", droppable = true, skip_last = 2 } do
      if draft:tokens() <= budget then return end
      if not unit.messages[1].text:find "[Rr]oom %d" then draft:drop(unit, "small talk") end
    end
    draft:drop_oldest { to = budget, reason = "long ago" }
  end,
}
