--- The user's own profiles: ebb/profiles.json in the XDG config folder.
--
--     { "my-server": { "dialects": ["openai"], "hosts": ["llm.example"],
--                      "refuses": ["alternation", "extra_member"], "callId": { "max": 40, "characters": "any" } } }

local ebb = require "ebb"

return require("ebb.cli.io.entries_file").new("profiles.json", "profiles", ebb.profiles)
