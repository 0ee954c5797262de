--- Sessions of pi: JSONL with a header and entries that form a tree; the last entry of the file is the leaf.
--
-- On the path from the root, the last compaction replaces what comes before the first entry that it kept by a
-- summary; an edit of the context omits an entry or replaces its content. Files of version 1 have no ids: one line
-- follows the other.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local json_places = require "ebb.support.json_places"
local neutral = require "ebb.import.neutral"
local tree = require "ebb.import.tree"

local pi = { name = "pi", title = "pi session", kind = "jsonl" }

function pi.recognise(sample)
  local first = sample.records and sample.records[1]
  return fields.text(first, "type") == "session" and fields.text(first, "id") ~= nil
    and fields.text(first, "cwd") ~= nil
end

---- Entries ----

---@class ebb.import.PiEntry: ebb.import.Node
---@field record table         whose contents are raw JSON
---@field kind? string         its type
---@field raw string

local RAW_CONTENT = { raw = { content = true } }

local function read_entries(source)
  local list, by_id = {}, {}
  for number, record, raw in source:records(RAW_CONTENT) do
    local kind = fields.text(record, "type")
    if kind == "session" and not list[1] then
      source.report:add("other line", "session", number)
    else
      local previous = list[#list]
      local id = fields.text(record, "id")
      local entry = by_id[id] or { order = #list + 1 }
      if by_id[id] then source.report:add("repeated line", "a later line has its id", entry.line) end
      entry.id = id or ("line %d"):format(number)
      entry.parent = fields.text(record, "parentId") or not id and previous and previous.id or nil
      entry.record, entry.raw, entry.line, entry.kind = record, raw, number, kind
      list[entry.order], by_id[entry.id] = entry, entry
    end
  end
  return list, by_id
end

---- What holds on the path ----

--- The edits of the context: target -> replacement, the latest.
local function edits_of(path)
  local edits = {}
  for _, entry in ipairs(path) do
    local target = entry.kind == "context_edit" and fields.text(entry.record, "targetId")
    if target then edits[target] = entry end
  end
  return edits
end

--- The entries after the last compaction, with those that it kept before it, and the compaction.
local function after_compaction(path, report)
  local at
  for i, entry in ipairs(path) do
    if entry.kind == "compaction" then at = i end
  end
  if not at then return path end
  local compaction, first = path[at], at
  for i = 1, at do
    if path[i].id == compaction.record.firstKeptEntryId then first = i end
  end
  if first == at and compaction.record.firstKeptEntryId ~= compaction.id then
    report:add("missing entry", "the first that a compaction kept; none before it is", compaction.line)
  end
  if first > 1 then report:add("compacted entry", "a compaction replaced it", compaction.line, first - 1) end
  local kept = table.move(path, first, #path, 1, {})
  table.remove(kept, at - first + 1)
  return kept, compaction
end

---- Messages ----

local PARTS = {}

function PARTS.text(block) return { kind = "text", text = fields.text(block, "text") or "" } end

function PARTS.thinking(block)
  local signature = fields.text(block, "thinkingSignature")
  if block.redacted == true then return { kind = "thinking", data = signature or "" } end
  return { kind = "thinking", text = fields.text(block, "thinking") or "", signature = signature }
end

function PARTS.image(block)
  local mime = fields.text(block, "mimeType") or "image/png"
  return { kind = "image", mime = mime, data = fields.text(block, "data") or "" }
end

function PARTS.toolCall(block, raw)
  local input = fields.object(block, "arguments") and core.json.decode(raw, { raw = { arguments = true } }).arguments
  return { kind = "call", id = fields.text(block, "id") or "", name = fields.text(block, "name") or "tool",
    input = input or {} }
end

--- Adds the parts of a content, JSON of a text or of a list of blocks.
local function add_parts(list, content, report, line)
  local first = content:match "^%s*(.)"
  if first == '"' then
    list[#list + 1] = { kind = "text", text = core.json.decode(content) }
  elseif first == "[" then
    for _, element in ipairs(fields.elements(content)) do
      local read = PARTS[fields.text(element.value, "type")]
      if read then list[#list + 1] = read(element.value, element.raw)
      else report:add("unknown block", fields.text(element.value, "type") or "without a type", line) end
    end
  end
  return list
end

--- The raw content of an entry's message, or of the edit that replaces it.
local function content_of(entry, edit)
  local value = edit and core.json.decode(edit.raw, { raw = { replacement = true } }).replacement
  if value then return value[1] end
  value = (fields.object(entry.record, "message") or entry.record).content
  return value and value[1] or '""'
end

local function text_message(text, line) return { role = "user", line = line, { kind = "text", text = text } } end

--- Returns the output of a user's command as the model reads it, with the command line and a failing exit code.
local function shell_text(message)
  local output = fields.text(message, "output") or ""
  local code = fields.integer(message, "exitCode")
  return ("$ %s\n%s%s"):format(fields.text(message, "command") or "", output,
    code and code ~= 0 and ("\n(exit code %d)"):format(code) or "")
end

local ROLES = {}

function ROLES.user(state, entry, content)
  return add_parts({ role = "user", line = entry.line }, content, state.report, entry.line)
end

function ROLES.custom(state, entry, content)
  state.report:add("synthetic message", "of an extension", entry.line)
  return ROLES.user(state, entry, content)
end

ROLES.hookMessage = ROLES.custom

function ROLES.assistant(state, entry, content)
  local reason = fields.text(entry.record.message, "stopReason")
  if reason == "error" or reason == "aborted" then
    return state.report:add("aborted reply", "the model does not get it", entry.line)
  end
  return add_parts({ role = "assistant", line = entry.line }, content, state.report, entry.line)
end

function ROLES.toolResult(state, entry, content)
  local message = entry.record.message
  local part = { kind = "result", id = fields.text(message, "toolCallId") or "", is_error = message.isError == true }
  return { role = "user", line = entry.line, add_parts(part, content, state.report, entry.line) }
end

function ROLES.bashExecution(state, entry)
  local message = entry.record.message
  if message.excludeFromContext == true then
    return state.report:add("hidden message", "excluded from the context", entry.line)
  end
  return text_message(shell_text(message), entry.line)
end

---- System prompt and tools ----

--- The sections of a system message, JSON, in order: name and value.
local function sections_of(raw)
  local list = {}
  if raw:sub(1, 1) == "[" then
    for i, element in ipairs(fields.elements(raw)) do
      local name = fields.text(element.value, "name") or fields.text(element.value, "id") or tostring(i)
      list[i] = { name = name, value = element.value }
    end
  elseif raw:sub(1, 1) == "{" then
    for i, member in ipairs(json_places.members(raw)) do
      list[i] = { name = member.key, value = core.json.decode(raw:sub(member.first, member.past - 1)) }
    end
  end
  return list
end

--- Applies a patch of sections: one of null, or without text, is removed.
local function apply_sections(state, raw)
  for _, section in ipairs(sections_of(raw)) do
    local name, value = section.name, section.value
    if not state.sections[name] then state.section_order[#state.section_order + 1] = name end
    state.sections[name] = type(value) == "string" and value or fields.text(value, "text")
      or fields.text(value, "content")
  end
end

local function apply_tools(state, message)
  for _, tool in ipairs(fields.list(message, "toolsAdded") or {}) do
    local name = fields.text(tool, "name")
    if name and not state.tools[name] then state.tool_order[#state.tool_order + 1] = name end
    if name then state.tools[name] = tool end
  end
  for _, tool in ipairs(fields.list(message, "toolsRemoved") or {}) do
    state.tools[type(tool) == "string" and tool or fields.text(tool, "name") or ""] = nil
  end
end

--- Applies the system message that a member of an entry holds.
local function apply_system(state, entry, member)
  if not fields.object(entry.record, member) then return end
  local message = core.json.decode(entry.raw)[member]        -- schemas of tools may have contents, too
  local raw = core.json.decode(entry.raw, { raw = { [member] = true } })[member][1]
  local sections = core.json.decode(raw, { raw = { sections = true } }).sections
  if sections then apply_sections(state, sections[1]) end
  local text = fields.text(message, "content")
  if text then apply_sections(state, fields.json { content = text }) end
  apply_tools(state, message)
end

function ROLES.system(state, entry) apply_system(state, entry, "message") end

local function system_of(state)
  local texts = {}
  for _, name in ipairs(state.section_order) do
    if state.sections[name] then texts[#texts + 1], state.sections[name] = state.sections[name], nil end
  end
  return texts[1] and table.concat(texts, "\n\n") or nil
end

local function tools_of(state, dialect)
  local list = core.json.array {}
  for _, name in ipairs(state.tool_order) do
    local tool = state.tools[name]
    if tool then
      local schema = fields.object(tool, "parameters") or fields.object(tool, "input_schema") or { type = "object" }
      local description = fields.text(tool, "description")
      list[#list + 1] = dialect == "anthropic" and { name = name, description = description, input_schema = schema }
        or { type = "function", ["function"] = { name = name, description = description, parameters = schema } }
      state.tools[name] = nil
    end
  end
  return list[1] and list or nil
end

---- The conversation ----

--- A summary in a frame that says what it is: bare, it would read as words of the user.
local function framed(what, record)
  return ("%s\n\n<summary>\n%s\n</summary>"):format(what, fields.text(record, "summary") or "")
end

--- Entries that are no messages and go to the model.
local ENTRIES = {
  branch_summary = function(entry)
    return framed("What was tried on another branch of this conversation, as a summary:", entry.record)
  end,
}

local function add_entry(state, entry, edit)
  local kind, message = entry.kind or "without a type", fields.object(entry.record, "message")
  local is_replaced = edit and (fields.text(edit.record, "replacement") or fields.list(edit.record, "replacement"))
  local role = kind == "message" and fields.text(message, "role") or kind == "custom_message" and "custom" or nil
  if edit and not is_replaced and (role or ENTRIES[kind]) then
    return state.report:add("hidden message", "an edit omits it", entry.line)
  end
  if ENTRIES[kind] then
    state.report:add("synthetic message", kind, entry.line)
    state.out:add(text_message(ENTRIES[kind](entry), entry.line))
  elseif role and ROLES[role] then
    local built = ROLES[role](state, entry, content_of(entry, edit))
    if built then state.out:add(built) end
  else
    state.report:add("other line", role and "role " .. role or kind, entry.line)
  end
end

local function model_of(path)
  for i = #path, 1, -1 do
    local record = path[i].record
    local model = fields.text(record.message, "model") or fields.text(record, "modelId")
    if model then return model end
  end
end

local function build(path, source)
  local report, model = source.report, model_of(path)
  local state = { report = report, sections = {}, section_order = {}, tools = {}, tool_order = {} }
  state.out = neutral.new(neutral.dialect(model), report)
  local edits = edits_of(path)
  local kept, compaction = after_compaction(path, report)
  if compaction then
    apply_system(state, compaction, "systemMessage")
    report:add("synthetic message", "summary of a compaction", compaction.line)
    state.out:add(text_message(framed("What was said before, as a summary:", compaction.record), compaction.line))
  end
  for _, entry in ipairs(kept) do add_entry(state, entry, edits[entry.id]) end
  local messages, lines = state.out:finish()
  return {
    dialect = state.out.dialect, messages = messages, lines = lines, model = model,
    system = system_of(state), tools = tools_of(state, state.out.dialect), report = report,
  }
end

function pi.read(source, options)
  local list, by_id = read_entries(source)
  tree.mend(list, by_id, function() return "main" end, source.report)
  local branches = tree.leaves(list)
  local leaf = options.branch and tree.choose(branches, options.branch).leaf or list[#list]
  local path = leaf and tree.path(by_id, leaf) or {}
  local result = build(path, source)
  if #path < #list then source.report:add("inactive line", "another branch", nil, #list - #path) end
  result.branches = math.max(1, #branches)
  return result
end

return pi
