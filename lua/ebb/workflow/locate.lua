--- Files that a workflow names: beside its own file, else from the current folder.
--
-- A workflow in Lua is code with all rights of the program. One in JSON may be a stranger's: its files
-- lie below one of these two folders, and no link leads there.

local core = require "ebb.support.core"
local policies = require "ebb.trim.policies"
local refuse = require "ebb.support.refuse"
local script_file = require "ebb.sandbox.script_file"

local locate = {}

---@class ebb.WorkflowPlace
---@field folder? string       of the workflow's file, ending with a slash; nil: it has none
---@field contained boolean    only files below a folder may be named

---@type table<table, string>  folders of workflows in JSON
local folders = setmetatable({}, { __mode = "k" })

---@type table<table, ebb.JsonFile>   the files that workflows were read from
local files = setmetatable({}, { __mode = "k" })

--- Where the files of a workflow lie.
---@param workflow? table
---@return ebb.WorkflowPlace
function locate.place(workflow)
  local folder = workflow and (folders[workflow] or workflow.folder)
  return { folder = folder and folder:gsub("/*$", "/", 1), contained = folders[workflow or {}] ~= nil }
end

--- The path of a file. A name that is no path (of a built-in policy, say) and a text stay as they are.
---@param word string
---@param place ebb.WorkflowPlace
---@return string path
---@return string? folder      the path must stay below it: see script_file.text
function locate.path(word, place)
  local beside = place.folder and not word:find "^/" and not script_file.is_source(word)
    and script_file.is_path(word) and core.file_identity(place.folder .. word)
  if place.contained then return word, beside and place.folder or "./" end
  return beside and place.folder .. word or word
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
