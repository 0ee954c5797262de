--- Makes text safe for the model: valid UTF-8, bounded, on one line where needed.

local core = require "ebb.support.core"
local markup = require "ebb.windows.markup"

local model_text = {}

local REASON_MAX = 500   -- bytes

--- The beginning of a text, at most `max` bytes of whole characters.
---@param text string
---@param max integer
---@return string
function model_text.cut(text, max)
  text = markup.valid(#text > max and text:sub(1, max + 4) or text)
  if #text <= max then return text end
  return text:sub(1, utf8.offset(text, 0, max + 1) - 1) .. "..."
end

--- The text of an error. Folders are removed from its place: the file's name is enough for a model.
---@param problem any
---@return string
function model_text.reason(problem)
  local text = core.is_error(problem) and problem.message or problem
  if type(text) ~= "string" then text = "an error that is not a string (" .. type(text) .. ")" end
  return model_text.cut((text:gsub("^[^\n:]*/", "")), REASON_MAX)
end

--- The text as one line of at most `max` bytes.
---@param text string
---@param max integer
---@return string
function model_text.line(text, max)
  return model_text.cut((text:gsub("%s+", " ")), max)
end

return model_text
