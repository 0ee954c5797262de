--- The action `close`, which each closable window has: the last of its actions, or, with a label of the window's own,
--- where its list names it.

local close_action = {}

close_action.ID, close_action.PARAMS = "close", "summary:string?"

local BUILT_IN = { id = close_action.ID, params = close_action.PARAMS, label = "Close" }

--- True if a model that calls this id wants to close the window.
---@param id string
---@return boolean
function close_action.is(id)
  local lower = id:lower()
  return lower == close_action.ID or lower == "system.close"
end

--- True if it is `close` with the built-in parameters. They may be named, as in the markup of a window.
local function is_close(action)
  return action.id == close_action.ID and (action.params or close_action.PARAMS) == close_action.PARAMS
    and not action.run
end

--- True if an action does no more than give `close` a label.
---@param action ebb.WindowAction
---@return boolean
function close_action.is_label(action)
  return is_close(action) and action.label ~= nil
end

--- True if an action is `close` as a window has it without declaring it.
---@param action ebb.WindowAction
---@return boolean
function close_action.is_built_in(action)
  return is_close(action) and (action.label or BUILT_IN.label) == BUILT_IN.label
end

--- The actions that a window shows, from those that it declares.
---@param actions ebb.WindowAction[]
---@param closable boolean
---@return ebb.WindowAction[]
function close_action.add(actions, closable)
  local list, has_own = {}, false
  for _, action in ipairs(actions) do
    if action.id ~= close_action.ID then
      list[#list + 1] = action
    elseif closable then
      list[#list + 1] = { id = action.id, params = close_action.PARAMS, label = action.label }
      has_own = true
    end
  end
  if closable and not has_own then list[#list + 1] = BUILT_IN end
  return list
end

return close_action
