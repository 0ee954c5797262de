--- The user's own models: ebb/models.json in the XDG config folder.
--
--     { "my-model": { "encoding": "o200k_base", "window": 32768 },
--       "gpt-4o": { "prices": { "input": 2.5, "cachedInput": 1.25, "output": 10 } } }

local ebb = require "ebb"

return require("ebb.cli.entries_file").new("models.json", "models", ebb.models)
