--- Guards remember their watch: the newest talk, and nothing else.
return {
  summary = "only the newest talk stays",
  options = { watch = { type = "integer", default = 6, min = 1, help = "units that stay" } },
  trim = function(draft, budget, options)
    for unit in draft:units { from = "oldest", droppable = true, skip_last = options.watch } do
      draft:drop(unit, "the watch is over")
    end
    draft:drop_oldest { to = budget }
  end,
}
