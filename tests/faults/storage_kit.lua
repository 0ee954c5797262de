--- Shares a scripted session, its states, and counts between the tests of storage.
--
-- They run with the build in build/ or EBB_BUILD, and with SQLite on a disk in memory (sqlite_disk.c).
--
-- TAIL=1 opens all sessions by their tails (lua/ebb/session/tail.lua), and edits them there where it can.

local build = os.getenv "EBB_BUILD" or "build"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;tests/faults/?.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;build/faults/?.so;"):format(build) .. package.cpath

local kit = {}

local disk = require "sqlite_disk"
local ebb = require "ebb"
local session_module = require "ebb.session"

kit.disk, kit.ebb, kit.session_module = disk, ebb, session_module
kit.place = os.tmpname()      -- an empty file: the database itself is on the other disk
kit.seed = math.tointeger(tonumber(os.getenv "SEED")) or os.time()

local passed, failed = 0, 0

--- Counts a check; what it says of a failure is printed.
function kit.expect(good, format, ...)
  if good then
    passed = passed + 1
    return true
  end
  failed = failed + 1
  if failed <= 20 then print(("FAILED: " .. format):format(...)) end
  return false
end

function kit.finish()
  for _, rest in ipairs { "", "-wal", "-shm", "-checkpoint" } do os.remove(kit.place .. rest) end
  print(("%d passed, %d failed"):format(passed, failed))
  os.exit(failed == 0, true)
end

function kit.user(content) return { role = "user", content = content } end

--- All of a conversation, as bytes.
function kit.whole(chat) return (chat:fork():write "ebb") end

function kit.open(name, options) return ebb.session(kit.place, name, options) end

--- All that is in the database, as text; or nil and an error.
function kit.state()
  local store <close>, problem = ebb.sessions(kit.place)
  if not store then return nil, problem end
  local infos, why = store:list()
  if not infos then return nil, why end
  local texts = {}
  for i, info in ipairs(infos) do
    local session, cause = session_module.of(store, info.name)
    if not session then return nil, cause end
    local whole, text = pcall(function() return info.version > 0 and kit.whole(session.chat) or "" end)
    if not whole then return nil, text end
    texts[i] = ("%s %d %d %d\n%s"):format(info.name, info.version, info.messages, info.stored, text)
  end
  return table.concat(texts, "\n")
end

--- Returns the state without the times of batches.
function kit.timeless_state()
  local state, problem = kit.state()
  return state and (state:gsub('"timestamp":%d+', ""):gsub('"digest":"[^"]*"', "")), problem
end

--- Returns the faults of the database as text; "" for none.
function kit.faults()
  local store <close>, problem = ebb.sessions(kit.place)
  if not store then return problem.message end
  local faults, why = store:check()
  return faults and table.concat(faults, "; ") or why.message
end

---- The script ----

local user = kit.user

local function call(id)
  local called = { id = id, type = "function", ["function"] = { name = "f", arguments = "{}" } }
  return { role = "assistant", tool_calls = { called } }, { role = "tool", tool_call_id = id, content = "result" }
end

--- Edits of a conversation, by name, in order. `branch`: the name of a session that shares all messages before it.
kit.EDITS = {
  { "append", function(c) return c:append(user "one") end },
  { "append of some", function(c)
    return c:append { user "two", user "three", { role = "assistant", content = "four" } }
  end },
  { "append of a large one", function(c) return c:append(user(("large "):rep(3000))) end },
  { "append of calls", function(c) return c:append { call "c1" } end },
  { "truncate", function(c) return c:truncate { keep_last = 3 } end },
  { "rollback", function(c) return c:rollback(0) end },
  { "mark", function(c) return c:mark(2, "pinned") end },
  { "window", function(c) return c.windows:open { id = "w", description = "d", content = "first" } end },
  { "append again", function(c) return c:append(user(("words "):rep(200))) end },
  { "trim", function(c) return c:trim { budget = 300, policy = "keep_recent" } end },
  { "window's update", function(c) return c.windows:get("w"):update { content = "second" } end },
  { "checkpoint", function(c) return c:checkpoint "here" end },
  { "insert", function(c) return c:insert(1, user "inserted") end },
  { "replace", function(c) return c:replace(1, user "replaced") end },
  { "trim that quotes", function(c)
    return c:trim { budget = 300, policy = { name = "quoting", trim = function(draft)
      draft.memory.text = "it says: replaced"
      draft:drop(draft[2], "it is not replaced")
    end } }
  end },
  { "forget", function(c) return c:forget(1) end, branch = "twig" },
  { "unmark", function(c) return c:unmark(1, "pinned") end },
  { "append at last", function(c) return c:append { user "five", user "six" } end },
  { "prune", function(c) return c:prune { keep = 2 } end },
  { "append to the pruned", function(c) return c:append(user "seven") end },
}

kit.by_tails = os.getenv "TAIL" ~= nil
if kit.by_tails then
  local tail = require "ebb.session.tail"
  tail.from, tail.count = 1, 2
end

local BY_TAIL = { append = true, truncate = true, insert = true, replace = true }

--- Runs one of them on a session, as one commit.
function kit.edit(session, edit, operation)
  if kit.by_tails and not operation and BY_TAIL[edit[1]:match "%a+"] then return edit[2](session) end
  return session:edit(function(chat)
    edit[2](chat)
    return true
  end, { operation = operation })
end

--- True if it is the edit that EDIT names, or if EDIT names none.
function kit.sweeps(edit)
  local only = os.getenv "EDIT"
  return not only or only == edit[1]
end

--- Makes the session that an edit is to share messages with.
function kit.prepare(session, edit)
  if edit.branch then assert(session:branch(edit.branch)):close() end
end

return kit
