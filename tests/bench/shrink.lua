--- Compares policies that shrink results with llmtrim: tokens saved, and the values that the next reply still finds.
--
--     lua5.4 tests/bench/shrink.lua requests FILE... > REQUESTS.jsonl
--     lua5.4 tests/bench/shrink.lua compare FOLDER REQUESTS.jsonl [RESULTS.jsonl]
--
-- `requests` writes of each recording (a list of messages) the requests before its last reply and before those at a
-- third and two thirds. `compare` shrinks them by Ebb's policies, no unit is cut; RESULTS are llmtrim's
-- (tests/peers/llmtrim.mjs). It counts all by o200k and writes for each row what tests/origins/recall.py reads to
-- FOLDER. EBB_BUILD: the build whose module is measured (build/release).

local build = os.getenv "EBB_BUILD" or "build/release"
package.path = ("%s/lua/?.lua;%s/lua/?/init.lua;"):format(build, build) .. package.path
package.cpath = ("%s/lua/?.so;"):format(build) .. package.cpath

local core = require "ebb.support.core"
local ebb = require "ebb"
local encode, decode = ebb.json.encode, ebb.json.decode

local ROWS = {
  { "fold_output", { "fold_output" } },
  { "fold_output, supersede", { "fold_output", "supersede" } },
  { "fold_output, shrink_results, supersede", { "fold_output", "shrink_results", "supersede" } },
  { "the same, users' texts are results, too", { { "fold_output", users = true }, { "shrink_results", users = true },
    "supersede" } },
  { "the same, short lists are tables, too", { { "fold_output", users = true, tables = 2 },
    { "shrink_results", users = true }, "supersede" } },
}
local UNLIMITED = 1 << 40

local function read(path) return assert(core.read_file(path, UNLIMITED)) end

--- The positions of the replies before which a request is measured.
local function replies_of(messages)
  local replies = {}
  for i, message in ipairs(messages) do
    if message.role == "assistant" and i > 1 then replies[#replies + 1] = i end
  end
  local places, positions = { (#replies + 2) // 3, (2 * #replies + 2) // 3, #replies }, {}
  for i, place in ipairs(places) do
    if place > 0 and place ~= places[i - 1] then positions[#positions + 1] = replies[place] end
  end
  return positions
end

local function write_requests(paths)
  for _, path in ipairs(paths) do
    local body = decode(read(path))
    local messages = body and (body.messages or body)
    for _, position in ipairs(messages and replies_of(messages) or {}) do
      print(encode { file = path, reply = position - 1, messages = table.move(messages, 1, position - 1, 1,
        ebb.json.array {}) })
    end
  end
end

---- Comparing ----

---@class ShrinkRow
---@field name string
---@field tokens integer      of all requests
---@field ms number           of all runs
---@field runs integer
---@field recall file*        what recall.py reads

local rows, order = {}, {}

--- The row with this name, which begins with its first request.
local function row_of(folder, name)
  if not rows[name] then
    local path = ("%s/%d.jsonl"):format(folder, #order + 1)
    rows[name] = { name = name, path = path, tokens = 0, ms = 0, runs = 0, recall = assert(io.open(path, "w")) }
    order[#order + 1] = rows[name]
  end
  return rows[name]
end

--- Adds a request as one row sends it; `messages` nil: it was refused, which sends nothing.
local function add(row, request, messages, ms)
  local chat = ebb.conversation { encoding = "o200k_base" }
  if messages then chat:append(messages) end
  row.tokens, row.ms, row.runs = row.tokens + chat:tokens(), row.ms + ms, row.runs + 1
  local recording = decode(read(request.file))
  row.recall:write(encode { recording = request.file, messages = recording.messages or recording }, "\n",
    encode { reply = request.reply, over = true, messages = messages or ebb.null }, "\n")
end

--- From the JSON of a request to that of the smaller one, with its milliseconds of processor time.
local function shrink(request, policies)
  local text, start = encode(request.messages), os.clock()
  local chat = assert(ebb.parse(text))
  chat:recount { encoding = "o200k_base" }
  for _, policy in ipairs(policies) do
    assert(chat:trim { budget = UNLIMITED, policy = policy })
  end
  local json = chat:json()
  local ms = (os.clock() - start) * 1000
  local list = decode(json)
  return list.messages or list, ms
end

local function recall_of(row)
  row.recall:close()
  local pipe = assert(io.popen(("python3 tests/origins/recall.py --json '%s'"):format(row.path)))
  local result = decode(pipe:read "a")
  pipe:close()
  return result and result.together or {}
end

local function percent(share) return type(share) == "number" and ("%.1f"):format(100 * share) or "-" end

local function print_rows(whole)
  print(("%-42s %8s %7s %9s %7s %9s %9s"):format("", "tokens", "saved", "arguments", "values", "labelled", "ms each"))
  for _, row in ipairs(order) do
    local recall = recall_of(row)
    print(("%-42s %8d %6.1f%% %9s %7s %9s %9.2f"):format(row.name, row.tokens, 100 - 100 * row.tokens / whole,
      percent(recall.argument_recall), percent(recall.value_recall), percent(recall.labelled_share), row.ms / row.runs))
  end
end

local function compare(folder, requests, results)
  for line in io.lines(requests) do
    local request = decode(line)
    add(row_of(folder, "as recorded"), request, request.messages, 0)
    for _, row in ipairs(ROWS) do
      add(row_of(folder, row[1]), request, shrink(request, row[2]))
    end
  end
  for line in results and io.lines(results) or function() end do
    local result = decode(line)
    local messages = result.messages ~= ebb.null and result.messages or nil
    add(row_of(folder, "llmtrim " .. result.preset), result, messages, result.ms)
  end
  print_rows(rows["as recorded"].tokens)
end

if arg[1] == "requests" then write_requests(table.move(arg, 2, #arg, 1, {})) else compare(arg[2], arg[3], arg[4]) end
