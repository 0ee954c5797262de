--- Makes the view of a window: its present state for the model.
--
-- A content function is called once per rendering, however many windows include it.
-- Whatever it does, the result is a view:
--
--     raises                  "content failed: file.lua:7: its error"
--     loops                   stopped after CALL_LIMIT instructions
--     takes too much memory   refused beyond MEMORY_MAX: "it takes too much memory"
--     returns nothing         "content failed: its function returned nothing"
--     returns too much        over BYTES_MAX of markup, NODES_MAX nodes, DEPTH_MAX levels
--     includes itself         stopped at NESTING_MAX nested windows
--
-- Outside of a sandbox a hook counts instructions, and the state's allocator bytes. They
-- stop Lua code, also in coroutines that it creates, and C functions that allocate
-- (string.rep, table.concat, reading). They do not stop C functions that run long without
-- allocating (string.find with a backtracking pattern, waiting for a pipe), nor coroutines
-- created before. In a sandbox the guard has the same limit and stops those, too.

local close_action = require "ebb.windows.close_action"
local core = require "ebb.support.core"
local elements = require "ebb.windows.elements"
local markup = require "ebb.windows.markup"
local model_text = require "ebb.windows.model_text"
local refuse = require "ebb.support.refuse"

local views = {}

views.BYTES_MAX = 256 * 1024         -- of one window's markup, with nested ones
views.CALL_LIMIT = 5000000           -- instructions of one content function, about 50 ms
views.PASS_LIMIT = 50000000          -- of all in one rendering
views.MEMORY_MAX = 64 * 1024 * 1024  -- bytes that a content function may hold at once
views.NESTING_MAX = 16               -- nested windows
views.DEPTH_MAX = 64                 -- of tags, as readers of markup take it

---@class ebb.WindowPass           One rendering
---@field chat ebb.Conversation
---@field left integer             instructions for content functions
---@field contents table<string, table>   by window: {content} or {failed = why}
---@field nested? boolean          the last window included another one

---@param chat ebb.Conversation
---@return ebb.WindowPass
function views.pass(chat)
  return { chat = chat, left = views.PASS_LIMIT, contents = {} }
end

---- Contents ----

--- Raises out of memory again: it fails the rendering, and is not shown in a window.
local function pass_memory(problem)
  local code = core.is_error(problem) and problem.code
  if code == "memory" or problem == "not enough memory" then error(problem, 0) end
end

local function checked(content)
  if type(content) == "string" then return { content } end
  if type(content) == "number" or type(content) == "boolean" then return { core.tostring(content) } end
  if type(content) ~= "table" then return { failed = "content is " .. type(content) .. ", not text or elements" } end
  local ok, copy, size = pcall(elements.copy, content)
  if ok then return { copy, size = size } end
  pass_memory(copy)
  return { failed = model_text.reason(copy) }
end

local function call(pass, state, handle)
  local run = state.functions and state.functions.content
  if not run then return { failed = "the function that makes the content is not loaded" } end
  if pass.left <= 0 then return { failed = "earlier windows have used up the instructions of this rendering" } end
  local limit = math.min(pass.left, views.CALL_LIMIT)
  local ok, result, left = core.window.call(run, limit, handle, views.MEMORY_MAX)
  pass.left = pass.left - (limit - left)
  if ok and result == nil then return { failed = "content failed: its function returned nothing" } end
  if ok then return checked(result) end
  pass_memory(result)
  return { failed = "content failed: " .. model_text.reason(result) }
end

local function decoded(state)
  local content, size = elements.decode(state.content)
  return { content, size = size }
end

--- The content of a window as text or elements, evaluated at most once per pass.
local function content_of(pass, state)
  local cached = pass.contents[state.id]
  if cached then return cached end
  local content
  if state.kind == "source" then content = call(pass, state, pass.chat.windows:get(state.id))
  elseif state.kind == "elements" then content = decoded(state)
  else content = { state.kind == "text" and state.content or nil } end
  pass.contents[state.id] = content
  return content
end

---- Nesting ----

local build

local function enter_node(count)
  count.nodes = count.nodes + 1
  if count.nodes > elements.NODES_MAX then
    refuse("limit", ("more than %d nodes with the nested windows"):format(elements.NODES_MAX))
  end
end

--- Replaces references to windows by their views. `depth`: open tags around the node.
local function resolve(pass, node, nesting, count, depth)
  enter_node(count)
  if type(node) ~= "table" then return node end
  if node.window and nesting >= views.NESTING_MAX then
    refuse("limit", ("windows are nested %d deep, the innermost is '%s'"):format(nesting, node.window))
  end
  if node.window and depth + 3 > views.DEPTH_MAX then   -- Window, Actions, action
    refuse("limit", ("a window in it is more than %d levels deep"):format(views.DEPTH_MAX - 3))
  end
  if node.window then
    pass.nested = true
    return { view = build(pass, node.window, nesting + 1, count, depth) }
  end
  if type(node[1]) == "string" then depth = depth + 1 end
  if depth > views.DEPTH_MAX then
    refuse("limit", ("the markup is more than %d levels deep"):format(views.DEPTH_MAX))
  end
  local out = {}
  for key, value in pairs(node) do
    local is_child = type(key) == "number" and not (key == 1 and type(value) == "string")
    out[key] = is_child and resolve(pass, value, nesting, count, depth) or value
  end
  return out
end

---- Views ----

local function actions_of(state)
  if state.actions_shown then return state.actions_shown end
  local list = state.actions ~= "" and core.json.decode(state.actions) or {}
  return close_action.add(list, state.closable and not state.closed)
end

local function failed(id, why, state)
  return {
    id = id, description = state and state.description, actions = state and actions_of(state) or {},
    compact = state ~= nil and state.compact, failed = why,
  }
end

--- Resolves the windows of a content. A small content without windows is returned as it is.
local function resolved(pass, content, nesting, count, depth)
  local size = content.size
  local plain = size and not size.nested and depth + size.depth <= views.DEPTH_MAX
  if not plain or count.nodes + size.nodes > elements.NODES_MAX then
    return resolve(pass, content[1], nesting, count, depth)
  end
  count.nodes = count.nodes + size.nodes
  return content[1]
end

local function expand(pass, state, nesting, count, depth)
  local content = content_of(pass, state)
  if content.failed then return failed(state.id, content.failed, state) end
  return {
    id = state.id, description = state.description, actions = actions_of(state), compact = state.compact,
    content = content[1] ~= nil and resolved(pass, content, nesting, count, depth + 2) or nil,
  }
end

--- The view of a nested window.
function build(pass, id, nesting, count, depth)
  local state = core.window.get(pass.chat, id)
  if not state then return failed(id, "there is no such window") end
  if state.closed then return failed(id, "the window is closed") end
  return expand(pass, state, nesting, count, depth)
end

--- The view of an existing window, open or closed.
---@param pass ebb.WindowPass
---@param id string
---@param state? table       of core.window.get, if it is at hand
---@return ebb.WindowView
function views.get(pass, id, state)
  state = state or core.window.get(pass.chat, id)
  local ok, result = pcall(expand, pass, state, 1, { nodes = 0 }, 0)
  if ok then return result end
  pass_memory(result)
  if not core.is_error(result) then error(result, 0) end   -- a limit of the sandbox
  return failed(id, model_text.reason(result), state)
end

--- The markup, or in place of one that is too long a window with an error.
local function limited(pass, id, text)
  if #text <= views.BYTES_MAX then return text end
  local why = ("the window has %d bytes of markup, more than the limit of %d"):format(#text, views.BYTES_MAX)
  local short = markup.write(failed(id, why, core.window.get(pass.chat, id)))
  if #short <= views.BYTES_MAX then return short end
  return markup.write(failed(id, why))   -- its description or actions alone are too long
end

--- The markup of an existing window.
---@param pass ebb.WindowPass
---@param id string
---@param state? table       of core.window.get, if it is at hand
---@param shell? ebb.WindowShell    the second result for the same version of the window
---@return string text
---@return ebb.WindowShell shell
function views.markup(pass, id, state, shell)
  state = state or core.window.get(pass.chat, id)
  state.actions_shown = shell and shell.actions
  local view = views.get(pass, id, state)
  shell = shell or markup.shell(view)
  return limited(pass, id, markup.write(view, shell)), shell
end

return views
