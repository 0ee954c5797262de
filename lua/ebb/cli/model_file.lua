--- The user's own models: ebb/models.json in the XDG config folder, and what providers reported of them.
--
--     { "my-model": { "encoding": "o200k_base", "window": 32768 },
--       "gpt-4o": { "prices": { "input": 2.5, "cachedInput": 1.25, "output": 10 } } }

local ebb = require "ebb"
local margins = require "ebb.models.margins"

--- The command remembers what providers counted; a host of the library starts anew.
function margins.narrowed(...) return require("ebb.models.usage_reports").margin(...) end

return require("ebb.cli.entries_file").new("models.json", "models", ebb.models)
