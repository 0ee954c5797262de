--- Folders in which a bare name is looked for: `NAME.lua` in the first that has it.
--
-- Built-in names come first, so that no file changes their meaning. The lists belong to
-- the program, which may add to them.

local core = require "ebb.support.core"
local xdg = require "ebb.support.xdg"

local script_path = {}

---@type string[]
script_path.policies = { xdg.path("config", "policies") }
---@type string[]
script_path.filters = { xdg.path("config", "filters") }
---@type string[]
script_path.processors = { xdg.path("config", "processors") }
---@type string[]
script_path.macros = { xdg.path("config", "macros") }
---@type string[]   of types of nodes
script_path.types = { xdg.path("config", "types") }

--- Patterns that a name must match and must not match, by folders; macros are named in any script, and with dots.
local NAMES = setmetatable({ [script_path.macros] = { "^[%w_\x80-\xFF][%w_.\x80-\xFF-]*$", "%.lua$" } },
  { __index = function() return { "^[%w_%-]+$", "^$" } end })

--- True for a name that a file in these folders can have.
---@param name string
---@param folders string[]
---@return boolean
function script_path.is_name(name, folders)
  local rule = NAMES[folders]
  return name:find(rule[1]) ~= nil and not name:find(rule[2])
end

--- Makes the globals of each script that is loaded; nil: those of script_file. It is here, as libebb sets it with
--- each runtime, and most runtimes load no file.
---@type (fun(): table)?
script_path.globals = nil

--- The path of `NAME.lua`, or nil. An unreadable file counts, so that loading it says why.
---@param name string
---@param folders string[]
---@return string?
function script_path.find(name, folders)
  if not script_path.is_name(name, folders) then return nil end
  for _, folder in ipairs(folders) do
    local path = ("%s/%s.lua"):format(folder, name)
    local identity, problem = core.file_identity(path)
    if identity or problem.code ~= "absent" then return path end
  end
end

--- The files of Lua in folders, sorted in each; of files of one name the first.
---@param folders string[]
---@param with_odd? boolean     those whose names no script can have, too
---@return { name: string, path: string, folder: string }[]
function script_path.list(folders, with_odd)
  local rows, listed = {}, {}
  for _, folder in ipairs(folders) do
    local names = core.list_folder(folder) or {}
    table.sort(names)
    for _, entry in ipairs(names) do
      local name = entry:match "^(.+)%.lua$"
      local counts = name and (with_odd or script_path.is_name(name, folders))
      if counts and not listed[name] then
        rows[#rows + 1], listed[name] = { name = name, path = ("%s/%s"):format(folder, entry), folder = folder }, true
      end
    end
  end
  return rows
end

--- Adds folders in front of the others.
---@param folders string[]
---@param list string[]
function script_path.add(folders, list)
  for i = #list, 1, -1 do
    table.insert(folders, 1, list[i])
  end
end

return script_path
