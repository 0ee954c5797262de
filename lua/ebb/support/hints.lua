--- Words the errors' hints for the surface in use: the module has its own texts, which the command
--- (cli/hints.lua) and libebb (libebb/hints.lua) replace by theirs.

local core = require "ebb.support.core"

local hints = {
  budget = "chat:trim { budget = 8000 }",
  policies = "ebb.policies lists them; a file needs a / or .lua in its name",
  policy = "run it with chat:trim",
  filter = "run it with chat:filter",
  processor = "ebb.pipeline { processors = { ... } } takes it",
  macro = "ebb.pipeline { macros = { ... } } takes it",
  model = "chat:trim { model = function }",
  models = "ebb.models lists them; or give a budget and an encoding",
  abilities = "`capabilities` of model_config say it, or `abilities` in ebb.models",
  processors = "pipeline:order() lists them",
  profiles = "ebb.profiles lists them",
  asset_root = "asset_root = ...",
  contained = "what a file names lies below that file's folder, and no link leads there; a caller may name any file",
  trusted_processor = "a processor of your own may be trusted (trusted = true)",
  vocabularies = "the command ebb adds one: vocab import FILE",
  vocabulary = "the command ebb says more: vocab verify; importing it again replaces it",
  bad_lines = "skip_bad = true reads on after such lines",
  import = "ebb.import.read makes an agent of it",
  forms = "ebb.import.list() has the forms that are known; from = ... names one",
  window_exists = "chat.windows:get(id):update { ... }",
  window_closed = "chat.windows:open { id = ... } opens it again",
  limits = "limits = { deadline, fuel, memory } allow more",
}

--- Replaces these words by others, or removes them (false).
---@param words table<string, string|false>
function hints.set(words)
  for name, text in pairs(words) do
    assert(hints[name] ~= nil, name)
    hints[name] = text
  end
  if core.sandbox then core.sandbox.set_hint(hints.limits or "") end
end

hints.set {}

return hints
