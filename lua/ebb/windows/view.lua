--- From a window to its view: what the model is to read of it now.
--
-- Contents that are functions are called here, once per rendering, however often
-- the window is shown in others. Whatever one of them does, there is a view:
--
--     raises                  "content failed: file.lua:7: what it said"
--     loops                   stopped after CALL_LIMIT instructions
--     takes too much memory   refused beyond MEMORY_MAX: "it takes too much memory"
--     gives too much          over BYTES_MAX of markup, NODES_MAX nodes, DEPTH_MAX levels
--     includes itself         at the 16th window in one another
--
-- Outside of a sandbox a hook counts instructions and the state's allocator what is
-- held: that reaches Lua code, in coroutines made by it too, and C functions that take
-- memory (string.rep, table.concat, reading). It reaches no C function that neither
-- ends nor takes memory (string.find with a pattern that goes back and forth, waiting
-- for a pipe), nor coroutines made before. In a sandbox the guard does it, with the
-- same number: that stops those as well.

local core = require "ebb.support.core"
local elements = require "ebb.windows.elements"
local markup = require "ebb.windows.markup"
local refuse = require "ebb.support.refuse"

local views = {}

views.BYTES_MAX = 256 * 1024         -- of one window's markup, with those inside it
views.CALL_LIMIT = 5000000           -- instructions of one content function, about 50 ms
views.PASS_LIMIT = 50000000          -- of all in one rendering
views.MEMORY_MAX = 64 * 1024 * 1024  -- bytes that a content function may hold at once
views.NESTING_MAX = 16               -- windows in one another
views.DEPTH_MAX = 64                 -- of tags, as readers of markup take it

---@class ebb.WindowPass           One rendering
---@field chat ebb.Conversation
---@field left integer             instructions for content functions
---@field contents table<string, table>   by window: {content} or {failed = why}
---@field nested? boolean          a window stood in the one that was looked at last

---@param chat ebb.Conversation
---@return ebb.WindowPass
function views.pass(chat)
  return { chat = chat, left = views.PASS_LIMIT, contents = {} }
end

---- Contents ----

--- Memory that ran out is nobody's line: it goes on to who asked for the rendering.
local function pass_memory(problem)
  local code = core.is_error(problem) and problem.code
  if code == "memory" or problem == "not enough memory" then error(problem, 0) end
end

local function reason(problem)
  local text = core.is_error(problem) and problem.message or problem
  if type(text) ~= "string" then text = "an error that is no text (" .. type(text) .. ")" end
  return (text:gsub("^[^\n:]*/", ""):sub(1, 500))   -- of the place, the file's name is enough for a model
end

local function checked(content)
  if content == nil or type(content) == "string" then return { content } end
  if type(content) == "number" or type(content) == "boolean" then return { core.tostring(content) } end
  if type(content) ~= "table" then return { failed = "content is " .. type(content) .. ", not text or elements" } end
  local ok, copy, size = pcall(elements.copy, content)
  if ok then return { copy, size = size } end
  pass_memory(copy)
  return { failed = reason(copy) }
end

local function call(pass, state, handle)
  local run = state.functions and state.functions.content
  if not run then return { failed = "the function that makes the content is not loaded" } end
  if pass.left <= 0 then return { failed = "the windows before it have used up the time of this request" } end
  local limit = math.min(pass.left, views.CALL_LIMIT)
  local ok, result, left = core.window.call(run, limit, handle, views.MEMORY_MAX)
  pass.left = pass.left - (limit - left)
  if ok then return checked(result) end
  pass_memory(result)
  return { failed = "content failed: " .. reason(result) }
end

local function decoded(state)
  local content, size = elements.decode(state.content)
  return { content, size = size }
end

--- The content of a window as text or elements, made at most once per pass.
local function content_of(pass, state)
  local known = pass.contents[state.id]
  if known then return known end
  local made
  if state.kind == "source" then made = call(pass, state, pass.chat.windows:get(state.id))
  elseif state.kind == "elements" then made = decoded(state)
  else made = { state.kind == "text" and state.content or nil } end
  pass.contents[state.id] = made
  return made
end

---- Nesting ----

local build

local function enter_node(count)
  count.nodes = count.nodes + 1
  if count.nodes > elements.NODES_MAX then
    refuse("limit", ("more than %d nodes with the windows inside"):format(elements.NODES_MAX))
  end
end

--- Puts views in the place of the names of windows. `depth`: tags that are open in the markup.
local function resolve(pass, node, inside, count, depth)
  enter_node(count)
  if type(node) ~= "table" then return node end
  if node.window and inside >= views.NESTING_MAX then
    refuse("limit", ("windows stand in one another %d deep, the last is '%s'"):format(inside, node.window))
  end
  if node.window and depth + 3 > views.DEPTH_MAX then   -- itself, its Actions, an action
    refuse("limit", ("a window in it is more than %d levels deep"):format(views.DEPTH_MAX - 3))
  end
  if node.window then
    pass.nested = true
    return { view = build(pass, node.window, inside + 1, count, depth) }
  end
  if type(node[1]) == "string" then depth = depth + 1 end
  if depth > views.DEPTH_MAX then
    refuse("limit", ("the markup is more than %d levels deep"):format(views.DEPTH_MAX))
  end
  local out = {}
  for key, value in pairs(node) do
    local is_child = type(key) == "number" and not (key == 1 and type(value) == "string")
    out[key] = is_child and resolve(pass, value, inside, count, depth) or value
  end
  return out
end

---- Views ----

local CLOSE = { id = "close", params = "summary:string?", label = "Close" }

local function actions_of(state)
  if state.actions_shown then return state.actions_shown end
  local list = state.actions ~= "" and core.json.decode(state.actions) or {}
  if state.closable and not state.closed then list[#list + 1] = CLOSE end
  return list
end

local function failed(id, why, state)
  return {
    id = id, description = state and state.description, actions = state and actions_of(state) or {},
    compact = state ~= nil and state.compact, failed = why,
  }
end

--- Puts views into a content that is known; one that names no windows and is small is as it stands.
local function resolved(pass, made, inside, count, depth)
  local size = made.size
  local plain = size and not size.nested and depth + size.depth <= views.DEPTH_MAX
  if not plain or count.nodes + size.nodes > elements.NODES_MAX then
    return resolve(pass, made[1], inside, count, depth)
  end
  count.nodes = count.nodes + size.nodes
  return made[1]
end

local function shown(pass, state, inside, count, depth)
  local made = content_of(pass, state)
  if made.failed then return failed(state.id, made.failed, state) end
  return {
    id = state.id, description = state.description, actions = actions_of(state), compact = state.compact,
    content = made[1] ~= nil and resolved(pass, made, inside, count, depth + 2) or nil,
  }
end

--- The view of a window inside another.
function build(pass, id, inside, count, depth)
  local state = core.window.get(pass.chat, id)
  if not state then return failed(id, "there is no such window") end
  if state.closed then return failed(id, "the window is closed") end
  return shown(pass, state, inside, count, depth)
end

--- The view of a window that there is; also of a closed one.
---@param pass ebb.WindowPass
---@param id string
---@param state? table       of core.window.get, if it is at hand
---@return ebb.WindowView
function views.of(pass, id, state)
  state = state or core.window.get(pass.chat, id)
  local ok, result = pcall(shown, pass, state, 1, { nodes = 0 }, 0)
  if ok then return result end
  pass_memory(result)
  if not core.is_error(result) then error(result, 0) end   -- a limit of the sandbox
  return failed(id, reason(result), state)
end

--- A text that is too long gives way to a line that says so.
local function within(pass, id, text)
  if #text <= views.BYTES_MAX then return text end
  local why = ("the window has %d bytes of markup, more than the limit of %d"):format(#text, views.BYTES_MAX)
  local short = markup.write(failed(id, why, core.window.get(pass.chat, id)))
  if #short <= views.BYTES_MAX then return short end
  return markup.write(failed(id, why))   -- its description or its actions are what is too much
end

--- The markup of a window that there is.
---@param pass ebb.WindowPass
---@param id string
---@param state? table       of core.window.get, if it is at hand
---@param shell? ebb.WindowShell    what this gave for the same version of the window
---@return string text
---@return ebb.WindowShell shell
function views.markup(pass, id, state, shell)
  state = state or core.window.get(pass.chat, id)
  state.actions_shown = shell and shell.actions
  local view = views.of(pass, id, state)
  shell = shell or markup.shell(view)
  return within(pass, id, markup.write(view, shell)), shell
end

return views
