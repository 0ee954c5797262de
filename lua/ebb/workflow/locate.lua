--- Files that a workflow names: beside its own file, else from the current folder.

local core = require "ebb.support.core"
local script_file = require "ebb.sandbox.script_file"

local locate = {}

--- The path of a file. A name that is no path (of a built-in policy, say) and a text stay as they are.
---@param word string
---@param folder? string       of the workflow's file; nil: it has none
---@return string
function locate.path(word, folder)
  if not folder or word:find "^/" or script_file.is_source(word) or not script_file.is_path(word) then return word end
  local path = folder:gsub("/*$", "/", 1) .. word
  return core.file_identity(path) and path or word
end

--- A policy as chat:trim takes it, its files located: one, or a list of them.
---@param spec any
---@param folder? string
---@return any
function locate.policy(spec, folder)
  if type(spec) == "string" then return locate.path(spec, folder) end
  if type(spec) ~= "table" or spec.trim ~= nil or spec.source ~= nil then return spec end
  local result = {}
  for key, value in pairs(spec) do
    local is_policy = math.type(key) or key == "name" and spec[1] == nil
    result[key] = is_policy and locate.policy(value, folder) or value
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
---@return table workflow
function locate.in_folder(workflow, path)
  local is_node = workflow.nodes == nil and (workflow.type ~= nil or workflow.operation ~= nil)
  if is_node then workflow = { nodes = { workflow } } end
  if workflow.folder == nil then workflow.folder = path:match "^(.*/)" or "./" end
  return workflow
end

return locate
