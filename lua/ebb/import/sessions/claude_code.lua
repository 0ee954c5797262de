--- Sessions of Claude Code: JSONL whose lines form a tree, of which the branch with the newest line is current.
--
--     user a <- assistant b1 (text) <- assistant b2 (call x) <- assistant b3 (call y) <- result of y <- ...
--                                       \- result of x
--
-- A reply is a line per block, with one message id; a result hangs on the line of its call, off the path of the
-- next reply. So lines of one reply, and the results of its calls, are one node of the tree here: a *step*.
-- The path of steps from the newest leaf is what the model would get now: a compaction boundary is a root.

local anthropic = require "ebb.import.anthropic"
local attachments = require "ebb.import.sessions.claude_attachments"
local claude_messages = require "ebb.import.sessions.claude_messages"
local fields = require "ebb.import.fields"
local tree = require "ebb.import.tree"

local claude_code = { name = "claude_code", title = "Claude Code session", kind = "jsonl" }

function claude_code.recognise(sample)
  for _, record in ipairs(sample.records or {}) do
    local is_linked = fields.text(record, "uuid") and record.parentUuid ~= nil
    local is_other = fields.list(fields.object(record, "message"), "parts") ~= nil      -- Qwen Code's
    if is_other then return false end
    if is_linked and fields.text(record, "sessionId") then return true end
  end
  return false
end

---- Lines ----

---@class ebb.import.ClaudeLine: ebb.import.Node   a record with a uuid
---@field record table          whose contents are raw JSON
---@field line integer
---@field side boolean          a sidechain's, or a team mate's
---@field role? string          of a message; nil for other lines
---@field attached? ebb.import.ClaudeAttached   what the line adds to the messages next to it
---@field reply? string         the id of the reply that it is part of
---@field step ebb.import.Node
---@field former? string       its parent before a compaction preserved it
---@field order integer         its place in the file

--- Returns why the model does not get a line with a message; nil if it does.
local function why_hidden(record)
  if record.isApiErrorMessage == true then return "error line" end
  if record.isVisibleInTranscriptOnly == true and record.isCompactSummary ~= true then return "transcript line" end
end

local ROLES = { user = "user", assistant = "assistant" }

--- Sets a line's `role`, reads its attachment, or counts in the report why it has no role.
local function classify(line, report)
  local record = line.record
  local kind = fields.text(record, "type") or "without a type"
  local message = fields.object(record, "message")
  local role = ROLES[kind]
  if kind == "attachment" then
    line.attached = attachments.read(record, report, line.line)
    return
  elseif not role or not message then
    if kind == "system" and fields.text(record, "subtype") == "compact_boundary" then kind = "compact_boundary" end
    return report:add("other line", kind, line.line)
  end
  local hidden = why_hidden(record)
  if hidden then return report:add(hidden, kind, line.line) end
  line.role = role
  line.reply = role == "assistant" and fields.text(message, "id") or nil
end

--- Members that are large, and not looked into.
local RAW = { raw = { content = true, toolUseResult = true, usage = true, snapshot = true, data = true,
  attachment = true, shape = true } }

--- The lines with uuids, in order: the last of each uuid, at the place of its first one. `state` keeps the shape of
--- requests.
local function read_lines(source, state)
  local list, by_id = {}, {}
  for number, record, raw in source:records(RAW) do
    local id, kind = fields.text(record, "uuid"), fields.text(record, "type") or "without a type"
    if not id then
      if kind == "api-request-shape" then attachments.keep_shape(state, raw) end
      source.report:add("other line", kind, number)
    else
      local line = by_id[id]
      if line then source.report:add("repeated line", "a later line has its uuid", line.line) end
      if not line then line = { order = #list + 1 } end
      line.id, line.record, line.line = id, record, number
      line.parent = fields.text(record, "parentUuid")
      line.side = record.isSidechain == true or fields.text(record, "teamName") ~= nil
      list[line.order], by_id[id] = line, line
    end
  end
  for _, line in ipairs(list) do classify(line, source.report) end
  return list, by_id
end

---- Links ----

--- The lines from one up to another one above it, the upper first; none if it is not above.
local function segment_of(head, tail, taken, by_id)
  local reverse, line = {}, tail
  while line and not taken[line] do
    taken[line], reverse[#reverse + 1] = true, line
    if line == head then
      for i = 1, #reverse // 2 do reverse[i], reverse[#reverse + 1 - i] = reverse[#reverse + 1 - i], reverse[i] end
      return reverse
    end
    line = line.parent and by_id[line.parent]
  end
  return {}
end

--- The lines that a boundary preserved, and the one that they are to follow. `taken` has those of later boundaries.
local function preserved(boundary, by_id, taken)
  local metadata = fields.object(boundary.record, "compactMetadata")
  local named, segment = fields.object(metadata, "preservedMessages"), fields.object(metadata, "preservedSegment")
  local list, anchor = {}, by_id[fields.text(named or segment, "anchorUuid")]
  for _, id in ipairs(named and fields.list(named, "uuids") or {}) do
    local line = by_id[id]
    if line and line ~= anchor and not taken[line] then
      taken[line], list[#list + 1] = true, line
    end
  end
  local head, tail = by_id[fields.text(segment, "headUuid")], by_id[fields.text(segment, "tailUuid")]
  if not named and head and tail then list = segment_of(head, tail, taken, by_id) end
  return list, anchor
end

--- Links what a boundary preserved: the first under the anchor, each next one under the one before, and the former
--- children of the anchor under the last.
local function relink(list, anchor, children)
  local moved = {}
  for i, line in ipairs(list) do
    line.former, moved[line] = line.parent, true
    line.parent = i == 1 and anchor.id or list[i - 1].id
  end
  for _, child in ipairs(children[anchor.id] or {}) do
    if not moved[child] and child ~= anchor then child.parent = list[#list].id end
  end
end

local function is_boundary(line)
  return fields.text(line.record, "subtype") == "compact_boundary"
end

--- Links what boundaries preserved, the newest first: what it took is not the older ones'.
local function relink_all(lines, by_id)
  local children, taken, done, has_boundary = {}, {}, {}, false
  for _, line in ipairs(lines) do has_boundary = has_boundary or is_boundary(line) end
  if not has_boundary then return end
  for _, line in ipairs(lines) do
    if line.parent then
      children[line.parent] = children[line.parent] or {}
      table.insert(children[line.parent], line)
    end
  end
  for i = #lines, 1, -1 do
    local list, anchor = {}, nil
    if is_boundary(lines[i]) then list, anchor = preserved(lines[i], by_id, taken) end
    if list[1] and anchor and not done[anchor] then
      done[anchor] = true
      relink(list, anchor, children)
    end
  end
end

local function is_progress(line)
  return fields.text(line.record, "type") == "progress"
end

--- Returns the chain of a line: lines of one chain may replace a parent that does not exist.
local function chain_of(line)
  if is_progress(line) then return nil end
  return line.side and "side" or "main"
end

---- Steps ----

--- The content of a line's message, as JSON; nil without one.
local function content_of(line)
  local content = line.record.message.content
  return content and content[1]
end

--- True for a user's line with results of tools.
local function has_results(line)
  local content = line.role == "user" and content_of(line)
  if not content or content:sub(1, 1) ~= "[" then return false end
  local may_have = content:find("tool_result", 1, true) or content:find("\\u", 1, true)    -- or in other letters
  if not may_have then return false end
  if content:find '^%[%s*{%s*"type"%s*:%s*"tool_result"%s*[,}]' then return true end         -- as most are written
  if content:find '^%[%s*{%s*"tool_use_id"%s*:%s*"[^"\\]*"%s*,%s*"type"%s*:%s*"tool_result"%s*[,}]' then return true end
  for _, block in ipairs(fields.elements(content, RAW)) do
    if fields.text(block.value, "type") == "tool_result" then return true end
  end
  return false
end

--- The step of a line: that of its reply, or for results that of the calls; else its own.
local function step_of(line, by_id, replies)
  if line.reply then return replies[line.reply] end
  local parent = line.parent and by_id[line.parent]
  if parent and parent.role == "assistant" and has_results(line) then return step_of(parent, by_id, replies) end
end

--- Steps of the lines, in order, and by id. A step's parent is that of its first line that has one elsewhere.
local function steps_of(lines, by_id)
  local steps, replies, list = {}, {}, {}
  local function new(line, id)
    local step = { id = id, lines = {}, side = line.side, line = line.line, newest = line.order }
    steps[id], list[#list + 1] = step, step
    return step
  end
  for _, line in ipairs(lines) do
    local reply = line.reply
    if reply then replies[reply] = replies[reply] or new(line, "reply\0" .. reply) end
  end
  for _, line in ipairs(lines) do
    local step = step_of(line, by_id, replies) or new(line, line.id)
    line.step, step.newest = step, line.order
    step.lines[#step.lines + 1] = line
  end
  for _, line in ipairs(lines) do
    local parent = line.parent and by_id[line.parent]
    if parent and parent.step ~= line.step then line.step.parent = line.step.parent or parent.step.id end
  end
  return list, steps
end

---- Branches ----

--- The nearest step with a message, from a step upwards; beyond a boundary, what was compacted.
local function anchor_of(step, steps)
  local trail = {}
  while step and not step.has_message and step.anchor == nil do
    step.anchor = false
    trail[#trail + 1] = step
    step = steps[step.parent or step.logical]
  end
  local anchor = step and (step.has_message and step or step.anchor) or nil
  for _, each in ipairs(trail) do each.anchor = anchor or false end
  return anchor
end

--- Marks steps that another message continues. What else hangs on a step makes it newer.
local function mark_continued(lines, by_id, list, steps)
  for _, line in ipairs(lines) do
    local logical = by_id[fields.text(line.record, "logicalParentUuid")]
    if logical and logical.step ~= line.step then line.step.logical = logical.step.id end
    line.step.has_message = line.step.has_message or line.role ~= nil
  end
  for _, line in ipairs(lines) do
    local former = by_id[line.former]
    local before = former and former.step ~= line.step and anchor_of(former.step, steps)
    if before then before.continued = true end
  end
  for _, step in ipairs(list) do
    local before = anchor_of(step.has_message and steps[step.parent or step.logical] or step, steps)
    if before and before ~= step and before.side == step.side then
      if step.has_message then before.continued = true
      elseif not is_progress(step.lines[1]) then before.newest = math.max(before.newest, step.newest) end
    end
  end
end

--- The branches: leaves of the main line, the newest first, then those of sidechains.
local function branches_of(list)
  local branches, sides = {}, {}
  for _, step in ipairs(list) do
    local last = step.lines[#step.lines]
    if step.has_message and not step.continued then
      local name = step.side and fields.text(last.record, "agentId") or last.id
      table.insert(step.side and sides or branches,
        { name = name, leaf = step, newest = step.newest, what = step.side and "sidechain" or nil })
    end
  end
  table.sort(branches, function(a, b) return a.newest > b.newest end)
  return table.move(sides, 1, #sides, #branches + 1, branches)
end

--- The steps between two lines of one step: from `line` upwards until that step; none if the way ends elsewhere.
local function steps_between(line, step, by_id, seen)
  local inner = {}
  while line and line.step ~= step do
    if seen[line.step] then return {} end
    seen[line.step] = true
    table.insert(inner, line.step)
    line = line.parent and by_id[line.parent]
  end
  return line and inner or {}
end

--- Moves messages between two lines of a step after it, such as words of the user that came while it ran.
local function with_inner(path, by_id)
  local list, seen = {}, {}
  for _, step in ipairs(path) do seen[step] = true end
  for _, step in ipairs(path) do
    list[#list + 1] = step
    for _, line in ipairs(step.lines) do
      local inner = steps_between(line.parent and by_id[line.parent], step, by_id, seen)
      for i = #inner, 1, -1 do list[#list + 1] = inner[i] end
    end
  end
  return list
end

--- The steps of the branch that the options name, or of the current one; and how many branches the main line has.
local function path_of(list, steps, by_id, options, report)
  local branches = branches_of(list)
  if not branches[1] then branches[1] = list[1] and { name = "", leaf = list[#list] } end
  if not branches[1] then return {}, 0 end
  local branch = options.branch and tree.choose(branches, options.branch) or branches[1]
  local path, problem = tree.path(steps, branch.leaf)
  if problem then report:add("circle of parents", "of replies", path[1].line) end
  path = with_inner(path, by_id)
  local on_path, count = {}, branch.leaf.side and 0 or 1
  for _, step in ipairs(path) do on_path[step] = true end
  for _, each in ipairs(branches) do
    if not on_path[each.leaf] and not each.leaf.side then count = count + 1 end
  end
  return path, count
end

---- Messages ----

--- The lines of one role that say something; counts the others.
local function lines_of(step, role, report)
  local lines = {}
  for _, line in ipairs(step.lines) do
    local content = line.role == role and content_of(line)
    if content and content:find '^["[]' and content ~= '""' and not content:find '^%[%s*%]' then
      lines[#lines + 1] = line
    elseif line.role == role then
      report:add("empty message", "without text or blocks", line.line)
    end
  end
  return lines
end

--- The content of one message of several lines: each block once.
local function merged_content(lines, role, report)
  local blocks = {}
  for _, line in ipairs(lines) do
    local list = anthropic.blocks(content_of(line))
    table.move(list, 1, #list, #blocks + 1, blocks)
  end
  local merged = anthropic.merged(blocks)
  if #merged < #blocks then
    report:add("streamed partial", "another one has more", lines[1].line, #blocks - #merged)
  end
  return anthropic.content(role == "user" and anthropic.results_first(merged) or merged)
end

--- True if the program made all lines of a step.
local function is_made(lines)
  for _, line in ipairs(lines) do
    if line.record.isMeta ~= true then return false end
  end
  return true
end

--- Adds a reply, then the results of its calls, and what was attached. A single line is kept unchanged.
local function add_step(out, step, report)
  for _, role in ipairs { "assistant", "user" } do
    local lines = lines_of(step, role, report)
    if #lines == 1 then
      out:add(role, content_of(lines[1]), lines[1].line, is_made(lines))
    elseif lines[1] then
      out:add(role, merged_content(lines, role, report), lines[1].line, is_made(lines))
    end
  end
  for _, line in ipairs(step.lines) do
    if line.attached then out:attach(line.attached, line.line) end
  end
end

--- Adds the steps after the last message to which only something is attached, such as a file of a prompt that is not
--- answered yet.
local function add_trailing(path, list)
  local last = path[#path]
  for _, step in ipairs(list) do
    if last and step.parent == last.id and not step.has_message and step.side == last.side then
      path[#path + 1], last = step, step
    end
  end
end

--- The model of the last reply.
local function model_of(path)
  for i = #path, 1, -1 do
    for _, line in ipairs(path[i].lines) do
      local model = line.role == "assistant" and fields.text(line.record.message, "model")
      if model and model:sub(1, 1) ~= "<" then return model end
    end
  end
end

--- Counts the messages that are on no part of the path.
local function report_others(lines, path, report)
  local on_path = {}
  for _, step in ipairs(path) do on_path[step] = true end
  for _, line in ipairs(lines) do
    if line.role and not on_path[line.step] then
      report:add(line.side and "sidechain line" or "inactive line", line.side and "a sidechain"
        or "another branch, or before a compaction", line.line)
    end
  end
end

--- Sidechains are the main line of a file that has nothing else, such as a subagent's.
local function settle_sides(lines)
  for _, line in ipairs(lines) do
    if line.role and not line.side then return end
  end
  for _, line in ipairs(lines) do line.side = false end
end

function claude_code.read(source, options)
  local report = source.report
  local state = {}
  local lines, by_id = read_lines(source, state)
  settle_sides(lines)
  tree.mend(lines, by_id, chain_of, report)
  relink_all(lines, by_id)
  local list, steps = steps_of(lines, by_id)
  mark_continued(lines, by_id, list, steps)
  local path, branches = path_of(list, steps, by_id, options, report)
  add_trailing(path, list)
  local out = claude_messages.new()
  for _, step in ipairs(path) do add_step(out, step, report) end
  report_others(lines, path, report)
  local messages, numbers = out:finish()
  local system, tools = attachments.shape(state)
  return {
    dialect = "anthropic", messages = messages, lines = numbers, model = model_of(path), report = report,
    branches = branches, system = system, tools = tools,
  }
end

return claude_code
