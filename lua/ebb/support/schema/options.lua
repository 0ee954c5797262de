--- The options of calls, of policies and filters that authors write, and of the command line.

local refuse = require "ebb.support.refuse"
local reader = require "ebb.support.schema.reader"
local tables = require "ebb.support.tables"
local traceback = require "ebb.support.traceback"
local types = require "ebb.support.schema.types"
local words = require "ebb.support.schema.words"

local call_options = {}

---- Options ----

--- The options of a call: declared values and defaults. Raises what is wrong.
---@param fields? table<string, ebb.Schema>
---@param options any           nil: none
---@param owner string          the function, or "policy keep_recent"
---@param example? string       hint where options are not a table: how they are written
---@return table values
function call_options.options(fields, options, owner, example)
  fields = fields or {}
  if options == nil then options = {} end
  if type(options) ~= "table" or getmetatable(options) == "json.raw" then
    local message = ("%s: expected a table of options, got %s"):format(owner, words.describe(options))
    return refuse("argument", message, example)
  end
  local declaration = { type = "object", fields = fields, expected = "a table of options" }
  local values, problems = reader.read(declaration, options, { options = true })
  if not problems then return values end
  local problem = problems[1]
  local message = reader.message(problem, owner)
  if problem.kind == "unknown" and #problem.path == 1 then
    message = ("%s has no option %s"):format(owner, words.describe(problem.value))
  elseif problem.kind == "type" and #problem.path == 0 then
    problem.hint = example
  end
  return refuse(problem.code, message, problem.hint)
end

--- Types that authors of policies, filters and processors may declare.
local PUBLIC = { "integer", "number", "string", "boolean", "choice", "list", "table" }

local DECLARATION = {
  type = "object", expected = "{ type = ..., default = ... }",
  fields = {
    type = { type = "choice", choices = PUBLIC, required = true }, default = { type = "any" }, help = { type = "any" },
    min = { type = "number" }, max = { type = "number" }, choices = { type = "list" }, required = { type = "boolean" },
  },
  check = function(declaration)
    local is_number = declaration.type == "integer" or declaration.type == "number"
    if (declaration.min or declaration.max) and not is_number then return "only numbers have min and max" end
    if declaration.type == "choice" and not declaration.choices then return "a choice needs choices = { ... }" end
    if declaration.default == nil then return nil end
    if declaration.required then return "a required option has no default" end
    local _, problems = reader.read(declaration, declaration.default, { options = true })
    if problems then return "default: " .. problems[1].message, problems[1].hint end
  end,
}

--- Checks declarations that an author wrote; raises {code = "shape"}.
---@param fields? table<string, ebb.OptionDeclaration>
---@param owner string
---@param member? string        the author's table has them under this name; default: options
function call_options.declare(fields, owner, member)
  if fields == nil then return end
  local where = ("%s: %s"):format(owner, member or "options")
  if type(fields) ~= "table" then refuse("shape", where .. ": expected a table of declarations") end
  for _, name in ipairs(tables.keys(fields)) do
    reader.check(DECLARATION, fields[name], ("%s.%s"):format(where, name), { code = "shape" })
  end
end

--- Refuses with the owner in front, unless the text begins with it.
local function refuse_as(owner, code, text, hint)
  local is_named = text:sub(1, #owner + 1) == owner .. ":"
  refuse(code, is_named and text or ("%s: %s"):format(owner, text), hint)
end

--- Asks an author's `check` about options that are right one by one; refuses what it says. A check that fails, or
--- answers something else, is refused with `code`.
---@param check? fun(options: table): string|boolean?, string?   nil, false or true: they go together; a text, or nil
---    and a text: what is wrong
---@param options table
---@param owner string
---@param code string
function call_options.check_together(check, options, owner, code)
  if not check then return end
  local ok, answer, why = traceback.call(check, check, options)
  if not ok then return refuse_as(owner, why == "memory" and why or code, answer) end
  local complaint = answer or why
  if complaint == nil or type(complaint) == "boolean" then return end
  if type(complaint) ~= "string" or complaint == "" then
    refuse_as(owner, code, "check returned " .. words.describe(complaint), "nil, or a text that says what is wrong")
  end
  refuse_as(owner, "argument", complaint)
end

--- The options of an author's policy or filter: as declared, and as its `check` takes them together.
---@param plugin { options?: table<string, ebb.OptionDeclaration>, check?: function }
---@param options any           nil: none
---@param owner string
---@param code string           of the error if `check` itself fails
---@return table values
function call_options.options_of(plugin, options, owner, code)
  local values = call_options.options(plugin.options, options, owner)
  call_options.check_together(plugin.check, values, owner, code)
  return values
end

---- Text of the command line ----

--- The value that a text stands for; nil if it stands for none. `read` has the last word.
---@param declaration ebb.Schema
---@param text string
---@return any value
function call_options.from_text(declaration, text)
  return types[declaration.type].from_text(text, declaration)
end

--- "key=value,key=value" as a table of texts. A piece without = belongs to the
--- value before it, so that a list may have commas.
local function split(text, owner)
  local texts, last = {}, nil
  for piece in (text .. ","):gmatch "(.-)," do
    local key, value = piece:match "^%s*([%a_][%w_%-]*)%s*=(.*)$"
    if key then
      last = (key:gsub("%-", "_"))
      if texts[last] then refuse("argument", ("%s: %s occurs twice"):format(owner, last)) end
      texts[last] = value
    elseif last then
      texts[last] = texts[last] .. "," .. piece
    elseif piece ~= "" then
      refuse("argument", ("%s: expected key=value, got '%s'"):format(owner, piece))
    end
  end
  return texts
end

--- Options as on the command line: "keep=3,mode=last". Raises what is wrong.
---@param fields? table<string, ebb.OptionDeclaration>
---@param text string
---@param owner string
---@return table options        without defaults, for a call
function call_options.parse(fields, text, owner)
  local options = split(text, owner)
  for name, word in pairs(options) do
    local field = fields and fields[name]
    local value = word
    if field then value = call_options.from_text(field, word) end
    if value == nil then
      refuse("argument", ("%s: %s: expected %s, got '%s'"):format(owner, name, reader.expected_of(field), word),
        word:find ",$" and "key=value follows after a comma" or nil)
    end
    options[name] = value
  end
  call_options.options(fields, options, owner)
  return options
end

return call_options
