--- Files of other programs, read as conversations: sessions of coding agents, exports of chat programs, data sets.
--
--     local result = assert(import.read(text, { path = "session.jsonl" }))
--     local chat = assert(ebb.parse(import.body(result)))
--
-- One importer per form, a module of this folder:
--
--     { name, title, kind = "jsonl" | "json" | "text",
--       recognise = function(sample) -> boolean        -- ebb.import.Sample
--       read = function(source, options) -> result }   -- ebb.import.Source; raises what is wrong
--
-- A form is told by its content, not by its name. A file that fits two forms, or none, is refused: it
-- is never read as something else. What is read is data: nothing of it is run, opened or constructed.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"
local foreign = require "ebb.import.foreign"
local hints = require "ebb.support.hints"
local png = require "ebb.import.png"
local refuse = require "ebb.support.refuse"
local reports = require "ebb.import.report"
local schema = require "ebb.support.schema"
local source = require "ebb.import.source"
local suggest = require "ebb.support.suggest"

local import = {}

--- Modules of importers below this folder: the more specific form comes before the one that it contains.
local MODULES = {
  "sessions.codex", "sessions.pi", "sessions.claude_code", "sessions.qwen_code", "sessions.copilot",
  "sessions.gemini_cli", "sessions.opencode", "sessions.roo", "sessions.cline", "libraries.ai_sdk",
  "libraries.openai_agents", "libraries.mastra", "data.snapshots", "chats.sillytavern", "data.openai_batch",
  "data.anthropic_batch", "data.sharegpt", "data.bodies", "data.alpaca", "chats.chatgpt", "chats.claude_ai",
  "chats.web_ui", "libraries.langchain", "sessions.aider", "chats.chatml", "agents.card", "agents.world",
  "agents.scripts", "agents.st_preset", "agents.aiohub",
}

local NAMES, MODULE_OF = {}, {}      -- a form has the name of its module's file
for i, module in ipairs(MODULES) do
  NAMES[i] = module:match "[^.]+$"
  MODULE_OF[NAMES[i]] = "ebb.import." .. module
end

import.names = NAMES

---@class ebb.Importer
---@field name string
---@field title string        "Claude Code session"
---@field kind "jsonl"|"json"|"text"
---@field each_line? boolean   each line of JSONL is a conversation of its own
---@field recognise fun(sample: ebb.import.Sample): boolean
---@field read fun(source: ebb.import.Source, options: ebb.import.Options): ebb.Import

local function importer_of(name)
  return require(MODULE_OF[name])
end

--- All importers, in the order in which they are asked.
---@return ebb.Importer[]
local function all()
  local list = {}
  for i, name in ipairs(NAMES) do list[i] = importer_of(name) end
  return list
end

--- Lists the forms that can be imported, in the order in which they are tried.
---@return { name: string, title: string, kind: string }[]
function import.list()
  local list = {}
  for i, importer in ipairs(all()) do
    list[i] = { name = importer.name, title = importer.title, kind = importer.kind }
  end
  return list
end

---- Recognition ----

local function titles(list)
  local words = {}
  for i, importer in ipairs(list) do words[i] = ("%s (%s)"):format(importer.name, importer.title) end
  return table.concat(words, ", ")
end

--- The importer whose form the source has.
---@param from ebb.import.Source
---@param bytes string         the first of the file
---@param problem? ebb.Error   why the text is not one JSON value
---@return ebb.Importer? importer
---@return ebb.Error? problem
---@return string? form        with a problem: what it is, if it is known
local function recognise(from, bytes, problem)
  local sample, fitting = source.sample(from, bytes), {}
  local entry = foreign.find(sample)
  if entry then return nil, core.error("shape", "is " .. entry.what, entry.hint), entry.form end
  for _, importer in ipairs(all()) do
    if importer.recognise(sample) then fitting[#fitting + 1] = importer end
  end
  if #fitting == 1 then return fitting[1] end
  if fitting[1] then
    local names = titles(fitting)
    return nil, core.error("shape", "fits several forms: " .. names, hints.forms), names
  end
  if not sample.records and from.value == nil and from.text:find "^%s*[%[{]" then return nil, problem end
  return nil, core.error("shape", foreign.describe(sample), hints.forms)
end

--- The source of a file's bytes: of a picture, the card in it.
---@return ebb.import.Source? from
---@return ebb.Error? problem
local function source_of(text, options)
  if text:sub(1, #png.SIGNATURE) ~= png.SIGNATURE then return source.new(text, options) end
  local report = reports.new()
  local ok, json = pcall(png.card, text, report)
  if not ok then
    if not core.is_error(json) then error(json, 0) end
    return nil, json
  end
  local from, problem = source.new(json, options)
  for _, entry in ipairs(report) do from.report:add(entry.kind, entry.message, nil, entry.count) end
  return from, problem
end

--- The name of the form that a text has; nil and what it looks like, if it fits none or several.
---@param text string
---@return string? name
---@return ebb.Error? problem
function import.recognise(text)
  if type(text) ~= "string" then refuse("argument", "import.recognise: a string is expected, not a " .. type(text)) end
  local from, problem = source_of(text, {})
  if not from then return nil, problem end
  local importer, reason = recognise(from, text, problem)
  return importer and importer.name, reason
end

---- Reading ----

local OPTIONS = {
  from = { type = "string" }, path = { type = "string" }, branch = { type = "string" },
  conversation = { type = "string" }, skip_bad = { type = "boolean" },
  greeting = { type = "integer", min = 0 }, user = { type = "string" },
  now = { type = "integer", unit = "milliseconds" }, zone = { type = "integer", unit = "minutes" },
}

--- The importer of a name; raises for an unknown one.
---@param name string
---@return ebb.Importer
function import.importer(name)
  for _, known in ipairs(NAMES) do
    if known == name then return importer_of(name) end
  end
  return refuse("unknown_name", ("import.read: unknown form '%s'"):format(name),
    suggest.hint(name, NAMES) or "ebb.import.list() has the forms")
end

--- Fills in what every result has, and puts the source's own report in front.
local function finish(result, importer, from)
  result.name, result.title = importer.name, importer.title
  local list = reports.plain(from.report)
  for _, entry in ipairs(result.report or {}) do
    if result.report ~= from.report then list[#list + 1] = entry end
  end
  result.report = list
  result.branches = result.branches or 1
  for _, each in ipairs(result.conversations or {}) do
    each.name, each.title = importer.name, importer.title
    each.report, each.branches = reports.plain(each.report or {}), each.branches or 1
  end
  return result
end

--- Kinds of a report whose entries may be messages that an importer does not understand.
local NOT_UNDERSTOOD = {
  ["empty message"] = true, ["other message"] = true, ["other entry"] = true, ["other block"] = true,
  ["other part"] = true, ["other item"] = true, ["unknown block"] = true,
}

--- Refuses a result without messages, of a file that seems to have some.
local function check_messages(result, importer)
  if result.conversations or result.agent or result.body or result.messages[1] then return end
  for _, entry in ipairs(result.report or {}) do
    if NOT_UNDERSTOOD[entry.kind] then
      refuse("shape", ("no message is understood as one of a %s (%d %s: %s)"):format(importer.title, entry.count,
        entry.kind, entry.message), "a newer version of the program may have written the file")
    end
  end
end

--- Runs an importer; what it refuses gets the name of the file in front. The third result is the form.
local function run(importer, from, problem, options)
  if importer.kind == "json" and from.value == nil then
    return nil, core.error(problem.code, ("%s:%s"):format(from.path, problem.message)), importer.name
  end
  if importer.kind == "text" then source.mend(from) end
  local ok, result = pcall(function()
    local read = importer.read(from, options)
    if read then check_messages(read, importer) end
    return read
  end)
  if ok then return finish(result, importer, from) end
  if not core.is_error(result) then error(result, 0) end
  local separator = result.message:find "^%d+:" and ":" or ": "
  return nil, core.error(result.code, from.path .. separator .. result.message, result.hint), importer.name
end

--- Reads a file as the form that the caller names. One of which nothing is understood, and which has not that form, is
--- refused: an importer skips what it does not know, and would make an empty conversation of anything.
local function run_named(importer, from, problem, bytes, options)
  local result, why, name = run(importer, from, problem, options)
  if not result or result.conversations or result.agent or result.messages[1] then return result, why, name end
  local sample = source.sample(from, bytes)
  if importer.recognise(sample) then return result end
  local message = ("%s: is no %s: %s"):format(from.path, importer.title, foreign.look(sample))
  return nil, core.error("shape", message, "where no form is named, it is recognised"), importer.name
end

--- Reads a text of another program; nil and why not.
---@param text string
---@param options? ebb.import.Options
---@return ebb.Import? result
---@return ebb.Error? problem
---@return string? name        with a problem: the form that the text has
function import.read(text, options)
  if type(text) ~= "string" then refuse("argument", "import.read: a string is expected, not a " .. type(text)) end
  options = schema.options(OPTIONS, options, "import.read", 'ebb.import.read(text, { branch = "2" })')
  local named = options.from and import.importer(options.from)
  local from, problem = source_of(text, options)
  if not from then
    local place = options.path or "text"
    return nil, core.error(problem.code, ("%s: %s"):format(place, problem.message), problem.hint), "png"
  end
  if named then return run_named(named, from, problem, text, options) end
  local importer, why, form = recognise(from, text, problem)
  if not importer then return nil, core.error(why.code, ("%s: %s"):format(from.path, why.message), why.hint), form end
  return run(importer, from, problem, options)
end

---- Writing ----

--- A message as JSON: texts are JSON already.
local function json_of(message)
  return type(message) == "string" and message or fields.json(message)
end

--- Members around the messages, by dialect: the name of their list, and how the system text is written.
local BODIES = {
  openai = { list = "messages" },
  anthropic = { list = "messages", system = "system" },
  responses = { list = "input", system = "instructions" },
  gemini = { list = "contents", system = "systemInstruction" },
}

local function add_member(out, name, json)
  out[#out + 1] = ("%s:%s,"):format(fields.json(name), json)
end

--- A request body of the result's dialect: the one that the file has, or one whose messages are in lines 2, 3 and so
--- on.
---@param result ebb.Import
---@return string json
function import.body(result)
  if result.body then return result.body end
  local body, out, list = BODIES[result.dialect], {}, {}
  local first = ""           -- of the list, in line 1: a system text that is a message
  if result.model then add_member(out, "model", fields.json(result.model)) end
  if result.system and result.dialect == "gemini" then
    add_member(out, body.system, fields.json { parts = { { text = result.system } } })
  elseif result.system and body.system then
    add_member(out, body.system, fields.json(result.system))
  elseif result.system then
    first = fields.json { role = "system", content = result.system } .. (result.messages[1] and "," or "")
  end
  if result.tools then add_member(out, "tools", fields.json(result.tools)) end
  for i, message in ipairs(result.messages) do list[i] = json_of(message) end
  return ("{%s%s:[%s\n%s\n]}\n"):format(table.concat(out), fields.json(body.list), first, table.concat(list, ",\n"))
end

return import
