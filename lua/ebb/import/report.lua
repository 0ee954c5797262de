--- Counts what an importer skipped, dropped or repaired, so that no loss is silent.

local report = {}

---@class ebb.import.Report   a list of ebb.import.ReportEntry, in the order of their first ones
local Report = {}

local indices = setmetatable({}, { __mode = "k" })   -- report -> entries by kind and message

--- Counts one, or `count`, which may be 0.
---@param kind string         a noun in the singular, for a line such as "34 other lines"
---@param message string      which, or why
---@param line? integer
---@param count? integer
function Report:add(kind, message, line, count)
  if count == 0 then return end
  local index, key = indices[self], kind .. "\0" .. message
  if not index[key] then
    index[key] = { kind = kind, message = message, count = 0, line = line }
    self[#self + 1] = index[key]
  end
  index[key].count = index[key].count + (count or 1)
end

---@return ebb.import.Report
function report.new()
  local list = setmetatable({}, { __index = Report })
  indices[list] = {}
  return list
end

--- The entries as a plain list.
---@param list ebb.import.ReportEntry[]
---@return ebb.import.ReportEntry[]
function report.plain(list)
  return table.move(list, 1, #list, 1, {})
end

return report
