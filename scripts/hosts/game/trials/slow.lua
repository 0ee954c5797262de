--- Needs some 50 ms: over fifty frames or more, while everybody else goes on talking.
return function(draft, budget)
  local weight = 0
  for i = 1, 5000000 do
    weight = (weight + i) % 1000
  end
  draft:drop_oldest { to = budget, reason = ("after thinking, %d"):format(weight) }
end
