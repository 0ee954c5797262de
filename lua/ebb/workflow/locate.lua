--- Files that a workflow names: next to its own file, else from the current folder.
--
-- A workflow in Lua is code with all rights of the program. One in JSON may be a stranger's: its files
-- lie below one of these two folders, and no link leads there; FORBIDDEN lists what its nodes and tools may not say;
-- limits of its scripts are lowered, not raised; and to look at it (check, draw) runs none of its files outside of a
-- sandbox.

local core = require "ebb.support.core"
local loader = require "ebb.sandbox.loader"
local policies = require "ebb.trim.policies"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local tables = require "ebb.support.tables"

local locate = {}

locate.BYTES_MAX = 64 * 1024 * 1024   -- of a file

local IN_LUA = "write the workflow in Lua"
local OUTSIDE = "the environment, the command line, or a workflow in Lua"

--- Fields that a node or tool in JSON may not have: what starts a program, leaves the sandbox, or sends a secret or a
--- file of the user's away. Why, and the way out.
local FORBIDDEN = {
  trusted = { "runs nothing outside of the sandbox", IN_LUA },
  command = { "starts no programs", IN_LUA }, mcp = { "starts no programs", IN_LUA },
  env = { "names no variables", IN_LUA }, key_env = { "names no variables", OUTSIDE },
  base_url = { "names no addresses", OUTSIDE },
  asset_root = { "names no folder of attachments", "asset_root in its agent: a folder beneath the agent's own" },
}

--- Fields of nodes that hold fields of another node.
local INNER = { "ask", "pipeline" }

---@class ebb.WorkflowPlace
---@field folder? string       of the workflow's file, ending with a slash; nil: it has none
---@field contained boolean    only files below a folder may be named
---@field looks boolean        it is contained, and nothing of it may run

---@type table<table, string>  folders of workflows in JSON
local folders = setmetatable({}, { __mode = "k" })

---@type table<table, ebb.JsonFile>   the files that workflows were read from
local files = setmetatable({}, { __mode = "k" })

--- Returns the folder in which a workflow's files are, and what may be named from there.
---@param workflow? table
---@param looks? boolean       it is not about to run
---@return ebb.WorkflowPlace
function locate.place(workflow, looks)
  local folder, contained = workflow and (folders[workflow] or workflow.folder), folders[workflow or {}] ~= nil
  return { folder = folder and folder:gsub("/*$", "/", 1), contained = contained, looks = contained and looks or false }
end

--- Refuses limits by which a workflow in JSON would allow its scripts more than any script gets: 0 would be no limit.
local function check_limits(limits, prefix)
  for _, name in ipairs(tables.keys(loader.DEFAULT)) do
    local value, most = type(limits) == "table" and limits[name], loader.DEFAULT[name]
    if type(value) == "number" and (value == 0 or value > most) then
      refuse("forbidden", ("%slimits.%s: a workflow in JSON only lowers limits: expected more than 0 and at most %d, "
        .. "got %s"):format(prefix, name, most, schema.describe(value)), IN_LUA)
    end
  end
end

--- Refuses fields of a node or tool that a workflow in JSON may not have.
---@param fields any
---@param place ebb.WorkflowPlace
---@param prefix? string       "ask."
function locate.check_fields(fields, place, prefix)
  if not place.contained or type(fields) ~= "table" then return end
  for _, name in ipairs(tables.keys(FORBIDDEN)) do
    if fields[name] ~= nil and fields[name] ~= false then
      local why, hint = table.unpack(FORBIDDEN[name])
      refuse("forbidden", ("%s%s: a workflow in JSON %s"):format(prefix or "", name, why), hint)
    end
  end
  check_limits(fields.limits, prefix or "")
  for _, name in ipairs(INNER) do locate.check_fields(fields[name], place, (prefix or "") .. name .. ".") end
end

--- The path of a file that may lie next to the workflow's own.
local function path_of(word, place, is_file)
  local beside = place.folder and not word:find "^/" and is_file and core.file_identity(place.folder .. word)
  if place.contained then return word, beside and place.folder or "./" end
  return beside and place.folder .. word or word
end

--- The path of a file. A name that is no path (of a built-in policy, say) and a text stay as they are.
---@param word string
---@param place ebb.WorkflowPlace
---@return string path
---@return string? folder      the path must stay below it: see script_file.text
function locate.path(word, place)
  return path_of(word, place, not script_file.is_source(word) and script_file.is_path(word))
end

--- The path of a file that its reader opens by itself. One that must stay below a folder is opened here first.
---@param word string
---@param place ebb.WorkflowPlace
---@return string path
function locate.file(word, place)
  local path, folder = path_of(word, place, true)
  if not folder then return path end
  local text, problem = script_file.text(path, folder, locate.BYTES_MAX)
  if not text then error(script_file.hinted(problem, folder .. path), 0) end
  return folder .. path
end

--- The function that a Lua file returns. The file is compiled, and not run, where its workflow is only looked at.
---@param word string
---@param place ebb.WorkflowPlace
---@return function
function locate.script(word, place)
  local path, folder = locate.path(word, place)
  if place.looks then
    local problem = script_file.check(path, folder)
    return problem and error(problem, 0) or function() end
  end
  local value, problem = script_file.load(path, folder)
  if problem then error(problem, 0) end
  if type(value) ~= "function" then
    refuse("shape", ("%s: expected a function, the file returned %s"):format(path, schema.describe(value)))
  end
  return value
end

--- A policy as chat:trim takes it, its files located: one, or a list of them.
---@param spec any
---@param place ebb.WorkflowPlace
---@param loading ebb.Loading   how files are run
---@return any
function locate.policy(spec, place, loading)
  if type(spec) == "string" then
    local path, folder = locate.path(spec, place)
    if not folder then return path end
    return policies.find(path, { limits = loading.limits, trusted = loading.trusted, folder = folder })
  end
  if type(spec) ~= "table" or spec.trim ~= nil or spec.source ~= nil then return spec end
  local result = {}
  for key, value in pairs(spec) do
    local is_policy = math.type(key) or key == "name" and spec[1] == nil
    result[key] = is_policy and locate.policy(value, place, loading) or value
  end
  return result
end

--- True for the text of a workflow in JSON; all others are Lua.
---@param text string
---@return boolean
function locate.is_json(text) return text:find "^%s*[%[{]" ~= nil end

--- The workflow, with the folder in which its file lies. A node alone becomes a list of one.
---@param workflow table
---@param path string          of the file
---@param file? ebb.JsonFile   it is JSON: its files lie below that folder or the current one
---@return table workflow
function locate.in_folder(workflow, path, file)
  local is_node = workflow.nodes == nil and (workflow.type ~= nil or workflow.operation ~= nil)
  if is_node then workflow = { nodes = { workflow } } end
  if file and workflow.folder ~= nil then
    refuse("forbidden", path .. ": folder: in JSON the folder is that of the file", "leave it out")
  end
  if workflow.folder == nil then workflow.folder = script_file.folder(path) end
  if file then folders[workflow] = workflow.folder end
  -- the place of a node alone, and of one in Lua, is the file
  files[workflow] = files[workflow] or file and not is_node and file or { name = path }
  return workflow
end

--- The file that a workflow was read from; nil for one that the program made.
---@param workflow table
---@return ebb.JsonFile?
function locate.file_of(workflow) return files[workflow] end

return locate
