--- Workflow: a model with native calls that works with windows. It opens a to-do list, adds and deletes items, and
--- closes it; what it reads of the list is its present state, once.
--
-- Run:   ebb run scripts/workflows/windows.lua scripts/workflows/windows.in.json
-- The key is that of the environment (OPENAI_API_KEY). Recorded, without a model:
--        ebb run scripts/workflows/windows.lua scripts/workflows/windows.in.json \
--          --replay-model scripts/workflows/windows.jsonl
-- gives scripts/workflows/windows.out.json

--- A list that lives in Lua, and the window that shows it.
local function open_todo(chat, id)
  local items, last = {}, 0

  local function add(params)
    last = last + 1
    items[#items + 1] = { id = last, text = params.text }
    return "item " .. last
  end

  local function delete(params)
    for i, item in ipairs(items) do
      if item.id == params.index then return ("deleted '%s'"):format(table.remove(items, i).text) end
    end
    return nil, "there is no item " .. params.index
  end

  local function content()
    local list = {}
    for i, item in ipairs(items) do list[i] = { "item", id = item.id, item.text } end
    return list
  end

  return chat.windows:open {
    id = id, description = "Things to do", content = content,
    actions = {
      { id = "add", label = "Add an item", params = "text:string", run = add },
      { id = "delete", label = "Delete an item", params = "index:int", run = delete },
    },
  }
end

--- An action of the conversation itself: no window has to be open for it.
local function declare_create(chat)
  local opened = 0
  chat:action {
    id = "create", label = "Open an application", params = "name:enum(todo)",
    run = function(params, here)
      opened = opened + 1
      return "opened " .. open_todo(here, ("%s_%d"):format(params.name, opened)).id
    end,
  }
end

return {
  name = "windows",
  nodes = {
    { type = "script", run = declare_create },
    { type = "loop", stop_when = { answered = true }, at_most = 8, nodes = {
      { type = "model", model = "gpt-4o-mini" },
      { type = "tool" },
    } },
  },
}
