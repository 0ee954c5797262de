--- Between working copies and bytes: history in, request body out.
--
-- A working copy knows the stored message that it came from (`seq`). As long as it
-- still says the same, the stored bytes are written; whether it does is looked at
-- (bind/working_copy.c), and nobody is trusted to have said so.

local core = require "ebb.support.core"
local envelope = require "ebb.pipeline.envelope"
local references = require "ebb.processors.references"
local refuse = require "ebb.support.refuse"
local tables = require "ebb.support.tables"

local request = {}

local ROLES = { system = true, developer = true, user = true, assistant = true, tool = true, ["function"] = true }

---@class ebb.Request
---@field original ebb.Conversation
---@field envelope ebb.Envelope
---@field parse_options table       for core.parse: the counter, the caps
---@field texts? table<string, string|false>   markup of each shown window in this run
---@field missing string[]          ids of windows that items name but that do not exist
---@field refers boolean            a message of the history may refer to a file
local Request = {}
Request.__index = Request

--- Replaces items of windows by their markup, after the unit in which they are.
local function with_windows(self, copies)
  local windows, list = {}, {}
  for _, item in ipairs(core.window.items(self.original)) do
    windows[item.position] = item.window
  end
  for _, position in ipairs(core.window.request_order(self.original)) do
    local id = windows[position]
    if not id then
      list[#list + 1] = copies[position]
    elseif self.texts[id] then
      list[#list + 1] = { role = "user", content = self.texts[id], source = "window", source_id = id,
        origin = copies[position].origin }
    end
  end
  return list
end

--- The visible history as working copies; markup of windows has source = "window".
---@param lazy? boolean        most stay in the core until they are read (bind/lazy_copy.h)
---@return ebb.WorkingMessage[]
---@return integer[]? odd       positions of those that may say nothing or refer to files; nil: any may
function Request:history(lazy)
  local copies, odd = core.working.copies(self.original, lazy and not self.texts)
  for _, position in ipairs(odd) do
    local copy = copies[position]
    if copy.own or copy._attachments or type(copy.content) == "table" then
      references.take(copy)
      self.refers = true
    end
  end
  if self.texts then return with_windows(self, copies) end
  return copies, odd
end

local function wrong(i, what)
  refuse("shape", ("messages[%d]: %s"):format(i, what))
end

local function check_parts(i, parts)
  for n, part in ipairs(parts) do
    if type(part) ~= "table" or type(part.type) ~= "string" then
      wrong(i, ("content[%d] is a part: a table with a type"):format(n))
    end
  end
end

local function check_sources(i, sources)
  if type(sources) ~= "table" then wrong(i, "sources is a list, not " .. type(sources)) end
  for n, source in ipairs(sources) do
    local bytes = type(source) == "table" and source.bytes
    if math.type(bytes) ~= "integer" or bytes < 0 then
      wrong(i, ("sources[%d] is a table with bytes, a whole number from 0"):format(n))
    end
  end
end

--- True for a role that requests have, or that the stored message has: under a role map it may be another.
function Request:allows(message)
  if ROLES[message.role] then return true end
  if not self.stored_roles then
    self.stored_roles = {}
    for _, copy in ipairs(core.working.copies(self.original)) do
      self.stored_roles[copy.seq] = copy.role
    end
  end
  return message.seq ~= nil and type(message.role) == "string" and self.stored_roles[message.seq] == message.role
end

local function check_attachments(i, list)
  if type(list) ~= "table" then wrong(i, "attachments is a list, not " .. type(list)) end
  for n, each in ipairs(list) do
    if type(each) ~= "table" then wrong(i, ("attachments[%d] is a table, not %s"):format(n, type(each))) end
  end
end

--- Refuses messages that have no JSON form.
local function check_values(self, messages)
  for i, message in ipairs(messages) do
    local ok, problem = pcall(core.working.text, self.original, { message }, "", "")
    if not ok and not core.is_error(problem) then error(problem, 0) end
    if not ok then wrong(i, (problem.message:gsub("^text: ", ""))) end
  end
end

--- Refuses messages of which no request can be made. Those that are as they were stored are not read again.
local function check_request(self, messages)
  local around, options = self.envelope, self.parse_options
  if options.counter then         -- the caller's own, whose errors are not the processor's
    options = tables.copy(options)
    options.counter, options.encoding = nil, "bytes4"
  end
  local ok, chat, problem = pcall(core.working.parse, self.original, options, messages, around.before, around.after)
  if not ok then
    if core.is_error(chat) then check_values(self, messages) end
    error(chat, 0)
  end
  if chat then return end
  local what, i, member = problem.message:match "^text:%d+:%d+: (.*) at %a+%[(%d+)%]%.?(.*)$"
  if not i then refuse(problem.code, "what no request can be made of: " .. problem.message) end
  member = member:gsub("%[(%d+)%]", function(index) return ("[%d]"):format(index + 1) end)      -- as in Lua
  wrong(i + 1, what .. (member == "" and "" or " at " .. member))
end

--- Refuses a list that holds anything but messages, and messages of which no request can be made.
---@param messages any
function Request:check(messages)
  if type(messages) ~= "table" then refuse("shape", "messages is a list, not " .. type(messages)) end
  local count = 0
  for i, message in ipairs(messages) do
    count = i
    if type(message) ~= "table" then wrong(i, "a message is a table, not " .. type(message)) end
    if not self:allows(message) then
      wrong(i, ("role is %s: expected system, user, assistant or tool"):format(tostring(message.role)))
    end
    if message.sources ~= nil then check_sources(i, message.sources) end
    if message.attachments ~= nil then check_attachments(i, message.attachments) end
    local content = message.content
    if type(content) == "table" then
      check_parts(i, content)
    elseif type(content) ~= "string" then
      local speaks = message.tool_calls or message.function_call or message.refusal or message.audio
      if not speaks or content ~= nil and content ~= core.json.null then
        local kind = content == core.json.null and "null" or type(content)
        wrong(i, ("content is %s: expected a text or parts"):format(kind))
      end
    end
  end
  for key in pairs(messages) do
    if math.type(key) ~= "integer" or key < 1 or key > count then
      refuse("shape", ("messages has a key %s: it is a list without holes"):format(tostring(key)))
    end
  end
  check_request(self, messages)
end

--- The body without messages.
---@return string
function Request:around()
  return self.envelope.before .. self.envelope.after
end

--- Returns the options for reading a body, with a counter in place of the request's.
local function options_of(self, counter)
  if not counter then return self.parse_options end
  local options = tables.copy(self.parse_options)
  options.counter, options.encoding, options.tokenizer, options.image = counter, nil, nil, nil
  return options
end

--- The body as a conversation of its own, counted.
---@param messages ebb.WorkingMessage[]
---@param counter? fun(message: ebb.Message): integer   default: the request's
---@return ebb.Conversation
function Request:chat(messages, counter)
  local around = self.envelope
  local chat, problem = core.working.parse(self.original, options_of(self, counter), messages, around.before,
    around.after)
  return chat or refuse(problem.code, "the request: " .. problem.message)
end

--- A body as a conversation, counted.
---@param text string
---@param counter? fun(message: ebb.Message): integer   default: the request's
---@return ebb.Conversation
function Request:parse(text, counter)
  local chat, problem = core.parse(text, options_of(self, counter))
  return chat or refuse(problem.code, "the request: " .. problem.message)
end

--- The messages with items instead of windows' markup, and the markup by the ids of the windows. Where a
--- window occurs twice, the last one is its item.
local function with_items(self, messages)
  local list, texts = {}, {}
  for i = #messages, 1, -1 do
    local copy = messages[i]
    local id = copy.source == "window" and copy.source_id
    local is_item = id and self.texts[id] and not texts[id] and type(copy.content) == "string"
    list[i] = is_item and { type = "window", window = id } or copy
    if is_item then texts[id] = copy.content end
  end
  return list, texts
end

--- Makes a window of the stored conversation known in another one: what holds it, not what it reads.
local function put_window(chat, original, id)
  local state = core.window.get(original, id)
  core.window.put(chat, { id = id, pinned = state.pinned, important = state.important })
end

--- Marks the messages of `chat` as those that they were made from.
---@param marks table<string, integer[]>   seqs of the stored messages, by name
local function mark_like(chat, messages, marks)
  if next(marks) == nil then return end
  local place_of = {}
  for i, copy in ipairs(messages) do
    if copy.origin then place_of[copy.origin] = i end
  end
  for name, seqs in pairs(marks) do
    for _, seq in ipairs(seqs) do
      if place_of[seq] then chat:mark(place_of[seq], name) end
    end
  end
end

--- These messages as a conversation with the marks of the stored ones, and items in place of windows' markup.
---@param messages ebb.WorkingMessage[]
---@param counter? fun(message: ebb.Message): integer
---@return ebb.Conversation
---@return table<string, string>? texts   markup of its windows; nil where there are none
function Request:history_chat(messages, counter)
  local list, texts = messages, nil
  if self.texts then list, texts = with_items(self, messages) end
  local chat = self:chat(list, counter)
  for id in pairs(texts or {}) do
    put_window(chat, self.original, id)
  end
  mark_like(chat, messages, core.working.marks(self.original))
  return chat, texts
end

---@param original ebb.Conversation
---@param fields table          members of the body that are set, such as model
---@param parse_options table
---@param source ebb.Conversation   the conversation itself, where `original` is a copy in another form
---@return ebb.Request
function request.open(original, fields, parse_options, source)
  local texts, missing
  if core.window.count(original) > 0 then
    local _
    texts, _, missing = require("ebb.windows.render").texts(source)
  end
  return setmetatable({
    original = original, envelope = envelope.build(original, fields), parse_options = parse_options, texts = texts,
    missing = missing or {}, refers = false,
  }, Request)
end

return request
