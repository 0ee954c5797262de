# Section 3.1: RenderOptions.
ebb run /dev/stdin <<'LUA'
local chat = require "ebb".conversation { encoding = "bytes4" }
chat:append { role = "system", content = "You keep lists." }
for _, id in ipairs { "old", "todo" } do
  chat.windows:open { id = id, closable = false, content = "nothing in " .. id }
  chat:append { { role = "user", content = "About " .. id }, { role = "assistant", content = "Yes." } }
end
chat.windows:get "old":close()
for _, case in ipairs {
  { "by default", {} }, { "IncludeSystemPrompt = false", { include_system = false } },
  { "IncludeObsolete = true", { include_obsolete = true } }, { "MaxTokens = 45", { max_tokens = 45 } },
  { "MaxTokens = 5", { max_tokens = 5 } },
} do
  print(case[1] .. ":")
  local messages, problem = chat:render(case[2])
  if not messages then print("", problem.message) end
  for _, message in ipairs(messages or {}) do print("", message.role, message.content) end
end
LUA
