# Message flow: a host is told when the messages exceed its limit; what a provider reports is more exact.
ebb run /dev/stdin <<'LUA'
local ebb = require "ebb"
local chat = ebb.conversation { encoding = "bytes4", limit = 20, on_limit = function(_, tokens, limit)
  print("over the limit", tokens, limit)
end }
for _, text in ipairs { "One.", "Two, which is longer.", "Three, which is longer still." } do
  chat:append { role = "user", content = text }
  print(chat:tokens(), chat:over_limit())
end
LUA
