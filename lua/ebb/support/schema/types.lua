--- The types that a schema names, but for objects: what is expected, and how values are read.
--
--     expected(declaration)                what error texts say is expected
--     read(declaration, value, context)    the result, or nil if the value does not fit
--     from_text(text, declaration)         the value that a word of the command line stands for; nil: none

local core = require "ebb.support.core"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local words = require "ebb.support.schema.words"

---@class ebb.SchemaType
---@field expected fun(declaration: ebb.Schema): string
---@field read fun(declaration: ebb.Schema, value: any, context: ebb.SchemaContext): any
---@field hint? fun(declaration: ebb.Schema, value: any): string?
---@field from_text? fun(text: string, declaration: ebb.Schema): any

---@type table<string, ebb.SchemaType>
local types = {}

---- Words ----

--- Loaded with the first word such as 8k: few hosts of libebb read one.
local function whole(text) return require("ebb.support.figures").whole(text) end

local function number_words(noun)
  return function(declaration)
    local min, max, unit = declaration.min, declaration.max, declaration.unit
    local what = noun .. (unit and " of " .. unit or "")
    if min and max then return ("%s from %s to %s"):format(what, core.tostring(min), core.tostring(max)) end
    if min then return ("%s, %s or more"):format(what, core.tostring(min)) end
    return max and ("%s, at most %s"):format(what, core.tostring(max)) or what
  end
end

local function choice_words(declaration)
  local choices = {}
  for i, choice in ipairs(declaration.choices) do
    choices[i] = tostring(choice)
  end
  return choices
end

---- Types ----

local function in_range(declaration, value)
  return value >= (declaration.min or -math.huge) and value <= (declaration.max or math.huge)
end

types.integer = {
  expected = number_words "a whole number",
  read = function(declaration, value)
    if type(value) == "string" and declaration.unit == "tokens" then value = whole(value) end   -- "8k", as in a shell
    local integer = type(value) == "number" and math.tointeger(value) or nil
    return integer and in_range(declaration, integer) and integer or nil
  end,
  from_text = function(text) return core.tonumber(text) or whole(text) end,
}

types.number = {
  expected = number_words "a number",
  read = function(declaration, value)
    local finite = type(value) == "number" and value == value and math.abs(value) ~= math.huge
    return finite and in_range(declaration, value) and value or nil
  end,
  from_text = function(text)
    return math.tointeger(core.tonumber(text)) or core.tonumber(text) or whole(text)
  end,
}

types.string = {
  expected = function(declaration)
    local filled = declaration.filled and "1 to " or "at most "
    if declaration.max then return ("a string of %s%d bytes"):format(filled, declaration.max) end
    return declaration.filled and "a string that is not empty" or declaration.utf8 and "a string in UTF-8" or "a string"
  end,
  read = function(declaration, value)
    local fits = type(value) == "string" and #value <= (declaration.max or math.huge)
      and not (declaration.filled and value == "") and not (declaration.utf8 and not utf8.len(value))
    return fits and value or nil
  end,
  from_text = function(text) return text end,
}

local FLAGS = { ["true"] = true, yes = true, ["1"] = true, ["false"] = false, no = false, ["0"] = false }

types.boolean = {
  expected = function() return "true or false" end,
  read = function(_, value)
    if type(value) == "boolean" then return value end
  end,
  from_text = function(text) return FLAGS[text:lower()] end,
}

types.choice = {
  expected = function(declaration) return "one of " .. table.concat(choice_words(declaration), ", ") end,
  read = function(declaration, value)
    if tables.contains(declaration.choices, value) then return value end
  end,
  hint = function(declaration, value)
    local nearest = suggest.nearest(tostring(value), choice_words(declaration))
    return nearest and ("did you mean '%s'?"):format(nearest)
  end,
  from_text = function(text, declaration)   -- in the type of the choice, so that "3" finds 3
    for _, choice in ipairs(declaration.choices) do
      if tostring(choice) == text then return choice end
    end
    return text
  end,
}

types.list = {
  expected = function(declaration)
    return declaration.max and ("a list of at most %d"):format(declaration.max) or "a list"
  end,
  read = function(declaration, value, context)
    if context.options and not declaration.items and type(value) == "string" then value = { value } end
    if not words.is_list(value) or rawlen(value) > (declaration.max or math.huge) then return nil end
    local list = {}
    for i = 1, rawlen(value) do
      if #context.problems >= context.most then return nil end
      local item = rawget(value, i)
      if declaration.items then item = context.read_part(declaration.items, item, i, context) end
      list[i] = item
    end
    return getmetatable(value) == "json.array" and core.json.array(list) or list
  end,
  from_text = function(text)
    if text:find "^%s*%[" then return (core.json.decode(text)) end
    local items = {}
    for item in text:gmatch "[^,]+" do
      items[#items + 1] = item
    end
    return items
  end,
}

types.table = {
  expected = function() return "a table" end,
  read = function(declaration, value, context)
    if type(value) ~= "table" or getmetatable(value) == "json.raw" then return nil end
    return context.options and not declaration.shared and tables.copy(value) or value
  end,
  from_text = function(text) return (core.json.decode(text)) end,
}

types["function"] = {
  expected = function() return "a function" end,
  read = function(_, value) return type(value) == "function" and value or nil end,
}

types.handle = {
  expected = function(declaration) return words.with_article(declaration.class) end,
  read = function(declaration, value) return core.type(value) == declaration.class and value or nil end,
}

types.any = { expected = function() return "a value" end, read = function(_, value) return value end }

return types
