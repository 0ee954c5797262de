--- Folders in which a bare name is looked for: `NAME.lua` in the first that has it.
--
-- What is built in comes before them, so that nobody's file changes what a
-- built-in name means. The lists belong to the program, which may add to them.

local core = require "ebb.support.core"
local xdg = require "ebb.support.xdg"

local script_path = {}

---@type string[]
script_path.policies = { xdg.path("config", "policies") }
---@type string[]
script_path.filters = { xdg.path("config", "filters") }

--- The path of `NAME.lua`, or nil. A file that is there and cannot be read counts:
--- whoever loads it says why.
---@param name string
---@param folders string[]
---@return string?
function script_path.find(name, folders)
  if not name:find "^[%w_%-]+$" then return nil end
  for _, folder in ipairs(folders) do
    local path = ("%s/%s.lua"):format(folder, name)
    local text, problem = core.read_file(path, 1)
    if text or problem.code ~= "absent" then return path end
  end
end

--- Takes over what stands in `list`, in front of what is there.
---@param folders string[]
---@param list string[]
function script_path.add(folders, list)
  for i = #list, 1, -1 do
    table.insert(folders, 1, list[i])
  end
end

return script_path
