# LLM calls: a model gets the visible messages only; its answers and the results of its calls are appended.
ebb run /dev/stdin <<'LUA'
local ebb = require "ebb"
local chat, asked = ebb.load "input.json", 0
local CALL = { choices = { { finish_reason = "tool_calls", message = { role = "assistant", content = ebb.json.null,
  tool_calls = { { id = "c1", type = "function", ["function"] = { name = "add", arguments = '{"a":2,"b":3}' } } } } } } }
assert(require "ebb.workflow".run(chat, {
  tools = { { name = "add", parameters = "a:number, b:number", run = function(n) return n.a + n.b end } },
  nodes = {
    { operation = "truncate", truncate = { keepLast = 1 } },
    { type = "loop", stop_when = { answered = true }, at_most = 4, nodes = {
      { type = "model", model = "gpt-4o" }, { type = "tool" },
    } },
  },
}, { model = function(request)
  asked = asked + 1
  print("request " .. asked .. ":", #request.messages .. " messages", request.messages[1].content)
  return asked == 1 and CALL or "5."
end }))
print("afterwards:", #chat .. " of " .. #chat:all() .. " messages")
for _, message in ipairs(chat) do print(message.json) end
LUA
