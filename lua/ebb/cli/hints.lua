--- Hints of errors in terms of the command line, instead of Lua's.

local hints = require "ebb.support.hints"

local command = {
  budget = "--budget 8000, or --model",
  policies = "`ebb policies` lists them; a file needs a / or .lua in its name",
  policy = "run it with `ebb trim --policy`, in Lua chat:trim",
  filter = "run it with `ebb filter`, in Lua chat:filter",
  processor = "run it with `ebb pipeline --plugin`, in Lua processors = { ... }",
  macro = "use it with `ebb pipeline --macro`, in Lua macros = { ... }",
  model = "--model-command, in Lua chat:trim { model = function }",
  models = "`ebb models` lists them; or give a budget and an encoding (--budget, --encoding)",
  abilities = "`capabilities` in a --model-config file say it, or `ebb models update`",
  processors = "`ebb processors` lists them",
  profiles = "`ebb profiles` lists them",
  asset_root = "--asset-root, in Lua asset_root = ...",
  trusted_processor = "a processor of your own may be trusted (--trusted)",
  vocabularies = "`ebb vocab import FILE` adds one",
  vocabulary = "`ebb vocab verify` says more; importing it again replaces it",
  bad_lines = "--lenient reads on after such lines",
  import = "`ebb import` makes an agent of it",
  forms = "--from names the form to read it as",
  window_exists = "each window has an id of its own; `ebb window open` updates one, chat.windows:get(id):update in Lua",
  limits = "--deadline, --fuel and --memory allow more, in Lua limits = { deadline, fuel, memory }",
}

--- The library's own, for the user's Lua.
local library = {}
for name in pairs(command) do
  library[name] = hints[name]
end

hints.set(command)

--- Calls what runs the user's own Lua: its errors have the library's hints.
---@param call function
---@param ... any
---@return any ...
function hints.in_lua(call, ...)
  hints.set(library)
  local results = table.pack(pcall(call, ...))
  hints.set(command)
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

return hints
