--- Recall: of the values that each reply used and its history has, the share that its request has.
--
--     history     user: order 4711 ..., tool: {"order": "4711", "sku": "B-12"}
--     request     what a policy left of it
--     reply       calls ship {"order": "4711", "sku": "B-12"}: two values of the history, present or lost
--
-- A value is present if it is in a text of a message, as a part of it: contents, text parts, results and
-- arguments of calls; the system text of a request body is in every request. The label of an occurrence is the
-- word before it (labels.lua), or "" at the beginning. A value is labelled where an occurrence in the request has a
-- label that one in the history has, or where all labels in the history are "". The reply itself does not belong to
-- the history. Where the model binds thinking (thinking.lua) that is a text, too, until a trim makes it worthless. Only
-- requests count whose history is over the budget; a refused request holds nothing.
--
-- All values of the recording are searched for in each text once, when that enters the list; what holds which value
-- then changes with the list. So a replay stays linear, and no request is read as a whole.

local core = require "ebb.support.core"
local labels = require "ebb.replay.labels"
local matcher = require "ebb.replay.matcher"
local thinking = require "ebb.replay.thinking"
local tables = require "ebb.support.tables"
local values = require "ebb.replay.values"

local recall = {}

---- The recording, once ----

---@class ebb.replay.Recording
---@field arguments table<integer, integer[]>   by the position of a reply: numbers of what it handed to tools
---@field named table<integer, integer[]>       the same for values of its text
---@field matcher ebb.replay.Matcher
---@field first_message table<integer, integer>  by value: the position of the first message that says it
---@field labels table<integer, table<string, integer>>   by value and label, "" for no word: the first message with it
---@field first_label table<integer, integer>   by value: the first message that says it with a label
---@field holds table<integer, integer>[]       by position and value: as in ebb.replay.Recall
---@field said table<integer, table<integer, integer>>   the same without thinking, of messages that have some

--- The number of each value; a new one gets the next.
local function numbers_of(set, number_of, texts)
  local numbers = {}
  for value in pairs(set) do
    if not number_of[value] then
      texts[#texts + 1] = value
      number_of[value] = #texts
    end
    numbers[#numbers + 1] = number_of[value]
  end
  return numbers
end

--- Calls each(number, label) for each place of a value in a text; "" where no word comes before it.
local function each_place(recording, text, each)
  local words
  matcher.scan(recording.matcher, text, function(number, first)
    words = words or labels.words(text)
    each(number, labels.before(words, first) or "")
  end)
end

--- Reads what a text says first: values and their labels.
---@param position integer     of its message; 0: a text of every request
---@param holds? table<integer, integer>    what the message holds besides
---@return table<integer, integer> holds    what it holds
local function read_text(recording, text, position, holds)
  holds = holds or {}
  each_place(recording, text, function(number, label)
    recording.first_message[number] = recording.first_message[number] or position
    recording.labels[number][label] = recording.labels[number][label] or position
    if label ~= "" then recording.first_label[number] = recording.first_label[number] or position end
    holds[number] = position
  end)
  recording.holds[position] = holds
  return holds
end

--- Reads a message's text, and its thinking if the model binds that: as long as it is sent, the message holds both.
local function read_message(recording, message, position, is_unread)
  local said = read_text(recording, message.text, position)
  local thought = is_unread and thinking.text(message) or ""
  if thought == "" then return end
  recording.said[position] = said
  read_text(recording, thought, position, tables.copy(said))
end

--- The system text of a request body that holds it outside the messages.
local function system_text(conversation)
  if conversation.shape ~= "body" then return "" end
  local system = core.json.decode(conversation:json(), { raw = { messages = true } }).system
  if type(system) ~= "table" then return type(system) == "string" and system or "" end
  local texts = {}
  for _, block in ipairs(system) do
    texts[#texts + 1] = type(block) == "table" and type(block.text) == "string" and block.text or nil
  end
  return table.concat(texts, "\n")
end

---@param conversation ebb.Conversation
---@param settings { is_bound: boolean }
---@return ebb.replay.Recording
function recall.prepare(conversation, settings)
  local number_of, texts = {}, {}
  local recording = { arguments = {}, named = {}, first_message = {}, labels = {}, first_label = {}, holds = {},
    said = {} }
  for position, message in ipairs(conversation) do
    if message.role == "assistant" and position > 1 then
      recording.arguments[position] = numbers_of(values.of_calls(message), number_of, texts)
      recording.named[position] = numbers_of(values.of_text(message), number_of, texts)
    end
  end
  recording.matcher = matcher.new(texts)
  for number = 1, #texts do
    recording.labels[number] = {}
  end
  read_text(recording, system_text(conversation), 0)
  for position, message in ipairs(conversation) do
    read_message(recording, message, position, settings.is_unread)
  end
  return recording
end

---- One policy ----

---@class ebb.replay.Recall: ebb.replay.Observer
---@field recording ebb.replay.Recording
---@field holders table<integer, table<integer, integer>>   by value and seq of a message in the list: from which
---    position on it holds the value with a label of the history; math.huge: never
---@field holds table<integer, table<integer, integer>>     the same by seq and value
---@field arguments ebb.ReplayRecall
---@field named ebb.ReplayRecall
---@field losses ebb.ReplayLoss[]
---@field thoughtful table<integer, table<integer, integer>>   by seq: what it holds without thinking
local Recall = {}
Recall.__index = Recall

---@return ebb.ReplayRecall
local function counts()
  return { total = 0, present = 0, labelled = 0 }
end

---@param recording ebb.replay.Recording
---@return ebb.replay.Recall
function recall.observe(recording)
  local self = setmetatable({
    recording = recording, holders = {}, holds = {}, arguments = counts(), named = counts(),
    losses = core.json.array {}, thoughtful = {},
  }, Recall)
  self:append(0, 0)
  return self
end

--- A message enters the list.
local function enter(self, seq, holds)
  self.holds[seq] = holds
  for number, from in pairs(holds) do
    self.holders[number] = self.holders[number] or {}
    self.holders[number][seq] = from
  end
end

--- A message leaves the list.
local function leave(self, seq)
  for number in pairs(self.holds[seq] or {}) do
    self.holders[number][seq] = nil
  end
  self.holds[seq] = nil
end

--- Returns the values in a text that a policy wrote, with the position from which each was known.
local function holds_of(self, text)
  local holds, recording = {}, self.recording
  each_place(recording, text, function(number, label)
    holds[number] = math.min(holds[number] or math.huge, recording.labels[number][label] or math.huge)
  end)
  return holds
end

--- A recorded message is appended.
---@param seq integer
---@param position integer    in the recording
function Recall:append(seq, position)
  enter(self, seq, self.recording.holds[position])
  self.thoughtful[seq] = self.recording.said[position]
end

--- Follows a trim: messages leave the list, and others enter it.
---@param chat ebb.Conversation
---@param report ebb.TrimReport
local function follow(self, chat, report)
  local changed = report.dropped + report.replaced + report.inserted > 0
  local fresh, missing = {}, 0
  for _, run in ipairs(changed and report.ledger:runs() or {}) do
    for seq = run.seq, run.seq + run.count - 1 do
      if run.action ~= "inserted" then leave(self, seq) end
    end
    local entered = run.action == "inserted" and run.seq or run.replacement
    if entered then fresh[entered], missing = true, missing + 1 end
  end
  for _, message in ipairs(missing > 0 and chat or {}) do
    if fresh[message.seq] then
      enter(self, message.seq, holds_of(self, message.text))
      missing = missing - 1
      if missing == 0 then break end
    end
  end
end

--- True if a message of the list holds the value; and if one does so with a label that it had before `position`, or
--- if it had none.
local function is_present(self, number, position)
  local present = false
  for _, from in pairs(self.holders[number] or {}) do
    if from < position then return true, true end
    present = true
  end
  return present, present and (self.recording.first_label[number] or math.huge) >= position
end

local function add_loss(self, number, request, use, present)
  table.insert(self.losses, {
    reply = request.position, use = use, value = self.recording.matcher.texts[number],
    message = self.recording.first_message[number], present = present,
  })
end

local function count(self, sums, numbers, request, use)
  for _, number in ipairs(numbers or {}) do
    if (self.recording.first_message[number] or math.huge) < request.position then
      local present, labelled = false, false
      if not request.refused then present, labelled = is_present(self, number, request.position) end
      sums.total = sums.total + 1
      sums.present = sums.present + (present and 1 or 0)
      sums.labelled = sums.labelled + (labelled and 1 or 0)
      if not labelled then add_loss(self, number, request, use, present) end
    end
  end
end

function Recall:request(run, request)
  if request.report then follow(self, run.chat, request.report) end
  for _, seq in ipairs(request.unthought or {}) do
    leave(self, seq)
    enter(self, seq, self.thoughtful[seq] or {})
  end
  if not (request.over or request.refused) then return end
  count(self, self.arguments, self.recording.arguments[request.position], request, "argument")
  count(self, self.named, self.recording.named[request.position], request, "value")
end

local function is_before(a, b)
  if a.reply ~= b.reply then return a.reply < b.reply end
  if a.use ~= b.use then return a.use < b.use end
  return a.value < b.value
end

local function share(part, whole)
  return whole > 0 and part / whole or nil
end

function Recall:finish(result)
  local arguments, named = self.arguments, self.named
  result.recall_arguments = share(arguments.present, arguments.total)
  result.recall_values = share(named.present, named.total)
  result.recall_labelled = share(arguments.labelled + named.labelled, arguments.total + named.total)
  result.arguments, result.values, result.losses = arguments, named, self.losses
  table.sort(result.losses, is_before)
end

return recall
