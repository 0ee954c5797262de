--- Sages forget the questions and keep their own words; how often they forgot is
--- remembered with the chat.
return {
  summary = "old questions go before old answers",
  trim = function(draft, budget)
    draft.memory.times = (draft.memory.times or 0) + 1
    for unit in draft:units { from = "oldest", droppable = true, skip_last = 4 } do
      if draft:tokens() <= budget then break end
      if unit.messages[1].role == "user" then draft:drop(unit, "a question") end
    end
    draft:drop_oldest { to = budget }
    draft:note(("forgot for the %d. time"):format(draft.memory.times))
  end,
}
