--- Measures windows: 10,000 items that name 200 windows, among 10,000 messages, and
-- twice as many. Run with the release build; medians of several runs.

package.path = "build/release/lua/?.lua;build/release/lua/?/init.lua;" .. package.path
package.cpath = "build/release/lua/?.so;" .. package.cpath

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

local ELEMENTS = { { "item", id = 1, "one" }, { "item", id = 2, "two" } }

local function chat_of(items, messages, windows, content)
  local chat, list = ebb.conversation { encoding = "bytes4" }, {}
  for i = 1, windows do
    chat.windows:open {
      id = "w" .. i, description = "window " .. i, content = content or ELEMENTS,
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
  io.write(("%-58s %8.3f ms\n"):format(name:format(n), median(run)))
end

for _, n in ipairs { 10000, 20000 } do
  local chat, plain = chat_of(n, 0, 200), chat_of(n, n, 200)
  show("render %d items of 200 windows", n, function() chat.windows:render() end)
  local computed = chat_of(n, 0, 200, function() return { { "item", id = 1, "one" }, { "item", id = 2, "two" } } end)
  show("render %d items whose contents are functions", n, function() computed.windows:render() end)
  local written = chat_of(n, 0, 200, function() return ("three < four & five\n"):rep(20) end)
  show("render %d items whose functions give 400 bytes", n, function() written.windows:render() end)
  show("render %d items, all windows changed since", n, function()
    for _, window in ipairs(chat.windows:list()) do window:update {} end
    chat.windows:render()
  end)
  show("render them among as many messages (%d)", n, function() plain.windows:render() end)
  show("active, %d items", n, function() chat:active() end)
  show("is one obsolete, %d items", n, function() return chat[n // 2].obsolete end)
  show("trim to half by keep_turns, %d items and messages", n, function()
    local draft = plain:fork()
    assert(draft:trim { budget = plain:where({ role = "user" }):tokens(), policy = "keep_turns", guards = false })
  end)
end

-- A longer list has the same items; questions about them must not take longer.
for _, n in ipairs { 10000, 100000, 1000000 } do
  local chat = ebb.conversation { encoding = "bytes4" }
  chat.windows:open { id = "w", item = false }
  local list = {}
  for i = 1, n do list[i] = { role = i % 2 == 1 and "user" or "assistant", content = "x" } end
  for i = 1, 100 do list[i * (n // 100)] = { window = "w" } end
  chat:append(list)
  local item = chat[n // 100 * 50]
  show("1,000 times: is one of 100 obsolete, in %d messages", n, function()
    for _ = 1, 1000 do assert(item.obsolete) end
  end)
  show("1,000 times: active, 100 items in %d messages", n, function()
    for _ = 1, 1000 do assert(#chat:active() == n - 99) end
  end)
  show("where { obsolete = true }, 1,000 times, %d messages", n, function()
    for _ = 1, 1000 do assert(#chat:where { obsolete = true } == 99) end
  end)
  show("to look at all that is active, %d messages", n, function()
    for _, _ in ipairs(chat:active()) do end
  end)
  show("active():tokens(), %d messages", n, function() chat:active():tokens() end)
end
