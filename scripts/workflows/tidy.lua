--- Workflow: the four kinds of nodes, in the order in which they are of use. Your own kinds: `types = { "tag.lua" }`.
--
-- A workflow is a list of nodes, run in order; each leaves a batch that can be
-- rolled back.
--
-- Run:   ebb run scripts/workflows/tidy.lua --input scripts/workflows/tidy.in.json
-- gives scripts/workflows/tidy.out.json

return {
  name = "tidy",
  nodes = {
    -- an operation, in the JSON configuration of the design documents: positions from 0
    {
      operation = "insert",
      insert = { position = 0, messages = { { role = "system", content = "Answer in one sentence." } } },
    },

    -- the beginning of the task stays whatever a later node does
    { type = "script", run = function(chat)
      local first = chat:where({ role = "user" }):first(1)[1]
      if first then chat:mark(first, "pinned") end
    end },

    -- names of files are relative to this one
    { type = "filter", filter = "../filters/drop_tool_noise.lua" },

    { type = "trim", budget = 110, policy = "keep_recent" },
  },
}
