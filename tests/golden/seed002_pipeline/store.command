# Section 6: processors are registered, ordered, switched and removed; what is so comes back from the settings.
ebb run /dev/stdin <<'LUA'
local ebb = require "ebb"
local function show(what, pipeline)
  local list = {}
  for _, entry in ipairs(pipeline:order()) do
    list[#list + 1] = (entry.setting.enabled and "" or "-") .. entry.processor.id
  end
  print(what .. ":", table.concat(list, " "))
end
local pipeline = ebb.pipeline()
show("at first", pipeline)
pipeline:add { id = "footer", name = "Footer", execute = function() end }
show("registered, at 900", pipeline)
pipeline:reorder { "session-loader", "footer" }
pipeline:enable("merge-roles", false)
show("ordered and switched", pipeline)
pipeline:remove "footer"
print(select(2, pcall(pipeline.remove, pipeline, "session-loader")).message)
show("and again, from its settings", ebb.pipeline { agent = { processors = pipeline:settings() } })
LUA
