--- Models: encoding, window, output reserve, dialect, image rule.
--
-- `known` is the table that users see as `ebb.models`. They may add to it and
-- change what is there; what they assign is checked, and fields that they leave
-- out stay as they were. A dated version ("gpt-4o-2024-08-06") is found under the
-- name that it begins with, and so is one with a provider before it; what is not
-- listed may belong to a family (families.lua).

local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local refuse = require "ebb.support.refuse"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"
local vocabularies = require "ebb.models.vocabularies"

local models = {}

local ESTIMATORS = { bytes4 = true, cjk = true, claude = true, claude_4_7 = true, utf16_2_5 = true }   -- as in the core

--- The names of all estimators, sorted.
---@type string[]
models.estimators = tables.keys(ESTIMATORS)

local STAND_IN = "cjk"   -- counts where a model's vocabulary is not installed
models.STAND_IN = STAND_IN

---@type table<string, ebb.Model>?
local list

--- The models that Ebb brings, which nobody changes.
local function shipped()
  return require "ebb.models.listed"
end

--- The models by name, with what was assigned; loaded when the first one is asked for.
local function listed()
  list = list or tables.copy(shipped())
  return list
end

--- True if `rest` may follow a model's name: a date, a build, "latest", "preview".
local function is_version(rest)
  rest = rest:gsub("^%-preview", ""):gsub("^%-exp", "")
  return rest == "" or rest == "-latest" or rest:find "^%-%d[%d%-]*$" ~= nil
end

--- Loaded for chats that have a model.
local function check(name, fields)
  return require("ebb.models.check").model(name, fields)
end

--- The name in a table of models that a name is, or the longest of which it is a version.
local function listed_name(name, among)
  if among[name] then return name end
  local best
  for candidate in pairs(among) do
    local fits = name:sub(1, #candidate) == candidate and is_version(name:sub(#candidate + 1))
    if fits and (not best or #candidate > #best) then best = candidate end
  end
  return best
end

--- The name under which a model is listed; nil if it is not.
---@param name string
---@param among? table<string, ebb.Model>    default: the models with what was assigned
local function find_name(name, among)
  among = among or listed()
  return listed_name(name, among) or listed_name(require("ebb.models.families").plain(name), among)
end

--- The family of a model that is not listed.
local function family_of(name)
  local families = require "ebb.models.families"
  return families.find(families.plain(name))
end

--- A model by its family, and the listed model whose fields it has.
local function find_by_family(name, among)
  local family = family_of(name)
  local like = family and family.like
  if like then
    local model = among[like] and check(like, among[like])
    if model and family.abilities then
      model = tables.copy(model)
      model.abilities = tables.copy(family.abilities)
    end
    return model, like
  end
  return family and check(name, tables.copy(family.model))
end

--- A model by its name or its family.
---@param name string
---@param among? table<string, ebb.Model>    default: the models with what was assigned
local function find(name, among)
  among = among or listed()
  local known = find_name(name, among)
  if known then return check(known, among[known]) end   -- a field may have been set since
  return (find_by_family(name, among))
end

--- Fields of a model that have fields of their own, each of which is known or not by itself.
local COMPOUND = { prices = true, abilities = true }

local function is_object(value) return type(value) == "table" and getmetatable(value) == nil end

--- Lays fields over others, each price and each ability by itself.
local function lay_over(before, fields)
  local result = {}
  for field, value in pairs(before) do result[field] = value end
  for field, value in pairs(fields) do
    local is_joined = COMPOUND[field] and is_object(value) and is_object(result[field])
    result[field] = is_joined and lay_over(result[field], value) or value
  end
  return result
end

--- Lays fields over those of a model, each price and each ability by itself. An output that does not fit into the new
--- window is no reserve: the default is.
---@param model table
---@param fields table
---@return table       a new one
function models.overlay(model, fields)
  local result, window = lay_over(model, fields), fields.window
  if fields.output == nil and math.type(window) == "integer" and math.type(model.output) == "integer"
    and model.output >= window then
    result.output = nil
  end
  return result
end

--- Makes the model of an assignment. Fields, prices and abilities that the assignment lacks are those of the listed
--- model or of its family; nil: there is none.
---@param name string
---@param fields? table|false
---@return ebb.Model?
local function changed(name, fields)
  if type(name) ~= "string" or name == "" then
    refuse("argument", "ebb.models: the name of a model is a string that is not empty")
  end
  if not fields then return nil end
  if type(fields) ~= "table" then return check(name, fields) end
  return check(name, models.overlay(listed()[find_name(name)] or find_by_family(name, listed()) or {}, fields))
end

--- Adds a model, or changes one; false or nil takes it out.
local function assign(_, name, fields)
  listed()[name] = changed(name, fields)
end

--- Adds, changes or removes (false) several models: all of them, or none if one is refused.
---@param entries table<string, table|false>
function models.add(entries)
  local all = {}
  for name, model in pairs(listed()) do all[name] = model end
  for name, fields in pairs(entries) do all[name] = changed(name, fields) end
  list = all
end

--- True for the name of a listed model, or of a version of one.
---@param name string
---@return boolean
function models.is_listed(name)
  return listed_name(name, listed()) ~= nil
end

--- The model that Ebb itself lists under a name, or takes for its family; nil: none. What was assigned does not count.
---@param name string
---@return ebb.Model?
function models.shipped(name)
  return find(name, shipped())
end

---@param name string
---@return boolean
function models.is_known(name)
  return find(name) ~= nil
end

--- The vocabulary or the estimator that counts for a model, by its name; nil for an unknown one.
---@param name string
---@return string?
function models.encoding_of(name)
  local model = find(name)
  return model and model.encoding
end

models.known = setmetatable({}, {
  __index = function(_, name) return listed()[name] end,
  __newindex = assign,
  __pairs = function() return pairs(listed()) end,
})

--- The name of a model that an unknown name was meant for, perhaps; nil for a known name.
---@param name string
---@return string?
function models.near(name)
  if not models.is_known(name) then return suggest.nearest(name, tables.keys(listed())) end
end

--- Finds a model by its name; refuses an unknown one.
---@param name string
---@param caller? string      the function that was called, for the error
---@return ebb.Model
function models.find(name, caller)
  local where = caller and caller .. ": " or ""
  if type(name) ~= "string" then refuse("argument", where .. "model is the name of a model, a string") end
  local model = find(name)
  if model then return model end
  local hint = suggest.hint(name, tables.keys(listed()))
    or hints.models
  return refuse("unknown_name", ("%sunknown model '%s'"):format(where, name), hint)
end

---- Counting ----

---@param encoding string
---@return boolean
function models.is_estimator(encoding)
  return ESTIMATORS[encoding] ~= nil
end

local COUNTER = { encoding = { type = "string" }, model = { type = "string" } }

--- Refuses an encoding that is not installed; an estimate would take its place silently.
local function refuse_encoding(encoding)
  local names = tables.copy(models.estimators)
  for _, image in ipairs(vocabularies.list()) do
    names[#names + 1] = image.name
  end
  local nearest = suggest.nearest(encoding, names)
  local hint = nearest and ("did you mean '%s'?"):format(nearest) or "there are " .. table.concat(names, ", ")
  refuse("unknown_name", ("there is no encoding '%s' here"):format(encoding), hint)
end

--- Tokenizers in use, by the file of their vocabulary: conversations share them.
local tokenizers = setmetatable({}, { __mode = "v" })

--- The core's options for an encoding: an estimator, or a tokenizer; nil where its
--- vocabulary is not installed.
local function counter_of(encoding)
  if ESTIMATORS[encoding] then return { encoding = encoding } end
  local file = vocabularies.find(encoding)
  local tokenizer = file and (tokenizers[file] or vocabularies.open(file))   -- held, for the table is weak
  if not tokenizer then return nil end
  tokenizers[file] = tokenizer
  return { tokenizer = tokenizer }
end

--- Returns the core's options for counting by an encoding, or as a model does, for which an
--- estimator stands in where its vocabulary is missing; images by the model's rule.
---@param encoding? string
---@param model? ebb.Model
---@return table core_options
local function counting(encoding, model)
  if encoding ~= nil and type(encoding) ~= "string" then refuse("argument", "encoding is a name, a string") end
  local counter = counter_of(encoding or model and model.encoding or STAND_IN)
  if not counter and encoding then refuse_encoding(encoding) end
  counter = counter or { encoding = STAND_IN }
  if model then counter.image = model.image or false end
  return counter
end

--- Reads the options encoding and model of tokens{...}, recount{...} and trim{...}; one of them is needed.
---@param options any
---@param owner string         the function
---@return table core_options
---@return ebb.Model? model
function models.counter(options, owner)
  local example = ('chat:%s { encoding = "o200k_base" }'):format(owner)
  local values = require("ebb.support.schema").options(COUNTER, options, owner, example)
  local model = values.model and models.find(values.model, owner) or nil
  if not model and not values.encoding then
    refuse("argument", owner .. ": an encoding or a model is needed", example)
  end
  return counting(values.encoding, model), model
end

--- Translates the options of a conversation into those of the core, which knows no models.
---@param options? ebb.ConversationOptions
---@param caller? string      the function that was called, for errors
---@return table? core_options
---@return ebb.Model? model
function models.resolve(options, caller)
  if options == nil then return nil end
  if type(options) ~= "table" then refuse("argument", "the options of a conversation are a table") end
  local model = options.model ~= nil and models.find(options.model, caller) or nil
  local translated = {}
  for name, value in pairs(options) do
    translated[name] = value
  end
  translated.model = nil
  for name, value in pairs(counting(options.encoding, model)) do
    translated[name] = value
  end
  if translated.tokenizer then translated.encoding = nil end
  if model then translated.limit = options.limit or model.window end
  return translated, model
end

--- The model that a body names, if it is known and options do not choose another counter.
local function body_model(options, name)
  local chosen = options and (options.model or options.encoding or options.counter)
  return not chosen and name and find(name) or nil
end

--- Counts a loaded body for the model that it names, unless options say otherwise.
---@param chat ebb.Conversation
---@param options? ebb.ConversationOptions
function models.adopt(chat, options)
  local model = body_model(options, core.body_model(chat))
  if model then core.counter.recount(chat, counting(nil, model)) end
end

--- Sets in options of the core how the body's model counts, before there is a conversation.
---@param core_options table
---@param options ebb.ConversationOptions
---@param name? string          the body's model
function models.count_body(core_options, options, name)
  local model = body_model(options, name)
  for field, value in pairs(model and counting(nil, model) or {}) do core_options[field] = value end
  if core_options.tokenizer then core_options.encoding = nil end
end

--- Did the caller name the encoding that counts a conversation?
---@param chat ebb.Conversation
---@return boolean
function models.is_chosen(chat)
  local options = core.state(chat).options
  return options and options.encoding ~= nil or false
end

--- The vocabulary of the conversation's model, if an estimator that the caller did not choose stands in for it.
---@param chat ebb.Conversation
---@return string? vocabulary
function models.missing(chat)
  local model = models.of_chat(chat)
  local stands_in = model and chat:encoding() == STAND_IN and not ESTIMATORS[model.encoding]
  if stands_in and not models.is_chosen(chat) then return model.encoding end
end

--- Returns a note for a person on how a conversation of an unlisted model is counted; nil if the model is listed or
--- there is none.
---@param chat ebb.Conversation
---@return string? note
function models.note(chat)
  local name = models.name(chat)
  if not name or find_name(name) then return nil end
  local model, like = find_by_family(name, listed())
  if model then
    return ("model '%s' is not listed: %s"):format(name, like and "it is taken for " .. like
      or ("%s counts, in a window of %d"):format(model.encoding, model.window))
  end
  return ("model '%s' is unknown: %s counts; --model names one that counts alike"):format(name,
    chat:encoding() or "the caller's rule")
end

--- Makes a model the one in use. The fields always exist: setting them again needs no memory.
---@param chat ebb.Conversation
---@param model? ebb.Model
---@param name? string
function models.assign(chat, model, name)
  local state = core.state(chat)
  state.model, state.model_name = model or false, name or false
end

--- Keeps the options of a conversation, which are saved with it.
---@param chat ebb.Conversation
---@param options? ebb.ConversationOptions
---@param text? string          as they were saved
function models.keep_options(chat, options, text)
  local state = core.state(chat)
  state.options = options and {
    model = options.model, encoding = options.encoding, limit = options.limit, tools = tables.copy(options.tools),
    tools_heading = options.tools_heading, role_map = tables.copy(options.role_map),
  } or false
  state.options_text = text or false
end

--- Gives a fork or a copy the model of the original, and its options.
---@param copy ebb.Conversation
---@param original ebb.Conversation
function models.inherit(copy, original)
  models.assign(copy, models.of_chat(original), models.name(original))
  local from, to = core.state(original), core.state(copy)
  to.options, to.options_text = from.options, from.options_text
end

--- The model of a conversation: the one that the caller named, else that of the loaded request body; nil for
--- neither.
---@param chat ebb.Conversation
---@return ebb.Model?
function models.of_chat(chat)
  local named = core.body_model(chat)
  return core.state(chat).model or named and find(named)
end

--- The name of the model in use: as the caller gave it, or as the loaded body names it.
---@param chat ebb.Conversation
---@return string?
function models.name(chat)
  return core.state(chat).model_name or core.body_model(chat)
end

return models
