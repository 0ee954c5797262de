--- What windows cost: 10,000 items that name 200 windows, among 10,000 messages, and
-- twice as many. Run with the release build; medians of several runs.

package.path = "build/lua/?.lua;build/lua/?/init.lua;" .. package.path
package.cpath = "build/lua/?.so;" .. package.cpath

local ebb = require "ebb"

local RUNS = 15

local function median(run)
  local times = {}
  for i = 1, RUNS do
    collectgarbage()
    local started = os.clock()
    run()
    times[i] = (os.clock() - started) * 1000
  end
  table.sort(times)
  return times[RUNS // 2 + 1]
end

local function chat_of(items, messages, windows)
  local chat, list = ebb.conversation { encoding = "bytes4" }, {}
  for i = 1, windows do
    chat:open_window {
      id = "w" .. i, description = "window " .. i, content = { { "item", id = 1, "one" }, { "item", id = 2, "two" } },
      actions = { { id = "add", params = "text:string", label = "Add" } }, item = false,
    }
  end
  for i = 1, math.max(items, messages) do
    local role = i % 2 == 1 and "user" or "assistant"
    if i <= messages then list[#list + 1] = { role = role, content = ("text "):rep(20) } end
    if i <= items then list[#list + 1] = { window = "w" .. (i % windows + 1) } end
  end
  chat:append(list)
  return chat
end

local function show(name, n, run)
  io.write(("%-52s %8.3f ms\n"):format(name:format(n), median(run)))
end

for _, n in ipairs { 10000, 20000 } do
  local chat, plain = chat_of(n, 0, 200), chat_of(n, n, 200)
  show("render %d items of 200 windows", n, function() chat:render() end)
  show("render them among as many messages (%d)", n, function() plain:render() end)
  show("active, %d items", n, function() chat:active() end)
  show("is one obsolete, %d items", n, function() return chat[n // 2].obsolete end)
  show("trim to half by keep_turns, %d items and messages", n, function()
    local draft = plain:fork()
    assert(draft:trim { budget = plain:where({ role = "user" }):tokens(), policy = "keep_turns", guards = false })
  end)
end
