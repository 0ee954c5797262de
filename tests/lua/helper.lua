--- Tells the specs where the build is, and reads a small notation for conversations.
--
--     "s10 u20 a30 c9(x,y) r5(x) r6(y) u7!"
--
-- s, u, a: a system, user, assistant message; c(x,y): an assistant message that
-- calls x and y; r(x): the result of call x; the number is its tokens, and `!`
-- pins it. The word itself is the content, so a list reads back as it was
-- written.

local build = os.getenv "EBB_BUILD" or "build"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local core = require "ebb.support.core"
local ebb = require "ebb"

-- Tests of a deadline name it. All others must not meet the default one, however busy the machine is.
require("ebb.sandbox.loader").DEFAULT.deadline = 60000

local helper = { ebb = ebb, shared = os.getenv "EBB_SHARED" }

local ROLES = { s = "system", u = "user", a = "assistant", c = "assistant", r = "tool" }

local function message_of(word)
  local kind, ids = word:sub(1, 1), {}
  for id in (word:match "%((.-)%)" or ""):gmatch "[^,]+" do
    ids[#ids + 1] = id
  end
  local message = { role = assert(ROLES[kind], word), content = word }
  if kind == "r" then message.tool_call_id = ids[1] end
  if kind == "c" then
    message.tool_calls = {}
    for i, id in ipairs(ids) do
      message.tool_calls[i] = { id = id, type = "function", ["function"] = { name = "f_" .. id, arguments = "{}" } }
    end
  end
  return message
end

--- The tokens that a word says.
function helper.tokens_of(message)
  return tonumber(message.content:match "^%a(%d+)") or 1
end

--- Messages of the notation, as tables.
function helper.messages(words)
  local messages = {}
  for word in words:gmatch "%S+" do
    messages[#messages + 1] = message_of(word)
  end
  return messages
end

--- A conversation of the notation; `options` are those of ebb.conversation.
function helper.conversation(words, options)
  options = options or {}
  options.counter = options.counter or helper.tokens_of
  options.clock = options.clock or function() return 1700000000000 end
  local chat = ebb.conversation(options)
  local messages = helper.messages(words)
  if #messages > 0 then chat:append(messages) end
  for i, message in ipairs(messages) do
    if message.content:find "!$" then chat:mark(i, "pinned") end
  end
  return chat
end

--- The visible contents as one line; works on conversations, batches, selections and lists of messages.
function helper.texts(list)
  local words = {}
  for i = 1, #list do
    words[i] = list[i].content
  end
  return table.concat(words, " ")
end

--- The seed of random tests: SEED=n repeats a run. Printed, so that a failed one can be repeated.
---@return integer
function helper.seed()
  local seed = math.tointeger(tonumber(os.getenv "SEED")) or os.time()
  print("SEED=" .. seed)
  return seed
end

--- Each n-th of a list, beginning where SEED and `turn` say; all of it with WHOLE=1.
---@param list any[]
---@param n integer
---@param turn? integer     so that several samples of a list differ
---@return any[]
function helper.sample(list, n, turn)
  if (os.getenv "WHOLE" or "") ~= "" then return list end
  local first, chosen = (math.tointeger(tonumber(os.getenv "SEED")) or os.time()) + (turn or 0), {}
  for i, item in ipairs(list) do
    if (i + first) % n == 0 then chosen[#chosen + 1] = item end
  end
  return chosen
end

--- Result, message and code of a function that answers nil and an error object where it refuses.
function helper.outcome(result, problem, ...)
  if not core.is_error(problem) then return result, problem, ... end
  return result, problem.message, problem.code, ...
end

--- The error object that `run(...)` raises.
function helper.refusal(run, ...)
  local ok, problem = pcall(run, ...)
  assert(not ok, "expected a refusal")
  assert(type(problem) ~= "string", problem)
  return problem
end

--- A conversation's state as text, to see that nothing has changed.
function helper.snapshot(chat)
  local all = {}
  for _, message in ipairs(chat:all()) do
    all[#all + 1] = message.json
  end
  return ebb.json.encode(chat:state()) .. table.concat(all)
end

--- A conversation saved in version 1, which has no digest: a test may change what is in it.
function helper.saved_before_digests(chat)
  return ((chat:write "ebb"):gsub('{"ebb":2', '{"ebb":1', 1):gsub(',\n"digest":"[^"]*"', ""))
end

--- An empty conversation that had `count` messages, as it is saved: seqs go on after them.
function helper.saved_after(count)
  local text = helper.saved_before_digests(ebb.conversation { clock = function() return 1700000000000 end })
  return (text:gsub('"origins"', ('"removed":[1,%d],\n"origins"'):format(count), 1))
end

--- The settings of a pipeline by the ids of its processors.
function helper.settings(pipeline)
  local by_id = {}
  for _, entry in ipairs(pipeline:settings()) do by_id[entry.id] = entry end
  return by_id
end

function helper.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

--- Writes a temporary Lua file, which goes with the process's other ones.
function helper.lua_file(text)
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".lua"
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  helper.made[#helper.made + 1] = path
  return path
end

helper.made = {}

--- Removes the files that `lua_file` made.
function helper.clean()
  for _, path in ipairs(helper.made) do
    os.remove(path)
  end
  helper.made = {}
end

--- Paths of the shared recordings, and of those in some folders next to them; none where the shared data is missing.
---@param ... string     folders: "anthropic"
---@return string[]
function helper.recordings(...)
  local paths = {}
  for _, folder in ipairs(helper.shared and { "", ... } or {}) do
    local pipe = assert(io.popen(("ls '%s/data/conversations/%s'/*.json 2>/dev/null"):format(helper.shared, folder)))
    for path in pipe:lines() do
      paths[#paths + 1] = path
    end
    pipe:close()
  end
  return paths
end

--- Files of conversations as JSON arrays: our own, and those of the shared data where it is.
function helper.conversations()
  local paths = {}
  for i, name in ipairs { "agent", "shrink_tools.in", "tickets.in" } do
    paths[i] = ("scripts/policies/%s.json"):format(name)
  end
  local recordings = helper.recordings()
  return table.move(recordings, 1, #recordings, #paths + 1, paths)
end

--- A .tiktoken file: the bytes, and "ab" and "abc" after them.
function helper.tiktoken()
  local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  local lines = {}
  for byte = 0, 255 do
    local first, second = byte >> 2, (byte & 3) << 4
    lines[byte + 1] = ("%s%s== %d\n"):format(digits:sub(first + 1, first + 1), digits:sub(second + 1, second + 1), byte)
  end
  return table.concat(lines) .. "YWI= 256\nYWJj 257\n"
end

--- All annotations, lua/ebb/meta/*.lua, as one text.
function helper.annotations()
  local pipe, texts = assert(io.popen "ls lua/ebb/meta/*.lua"), {}
  for path in pipe:lines() do texts[#texts + 1] = helper.read(path) end
  assert(pipe:close() and #texts > 5, "lua/ebb/meta")
  return table.concat(texts, "\n")
end

return helper
