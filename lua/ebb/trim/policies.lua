--- Policies by name, by file, or as they are: whatever a caller may give.
--
--     "keep_recent"                        built in
--     "my/policy.lua"                      a file
--     "frugal"                             frugal.lua in a folder of the policy path
--     "return function(draft) ... end"     its text; { source = "..." } is the same
--     function(draft, budget) ... end      a bare function
--     { name = ..., trim = function }      a policy
--     { "keep_recent", keep = 3 }          one of these, with options
--     { name = "keep_recent", keep = 3 }   the same, as JSON has it
--     { "shrink_tools.lua", "keep_recent" }  a list: run in order until it fits
--
-- `resolve` turns any of them into a list of steps {policy, options}, all names
-- and options checked, before anything runs. Files and texts are loaded into sandboxes
-- of their own, unless they are trusted; a function is as trusted as who gave it.

local built_in = require "ebb.policies"
local hints = require "ebb.support.hints"
local refuse = require "ebb.support.refuse"
local loader = require "ebb.sandbox.loader"
local schema = require "ebb.support.schema"
local script_file = require "ebb.sandbox.script_file"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local policies = {}

policies.names = built_in.names

policies.default = built_in.default

local CHAIN = "names are divided by commas, such as clear_tool_uses,keep_recent; options go before `;`"

local FIELDS = { "name", "summary", "options", "trim", "help", "example", "check" }

---@class ebb.PolicyStep
---@field policy ebb.Policy
---@field options table        checked, defaults filled in

--- A policy table, or a refusal that says what it lacks. Unknown fields are the
--- author's own business unless they look like a slip of the pen.
local function check_policy(policy, where)
  if type(policy.trim) ~= "function" then
    refuse("shape", where .. " is not a policy: it has no trim", "trim = function(draft, budget, options) ... end")
  end
  if policy.name ~= nil and type(policy.name) ~= "string" then refuse("shape", where .. ": name is a string") end
  for field in pairs(policy) do
    local near = not tables.contains(FIELDS, field) and suggest.nearest(tostring(field), FIELDS)
    if near then
      refuse("shape", ("%s: unknown field '%s'"):format(where, field), ("did you mean '%s'?"):format(near))
    end
  end
  if policy.check ~= nil and type(policy.check) ~= "function" then
    refuse("shape", where .. ": check is a function of the options")
  end
  schema.declare(policy.options, where)
  return policy
end

local function named(policy, name)
  if policy.name then return policy end
  local copy = { name = name }
  for field, value in pairs(policy) do
    copy[field] = value
  end
  return copy
end

local KIND = {
  noun = "policy", verb = "trim", hint = "return { name = ..., trim = function(draft, budget, options) ... end }",
}

local TEXT = script_file.source_name("", KIND)

local function from_file(path, loading, folder)
  local value, name = loader.read(path, KIND, loading, folder)
  return named(check_policy(value, path), name)
end

local function from_source(text, loading)
  local value, name = loader.read_source(text, KIND, loading)
  return named(check_policy(value, name), name)
end

--- Writes a policy with its options, in Lua and in JSON.
local function form_of(name, options)
  local members = options:gsub("([%w_]+) = ", '"%1": ')
  return ('policy = { "%s", %s }, in JSON {"name": "%s", %s}'):format(name, options, name, members)
end

--- Refuses options after a name, which only the command line has.
local function refuse_options(name)
  local first, rest = script_file.split_options(name, "policy")
  if not rest then return end
  local hint = form_of(first, (rest:gsub(",", ", "):gsub("=", " = ")))
  refuse("argument", ("policy '%s': options belong in a table"):format(name), hint)
end

local function from_name(name, loading)
  if script_file.is_source(name) then return from_source(name, loading) end
  script_file.refuse_without_return(name, "policy")
  refuse_options(name)
  if script_file.is_path(name) then return from_file(name, loading, loading and loading.folder) end
  local policy = built_in.find(name)
  if policy then return policy end
  local path = loader.find(name, "policies")
  if path then return from_file(path, loading) end
  local hint = suggest.nearest(name, policies.names)
  return refuse("unknown_name", ("unknown policy '%s'"):format(name),
    hint and ("did you mean '%s'?"):format(hint) or hints.policies)
end

--- The schema of chat:trim's option `policy`.
---@type ebb.Schema
policies.SPEC = { any_of = { { type = "string" }, { type = "function" }, { type = "table" } },
  expected = "a policy (a name, a file, a text, a function or a table)",
  help = "one, or a list that runs in order until the request fits; in JSON {\"name\": \"keep_recent\", \"keep\": 4} "
    .. "is one with options; default: keep_recent" }

--- One policy, without options.
---@param spec any
---@param loading? ebb.Loading   how files and texts are run
---@return ebb.Policy
function policies.find(spec, loading)
  if type(spec) == "string" then return from_name(spec, loading) end
  if type(spec) == "function" then return { name = "function", trim = spec } end
  if type(spec) == "table" and spec.source ~= nil then
    return from_source(script_file.source_in(spec, KIND), loading)
  end
  if type(spec) == "table" then return named(check_policy(spec, "policy " .. tostring(spec.name or "?")), "policy") end
  return schema.check(policies.SPEC, spec, "policy")
end

local function step(spec, options, loading)
  local policy = policies.find(spec, loading)
  local owner = policy.name == TEXT and TEXT or "policy " .. policy.name
  return { policy = policy, options = schema.options_of(policy, options, owner, "policy") }
end

--- Takes { spec, option = value, ... } or { name = spec, option = value, ... } apart.
local function split(spec)
  local first, options = spec[1], {}
  for key, value in pairs(spec) do
    if type(key) ~= "number" then options[key] = value end
  end
  if first == nil then
    first, options.name = options.name, nil
  end
  return first, options
end

local function add_steps(steps, spec, loading)
  if type(spec) ~= "table" or spec.trim ~= nil or spec.source ~= nil then
    steps[#steps + 1] = step(spec, nil, loading)
    return
  end
  local first, options = split(spec)
  if first == nil then
    refuse("argument", "a policy table has trim = function, or begins with a policy",
      form_of("keep_recent", "keep = 3"))
  end
  if next(options) == nil and spec[1] ~= nil then
    for _, each in ipairs(spec) do
      add_steps(steps, each, loading)
    end
  elseif #spec > 1 then
    refuse("argument", "options belong in the list of several policies", '{ { "a", option = 1 }, "b" }')
  else
    steps[#steps + 1] = step(first, options, loading)
  end
end

---@param spec any             nil: the default policy
---@param options? table       of a single policy, besides those in the spec
---@param loading? ebb.Loading
---@return ebb.PolicyStep[]
function policies.resolve(spec, options, loading)
  if spec == nil then spec = policies.default end
  if options ~= nil then return { step(spec, options, loading) } end
  local steps = {}
  add_steps(steps, spec, loading)
  return steps
end

--- The steps' names, for people.
---@param steps ebb.PolicyStep[]
---@return string
function policies.label(steps)
  local names = {}
  for i, each in ipairs(steps) do
    names[i] = each.policy.name
  end
  return table.concat(names, ", ")
end

--- Prefixes an error message with the policy's name, unless it names the policy already. A policy that is a text has
--- TEXT as its name.
---@param policy ebb.Policy
---@param message string
---@return string
function policies.says(policy, message)
  for _, front in ipairs { policy.name .. ":", "policy " .. policy.name .. ":" } do
    if message:sub(1, #front) == front then return message end
  end
  if policy.name == TEXT then return ("%s: %s"):format(TEXT, message) end
  return ("policy %s: %s"):format(policy.name, message)
end

--- A policy as on the command line: "keep_recent" or
--- "keep_recent:keep=3", the values read by the declared types.
---@param text string
---@param loading? ebb.Loading
---@return table spec          for `resolve` and chat:trim
function policies.parse(text, loading)
  local name, rest = script_file.split_options(text, "policy")
  local policy = policies.find(name, loading)
  local spec = rest and schema.parse(policy.options, rest, "policy " .. policy.name) or {}
  spec[1] = policy
  return spec
end

--- Policies in a row as on the command line: "clear_tool_uses,keep_recent:keep=3;stable_prefix". After
--- options `,` goes on with these, and `;` ends them, at the end of the text, too. A place without a name is refused.
---@param text string          a Lua text is one policy
---@param loading? ebb.Loading
---@return table[] specs
function policies.parse_chain(text, loading)
  if script_file.is_source(text) then return { policies.parse(text, loading) } end
  local specs = {}
  for word in (text:gsub(";%s*$", "") .. ";"):gmatch "(.-);" do
    local names, options = word:match "^([^:]*)(.*)$"
    names = names:gsub(",", ";") .. options       -- commas after a colon belong to options
    for name in (names .. ";"):gmatch "%s*(.-)%s*;" do
      if name == "" then refuse("argument", ("policies in a row: one has no name in '%s'"):format(text), CHAIN) end
      specs[#specs + 1] = policies.parse(name, loading)
    end
  end
  return specs
end

return policies
