--- Node `save`: writes the conversation to a file, and goes on.
--
--     { type = "save", file = "draft.json" }
--     { type = "save", file = "whole.json", dialect = "ebb" }     with batches, marks, windows, ledgers
--
-- A workflow in JSON may be a stranger's: its files lie in the current folder, and their names end with .json or
-- .jsonl.

local refuse = require "ebb.support.refuse"

local function check_contained(path)
  if path:find "^[%w_-][%w_. -]*%.jsonl?$" then return end
  refuse("forbidden", ("file: a workflow in JSON writes NAME.json or NAME.jsonl in the current folder, not '%s'")
    :format(path), "write the workflow in Lua to name any file")
end

---@type ebb.NodeType
return {
  summary = "writes the conversation to a file",
  example = '{ type = "save", file = "draft.json" }',
  fields = {
    file = { type = "string", required = true, filled = true, hint = 'file = "draft.json"' },
    dialect = { type = "choice", choices = { "ebb" }, help = "with batches, marks, windows and ledgers" },
    shape = { type = "choice", choices = { "array", "jsonl", "body" }, help = "default: as it is" },
  },
  prepare = function(options, place)
    if place.contained then check_contained(options.file) end
    if options.file == "-" then
      refuse("argument", "file: standard output is for the result", 'file = "draft.json"')
    end
    return function(chat)
      local done, problem = chat:save(options.file, { dialect = options.dialect, shape = options.shape })
      if not done then return nil, problem end
      return true
    end
  end,
}
