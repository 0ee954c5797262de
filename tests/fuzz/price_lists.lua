--- Runs each input of fuzz_price_lists.c: a list is refused with its place, or each entry has its name and its place,
--- and is a model that can be added.

local core = require "ebb.support.core"
local models = require "ebb.models"
local price_list = require "ebb.models.price_list"

local function check_entry(list, entry)
  assert(type(entry.name) == "string" and (entry.name ~= "" or entry.problem))
  assert(list.place(entry.at):find "^list:%d+:%d+$")
  assert(entry.model or entry.left_out or entry.problem)
  if not entry.model or entry.left_out or not entry.model.window then return end
  local ok, problem = pcall(models.add, { ["fuzz " .. entry.name] = entry.model })
  assert(ok or core.is_error(problem), problem)
  models.add { ["fuzz " .. entry.name] = false }
end

--- One input.
return function(text)
  local ok, list = pcall(price_list.read, "list", text, "2026-11-23")
  if not ok then
    assert(core.is_error(list), list)
    assert(list.message:find("^list"), list.message)
    return
  end
  for _, entry in ipairs(list.entries) do check_entry(list, entry) end
end
