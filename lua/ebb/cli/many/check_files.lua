--- ebb check of several files, or of folders: what each one has, and a sum.
--
-- A file that cannot be read is reported and counted, and does not keep the others from being checked.

local core = require "ebb.support.core"
local failure = require "ebb.cli.failure"
local terminal = require "ebb.cli.view.terminal"
local text = require "ebb.cli.view.text"

local check_files = {}

---@class ebb.cli.CheckedFile    What a check found in a file
---@field violated integer        violations that count
---@field text? string            without --json
---@field data table              for --json
---@field file? string
---@field failed? ebb.cli.Failure  in place of all others: why the file could not be checked

--- Checks a file; a mistake of the command line ends the command.
local function try(check, path)
  local name = terminal.name_of(path)
  terminal.name_lines(name)
  local ok, checked = pcall(check, path)
  local failed = not ok and failure.from_value(checked)
  if not ok and (not failed or failed.exit == failure.USAGE) then
    terminal.name_lines(nil)
    error(checked, 0)
  end
  if failed then
    terminal.say(failed.message)
    if failed.hint then terminal.say("hint: " .. failed.hint) end
    checked = { failed = failed, violated = 0, data = { violations = core.json.array {},
      error = { message = failed.message, hint = failed.hint, exitCode = failed.exit } } }
  end
  terminal.name_lines(nil)
  checked.file, checked.data.file = name, name
  return checked
end

--- The sums of all files.
---@param list ebb.cli.CheckedFile[]
---@return { files: integer, violations: integer, refused: integer, failed: integer }
local function sum(list)
  local total = { files = #list, violations = 0, refused = 0, failed = 0 }
  for _, checked in ipairs(list) do
    total.violations = total.violations + checked.violated
    if checked.violated > 0 then total.refused = total.refused + 1 end
    if checked.failed then total.failed = total.failed + 1 end
  end
  return total
end

--- A heading and what was found for each file, and a line for all.
---@param list ebb.cli.CheckedFile[]
---@param page ebb.cli.Page
---@return string
local function as_text(list, page)
  local pieces, total = {}, sum(list)
  for i, checked in ipairs(list) do
    pieces[i] = page.paint("title", checked.file) .. "\n"
      .. (checked.failed and terminal.fill(page, "not checked: " .. checked.failed.message) or checked.text)
  end
  local figures = total.violations == 0 and "no violations"
    or ("%s in %s"):format(text.count(total.violations, "violation"), text.count(total.refused, "file"))
  if total.failed > 0 then figures = ("%s, %d not checked"):format(figures, total.failed) end
  pieces[#pieces + 1] = page.paint("title", ("together, %s"):format(text.count(#list, "file"))) .. "\n"
    .. terminal.fill(page, figures)
  return table.concat(pieces, "\n")
end

---@param list ebb.cli.CheckedFile[]
---@return table
local function as_data(list)
  local files = core.json.array {}
  for i, checked in ipairs(list) do files[i] = checked.data end
  return { files = files, total = sum(list) }
end

--- Checks all files, one after the other.
---@param paths string[]
---@param check fun(path: string): ebb.cli.CheckedFile
---@param page? ebb.cli.Page           of the text; nil: --json
---@return ebb.cli.CheckedFile all     its `failed` is the worst failure
function check_files.run(paths, check, page)
  local list, worst = {}, nil
  for i, path in ipairs(paths) do
    list[i] = try(check, path)
    local failed = list[i].failed
    if failed and (not worst or failed.exit > worst.exit) then worst = failed end
  end
  return { violated = sum(list).violations, failed = worst, data = as_data(list), text = page and as_text(list, page) }
end

return check_files
