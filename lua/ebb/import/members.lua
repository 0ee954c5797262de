--- Members of a JSON object, taken one by one, so that none is left unreported.
--
--     local card = members.of(value, "data", notes)
--     agent.name = card:text "name"
--     card:carry("creator", "card metadata")
--     card:rest()                 the others are kept, and reported
--
-- `notes` collects what was understood, what is kept but not used, and what has a wrong type.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local refuse = require "ebb.support.refuse"

local members = {}

---@class ebb.import.Notes
---@field understood string[]       "data.name"
---@field report ebb.import.Report
---@field extra table<string, any>  members that are kept, by path

---@param report ebb.import.Report
---@return ebb.import.Notes
function members.notes(report) return { understood = {}, report = report, extra = {} } end

---@class ebb.import.Members
---@field value table
---@field path string
---@field notes ebb.import.Notes
---@field seen table<string, true>  of the members that are there
local Members = {}
Members.__index = Members

local function kind_of(value)
  if value == nil then return "nothing" end
  if value == core.json.null then return "null" end
  if fields.is_list(value) then return "a list" end
  local kinds = { string = "a text", number = "a number", boolean = "true or false", table = "an object" }
  return kinds[type(value)]
end

--- A value without which a file holds nothing; raises for another kind.
---@param value any
---@param place string
---@param expected "an object"|"a list"
---@return table value
function members.required(value, place, expected)
  if kind_of(value) == expected then return value end
  return refuse("shape", ("%s: expected %s, not %s"):format(place, expected, kind_of(value)))
end

--- The members of an object. Of anything else there are none, which is reported.
---@param value any             nil: an object that is missing
---@param path string           "" for the whole
---@param notes ebb.import.Notes
---@return ebb.import.Members
function members.of(value, path, notes)
  if value ~= nil and not fields.is_object(value) then
    notes.report:add("wrong member", ("%s: expected an object; kept as it is"):format(path))
    notes.extra[path] = value
  end
  return setmetatable({ value = fields.is_object(value) and value or {}, path = path, notes = notes, seen = {} },
    Members)
end

function Members:place(name) return self.path == "" and name or self.path .. "." .. name end

--- A member that is there: not nil, not null. Counts as seen.
---@param name string
---@return any
function Members:any(name)
  local value = rawget(self.value, name)
  if value == nil then return nil end
  self.seen[name] = true
  if value == core.json.null then return nil end
  return value
end

local function wrong(self, name, expected)
  self.notes.report:add("wrong member", ("%s: expected %s; kept as it is"):format(self:place(name), expected))
  self.notes.extra[self:place(name)] = rawget(self.value, name)
end

local function understood(self, name) table.insert(self.notes.understood, self:place(name)) end

--- A member of a type; nil if it is absent, null or of another type, which is reported.
local function typed(self, name, expected, fits)
  local value = self:any(name)
  if value == nil then return nil end
  if not fits(value) then return wrong(self, name, expected) end
  understood(self, name)
  return value
end

-- Entries of lorebooks are asked for some forty members each: no function is made again for one.
local function is_text(value) return type(value) == "string" end
local function is_flag(value) return type(value) == "boolean" end
local function is_number(value) return type(value) == "number" end
local function is_count(value) return type(value) == "number" and value >= 0 end
local function is_id(value) return type(value) == "string" or type(value) == "number" end

function Members:text(name) return typed(self, name, "a text", is_text) end
function Members:flag(name) return typed(self, name, "true or false", is_flag) end
function Members:number(name) return typed(self, name, "a number", is_number) end
function Members:list(name) return typed(self, name, "a list", fields.is_list) end
function Members:object(name) return typed(self, name, "an object", fields.is_object) end
function Members:id(name) return typed(self, name, "a text or a number", is_id) end

--- A whole number of at least 0; a float is rounded down.
function Members:count(name)
  local value = typed(self, name, "a number of at least 0", is_count)
  return value and (math.tointeger(math.floor(value)) or 0)
end

--- A list of texts; others in it are reported.
function Members:texts(name)
  local list = self:list(name)
  if not list then return nil end
  local result = core.json.array {}
  for i, value in ipairs(list) do
    if type(value) == "string" then result[#result + 1] = value
    else wrong(self, name, ("a text at [%d]"):format(i - 1)) end
  end
  return result
end

local function is_empty(value)
  return value == "" or value == false or type(value) == "table" and next(value) == nil
end

--- Keeps a member that nothing uses; empty ones are dropped.
---@param name string
---@param why string      a noun or a short sentence, for parentheses: "card metadata"
function Members:carry(name, why)
  local value = self:any(name)
  if value == nil or is_empty(value) then return end
  self.notes.extra[self:place(name)] = value
  self.notes.report:add("ignored member", ("%s (%s)"):format(self:place(name), why))
end

--- Skips members that only say how a program shows things.
---@param ... string
function Members:skip(...)
  for i = 1, select("#", ...) do
    if self:any((select(i, ...))) ~= nil then
      self.notes.report:add("display member", ("%s: left out"):format((select(i, ...))))
    end
  end
end

--- Keeps and reports what nothing has asked for.
function Members:rest()
  local names = {}
  for name in pairs(self.value) do
    if not self.seen[name] then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    self.notes.extra[self:place(name)] = self.value[name]
    self.notes.report:add("unknown member", self:place(name) .. " (kept, not used)")
  end
end

return members
