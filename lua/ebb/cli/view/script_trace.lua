--- Errors of a user's script, with the way through the script.
--
--     Ebb refuses what the script asks      flow.lua:5: agent: processors.x: expected an object of settings
--     an error of the script                flow.lua:7: boom, with its traceback
--     a fault inside of Ebb                 with the whole traceback, Ebb's own frames too

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local traceback = require "ebb.support.traceback"

local script_trace = {}

--- True for a file that is a loaded module of Ebb's: a user's folder may have the same name.
local function is_own(path)
  local name = path and path:match "^(ebb/.-)%.lua$"
  local module = name and name:gsub("/init$", ""):gsub("/", ".")
  return module ~= nil and package.loaded[module] ~= nil
end

--- The place of the newest frame that runs a file of the user's; nil without one.
local function place()
  for level = 4, math.huge do      -- above: this function, its caller and the handler
    local frame = debug.getinfo(level, "Sl")
    if not frame or is_own(frame.short_src) and frame.short_src:find "^ebb/cli/" then return nil end
    if frame.currentline > 0 and not is_own(frame.short_src) then
      return ("%s:%d: "):format(frame.short_src, frame.currentline)
    end
  end
end

--- A traceback without the frames of C and, unless `shows_own`, of Ebb; the calls above that of the script are always
--- left out. A tail call stays where the frame above it does.
local function frames(shows_own)
  local lines, is_left = {}, true
  for line in debug.traceback("", 4):gmatch "\n%s+([^\n]+)" do
    local path = line:match "^(.-):%d+: in "
    if path and path:find "^ebb/cli/" and is_own(path) then break end
    local is_tail = line:find("(...tail calls...)", 1, true) ~= nil
    if not is_tail then is_left = line:find "^%[C%]: in " ~= nil or not shows_own and is_own(path) end
    if not is_left then lines[#lines + 1] = line end
  end
  return lines
end

--- The words for an error that a script ended with: for xpcall's handler, as it looks at the stack.
---@param problem any
---@param script? string      its file, which is told where a tail call took its frame away
---@return string text
---@return string? hint
function script_trace.text(problem, script)
  local failed = failure.from_value(problem)
  local text = failed and failed.message or traceback.text(problem)
  local is_fault = is_own(text:match "^(.-):%d+: ")
  local lines = frames(is_fault)
  if core.is_error(problem) then
    text = (place() or script and script .. ": " or "") .. text
    if #lines < 2 then lines = {} end
  end
  if lines[1] then text = text .. "\nstack traceback:\n  " .. table.concat(lines, "\n  ") end
  return text, failed and failed.hint
end

return script_trace
