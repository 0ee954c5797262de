--- Reads the calls in a model's text.
--
--     <tool_call>{"name": "todo.add", "arguments": {"text": "tea"}}</tool_call>
--     <action_call>{"calls": [{"window_id": "todo", "action_id": "add", "params": {"text": "tea"}}]}</action_call>
--
-- Both tags take either form, one call or a list. The grammar of JSON finds the end
-- of a tag's content: `</tool_call>`, tags and code fences in an argument are text.
--
--   - A tag is one batch: if one of its calls is malformed, none of it is performed.
--   - Parsing stops at broken JSON, and the model gets an error: the end of the call
--     is unknown, and what follows may be a stranger's text in its arguments.
--   - A model that shows a call does not make one: tags in a fenced block of code
--     (``` or ~~~, to its closing fence or the end of the text) and directly after
--     a backtick are quoted: skipped, but counted for the host.
--   - The closing tag may be missing at the end of the text: hosts have models stop there.

local core = require "ebb.support.core"
local lpeg = require "ebb.support.lpeg"
local parameters = require "ebb.windows.parameters"
local suggest = require "ebb.support.suggest"
local tables = require "ebb.support.tables"

local compiled, Cc, Cp, C, P, S = lpeg.compiled, lpeg.Cc, lpeg.Cp, lpeg.C, lpeg.P, lpeg.S

local calls = {}

calls.COUNT_MAX = 100                  -- in one text
calls.TEXT_MAX = 16 * 1024 * 1024      -- bytes; no message is longer

---- Finding tags ----

local tag = "<" * C(P "tool_call" + "action_call") * ">"
local line_end = #P "\n" + -P(1)
local indent = P " " ^ -3
local fence = indent * (C(P "`" ^ 3) * (1 - S "`\n") ^ 0 * line_end + C(P "~" ^ 3) * (1 - P "\n") ^ 0)
local fence_line = P "\n" * fence

--- Flat, and each byte is looked at a fixed number of times: what kind comes next, where,
--- its word, and the position after it.
local plain = (1 - S "\n<") ^ 1 + (P "\n" - fence_line) + (P "<" - tag)
local NEXT = compiled(plain ^ 0 * Cp() * (Cc "fence" * fence_line + Cc "tag" * tag) * Cp())
local FIRST_LINE = compiled(fence * Cp())

local function closing(mark)
  local line = P "\n" * indent * C(P(mark) ^ 3) * S " \t" ^ 0 * line_end
  return compiled(((1 - P "\n") ^ 1 + (P "\n" - line)) ^ 0 * line * Cp())
end

local CLOSING = { ["`"] = closing "`", ["~"] = closing "~" }

--- The position after the block that the fence opens.
local function skip_fence(text, mark, at)
  local pattern = CLOSING[mark:sub(1, 1)]
  while true do
    local closed, after = pattern:match(text, at)
    if not closed then return #text + 1 end
    if #closed >= #mark then return after end
    at = after
  end
end

local ANY_TAG = compiled(((1 - P "<") ^ 1 + (P "<" - tag)) ^ 0 * tag * Cp())

local function count_tags(text)
  local count, at = 0, 1
  while true do
    local _, after = ANY_TAG:match(text, at)
    if not after then return count end
    count, at = count + 1, after
  end
end

---- Calls of a tag ----

--- Repeated members are refused, for it is unknown which of the two the model means.
local UNIQUE = { unique = true }

local FIELDS = {
  tool = { "name", "arguments", "id" },
  action = { "window_id", "action_id", "params", "id" },
}

local function text_field(value, name)
  local field = value[name]
  if type(field) == "string" and field ~= "" then return field end
  return nil, ("%s: a name is expected, not %s"):format(name, field == nil and "nothing" or parameters.describe(field))
end

--- The object of parameters; some models write it as a string with JSON in it.
local function object_field(value, name)
  local field = value[name]
  if field == nil or field == core.json.null then return nil end
  local decoded = field
  if type(field) == "string" then decoded = core.json.decode(field, UNIQUE) end
  if parameters.is_object(decoded) then return decoded end
  return nil, ("%s: an object is expected, not %s"):format(name, parameters.describe(field))
end

local function unknown_field(value, names)
  for _, name in ipairs(tables.keys(value)) do
    local is_allowed = false
    for _, other in ipairs(names) do
      is_allowed = is_allowed or other == name
    end
    if not is_allowed then
      local hint = suggest.hint(name, names)
      return ("a call has no field '%s'%s"):format(name:sub(1, 64), hint and " (" .. hint .. ")" or "")
    end
  end
end

--- A call from a decoded object; or nil and the problem.
---@param value any
---@return ebb.WindowCall?
---@return string? problem
function calls.read(value)
  if not parameters.is_object(value) then return nil, "an object is expected, not " .. parameters.describe(value) end
  local is_tool = value.name ~= nil
  local problem = unknown_field(value, is_tool and FIELDS.tool or FIELDS.action)
  if problem then return nil, problem end
  local call = { id = type(value.id) == "string" and value.id or nil, is_json = true }
  call.params, problem = object_field(value, is_tool and "arguments" or "params")
  if problem then return nil, problem end
  if is_tool then
    call.name, problem = text_field(value, "name")
    return call.name and call, problem
  end
  call.window, problem = text_field(value, "window_id")
  if problem then return nil, problem end
  call.action, problem = text_field(value, "action_id")
  return call.action and call, problem
end

--- The calls of a tag's decoded JSON; or nil and the problem of one of them.
local function read_batch(value)
  local list = value
  if parameters.is_object(value) then
    if value.calls == nil then list = { value }
    else
      local problem = unknown_field(value, { "calls" })
      if problem then return nil, problem end
      list = value.calls
    end
  end
  if type(list) ~= "table" or #list == 0 then
    local what = parameters.describe(list)
    return nil, "calls: a list of calls is expected, not " .. (what == "a list" and "an empty one" or what)
  end
  local batch = {}
  for i, item in ipairs(list) do
    local call, problem = calls.read(item)
    if not call then return nil, #list > 1 and ("call %d: %s"):format(i, problem) or problem end
    batch[i] = call
  end
  return batch
end

---- Texts ----

---@class ebb.CallReader
---@field text string
---@field list ebb.WindowCall[]
---@field quoted integer

local function complain(reader, position, code, problem)
  reader.list[#reader.list + 1] = { position = position, code = code, problem = problem }
end

local function stop_at_count(reader, position)
  complain(reader, position, "limit",
    ("more than %d calls in one text; the others were not read"):format(calls.COUNT_MAX))
end

--- Reads the tag whose inside begins at `from`; the position after it, or nil: no more is read.
local function read_tag(reader, position, name, from)
  local text, list = reader.text, reader.list
  local value, after = core.json.decode_at(text, from, UNIQUE)
  if value == nil then
    local problem = ("<%s>: no JSON at %s; nothing after it was read"):format(name, after.message)
    complain(reader, position, after.code, problem)
    return nil
  end
  local behind = text:match("^%s*()", after)
  local close = "</" .. name .. ">"
  if text:sub(behind, behind + #close - 1) == close then
    behind = behind + #close
  elseif behind <= #text then
    complain(reader, position, "syntax",
      ("<%s>: expected %s after the JSON, at byte %d; nothing after it was read"):format(name, close, behind))
    return nil
  end
  local batch, problem = read_batch(value)
  if not batch then
    complain(reader, position, "shape", ("<%s>: %s"):format(name, problem))
    return behind
  end
  if #list + #batch > calls.COUNT_MAX then return stop_at_count(reader, position) end
  for _, call in ipairs(batch) do
    call.position = position
    list[#list + 1] = call
  end
  return behind
end

--- Skips the code block whose fence begins at `first`; tags in the fence's own line are quoted, too.
local function skip_block(reader, mark, first, at)
  local after = skip_fence(reader.text, mark, at)
  reader.quoted = reader.quoted + count_tags(reader.text:sub(first, after - 1))
  return after
end

--- The position from which reading goes on, or nil.
local function step(reader, at)
  local position, kind, word, after = NEXT:match(reader.text, at)
  if not position then return nil end
  if kind == "fence" then return skip_block(reader, word, position, after) end
  if reader.text:byte(position - 1) == 96 then   -- a backtick: `<tool_call>` is spoken of
    reader.quoted = reader.quoted + 1
    return after
  end
  if #reader.list >= calls.COUNT_MAX then return stop_at_count(reader, position) end
  return read_tag(reader, position, word, after)
end

--- The calls of a text in order, broken ones among them. Linear in the text.
---@param text string
---@return ebb.WindowCall[] list
---@return integer quoted       tags that were not read because they are quoted
function calls.parse(text)
  local reader = { text = text, list = {}, quoted = 0 }
  if #text > calls.TEXT_MAX then
    complain(reader, 1, "limit", ("the text has more than %d bytes; it was not read"):format(calls.TEXT_MAX))
    return reader.list, 0
  end
  local mark, at = FIRST_LINE:match(text)
  at = mark and skip_block(reader, mark, 1, at) or 1
  while at do
    at = step(reader, at)
  end
  return reader.list, reader.quoted
end

return calls
