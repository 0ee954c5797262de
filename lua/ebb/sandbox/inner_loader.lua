--- Stands for loader.lua inside a sandbox: a script there may run others, which
--- the program finds for it (draft:run). They get globals of their own over the
--- sandbox's, and share its limits.

local traceback = require "ebb.support.traceback"
local core = require "ebb.support.core"
local script_file = require "ebb.sandbox.script_file"

local inner_loader = {}

local host, script = host, _G

local function run(text, chunk_name)
  local chunk, problem = load(text, chunk_name, "t", setmetatable({}, { __index = script }))
  if not chunk then return nil, core.error("syntax", problem) end
  local ok, value = traceback.call(chunk, chunk)
  if not ok then return nil, core.error("script", value) end
  return value
end

---@param path string
---@param kind ebb.ScriptKind
---@return table value
---@return string name
function inner_loader.read(path, kind)
  local text, full_path = host("file", path)
  if not text then return script_file.shaped(path, kind, nil, core.error("absent", full_path)), path end
  return script_file.shaped(full_path, kind, run(text, "@" .. full_path)), script_file.name(full_path)
end

---@param text string
---@param kind ebb.ScriptKind
---@return table value
---@return string name
function inner_loader.read_source(text, kind)
  local name = script_file.source_name(text, kind)
  return script_file.shaped(name, kind, run(text, "=" .. name)), name
end

--- A name is asked for as it is: `read` finds it where the program may look.
---@param name string
---@return string?
function inner_loader.find(name)
  return name:find "^[%w_%-]+$" and host("file", name) and name or nil
end

---@return boolean
function inner_loader.holds() return false end

--- The program has said what may be loaded here.
function inner_loader.provide() end

return inner_loader
