--- Recall of replays against a script that computes it from the definitions, over all shared conversations.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local SCRIPT = "tests/origins/recall.py"
local POLICIES = { "keep_recent", "stable_prefix", "clear_tool_uses", { "clear_tool_uses", "stable_prefix" },
  "digest", "agent", "shrink_results" }

local function policies()
  local list = {}
  for _, policy in ipairs(POLICIES) do
    local name = type(policy) == "table" and policy[1] or policy
    if ebb.policies[name] then list[#list + 1] = policy end
  end
  return list
end

--- Returns the system text of a body as a message, which comes before the others.
local function system_message(path)
  local system = ebb.json.decode(helper.read(path)).system
  return system and ebb.json.encode { role = "system", content = system }
end

--- A line for recall.py; `system` comes before all messages.
local function line_of(fields, messages, system)
  fields.messages = ebb.json.null
  if messages then
    local list = table.move(messages, 1, #messages, system and 2 or 1, { system })
    fields.messages = ebb.json.raw("[" .. table.concat(list, ",") .. "]")
  end
  return ebb.json.encode(fields)
end

local function recorded(chat)
  local messages = {}
  for i, message in ipairs(chat) do
    messages[i] = message.json:gsub("[\r\n]", " ")
  end
  return messages
end

--- Plays a recording in a part of its tokens and writes what recall.py reads, each policy as a replay of its own; adds
--- its figures by the name of the replay.
local function play(chat, system, part, file, figures)
  local function name_of(policy) return ("%s in 1/%d"):format(policy, part) end
  local last
  local results = assert(ebb.replay(chat, {
    policies = policies(), budget = math.max(1, chat:tokens() // part), requests = function(request)
      if request.policy ~= last then
        last = request.policy
        file:write(line_of({ recording = name_of(last) }, recorded(chat), system), "\n")
      end
      local reply = request.reply - (system and 0 or 1)
      file:write(line_of({ reply = reply, over = request.over }, request.messages, system), "\n")
    end,
  }))
  for _, result in ipairs(results) do
    local arguments, values = result.arguments, result.values
    figures[name_of(result.policy)] = { arguments.total, arguments.present, values.total, values.present,
      arguments.labelled + values.labelled }
  end
end

local function by_script(path)
  local pipe = io.popen(("python3 %s --json '%s'"):format(SCRIPT, path))
  local answer = pipe:read "a"
  assert(pipe:close(), path)
  local figures = {}
  for _, replay in ipairs(ebb.json.decode(answer).replays) do
    figures[replay.recording] = { replay.arguments, replay.arguments_recalled, replay.values, replay.values_recalled,
      replay.labelled }
  end
  return figures
end

local function has_python()
  return os.execute "python3 -c '' 2>/dev/null" == true
end

describe("recall", function()
  if not helper.shared then return pending "skipped: EBB_SHARED has no conversations" end
  if not has_python() then return pending "skipped: there is no python3" end
  local output = os.tmpname()
  teardown(function() os.remove(output) end)

  for _, path in ipairs(helper.sample(helper.recordings "anthropic", 6)) do
    it("of " .. path:match "[^/]+$", function()
      local chat, figures = ebb.load(path), {}
      if not chat then return end
      local system, file = system_message(path), assert(io.open(output, "wb"))
      for part = 2, 3 do play(chat, system, part, file, figures) end
      file:close()
      local expected = by_script(output)
      for replay, counts in pairs(figures) do
        assert.same(expected[replay] or { 0, 0, 0, 0, 0 }, counts, replay)   -- the script knows no empty replays
      end
    end)
  end
end)
