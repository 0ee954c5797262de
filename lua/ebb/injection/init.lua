--- Weaves preset messages into a history.
--
--     skeleton          preset messages before the anchor `chat_history`, as they are
--     before group      what is anchored before chat_history
--     history           with the depth injections in it
--     after group       what is anchored after it
--     skeleton          the rest
--
-- Other anchors are in the skeleton: a template anchor renders its own content
-- there, between what is anchored before and after it. Within a group, and at one
-- depth, a larger `order` is nearer the newest message.
--
-- Depth n is before the last n messages of the history, regardless of other insertions:
--
--     depth    4    3    2    1    0
--              |h0| |h1| |h2| |h3|
--
-- A place inside of a unit gives way to the one before that unit.

local model_match = require "ebb.injection.model_match"
local refuse = require "ebb.support.refuse"
local preset_schema = require "ebb.injection.schema"
local schema = require "ebb.support.schema"
local tables = require "ebb.support.tables"
local units = require "ebb.injection.units"

local injection = { points = preset_schema.points, matches = model_match.matches }

injection.POINTS_MAX = 100   -- of one depthConfig

local HISTORY = "chat_history"
local TEMPLATES = {
  [HISTORY] = false, user_profile = true, examples = true, lorebook_before = false, lorebook_after = false,
}

--- Legacy placeholders that mean "no template".
local NO_TEMPLATE = { ["用户档案"] = true, user_profile = true, ["User Profile"] = true }

local TOOLS = {
  id = "auto-tool-macro", title = "the tools' macros", type = "message", role = "system", enabled = true,
  kind = "anchor", target = HISTORY, side = "before", order = -100,
  content = "{{tools}}\n{{tool_usage}}\n{{tool_context}}",
}

local OPTIONS = {
  model = true, profile = true, expand = true, log = true, templates = true, tools_if_missing = true, budget = true,
  ready = true, around = true, disabled = true,
}

---@class ebb.InjectionOptions
---@field model string?              id of the model that the request is for
---@field profile string?            name of the profile that it is reached by
---@field expand (fun(text: string, title: string): string)?   macros; called once per message, in preset order
---@field log (fun(level: string, message: string, details: table?))?
---@field templates table<string, boolean>?   anchors besides chat_history and user_profile: has it a template?
---@field budget ebb.RunBudget?      of the run, whose limits raise
---@field ready table[]?              messages as preset_schema.message gives them, expanded; `head`: before all others
---@field around table<string, { before?: string, after?: string }>?   texts around presets, by id
---@field disabled table<string, boolean>?   ids of presets that are left out
---@field tools_if_missing boolean?   put the tools' macros before the history where no preset has one

-- ---- the messages and their contents ----

local function anchors_of(templates)
  local anchors = {}
  for name, has in pairs(TEMPLATES) do
    anchors[name] = has
  end
  for name, has in pairs(templates or {}) do
    anchors[name] = has
  end
  return anchors
end

--- The valid preset messages, and the problems of the others.
---@param presets table[]    as they are in files
---@param templates? table<string, boolean>
---@return table[] messages
---@return { place: integer, message: string }[] problems     one line each, naming message and field
function injection.read(presets, templates)
  if type(presets) ~= "table" then
    refuse("argument", "injection: expected a list of preset messages, got " .. tostring(presets))
  end
  local anchors, messages, problems = anchors_of(templates), {}, {}
  for place, preset in ipairs(presets) do
    local message, problem = preset_schema.message(preset, anchors)
    local title = preset_schema.title(preset, place)
    if message then
      message.title, message.place = title, place
      messages[#messages + 1] = message
    else
      problems[#problems + 1] = { place = place, message = ("%s: %s"):format(title, schema.say(problem)) }
    end
  end
  return messages, problems
end

--- The first problem of a list of preset messages, its path beginning with the place in the list; or nil.
---@param presets table[]
---@param templates? table<string, boolean>
---@return ebb.SchemaProblem?
function injection.first_problem(presets, templates)
  local anchors = anchors_of(templates)
  for place, preset in ipairs(presets) do
    local _, problem = preset_schema.message(preset, anchors)
    if problem then
      table.insert(problem.path, 1, place)
      return problem
    end
  end
end

--- Returns the presets that are enabled and match the model.
local function active_ones(messages, options, log)
  local active = {}
  for _, message in ipairs(messages) do
    local function report(pattern, why)
      log("warn", ("%s: modelMatch: pattern '%s': %s"):format(message.title, pattern, why))
    end
    if options.budget then options.budget:check(message.title) end
    local applies = not message.match or model_match.matches(message.match, options.model, options.profile, report)
    local is_disabled = message.id and options.disabled and options.disabled[message.id]
    if message.enabled and applies and not is_disabled then active[#active + 1] = message end
  end
  return active
end

local function map_texts(content, change)
  if type(content) == "string" then return change(content) end
  local parts = {}
  for i, part in ipairs(content) do
    local copy = part
    if type(part) == "table" then
      copy = {}
      for key, value in pairs(part) do
        copy[key] = value
      end
      if type(part.text) == "string" then copy.text = change(part.text) end
    end
    parts[i] = copy
  end
  return parts
end

local function unchanged(text) return text end

local function is_blank(content)
  return type(content) == "string" and not content:find "%S" or type(content) == "table" and #content == 0
end

local function mentions_tools(messages)
  for _, message in ipairs(messages) do
    local has_macro = false
    map_texts(message.content, function(text)
      has_macro = has_macro or text:find "{{%s*tools%s*}}" ~= nil or text:find "{{%s*tool_usage%s*}}" ~= nil
        or text:find "{{%s*tool_context%s*}}" ~= nil
      return text
    end)
    if has_macro then return true end
  end
  return false
end

--- True if the message says anything itself. An anchor does only if it is a template.
local function has_content(message, anchors)
  if message.type == "message" then return true end
  return anchors[message.type] and not NO_TEMPLATE[message.content]
end

--- A text with those around it.
local function joined(text, around)
  if not around then return text end
  local parts = { around.before }
  if text:find "%S" then parts[#parts + 1] = text end
  parts[#parts + 1] = around.after
  return table.concat(parts, "\n")
end

--- True if files are sent with the message, whatever it says.
local function has_files(message)
  return (message.attachments or message._attachments or {})[1] ~= nil
end

--- The contents with macros expanded, by message; blank ones are skipped.
local function contents_of(active, anchors, options, log)
  local contents, expand = {}, options.expand or unchanged
  for _, message in ipairs(active) do
    if message.is_ready then contents[message] = message.content
    elseif has_content(message, anchors) then
      local around = options.around and message.id and options.around[message.id]
      local content = map_texts(message.content, function(text) return joined(expand(text, message.title), around) end)
      if has_files(message) or not is_blank(content) then contents[message] = content
      elseif message.type == "message" then log("info", message.title .. ": blank, so not put in") end
    end
  end
  return contents
end

-- ---- where they go ----

local function by_order(list)
  table.sort(list, function(a, b)
    for _, key in ipairs { "at", "depth", "order" } do
      if a[key] ~= b[key] then
        if key == "depth" then return a.depth > b.depth end    -- deeper is further from the newest
        return a[key] < b[key]
      end
    end
    return a.index < b.index
  end)
  return list
end

--- The depths of a depthConfig within a history of `count` messages; deeper ones are left out.
local function depths_of(message, count, log)
  local points, junk = preset_schema.points(message.points)
  for _, word in ipairs(junk) do
    log("warn", ("%s: depthConfig: '%s' is neither N nor S~I"):format(message.title, word))
  end
  if #points > injection.POINTS_MAX then
    log("warn", ("%s: depthConfig: only the first %d of %d are used"):format(message.title, injection.POINTS_MAX,
      #points))
  end
  local depths = {}
  for i = 1, math.min(#points, injection.POINTS_MAX) do
    local first, step = points[i].first, points[i].step
    for depth = first, step > 0 and count or math.min(first, count), math.max(step, 1) do
      depths[#depths + 1] = depth
    end
  end
  return depths
end

--- Depths count the history without markup of windows, which keeps its place.
---@param most number           the greatest depth that is asked for
---@return integer[] before     by depth, how many messages come before it; nil beyond the deepest
---@return integer deepest      `most` at most
local function depths_in(history, most)
  local before, deepest = { [0] = #history }, 0
  for i = #history, 1, -1 do
    if deepest >= most then break end
    if history[i].source ~= "window" then
      deepest = deepest + 1
      before[deepest] = i - 1
    end
  end
  return before, deepest
end

--- The greatest depth that the messages ask for; nil: none asks for any.
local function greatest_depth(active)
  local most
  for _, message in ipairs(active) do
    if message.type == "message" and message.kind == "depth" then most = math.max(most or 0, message.depth) end
    if message.type == "message" and message.kind == "advanced_depth" then return math.huge end
  end
  return most
end

--- Assumed bytes of a message besides its texts: its tables, and its fields in the request.
local MESSAGE_BYTES = 400

--- Counts a message that is put in toward the budget of the run.
local function count(message, contents, budget)
  if not budget or contents[message] == nil then return end
  local bytes = MESSAGE_BYTES
  map_texts(contents[message], function(text)
    bytes = bytes + #text
    return text
  end)
  for _, files in ipairs { message.attachments or {}, message._attachments or {} } do
    for _, file in ipairs(files) do bytes = bytes + (type(file.data) == "string" and #file.data or 0) end
  end
  budget:add(bytes, message.title)
end

--- Lists all insertions between the messages of the history, in order: { at, message }. `at`
--- counts the messages before it.
local function depth_injections(active, history, log, contents, budget)
  local list, most = {}, greatest_depth(active)
  if not most then return list end
  local before, deepest = depths_in(history, most)
  local places = units.places(history, before[deepest])
  for index, message in ipairs(active) do
    local depths = message.kind == "depth" and { message.depth }
      or message.kind == "advanced_depth" and depths_of(message, deepest, log) or {}
    local is_taken = {}
    if budget then budget:check(message.title) end
    for _, depth in ipairs(message.type == "message" and depths or {}) do
      local at = before[depth] and places[before[depth]] or 0
      if not is_taken[at] then
        count(message, contents, budget)
        list[#list + 1] = { at = at, depth = depth, order = message.order, index = index, message = message }
        is_taken[at] = true
      end
    end
  end
  return by_order(list)
end

--- Messages by anchor: groups[anchor].before and .after, each in order.
local function anchor_groups(active, anchors, log)
  local present, groups = { [HISTORY] = true }, {}
  for _, message in ipairs(active) do
    present[message.type] = true
  end
  for index, message in ipairs(active) do
    local target = message.kind == "anchor" and message.type == "message" and message.target
    if target and not (anchors[target] ~= nil and present[target]) then
      local why = anchors[target] ~= nil and "is not among the presets" or "is unknown"
      log("warn", ("%s: anchorTarget: '%s' %s; it is not put in"):format(message.title, target, why))
    elseif target then
      local group = groups[target] or { before = {}, after = {} }
      groups[target] = group
      table.insert(group[message.side], { at = 0, depth = 0, order = message.order, index = index, message = message })
    end
  end
  for _, group in pairs(groups) do
    by_order(group.before)
    by_order(group.after)
  end
  return groups
end

-- ---- putting together ----

--- Adds one message, unless it has nothing to say.
local function put(out, message, source)
  local content = out.contents[message]
  if content == nil then return end
  if source ~= "depth" then count(message, out.contents, out.budget) end   -- those have been counted
  out.list[#out.list + 1] = {
    role = message.role, content = map_texts(content, unchanged), source = source,
    source_id = message.id or message.place,
    attachments = tables.copy(message.attachments), _attachments = tables.copy(message._attachments),
  }
end

local function put_group(out, anchor, side)
  for _, item in ipairs(out.groups[anchor] and out.groups[anchor][side] or {}) do
    put(out, item.message, "anchor")
  end
end

local function put_history(out, history, injections)
  put_group(out, HISTORY, "before")
  local done = 0
  for _, each in ipairs(injections) do
    table.move(history, done + 1, each.at, #out.list + 1, out.list)
    done = math.max(done, each.at)
    put(out, each.message, "depth")
  end
  table.move(history, done + 1, #history, #out.list + 1, out.list)
  put_group(out, HISTORY, "after")
end

--- An anchor comes once: of a second one nothing is put in.
local function put_anchor(out, message, log)
  if out.anchored[message.type] then
    log("warn", ("%s: the anchor '%s' occurs twice; the first counts"):format(message.title, message.type))
    return
  end
  out.anchored[message.type] = true
  put_group(out, message.type, "before")
  put(out, message, "preset")
  put_group(out, message.type, "after")
end

local function put_all(out, active, history, injections, log)
  local has_history = false
  for _, message in ipairs(active) do
    if message.type == HISTORY and not has_history then
      put_history(out, history, injections)
      has_history = true
      out.anchored[HISTORY] = true
    elseif message.type ~= "message" then
      put_anchor(out, message, log)
    elseif message.kind == "default" then
      put(out, message, "preset")
    end
  end
  if not has_history then put_history(out, history, injections) end
end

--- Adds messages that others made: those of the head before the presets, the rest after them.
local function add_ready(active, ready)
  local heads = 0
  for _, message in ipairs(ready) do
    message.is_ready = true
    if message.head then heads = heads + 1 end
    table.insert(active, message.head and heads or #active + 1, message)
  end
end

local function no_log() end

---@param history ebb.WorkingMessage[]      is not changed; its messages come back as they are
---@param presets table[]                   preset messages as they are in files
---@param options? ebb.InjectionOptions
---@return ebb.WorkingMessage[] messages    a new list
---@return { place: integer, message: string }[] problems   presets that are wrong, and so left out; logged too
function injection.assemble(history, presets, options)
  options = options or {}
  for name in pairs(options) do
    if not OPTIONS[name] then refuse("unknown_name", ("injection: unknown option '%s'"):format(tostring(name))) end
  end
  local log, anchors = options.log or no_log, anchors_of(options.templates)
  local messages, problems = injection.read(presets, options.templates)
  for _, problem in ipairs(problems) do
    log("warn", problem.message .. "; it is left out")
  end
  local active = active_ones(messages, options, log)
  add_ready(active, options.ready or {})
  if options.tools_if_missing and not mentions_tools(active) then active[#active + 1] = TOOLS end
  local out = {
    list = {}, anchored = {}, budget = options.budget, groups = anchor_groups(active, anchors, log),
    contents = contents_of(active, anchors, options, log),
  }
  put_all(out, active, history, depth_injections(active, history, log, out.contents, out.budget), log)
  return out.list, problems
end

return injection
