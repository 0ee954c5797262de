--- ebb models import: takes the models of a price list into the user's models.json; ebb models update: of the newest
--- list of @pydantic/genai-prices, which npm brings.
--
-- Models that Ebb lists, or whose family it knows, get what it does not know of them: prices and abilities. Others come
-- with all that the list says. It goes into `imported` of an entry; what the user wrote in addition stays, and wins.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local json_file = require "ebb.support.json_file"
local json_text = require "ebb.cli.view.json_text"
local model_file = require "ebb.cli.io.model_file"
local models = require "ebb.models"
local npm_package = require "ebb.cli.io.npm_package"
local options = require "ebb.cli.io.options"
local price_list = require "ebb.models.price_list"
local names = require "ebb.support.names"
local tables = require "ebb.support.tables"
local terminal = require "ebb.cli.view.terminal"

local import = {}

import.BYTES_MAX = 16 * 1024 * 1024   -- of a price list; LiteLLM's has 1.6 MB

local NAMES_SHOWN = 12    -- of a group of the report
local CHANGES_SHOWN = 24
local REFUSED_SHOWN = 10
local NOT_NAMED = "not named by --only"   -- why most entries are left out: their number says enough

---- Which entries ----

--- True for a name that one of the patterns names; * stands for any text.
local function is_named(name, patterns)
  for _, pattern in ipairs(patterns) do
    local lua_pattern = pattern:gsub("%W", "%%%0"):gsub("%%%*", ".*")
    if name:find("^" .. lua_pattern .. "$") then return true end
  end
  return false
end

--- Returns why an entry is not imported; nil if it is.
local function reason_to_leave(entry, args)
  if args.only[1] and not is_named(entry.name, args.only) then return NOT_NAMED end
  local is_chosen = entry.model and (args.all or args.only[1])
  return not is_chosen and entry.left_out or nil
end

---- Merging ----

--- A value with its keys in camelCase, as models.json has them.
local function in_camel_case(value)
  if type(value) ~= "table" then return value end
  local result = {}
  for key, item in pairs(value) do result[names.camel(key)] = in_camel_case(item) end
  return result
end

--- Compares values as JSON; nothing is not the same as a value.
local function is_same(a, b)
  return a == b or a ~= nil and b ~= nil and core.json.encode(a) == core.json.encode(b)
end

--- Fields that every import wrote while it did not say what it had written.
local ALWAYS_WRITTEN = { "encoding", "window", "dialect" }

--- Parts an entry into the fields that the user wrote and those of earlier imports. In an entry that does not say what
--- is imported, what the list says as well was imported: all prices, too, if that is so for the fields that each import
--- wrote.
---@param before table         the entry as it is
---@param fields table         what the list says
---@return table own
---@return table imported
local function part(before, fields)
  local own, imported = tables.copy(before), tables.copy(before.imported or {})
  own.imported = nil
  if before.imported then return own, imported end
  local is_import = true
  for _, field in ipairs(ALWAYS_WRITTEN) do is_import = is_import and is_same(before[field], fields[field]) end
  for field, value in pairs(before) do
    local is_free = field == "prices" or field == "abilities"     -- their list wins: nothing changes
    local is_renewed = is_import and is_free and fields[field] ~= nil
    if is_renewed or is_same(value, fields[field]) and (is_import or is_free) then
      own[field], imported[field] = nil, own[field]
    end
  end
  return own, imported
end

--- An entry of models.json after the import.
---@param name string
---@param before? table        the entry as it is
---@param fields table         what the list says
---@return table
local function merged(name, before, fields)
  local result, imported = part(before or {}, fields)
  imported = model_file.missing(name, models.overlay(imported, fields))
  result.imported = next(imported) and imported or nil
  return result
end

--- Makes the model of an entry and of what Ebb knows, with the names of models.json.
local function effective(name, entry)
  return models.overlay(in_camel_case(models.shipped(name) or {}), model_file.flattened(name, entry))
end

local function is_object(value) return type(value) == "table" and not getmetatable(value) end

--- The values that differ between two models, by their paths: "prices.input".
---@return { field: string, before: any, after: any }[]
local function differences(before, after, path)
  local result, all = {}, {}
  for _, side in ipairs { before, after } do
    for field in pairs(side) do all[field] = true end
  end
  for _, field in ipairs(tables.keys(all)) do
    local old, new, place = before[field], after[field], path .. field
    if is_object(old or new) and is_object(new or old) then
      local inner = differences(old or {}, new or {}, place .. ".")
      table.move(inner, 1, #inner, #result + 1, result)
    elseif not is_same(old, new) then
      result[#result + 1] = { field = place, before = old, after = new }
    end
  end
  return result
end

---@class ebb.cli.ImportReport
---@field added string[]
---@field changed string[]
---@field unchanged string[]
---@field changes { name: string, field: string, before: any, after: any }[]   what changed models are from now on
---@field kept string[]                      with prices that the user wrote, and that stay
---@field left_out table<string, string[]>   by reason
---@field refused { name: string, place: string, problem: string }[]
---@field base_prices string[]               imported, with higher prices for some requests

--- True for an entry of models.json that can be merged with a list.
local function is_entry(entry)
  return is_object(entry) and (entry.imported == nil or is_object(entry.imported))
end

--- Tells what is wrong with an entry, with its place: in the list, or in models.json, where that is to blame.
local function refuse_entry(entry, list, file, problem, report)
  local field = problem.path and problem.path[1]
  local before = file and file.value[entry.name]
  local is_own = before ~= nil and not is_entry(before) or before and field ~= "imported" and before[field] ~= nil
  local place = is_own and json_file.where(file, { entry.name, table.unpack(problem.path or {}) })
  table.insert(report.refused, { name = entry.name, place = place or list.place(entry.at), problem = problem.message })
end

local function leave(report, name, reason)
  report.left_out[reason] = report.left_out[reason] or {}
  table.insert(report.left_out[reason], name)
end

--- True if prices lack what all prices have: those of a list may, where others are known.
local function is_half(prices)
  return is_object(prices) and (prices.input == nil or prices.output == nil)
end

--- Notes that an entry is in the models now.
local function note(entry, fields, before, after, report)
  local name = entry.name
  local is_renewed = before and not is_same(before, after)
  table.insert(is_renewed and report.changed or before and report.unchanged or report.added, name)
  for _, each in ipairs(is_renewed and differences(effective(name, before), effective(name, after), "") or {}) do
    each.name = name
    table.insert(report.changes, each)
  end
  if fields.prices and after.prices then table.insert(report.kept, name) end
  if entry.tiers and not after.prices then table.insert(report.base_prices, name) end
end

--- Puts an entry into the models, and its name into the report.
local function take(entry, list, file, all, report)
  local name, fields, before = entry.name, in_camel_case(entry.model), all[entry.name]
  if before ~= nil and not is_entry(before) then
    return refuse_entry(entry, list, file, model_file.try(name, before), report)
  end
  if is_half(model_file.flattened(name, merged(name, before, fields)).prices) and fields.prices then
    leave(report, name, "prices that lack input or output")
    fields.prices = nil
  end
  local is_known = models.shipped(name) ~= nil
  if is_known and not next(model_file.missing(name, fields)) then
    return leave(report, name, "no prices, and the rest is known")
  end
  local after = merged(name, before, fields)
  if not is_known and not (after.window or (after.imported or {}).window) then
    return leave(report, name, "no window: models.json can say it")
  end
  local problem = model_file.try(name, after)
  if problem then return refuse_entry(entry, list, file, problem, report) end
  note(entry, fields, before, after, report)
  all[name] = after
end

--- Merges a list into the models of the user's file.
---@param list ebb.PriceList
---@param file? ebb.JsonFile   models.json
---@param all table            its entries; changes
---@return ebb.cli.ImportReport
local function merge(list, file, all, args)
  local report = { added = {}, changed = {}, unchanged = {}, changes = {}, left_out = {}, refused = {}, kept = {},
    base_prices = {} }
  local seen = {}
  for _, entry in ipairs(list.entries) do
    local reason = seen[entry.name] and "named twice: the first one counts" or reason_to_leave(entry, args)
    seen[entry.name] = true
    if reason then
      leave(report, entry.name, reason)
    elseif entry.problem then
      table.insert(report.refused, { name = entry.name, place = list.place(entry.at), problem = entry.problem })
    else
      take(entry, list, file, all, report)
    end
  end
  return report
end

---- The report ----

local function write_line(title, list)
  if not list[1] then return nil end
  local words = table.concat(list, ", ", 1, math.min(#list, NAMES_SHOWN))
  local more = #list > NAMES_SHOWN and (" and %d more"):format(#list - NAMES_SHOWN) or ""
  return ("%s %d: %s%s"):format(title, #list, words, more)
end

local function describe_value(value) return value == nil and "none" or core.json.encode(value) end

--- "  gpt-5.1: prices.input 1.25 -> 1.75": the first ones.
local function add_changes(lines, changes)
  for i, each in ipairs(changes) do
    if i > CHANGES_SHOWN then
      lines[#lines + 1] = ("  and %d more; --json shows them all"):format(#changes - CHANGES_SHOWN)
      break
    end
    lines[#lines + 1] = ("  %s: %s %s -> %s"):format(each.name, each.field, describe_value(each.before),
      describe_value(each.after))
  end
end

local function as_text(report, list, path, dry_run)
  local lines = { ("%s: %s, %d entries"):format(list.name, list.form, #list.entries) }
  local function add(title, group) lines[#lines + 1] = write_line(title, group) end
  add("added", report.added)
  add("changed", report.changed)
  add_changes(lines, report.changes)
  add("unchanged", report.unchanged)
  add("prices kept that models.json has in addition to imported ones:", report.kept)
  add("base prices taken, there are higher ones for long requests or some hours:", report.base_prices)
  for _, reason in ipairs(tables.keys(report.left_out)) do
    local group = report.left_out[reason]
    if reason == NOT_NAMED then lines[#lines + 1] = ("left out, %s: %d"):format(reason, #group)
    else add("left out, " .. reason .. ":", group) end
  end
  for i, refused in ipairs(report.refused) do
    if i <= REFUSED_SHOWN then lines[#lines + 1] = ("refused: %s: %s"):format(refused.place, refused.problem) end
  end
  if #report.refused > REFUSED_SHOWN then
    lines[#lines + 1] = ("and %d more refused; --json shows them all"):format(#report.refused - REFUSED_SHOWN)
  end
  lines[#lines + 1] = dry_run and "nothing is written: --dry-run" or path .. " is written"
  return table.concat(lines, "\n") .. "\n"
end

local function list_of(list) return core.json.array(list) end

local function as_json(report, list, path, dry_run)
  local left_out = {}
  for reason, group in pairs(report.left_out) do left_out[reason] = list_of(group) end
  return json_text.format {
    file = list.name, form = list.form, written = not dry_run and path or nil, added = list_of(report.added),
    changed = list_of(report.changed), changes = list_of(report.changes), unchanged = list_of(report.unchanged),
    leftOut = left_out,
    refused = list_of(report.refused), kept = list_of(report.kept), basePrices = list_of(report.base_prices),
  }
end

---- The command ----

--- Writes models.json, and its folder where that is missing.
local function write(path, all)
  local text = json_text.format(all)
  if #text > model_file.BYTES_MAX then
    failure.raise(failure.REFUSED, ("%s would have %d bytes, at most %d are read"):format(path, #text,
      model_file.BYTES_MAX), "--only 'gpt-*' imports some of the models")
  end
  local folder = path:match "^(.+)/[^/]*$"
  if folder then failure.check(core.make_folder(folder)) end
  terminal.result(text, path)
end

local PACKAGE, FILE = "@pydantic/genai-prices", "dist/index.cjs"   -- the newest version: prices change

--- The text of the list, and its name for errors and the report.
local function read_list(args)
  if args.model ~= "update" then
    return failure.check(core.read_file(args.file, import.BYTES_MAX)), options.name(args.file)
  end
  terminal.say(("ebb: fetching %s with npm"):format(PACKAGE))
  local text = npm_package.read(PACKAGE, FILE, "`ebb models import FILE` takes a list from elsewhere")
  return text, PACKAGE .. "/" .. FILE
end

---@param args table     with model = "update", or a file
function import.run(args)
  local path = model_file.path()
  if not path then failure.raise(failure.IO, "no home folder to import into", "set XDG_CONFIG_HOME") end
  local text, name = read_list(args)
  local list = failure.typed(price_list.read, name, text, os.date("!%Y-%m-%d", core.now() // 1000))
  local file = model_file.read()
  local all = tables.copy(file and file.value or {})
  local report = merge(list, file, all, args)
  if not args.dry_run then write(path, all) end
  local result = (args.json and as_json or as_text)(report, list, path, args.dry_run)
  terminal.result(result, args.output)
end

return import
