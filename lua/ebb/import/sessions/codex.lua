--- Sessions of Codex: JSONL of envelopes {timestamp, type, payload}, whose response items are the conversation.
--
-- Events repeat what items say, for display. A compaction replaces the list so far; a rollback drops the last turns
-- of the user. A fork begins with a copy of its parent's items, which are what its model gets, too.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local json_places = require "ebb.support.json_places"

local codex = { name = "codex", title = "Codex session", kind = "jsonl" }

function codex.recognise(sample)
  for _, record in ipairs(sample.records or {}) do
    local is_envelope = fields.text(record, "type") and fields.object(record, "payload")
    if is_envelope and fields.text(record, "timestamp") then return true end
  end
  return false
end

---- Items ----

---@class ebb.import.CodexItem
---@field json string
---@field value table
---@field line integer
---@field summary? boolean      of a compaction

--- Beginnings of texts that Codex puts among the user's messages.
local INJECTED = {
  "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>",
  "<user_shell_command>", "<skill>", "<subagent_notification>", "<permissions instructions>",
}

local function is_injected(text)
  text = text:match "^%s*(.*)"
  for _, begin in ipairs(INJECTED) do
    if text:sub(1, #begin) == begin then return true end
  end
  return false
end

--- The text of a message item.
local function text_of(value)
  local list = {}
  for _, part in ipairs(fields.list(value, "content") or {}) do list[#list + 1] = fields.text(part, "text") end
  return fields.text(value, "content") or table.concat(list, "\n")
end

--- True for words of the user, where a turn begins.
local function begins_turn(item)
  local value = item.value
  return not item.summary and fields.text(value, "role") == "user"
    and (fields.text(value, "type") or "message") == "message" and not is_injected(text_of(value))
end

--- Members that Codex adds to the items for itself.
local PRIVATE = { internal_chat_message_metadata_passthrough = true }

--- An item's bytes without members that are Codex's own.
local function without_private(json)
  if not json:find('"internal_chat_message_metadata_passthrough"', 1, true) then return json end
  local kept = {}
  for _, member in ipairs(json_places.members(json)) do
    if not PRIVATE[member.key] then
      kept[#kept + 1] = ("%s:%s"):format(fields.json(member.key), json:sub(member.first, member.past - 1))
    end
  end
  return ("{%s}"):format(table.concat(kept, ","))
end

---@class ebb.import.CodexState
---@field items ebb.import.CodexItem[]
---@field turns integer[]       places of items that begin turns
---@field report ebb.import.Report

local function add(state, item)
  state.items[#state.items + 1] = item
  if begins_turn(item) then state.turns[#state.turns + 1] = #state.items end
end

local function user_item(text, line)
  local value = { type = "message", role = "user", content = { { type = "input_text", text = text } } }
  return { json = fields.json(value), value = value, line = line }
end

--- Drops the last turns of the user, with all that answers them.
local function roll_back(state, count, line)
  local first = state.turns[math.max(1, #state.turns - count + 1)]
  if count < 1 or not first then return end
  state.report:add("retracted item", "a rollback", line, #state.items - first + 1)
  for i = #state.items, first, -1 do state.items[i] = nil end
  while state.turns[1] and state.turns[#state.turns] >= first do table.remove(state.turns) end
end

---- Compaction ----

local KEPT_TOKENS, BYTES_PER_TOKEN = 20000, 4     -- as Codex estimates them

--- The first bytes of a text, whole characters.
local function beginning(text, bytes)
  while bytes > 0 and text:find("^[\x80-\xBF]", bytes + 1) do bytes = bytes - 1 end
  return text:sub(1, bytes)
end

--- The user's newest messages that old versions kept next to a summary, the oldest first.
local function newest_words(state)
  local kept, left = {}, KEPT_TOKENS * BYTES_PER_TOKEN
  for i = #state.turns, 1, -1 do
    local item = state.items[state.turns[i]]
    local text = text_of(item.value)
    if left <= 0 then break end
    if #text > left then item = user_item(beginning(text, left), item.line) end
    left = left - #text - BYTES_PER_TOKEN
    table.insert(kept, item)
  end
  for i = 1, #kept // 2 do kept[i], kept[#kept + 1 - i] = kept[#kept + 1 - i], kept[i] end
  return kept
end

--- Returns the items that replace the list: those in the line, or the user's last words and a summary.
local function replacement(state, raw, payload, line)
  if fields.list(payload, "replacement_history") then
    local inner = core.json.decode(raw, { raw = { payload = true } }).payload[1]
    local list = {}
    for i, element in ipairs(fields.elements(core.json.decode(inner, { raw = { replacement_history = true } })
      .replacement_history[1])) do
      list[i] = { json = without_private(element.raw), value = element.value, line = line }
    end
    return list
  end
  local list = newest_words(state)
  local summary = user_item(fields.text(payload, "message") or "", line)
  summary.summary = true
  list[#list + 1] = summary
  return list
end

local function compact(state, raw, payload, line)
  local list = replacement(state, raw, payload, line)
  state.report:add("compacted item", "a compaction replaced it", line, #state.items)
  state.items, state.turns = {}, {}
  for _, item in ipairs(list) do add(state, item) end
end

---- Lines ----

--- The tools that a session declares, as those of a request.
local function tools_of(list)
  local tools = core.json.array {}
  for _, tool in ipairs(list or {}) do
    local name = fields.text(tool, "name")
    local parameters = fields.object(tool, "inputSchema") or fields.object(tool, "input_schema")
      or fields.object(tool, "parameters")
    if name and fields.text(tool, "type") == "custom" then
      tools[#tools + 1] = { type = "custom", name = name, description = fields.text(tool, "description"),
        format = fields.object(tool, "format") }
    elseif name then
      tools[#tools + 1] = { type = "function", name = name, description = fields.text(tool, "description"),
        parameters = parameters or { type = "object" }, strict = false }
    end
  end
  return tools[1] and tools or nil
end

local LINES = {}

function LINES.response_item(state, payload, raw, line)
  if fields.text(payload, "type") == "ghost_snapshot" then
    return state.report:add("other line", "ghost_snapshot", line)
  end
  local json = core.json.decode(raw, { raw = { payload = true } }).payload[1]
  add(state, { json = without_private(json), value = payload, line = line })
end

function LINES.compacted(state, payload, raw, line) compact(state, raw, payload, line) end

function LINES.session_meta(state, payload, _, line)
  if state.has_meta then return state.report:add("other line", "session_meta of another session", line) end
  local instructions = payload.base_instructions
  state.has_meta = true
  state.system = fields.text(payload, "base_instructions") or fields.text(instructions, "text")
    or fields.text(payload, "instructions")
  state.tools = tools_of(fields.list(payload, "dynamic_tools"))
  state.report:add("other line", "session_meta", line)
end

function LINES.turn_context(state, payload, _, line)
  state.model = fields.text(payload, "model") or state.model
  state.report:add("other line", "turn_context", line)
end

function LINES.event_msg(state, payload, _, line)
  local kind = fields.text(payload, "type") or "without a type"
  if kind == "thread_rolled_back" then roll_back(state, fields.integer(payload, "num_turns") or 0, line) end
  state.report:add("other line", "event_msg " .. kind, line)
end

function codex.read(source)
  local state = { items = {}, turns = {}, report = source.report }
  for number, record, raw in source:records() do
    local kind, payload = fields.text(record, "type"), fields.object(record, "payload")
    local read_line = payload and LINES[kind]
    if read_line then read_line(state, payload, raw, number)
    else source.report:add("other line", kind or "without a type", number) end
  end
  local messages, lines = {}, {}
  for i, item in ipairs(state.items) do messages[i], lines[i] = item.json, item.line end
  return {
    dialect = "responses", messages = messages, lines = lines, model = state.model, system = state.system,
    tools = state.tools, report = source.report,
  }
end

return codex
