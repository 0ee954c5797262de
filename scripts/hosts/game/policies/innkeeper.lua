--- Innkeepers forget small talk first: what names a room that is free now is kept as
--- long as it fits. `inn.free` is the game's own function.
return {
  summary = "talk that names no free room goes first, then the oldest",
  trim = function(draft, budget)
    for unit in draft:units { from = "oldest", droppable = true, skip_last = 2 } do
      if draft:tokens() <= budget then return end
      local room = unit.messages[1].text:match "[Rr]oom (%d)"
      if not (room and inn.free(math.tointeger(room))) then draft:drop(unit, "small talk") end
    end
    draft:drop_oldest { to = budget, reason = "long ago" }
  end,
}
