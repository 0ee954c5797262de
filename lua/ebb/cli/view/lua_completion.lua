--- Completion of Lua at the prompt: the names that may come where a line breaks off.
--
--     chat[1].ro|        ->  role
--     chat:mark|         ->  mark, marked
--
-- The chain before the last dot or colon is looked up, never called. No metamethods
-- run but those of Ebb's own values.

local core = require "ebb.support.core"
local tables = require "ebb.support.tables"

local lua_completion = {}

--- The fields that lua/ebb/meta declares; methods are in core.methods.
lua_completion.fields = {
  Message = {
    "index", "seq", "role", "spelling", "window", "obsolete", "content", "text", "parts", "calls", "call", "answers",
    "tokens", "reasoning_tokens", "age", "marks", "unit", "id", "name", "timestamp", "metadata", "reasoning",
    "json",
  },
  Unit = { "messages", "first", "count", "tokens", "role", "open", "pending", "guarded", "age" },
  Turn = { "messages", "first", "count", "tokens", "age" },
  Draft = { "memory" }, Conversation = { "limit", "shape", "saved", "windows" }, Windows = { "seq" },
}

local KEYWORDS = {
  "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not",
  "or", "repeat", "return", "then", "true", "until", "while",
}

---- The line ----

--- Reads `name[1].name:` from the start; nil if `words` is anything else.
---@return any[]? steps         keys from the globals down
---@return string? separator    "." or ":" before the last, unfinished name
---@return string? partial
local function parse(words)
  local name, at = words:match "^([%a_][%w_]*)()"
  if not name then return nil end
  local steps, separator = { name }, nil
  while at <= #words do
    local index, after_index = words:match("^%[(%d+)%]()", at)
    local mark, next_name, after_name = words:match("^([.:])([%a_]?[%w_]*)()", at)
    if index then
      steps[#steps + 1], separator, at = math.tointeger(tonumber(index)), nil, after_index
    elseif mark and (next_name ~= "" or after_name > #words) then
      steps[#steps + 1], separator, at = next_name, mark, after_name
    else
      return nil
    end
  end
  if type(steps[#steps]) ~= "string" then return nil end
  return steps, separator, table.remove(steps)
end

--- True if a name at `at` belongs to a value before it that cannot be looked up.
local function continues(words, at)
  local before = words:sub(1, at - 1)
  return before:find "[.:]$" ~= nil and not before:find "%.%.$"
end

--- The longest end of the line that is such a chain.
local function chain_of(line)
  local tail = line:match "[%w_.:%[%]]*$"
  for at in tail:gmatch "()%f[%w_][%a_]" do
    local steps, separator, partial = parse(tail:sub(at))
    if steps and not continues(tail, at) then return steps, separator, partial end
  end
  if tail == "" then return {}, nil, "" end
end

---- The names ----

local function inherited(value)
  local metatable = debug.getmetatable(value)
  local index = type(metatable) == "table" and rawget(metatable, "__index")
  return type(index) == "table" and index or nil
end

local function index_of_own(value, key) return value[key] end

local function lookup(value, key)
  if type(value) == "userdata" and core.type(value) then
    local ok, member = pcall(index_of_own, value, key)
    return ok and member or nil
  end
  local member = type(value) == "table" and rawget(value, key) or nil
  local above = member == nil and inherited(value)
  return above and rawget(above, key) or member
end

local function add_keys(names, value, type_name)
  for key, item in next, value do
    if type(key) == "string" and key:find "^[%a_][%w_]*$" and (not type_name or type(item) == type_name) then
      names[key] = true
    end
  end
end

local function add_list(names, list)
  for _, name in ipairs(list) do
    names[name] = true
  end
end

--- The names that a value has: those of functions after a colon.
local function names_of(value, separator)
  local names, kind = {}, type(value) == "userdata" and core.type(value)
  if kind then
    if separator == ":" then add_keys(names, core.methods[kind])
    else add_list(names, lua_completion.fields[kind] or {}) end
    return names
  end
  local type_name = separator == ":" and "function" or nil
  if type(value) == "table" then add_keys(names, value, type_name) end
  local above = inherited(value)
  if above then add_keys(names, above, type_name) end
  return names
end

--- The methods and fields of a value, sorted.
---@param value any
---@return string[]
function lua_completion.names(value)
  local names = names_of(value, ".")
  for name in pairs(names_of(value, ":")) do
    names[name] = true
  end
  return tables.keys(names)
end

--- The beginning that all names share.
local function common_start(names)
  local first, last, size = names[1], names[#names], 0   -- sorted: these two differ most
  while size < #first and first:byte(size + 1) == last:byte(size + 1) do
    size = size + 1
  end
  return first:sub(1, size)
end

--- Completes a line: the names that fit, sorted, and the text with which all of them continue.
---@param line string         up to the cursor
---@return string more        to insert; "" when it is open which name is meant
---@return string[] names
function lua_completion.complete(line)
  local steps, separator, partial = chain_of(line)
  if not steps then return "", {} end
  local value = _G
  for _, key in ipairs(steps) do
    value = lookup(value, key)
  end
  local names = names_of(value, separator)
  if not steps[1] then add_list(names, KEYWORDS) end
  local matches = {}
  for _, name in ipairs(tables.keys(names)) do
    if name:sub(1, #partial) == partial then matches[#matches + 1] = name end
  end
  if #matches == 0 then return "", {} end
  return common_start(matches):sub(#partial + 1), matches
end

return lua_completion
