--- The pipeline against AIO Hub's own code, case by case: its session loader and its
--- token limiter.
--
-- Values that the original keeps in fields of its own are put where Ebb keeps them (a tree of
-- nodes becomes the visible list, a summary hides what it sums up), and the original's
-- count of tokens is the counter.

local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local function cases_of(operation)
  local path = helper.shared and helper.shared .. "/data/cases/aiohub.json"
  local file = path and io.open(path, "rb")
  if not file then return {} end
  local list = {}
  for _, case in ipairs(ebb.json.decode(file:read "a")) do
    if case.op == operation then list[#list + 1] = case end
  end
  file:close()
  return list
end

--- Makes a processor that captures the messages at priority `at`.
local function capture(at, seen)
  return { id = "capture", name = "Capture", priority = at, execute = function(context)
    if context.preview then return end   -- the limiter tries out what follows it
    for i, message in ipairs(context.messages) do
      seen[i] = message
    end
    seen.stats = context.shared_data.token_limiter
  end }
end

---- Session loader ----

--- The nodes from the root to the leaf, without the root.
local function branch(nodes, leaf)
  local path, id = {}, leaf
  while id and nodes[id].parentId ~= ebb.null do
    table.insert(path, 1, nodes[id])
    id = nodes[id].parentId
  end
  return path
end

--- A summary that counts takes the place of what it sums up: that is a batch of its own here.
local function visible(path)
  local hidden = {}
  for _, node in ipairs(path) do
    local metadata = node.metadata or {}
    if metadata.isCompressionNode and node.isEnabled ~= false then
      for _, id in ipairs(metadata.compressedNodeIds) do
        hidden[id] = true
      end
    end
  end
  local list = {}
  for _, node in ipairs(path) do
    if not hidden[node.id] then list[#list + 1] = node end
  end
  return list
end

local function message_of(node)
  local metadata = node.metadata or {}
  local calls = metadata.toolCallsRequested and {} or nil
  for i, call in ipairs(metadata.toolCallsRequested or {}) do
    calls[i] = { id = tostring(call.id), type = "function", ["function"] = { name = "f", arguments = "{}" } }
  end
  return { id = node.id, role = node.role, content = node.content, reasoning_content = metadata.reasoningContent,
    tool_calls = calls }
end

local function summary_of(message)
  return { role = message.role, content = message.content, sourceId = message.source_id,
    sourceType = message.source == "history" and "session_history" or message.source,
    reasoningContent = message.reasoning_content }
end

describe("session-loader, as in AIO Hub:", function()
  for _, case in ipairs(cases_of "session_loader") do
    it(case.name, function()
      local options, chat, seen = case.options, ebb.conversation(), {}
      local keep_tools = options.agent.toolCallConfig and options.agent.toolCallConfig.convertToolRoleToUser == false
      local leaf = options.shared.contextPreviewTargetNodeId or options.activeLeafId
      for _, node in ipairs(visible(branch(case.input, leaf))) do
        chat:append(message_of(node))
      end

      assert(ebb.pipeline {
        processors = { capture(101, seen) },
        set = { "session-loader.reasoning=with_calls", "session-loader.tool_to_user=" .. tostring(not keep_tools) },
      }:run(chat))

      local actual = {}
      for i, message in ipairs(seen) do
        actual[i] = summary_of(message)
      end
      assert.same(ebb.json.encode(case.expected), ebb.json.encode(ebb.json.array(actual)))
    end)
  end
end)

---- Token limiter ----

--- ceil(UTF-16 length / 4); parts are joined by newlines.
local function utf16_4(message)
  local text = type(message.content) == "string" and message.content or ""
  if type(message.content) == "table" then
    local pieces = {}
    for i, part in ipairs(message.content) do
      pieces[i] = part.text
    end
    text = table.concat(pieces, "\n")
  end
  local units = 0
  for _, code in utf8.codes(text) do
    units = units + (code > 0xFFFF and 2 or 1)
  end
  return (units + 3) // 4
end

local SOURCES = { session_history = "history", agent_preset = "preset", depth_injection = "depth", merged = "merged" }

--- Puts the case's messages in the place of what was loaded.
local function input(list)
  return { id = "input", name = "Input", priority = 399, execute = function(context)
    local messages = {}
    for i, each in ipairs(list) do
      messages[i] = { role = each.role, content = each.content, source = SOURCES[each.sourceType] or "unknown",
        source_id = each.sourceId, reasoning = each.reasoningArtifacts and "r" }
    end
    context.messages = messages
  end }
end

describe("token-limiter, as in AIO Hub:", function()
  for _, case in ipairs(cases_of "token_limiter") do
    it(case.name, function()
      local options, seen = case.options, {}
      local pipeline = ebb.pipeline {
        counter = utf16_4, processors = { input(case.input), capture(401, seen) },
        agent = { processors = { ["message-formatters"] = false, ["token-limiter"] = {
          enabled = options.enabled, budget = options.maxContextTokens, guards = false, when_full = "drop_history",
          retained_characters = options.retainedCharacters or 0, retained_note = "\n...(已截断)",
        } } },
      }

      pipeline:run(ebb.conversation())   -- what does not fit even so is not sent (BEHAVIOUR.md 11, exit 4); it is seen

      local actual, expected = {}, {}
      for i, message in ipairs(seen) do
        actual[i] = { role = message.role, content = message.content, id = message.source_id,
          kept = message.reasoning ~= nil }
      end
      for i, each in ipairs(case.expected) do
        expected[i] = { role = each.role, content = each.content, id = each.sourceId,
          kept = each.reasoningArtifacts ~= nil }
      end
      assert.same(ebb.json.encode(expected), ebb.json.encode(actual))
      if case.stats and case.stats ~= ebb.null then
        assert.equal(case.stats.totalTokens, seen.stats.after)
        assert.equal(case.stats.presetTokens, seen.stats.fixed)
      end
    end)
  end
end)

if not helper.shared then
  it("cases of AIO Hub", function() pending "skipped: EBB_SHARED is not set" end)
end
