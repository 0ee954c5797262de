--- All files that are made from the sources.

local checks = require "reference.checks"
local command_line = require "reference.command_line"
local errors = require "reference.errors"
local header = require "reference.header"
local limits = require "reference.limits"
local lua_api = require "reference.lua_api"
local manual = require "reference.manual"
local markdown = require "reference.markdown"
local operations = require "reference.operations"
local read_file = require "reference.read_file"
local registries = require "reference.registries"
local schemas = require "reference.schemas"

local pages = {}

local FOLDER = "docs/reference/"

--- Returns the text of `ebb help`, 100 columns wide.
local function help_of(ebb)
  local pipe = assert(io.popen(("COLUMNS=100 '%s' help"):format(ebb)))
  local text = pipe:read "a"
  assert(pipe:close())
  return text
end

--- The pages: file, what it describes, its text.
local function list(root, help)
  local annotations = {}
  for i, file in ipairs(lua_api.files(root)) do annotations[i] = read_file(file.path) end
  local listed = {
    { "command-line.md", "every command with its arguments and options", command_line.page(help) },
    { "errors.md", "exit codes, and the codes of errors", errors.page(annotations) },
    { "checks.md", "what providers refuse: every rule of `ebb check`", checks.rules() },
    { "profiles.md", "what servers demand beyond their dialect", checks.profiles() },
    { "policies.md", "what decides how to trim, with options and examples", registries.policies() },
    { "processors.md", "the stages of a pipeline and their settings", registries.processors() },
    { "macros.md", "what `{{...}}` may say", registries.macros() },
    { "operations.md", "the seven edits in JSON", operations.text(annotations) },
    { "files.md", "agents, model files, user profiles, presets, rules, models", schemas.files() },
    { "limits.md", "every limit, and what raises it", limits.page() },
    { "nodes.md", "the steps of a workflow", schemas.nodes() },
    { "c-api.md", "ebb.h: functions, types, constants",
      header.page("C API: ebb.h", read_file(root .. "runtime/include/ebb.h")) },
    { "c-api-lua.md", "ebb_lua.h: functions on Lua's stack",
      header.page("C API: ebb_lua.h", read_file(root .. "runtime/include/ebb_lua.h")) },
  }
  for _, file in ipairs(lua_api.files(root)) do
    listed[#listed + 1] = { lua_api.page_name(file), "Lua API: " .. lua_api.summary(file), lua_api.page(file) }
  end
  return listed
end

---@param root string        the checkout, "" or with a slash at its end
---@return { path: string, text: string }[]
function pages.files(root)
  local help = help_of(os.getenv "EBB" or root .. "build/ebb")
  local files, rows = {}, {}
  for i, page in ipairs(list(root, help)) do
    files[i] = { path = FOLDER .. page[1], text = page[3] }
    rows[i] = { ("[%s](%s)"):format(page[1]:gsub("%.md$", ""), page[1]), page[2] }
  end
  files[#files + 1] = { path = FOLDER .. "README.md", text = markdown.page("Reference", {
    "Made from the sources by `make docs`.", markdown.table({ "page", "" }, rows) }) }
  files[#files + 1] = { path = "docs/man/ebb.1", text = manual.page(require("ebb.cli.commands.help").statuses) }
  local whole = require("ebb.cli.parser").whole()
  files[#files + 1] = { path = "docs/completions/ebb.bash", text = whole:get_bash_complete() }
  files[#files + 1] = { path = "docs/completions/_ebb", text = whole:get_zsh_complete() }
  files[#files + 1] = { path = "docs/completions/ebb.fish", text = whole:get_fish_complete() }
  return files
end

return pages
