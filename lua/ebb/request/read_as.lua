--- Conversations in another form than their own, with the way back.
--
--     source    content 1 | call 2, results 3 | item of a window 4 | text 5
--     copy      user 1    | assistant 2, tool 3, tool 4 | item 5   | assistant 6
--
-- Pipelines work with {role, content}, which contents of Gemini and items of Responses do not have. The copy has the
-- marks and the windows of the source. Blocks are the shortest runs in which no call is apart from its results and
-- no message of the copy apart from those it was made of: where a pipeline left a whole block as it was, the
-- request in the source's dialect has the source's bytes, with signatures, ids and encrypted reasoning.

local core = require "ebb.support.core"
local settings = require "ebb.request.settings"

local read_as = {}

---@class ebb.ReadBlock
---@field first integer         of the copy's messages
---@field last integer
---@field source integer[]      positions in the source

---@class ebb.ReadAs
---@field source ebb.Conversation
---@field copy ebb.Conversation
---@field losses ebb.Loss[]      of the copy, by positions in the source
---@field blocks table<integer, ebb.ReadBlock>   by the first message of the copy

---- Blocks ----

--- Extends the runs of the source so that they hold the positions from `first` to `last` in one.
---@param ends table<integer, integer>   by position: the last one of the run that it is in, if it begins one
local function join(ends, first, last)
  ends[first] = math.max(ends[first] or first, last)
end

--- The last position of each run that may not be cut, by its first: units, and what became one message.
local function runs_of(chat, origins, windows)
  local position, ends = {}, {}
  for i, message in ipairs(chat) do position[message.seq] = i end
  local draft = chat:draft { guards = false }
  for unit in draft:units {} do
    local messages = unit.messages
    join(ends, position[messages[1].seq], position[messages[#messages].seq])
  end
  core.draft.discard(draft)
  for i = 1, #origins, 2 do
    if origins[i] > 0 and not windows[origins[i]] then join(ends, origins[i], origins[i + 1]) end
  end
  return ends
end

--- The messages of the copy by the position of the first message that they are made of; not those of windows.
local function outputs_of(origins, windows)
  local outputs = {}
  for i = 1, #origins, 2 do
    local first = origins[i]
    if first > 0 and not windows[first] then
      outputs[first] = outputs[first] or {}
      table.insert(outputs[first], (i + 1) // 2)
    end
  end
  return outputs
end

--- Blocks by their first message in the copy. Messages of which nothing is left there belong to the next block.
local function blocks_of(chat, origins, windows)
  local ends, outputs, blocks = runs_of(chat, origins, windows), outputs_of(origins, windows), {}
  local block, past = nil, 0
  for position = 1, #chat do
    block = block or { source = {} }
    past = math.max(past, ends[position] or position)
    if not windows[position] then table.insert(block.source, position) end
    for _, output in ipairs(outputs[position] or {}) do
      block.first, block.last = block.first or output, output
    end
    if position >= past and block.first then
      blocks[block.first], block = block, nil
    end
  end
  return blocks
end

---- The copy ----

--- Puts the items of windows back instead of the texts that were written for them.
local function with_items(text, origins, windows)
  local list = settings.elements(text)
  for i = 1, #origins, 2 do
    local id = windows[origins[i]]
    if id then list[(i + 1) // 2] = core.json.encode { type = "window", window = id } end
  end
  return "[" .. table.concat(list, ",") .. "]"
end

--- Members that a pipeline reads: the files of a message.
local FILES = { attachments = true, _attachments = true }

--- Takes out of `losses` those of files, which the copy gets.
---@return table<integer, true> positions     of the source's messages that have files
local function take_files(losses)
  local positions = {}
  for i = #losses, 1, -1 do
    if losses[i].code == "lost_member" and FILES[losses[i].subject] then
      positions[table.remove(losses, i).index] = true
    end
  end
  return positions
end

--- A message of the copy with the files of a message of the source, too.
local function with_members(text, message)
  local copy, members = core.json.decode(text), message:totable()
  for name in pairs(FILES) do
    local list, more = copy[name], members[name]
    copy[name] = list and more and table.move(more, 1, #more, #list + 1, list) or list or more
  end
  return core.json.encode(copy)
end

--- Gives the files of messages to the first message that is made of them.
local function with_files(text, chat, origins, losses)
  local positions = take_files(losses)
  if not next(positions) then return text end
  local list = settings.elements(text)
  for i = 1, #origins, 2 do
    local number = (i + 1) // 2
    for position = origins[i], origins[i + 1] do
      if positions[position] then
        list[number], positions[position] = with_members(list[number], chat[position]), nil
      end
    end
  end
  return "[" .. table.concat(list, ",") .. "]"
end

local function windows_of(chat)
  local windows = {}
  for _, item in ipairs(core.window.items(chat)) do windows[item.position] = item.window end
  return windows
end

--- Makes the windows known: what holds them, not what they show.
local function put_windows(copy, chat, windows)
  for _, id in pairs(windows) do
    local state = core.window.get(chat, id)
    if state then core.window.put(copy, { id = id, pinned = state.pinned, important = state.important }) end
  end
end

--- Gives each message the marks of those that it is made of.
local function mark_like(copy, chat, origins)
  local places = {}
  for i, message in ipairs(chat) do places[message.seq] = i end
  for name, seqs in pairs(core.working.marks(chat)) do
    local marked = {}
    for _, seq in ipairs(seqs) do
      if places[seq] then marked[places[seq]] = true end
    end
    for i = 1, #origins, 2 do
      for position = origins[i], origins[i + 1] do
        if marked[position] then copy:mark(copy[(i + 1) // 2].seq, name) end
      end
    end
  end
end

--- Reads a conversation in openai's form.
---@param chat ebb.Conversation
---@param write fun(edit: fun(list: string, origins: integer[], losses: ebb.Loss[]): string): string, ebb.Loss[]   the
---    body; `edit` gets its list of messages
---@param parse fun(text: string): ebb.Conversation
---@return ebb.ReadAs
function read_as.openai(chat, write, parse)
  local windows, origins = windows_of(chat), nil
  local text, losses = write(function(list, from, lost)
    origins = from
    list = with_files(list, chat, from, lost)
    return next(windows) and with_items(list, from, windows) or list
  end)
  local copy = parse(text)
  put_windows(copy, chat, windows)
  mark_like(copy, chat, origins)
  return { source = chat, copy = copy, losses = losses, blocks = blocks_of(chat, origins, windows) }
end

---- The way back ----

local function is_edited(link, message)
  local _, edited = core.working.text(link.copy, { message }, "", "")
  return edited > 0
end

--- True if the whole block is there from number `i` on, as it was.
local function is_whole(link, block, messages, i)
  for number = block.first, block.last do
    local message = messages[i + number - block.first]
    if not message or message.seq ~= number or is_edited(link, message) then return false end
  end
  return true
end

--- The messages of a request as JSON texts, of the source where a block occurs once and as it was, else of openai's
--- form.
---@param link ebb.ReadAs
---@param messages ebb.WorkingMessage[]
---@return string[] texts
---@return ebb.Loss[] losses     of the blocks that differ
---@return integer[] origins     {first, last ..}: which messages each text is made of
function read_as.back(link, messages)
  local texts, stands, origins, i = {}, {}, {}, 1
  local function add(text, last)
    texts[#texts + 1], origins[#origins + 1], origins[#origins + 2] = text, i, last
  end
  while i <= #messages do
    local block = link.blocks[messages[i].seq]
    if block and not stands[block.source[1]] and is_whole(link, block, messages, i) then
      for _, position in ipairs(block.source) do
        add(link.source[position].json, i + block.last - block.first)
        stands[position] = true
      end
      i = i + block.last - block.first + 1
    else
      add(core.working.text(link.copy, { messages[i] }, "", ""), i)
      i = i + 1
    end
  end
  local losses = {}
  for _, loss in ipairs(link.losses) do
    if not stands[loss.index] then losses[#losses + 1] = loss end
  end
  return texts, losses, origins
end

return read_as
