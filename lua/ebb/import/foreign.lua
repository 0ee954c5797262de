--- Files that are known and not read: what they are, and what to do instead. And what an unknown file looks like.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"

local nearest_name = require "ebb.support.nearest_name"

local foreign = {}

---@class ebb.import.Foreign
---@field fits fun(sample: ebb.import.Sample): boolean
---@field form string
---@field what string
---@field hint string

local function begins(bytes)
  return function(sample) return sample.bytes:sub(1, #bytes) == bytes end
end

local function begins_any(one, other)
  return function(sample) return begins(one)(sample) or begins(other)(sample) end
end

--- Fits JSON objects with texts of these names.
local function has(...)
  local names = { ... }
  return function(sample)
    for _, name in ipairs(names) do
      if not fields.text(sample.value, name) then return false end
    end
    return true
  end
end

--- The first object of a file: the value itself, or the first element of a list.
local function first_object(sample)
  local value = sample.value
  if fields.is_list(value) then value = value[1] end
  return fields.is_object(value) and value or nil
end

local function is_operations(sample)
  local object = first_object(sample)
  return object ~= nil and fields.text(object, "operation") ~= nil
end

local function is_tools(sample)
  local object = first_object(sample)
  if not object or not fields.is_list(sample.value) then return false end
  return fields.object(object, "function") ~= nil or fields.object(object, "input_schema") ~= nil
end

--- An agent's presets are messages; those of AIO Hub's rules have rules.
local function is_agent(sample)
  local presets = fields.is_object(sample.value) and fields.list(sample.value, "presets")
  return presets ~= nil and presets ~= false and not (fields.is_object(presets[1]) and presets[1].rules)
end

---@type ebb.import.Foreign[]
local FOREIGN = {
  { fits = is_operations, form = "operations", what = "a file of operations",
    hint = "ebb apply OPERATIONS.json CHAT.json runs them" },
  { fits = is_tools, form = "tools", what = "a list of tools", hint = "ebb trim CHAT.json --tools TOOLS.json" },
  { fits = is_agent, form = "agent", what = "an agent of Ebb", hint = "ebb pipeline CHAT.json --agent AGENT.json" },
  { fits = begins "\x28\xB5\x2F\xFD", form = "zstd", what = "compressed with zstd, as Codex keeps its older sessions",
    hint = "unpack it first: zstd -d FILE" },
  { fits = begins_any("\xFF\xFE", "\xFE\xFF"), form = "utf16", what = "text in UTF-16, as PowerShell writes it",
    hint = "iconv -f utf-16 -t utf-8 FILE > NEW" },
  { fits = begins "SQLite f", form = "sqlite",
    what = "a SQLite database, as opencode and the desktop program of Ollama have them",
    hint = "`opencode export SESSION` writes a session as JSON" },
  { fits = begins "PK\x03\x04", form = "zip",
    what = "a zip archive, as exports of ChatGPT and Claude come, without a card",
    hint = "unpack it first, and name the file of conversations in it" },
  { fits = begins "\x1F\x8B", form = "gzip", what = "compressed with gzip", hint = "unpack it first: gzip -d FILE" },
  { fits = has("story_string"), form = "context_template", what = "a template of SillyTavern for text completion",
    hint = "Ebb sends messages: a preset for chat models can be imported" },
  { fits = has("input_sequence", "output_sequence"), form = "instruct_template",
    what = "an instruct template of SillyTavern",
    hint = "Ebb sends messages: a preset for chat models can be imported" },
  { fits = function(sample) return fields.text(sample.value, "type") == "AIO_Agent_Bundle" end, form = "aiohub_bundle",
    what = "a zip archive of AIO Hub within a picture", hint = "export the agent as a JSON file" },
}

--- Finds the known but unsupported form that a file has; nil if it has none of them.
---@param sample ebb.import.Sample
---@return ebb.import.Foreign?
function foreign.find(sample)
  for _, entry in ipairs(FOREIGN) do
    if entry.fits(sample) then return entry end
  end
end

local MEMBERS_MAX = 6        -- names that are shown

--- The names of an object's members, in order of the alphabet.
local function members(object)
  local names = {}
  for name in pairs(object) do
    names[#names + 1] = #name <= 40 and name or name:sub(1, 40) .. "..."
  end
  table.sort(names)
  if #names == 0 then return "no members" end
  local more = #names > MEMBERS_MAX and (" and %d more"):format(#names - MEMBERS_MAX) or ""
  return "the members " .. table.concat(names, ", ", 1, math.min(#names, MEMBERS_MAX)) .. more
end

--- "; did you mean 'role' by 'rol'?", if a member has nearly a name that the object lacks.
local function slip_in(object, ours)
  for _, own in ipairs(ours) do
    if object[own] == nil then
      for name in pairs(object) do
        if #name <= 40 and nearest_name(name, { own }) then
          return ("; did you mean '%s' by '%s'?"):format(own, name)
        end
      end
    end
  end
  return ""
end

local function is_json(text)
  local _, problem = core.json.decode(text)
  return problem == nil
end

local OF_MESSAGE, OF_BODY = { "role", "content" }, { "messages", "contents", "input" }

--- Describes how a file begins: its JSON kind and the members of its first object.
---@param sample ebb.import.Sample
---@return string
function foreign.look(sample)
  local value = sample.value
  if fields.is_object(value) then
    return "a JSON object with " .. members(value) .. slip_in(value, OF_BODY)
  elseif value == nil and sample.records then
    return "JSONL whose first record has " .. members(sample.records[1]) .. slip_in(sample.records[1], OF_MESSAGE)
  elseif fields.is_list(value) and fields.is_object(value[1]) then
    return "a JSON array whose first element has " .. members(value[1]) .. slip_in(value[1], OF_MESSAGE)
  elseif fields.is_list(value) then
    return "a JSON array without objects"
  end
  if not sample.text:find "%S" then return "it is empty" end
  return is_json(sample.text) and "a JSON value that is neither an array nor an object" or "it is not JSON"
end

--- Describes a file that fits no form.
---@param sample ebb.import.Sample
---@return string
function foreign.describe(sample) return "fits no known form: " .. foreign.look(sample) end

return foreign
