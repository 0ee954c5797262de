--- Node `workflow`: the nodes of another file.
--
--     { type = "workflow", file = "clean_up.lua" }

local locate = require "ebb.workflow.locate"

---@type ebb.NodeType
return {
  summary = "runs the workflow of another file",
  example = '{ type = "workflow", file = "clean_up.lua" }',
  fields = { file = { type = "string", required = true, filled = true, hint = 'file = "clean_up.lua"' } },
  prepare = function(options, place, kit)
    local prepared = kit:file(locate.file(options.file, place))
    return {
      run = function(_, run) return run:sequence(prepared.sequence) end,
      kind = "workflow", parts = { { prepared.name or options.file, prepared.sequence } },
    }
  end,
}
