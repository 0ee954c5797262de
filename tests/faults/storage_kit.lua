--- What the tests of storage share: a scripted session, its states, and counts.
--
-- They run with the build in build/ or EBB_BUILD, and with SQLite on a disk in memory (sqlite_disk.c).

local build = os.getenv "EBB_BUILD" or "build"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;tests/faults/?.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;build/faults/?.so;"):format(build) .. package.cpath

local kit = {}

local disk = require "sqlite_disk"
local ebb = require "ebb"
local session_module = require "ebb.session"

kit.disk, kit.ebb = disk, ebb
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
    texts[i] = ("%s %d %d %d\n%s"):format(info.name, info.version, info.messages, info.stored,
      info.version > 0 and kit.whole(session.chat) or "")
  end
  return table.concat(texts, "\n")
end

--- What is wrong with the database, as text; "": nothing.
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

--- Edits of the session main, by name, in order. Each is at most one commit.
kit.EDITS = {
  { "append", function(s) return s:append(user "one") end },
  { "append of some", function(s)
    return s:append { user "two", user "three", { role = "assistant", content = "four" } }
  end },
  { "append of a large one", function(s) return s:append(user(("large "):rep(3000))) end },
  { "append of calls", function(s) return s:append { call "c1" } end },
  { "truncate", function(s) return s:truncate { keep_last = 3 } end },
  { "rollback", function(s) return s:rollback(0) end },
  { "mark", function(s) return s:mark(2, "pinned") end },
  { "window", function(s) return s.windows:open { id = "w", description = "d", content = "first" } end },
  { "append again", function(s) return s:append(user(("words "):rep(200))) end },
  { "trim", function(s) return s:trim { budget = 300, policy = "keep_recent" } end },
  { "window's update", function(s)
    return s:edit(function(chat) return chat.windows:get("w"):update { content = "second" }.version end)
  end },
  { "checkpoint", function(s) return s:checkpoint "here" end },
  { "insert", function(s) return s:insert(1, user "inserted") end },
  { "replace", function(s) return s:replace(1, user "replaced") end },
  { "forget", function(s) return s:forget(1) end },
  { "unmark", function(s) return s:unmark(1, "pinned") end },
  { "append at last", function(s) return s:append { user "five", user "six" } end },
  { "prune", function(s) return s:prune { keep = 2 } end },
  { "append to the pruned", function(s) return s:append(user "seven") end },
}

return kit
