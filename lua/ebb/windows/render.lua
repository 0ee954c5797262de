--- Lists as they are sent: items of windows become user messages with their state.
--
--     texts   the present markup of each shown window, rendered once: the counted text
--             is the sent text
--     weights their tokens in a draft, set before anything is trimmed
--     list    the messages, with the texts in place of items; an item between a call
--             and its results moves after them
--
-- Items whose window does not exist are skipped and logged.

local core = require "ebb.support.core"
local log = require "ebb.support.log"
local schema = require "ebb.support.schema"
local views = require "ebb.windows.view"

local render = {}

--- Cached markup by window, valid for one version: all of it, or only the part around the content
--- where that is a function or includes other windows.
---@param chat ebb.Conversation
---@return table<string, { version: integer, text?: string, shell: ebb.WindowShell }>
local function cache_of(chat)
  local state = core.state(chat)
  state.markup = state.markup or {}
  return state.markup
end

--- The markup of a window; false for a hidden one.
local function text_of(chat, pass, id)
  local cache = cache_of(chat)
  local cached = cache[id]
  local state = core.window.get(chat, id)
  if state.hidden then return false end
  if cached and cached.version ~= state.version then cached = nil end
  if cached and cached.text then return cached.text end
  pass.nested = false
  local text, shell = views.markup(pass, id, state, cached and cached.shell)
  local whole = state.kind ~= "source" and not pass.nested
  cache[id] = { version = state.version, text = whole and text or nil, shell = shell }
  return text
end

--- The markup of each window that an item of the list shows; nil where there are no items.
---@param chat ebb.Conversation
---@param all? boolean              also of obsolete items and closed windows
---@return table<string, string|false>? texts
---@return integer[] positions      of items whose window does not exist
---@return string[] names           ids of these windows
---@return userdata? items          of the list as it was before content functions ran
function render.texts(chat, all)
  if core.window.count(chat) == 0 then return nil, {}, {} end
  local texts, pass = {}, views.pass(chat)
  local ids, positions, names, items = core.window.rendered(chat, all)
  for _, id in ipairs(ids) do
    texts[id] = text_of(chat, pass, id)
  end
  return texts, positions, names, items
end

local function tell(positions, names)
  for i, position in ipairs(positions) do
    log.write(("ebb: message %d names window '%s', which does not exist: it is skipped"):format(position, names[i]))
  end
end

--- Sets the weights of windows in a draft. Markup counts as the user message that it becomes.
---@param draft ebb.Draft
---@param texts? table<string, string>
function render.weigh(draft, texts)
  if not texts then return end
  local tokens = {}
  for id, text in pairs(texts) do
    if text then tokens[id] = draft:cost { role = "user", content = text } end
  end
  core.window.weigh(draft, tokens)
end

--- Tokens of the request with its windows, by a counter of options or the chat's own.
---@param chat ebb.Conversation
---@param counter? table
---@return integer tokens
---@return string trust
function render.tokens(chat, counter)
  local texts = (render.texts(chat))
  local draft = chat:draft { guards = false, by = counter }
  render.weigh(draft, texts)
  local tokens, trust = draft:tokens(), draft:trust()
  core.draft.discard(draft)
  return counter and tokens or core.counter.calibrated(chat, tokens), trust
end

---- chat.windows:render ----

render.OPTIONS = {
  max_tokens = { type = "integer", min = 0, unit = "tokens" },
  include_system = { type = "boolean", default = true },
  include_obsolete = { type = "boolean", default = false },
}

local function system_tokens(chat)
  return chat:where({ role = "system" }):tokens()
end

--- The messages as they are sent. `shrink` runs a policy in a draft and calls its last argument
--- with it; the conversation does not change.
---@param chat ebb.Conversation
---@param options? { max_tokens?: integer, include_system?: boolean, include_obsolete?: boolean }
---@param shrink fun(chat: ebb.Conversation, options: table, texts: table?, use: fun(draft: ebb.Draft))
---@param messages? fun(list: ebb.List, texts: table, system: boolean, obsolete: boolean, items?: userdata): any
---    default: core.window.messages
---@return table[]? messages
---@return ebb.Error? problem
function render.run(chat, options, shrink, messages)
  messages = messages or core.window.messages
  local values = schema.options(render.OPTIONS, options, "windows:render", "chat.windows:render { max_tokens = 4000 }")
  local system, obsolete, max = values.include_system, values.include_obsolete, values.max_tokens
  local texts, positions, names, items = render.texts(chat, obsolete)
  tell(positions, names)
  if not max then return messages(chat, texts or {}, system, obsolete, items) end
  local list
  local budget = system and max or max + core.counter.calibrated(chat, system_tokens(chat))   -- those are left out
  local report, problem = shrink(chat, { budget = budget, policy = "keep_turns" }, texts, function(draft)
    list = messages(draft, texts or {}, system, obsolete)
  end)
  if not report then return nil, problem end
  return list
end

--- The JSON of the messages that items become in a file of another dialect, by the ids of
--- windows; nil for a list without items.
---@param chat ebb.Conversation
---@return table<string, string>?
function render.written(chat)
  local texts, positions, names = render.texts(chat)
  if not texts then return nil end
  tell(positions, names)
  local written = {}
  for id, text in pairs(texts) do
    written[id] = text and ('{"role":"user","content":%s}'):format(core.json.encode(text)) or nil
  end
  return written
end

return render
