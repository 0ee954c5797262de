--- Members of a body that only its own dialect has: they stay where a request leaves in the form in which it came,
--- though the messages went through another form.
--
--     source    {safetySettings, generationConfig {topK, responseModalities}, contents}
--     base      {generationConfig {topK}}                 the source, as the other form tells it
--     request   {generationConfig {topK, temperature}, contents}
--     becomes   {safetySettings, generationConfig {topK, responseModalities, temperature}, contents}
--
-- A value that differs between request and base was changed on the way; all else keeps the source's bytes.

local body = require "ebb.request.body"
local settings = require "ebb.request.settings"

local own_members = {}

--- Members whose members are settings of their own.
local NESTED = { generationConfig = true, reasoning = true, text = true }

local function same_name(name) return name end

--- The keys of an object, by the names that the form calls them, and its values by these names.
local function read(text, name_of)
  local values, names = settings.members(text)
  local keys, by_name = {}, {}
  for _, key in ipairs(names) do
    keys[name_of(key)], by_name[name_of(key)] = key, values[key]
  end
  return keys, by_name, names
end

--- Copies into `source` the members whose values differ between `request` and `base`.
---@param source string          a JSON object, as are the others
---@param base string
---@param request string
---@param name_of fun(key: string): string
---@param always table<string, boolean>    members that are the request's in any case
---@return string text
---@return table<string, boolean> changed  names of members that are not the source's
local function merge(source, base, request, name_of, always)
  local keys, values = read(source, name_of)
  local _, before = read(base, name_of)
  local _, after, order = read(request, name_of)
  local fields, gone, changed = {}, {}, {}
  for name, key in pairs(keys) do
    if after[name] == nil and (before[name] ~= nil or always[name]) then gone[#gone + 1], changed[name] = key, true end
  end
  for _, key in ipairs(order) do
    local name = name_of(key)
    local kept = keys[name] and before[name] == after[name] and not always[name]
    local nests = NESTED[name] and settings.is_object(values[name]) and settings.is_object(before[name] or "{}")
    if not kept and nests and settings.is_object(after[name]) then
      fields[keys[name]] = merge(values[name], before[name] or "{}", after[name], name_of, {})
    elseif not kept then
      fields[keys[name] or name], changed[name] = after[name], true
    end
  end
  local rest = body.without(source, gone)
  if not next((settings.members(rest))) then return request, changed end
  return body.set(rest, fields), changed
end

--- A request with the members of its source that only their dialect has.
---@param form table             ebb.request's, of the dialect
---@param source string          the source's body without messages
---@param base string            what became of its settings in the other form, in the dialect again
---@param request string
---@return string text
---@return table<string, boolean> changed  names of members that are not the source's
function own_members.keep(form, source, base, request)
  local always = { [form.messages] = true }
  if form.system then always[form.system] = true end
  if form.reads.instructions then always.instructions = true end     -- its text is among the messages
  return merge(source, base, request, form.name or same_name, always)
end

return own_members
