--- Reads the markup of a window back into its view.
--
-- LPeg reads the next text or tag, and a stack of frames nests them: nothing is read
-- twice, and the depth is checked before a tag is entered. The nesting rules:
--
--     root      Window
--     window    Description Content Actions       each once; only white space between
--     content   text, elements, Window; Failed, alone
--     element   text, elements, Window
--     actions   action                            only white space between
--     text      nothing but text                  (Description, Failed, action)
--
-- The content of a compact Window is directly in it. Names are case-sensitive.
-- Refused: DTDs, processing instructions, comments, CDATA, entities other than the five,
-- and unknown attributes of Window, action and the like.

local core = require "ebb.support.core"
local elements = require "ebb.windows.elements"
local lpeg = require "ebb.support.lpeg"
local markup = require "ebb.windows.markup"
local model_text = require "ebb.windows.model_text"
local schema = require "ebb.support.schema"
local text_place = require "ebb.support.text_place"
local tables = require "ebb.support.tables"

local compiled = lpeg.compiled
local C, Cc, Cmt, Cp, Cs, P, R, S = lpeg.C, lpeg.Cc, lpeg.Cmt, lpeg.Cp, lpeg.Cs, lpeg.P, lpeg.R, lpeg.S

local markup_read = {}

markup_read.BYTES_MAX = 4 * 1024 * 1024   -- far more than is ever written
markup_read.DEPTH_MAX = 64                -- of tags
markup_read.NODES_MAX = elements.NODES_MAX
markup_read.ATTRIBUTES_MAX = 256          -- of one tag
markup_read.ACTIONS_MAX = 1000            -- of one window

---- Tokens ----

local ENTITIES = { amp = "&", lt = "<", gt = ">", quot = '"', apos = "'" }

local function is_character(code)
  return code <= 0x10FFFF and not (code >= 0xD800 and code <= 0xDFFF)
end

--- A reference by number. To nothing it fails, so that the text ends there and the error has
--- its place; the check gives back no value, of which a match can have but some thousands.
local function number_after(prefix, digits, base)
  local written = prefix * C(digits * digits ^ -9) * ";"   -- ten digits: tonumber lets longer ones wrap
  local check = Cmt(written, function(_, _, word) return is_character(tonumber(word, base)) end)
  return #check * (written / function(word) return utf8.char(tonumber(word, base)) end)
end

local number = number_after("&#", R "09", 10) + number_after("&#x", R("09", "af", "AF"), 16)
local entity = P(false)
for name, text in pairs(ENTITIES) do
  entity = entity + P("&" .. name .. ";") / text
end
local reference = number + entity

--- Control characters are in references only; a bare CR is a line's end, as CR LF is.
local line_end = (P "\r\n" + P "\r") / "\n"
local control = R "\0\8" + R "\11\31" + "\127" + "\xC2" * R "\x80\x9F" + "\xEF\xBF" * S "\xBE\xBF"
local plain = (P(1) - S "<&" - control) ^ 1
local space_in_value = (P "\r\n" + S "\t\r\n") / " "

local TEXT = compiled(Cs((plain + line_end + reference) ^ 0) * Cp())

local function value_until(quote)
  local run = (P(1) - S "<&\t\n" - quote - control) ^ 1
  return quote * Cs((run + space_in_value + reference) ^ 0) * quote * Cp()
end

local RUN = compiled(C((R("az", "AZ", "\x80\xFF") + "_") * (R("az", "AZ", "09", "\x80\xFF") + S "_.-") ^ 0) * Cp())
local SPACE = compiled(S " \t\r\n" ^ 0 * Cp())
local VALUE = compiled(value_until '"' + value_until "'")
local TAG_END = compiled(P "/>" * Cc "empty" * Cp() + P ">" * Cc "open" * Cp())
local ONLY_SPACE = compiled(S " \t\n" ^ 0 * -P(1))

---- Errors ----

---@class ebb.MarkupReader
---@field text string
---@field at integer
---@field stack table[]
---@field nodes integer
---@field indented boolean

local function fail(reader, at, expected, code)
  error({ at = at or reader.at, message = expected, code = code or "syntax" }, 0)
end

---- Tags ----

--- The name at a place, and the place after it; nil if there is none that XML allows.
local function match_name(text, at)
  local name, after = RUN:match(text, at)
  if name and markup.is_name(name) then return name, after end
end

local BEYOND = {
  ["!DOCTYPE"] = "a DTD", ["!--"] = "a comment", ["![CDATA["] = "CDATA", ["?"] = "a processing instruction",
}

--- The name of a construct at a '<' that does not begin a tag.
local function fail_tag(reader, at)
  for start, what in pairs(BEYOND) do
    if reader.text:sub(at + 1, at + #start):upper() == start then
      fail(reader, at, ("a tag; %s is not read"):format(what))
    end
  end
  fail(reader, at, "a tag: '<' and a name; in a text '<' is &lt;")
end

local function read_attribute(reader, attributes)
  local text, at = reader.text, reader.at
  local name, after = match_name(text, at)
  if not name then fail(reader, at, "an attribute, '>' or '/>'") end
  if attributes[name] ~= nil then fail(reader, at, ("one attribute '%s', not two"):format(name)) end
  after = SPACE:match(text, after)
  if text:byte(after) ~= 61 then fail(reader, after, ("= and a value after the attribute '%s'"):format(name)) end
  after = SPACE:match(text, after + 1)
  local value, behind = VALUE:match(text, after)
  if not value then
    fail(reader, after,
      ("the value of '%s' in quotes, without '<', control characters and unknown entities"):format(name))
  end
  attributes[name], reader.at = value, behind
end

--- The attributes up to the end of the tag, and whether it ends with "/>".
local function read_attributes(reader)
  local attributes, count = {}, 0
  while true do
    local after = SPACE:match(reader.text, reader.at)
    local kind, behind = TAG_END:match(reader.text, after)
    if kind then
      reader.at = behind
      return attributes, kind == "empty"
    end
    if after == reader.at then fail(reader, after, "white space, '>' or '/>'") end
    reader.at = after
    read_attribute(reader, attributes)
    count = count + 1
    if count > markup_read.ATTRIBUTES_MAX then
      fail(reader, after, ("at most %d attributes"):format(count - 1), "limit")
    end
  end
end

---- Frames: the open tags ----

--- Refuses attributes of our own tags that we do not write.
local function only(reader, at, name, attributes, ...)
  local allowed = { ... }
  for attribute in pairs(attributes) do
    if not tables.contains(allowed, attribute) then
      local list = #allowed > 0 and "only " .. table.concat(allowed, ", ") or "none"
      fail(reader, at, ("no attribute '%s' of <%s>: %s"):format(attribute, name, list))
    end
  end
end

local function need(reader, at, name, attributes, attribute)
  if attributes[attribute] == nil then fail(reader, at, ("<%s> with %s="):format(name, attribute)) end
  return attributes[attribute]
end

local function count_node(reader, at)
  reader.nodes = reader.nodes + 1
  if reader.nodes > markup_read.NODES_MAX then
    fail(reader, at, ("at most %d nodes"):format(markup_read.NODES_MAX), "limit")
  end
end

local open = {}   -- by kind: function(reader, at, parent, name, attributes) -> frame

function open.window(reader, at, _, name, attributes)
  only(reader, at, name, attributes, "id", "compact")
  local view = { id = need(reader, at, name, attributes, "id"), actions = {}, compact = attributes.compact ~= nil }
  if view.compact and attributes.compact ~= "true" then fail(reader, at, 'compact="true" or none') end
  if view.compact then return { kind = "content", view = view, list = {}, window = true } end
  return { kind = "window", view = view, seen = {}, window = true }
end

local function once(reader, at, parent, name)
  if parent.seen[name] then fail(reader, at, ("one <%s>, not two"):format(name)) end
  parent.seen[name] = true
end

function open.description(reader, at, parent, name, attributes)
  only(reader, at, name, attributes)
  once(reader, at, parent, name)
  return { kind = "text", done = function(text) parent.view.description = text ~= "" and text or nil end }
end

function open.content(reader, at, parent, name, attributes)
  only(reader, at, name, attributes)
  once(reader, at, parent, name)
  return { kind = "content", view = parent.view, list = {} }
end

function open.actions(reader, at, parent, name, attributes)
  only(reader, at, name, attributes)
  once(reader, at, parent, name)
  return { kind = "actions", view = parent.view, seen = {} }
end

function open.action(reader, at, parent, name, attributes)
  only(reader, at, name, attributes, "id", "params")
  local id, list = need(reader, at, name, attributes, "id"), parent.view.actions
  if parent.seen[id] then fail(reader, at, ("one action '%s', not two"):format(id)) end
  if #list == markup_read.ACTIONS_MAX then fail(reader, at, ("at most %d actions"):format(#list), "limit") end
  parent.seen[id] = true
  local action = { id = id, params = attributes.params ~= "" and attributes.params or nil }
  list[#list + 1] = action
  return { kind = "text", done = function(text) action.label = text ~= "" and text or nil end }
end

function open.failed(reader, at, parent, name, attributes)
  only(reader, at, name, attributes)
  if #parent.list > 0 then fail(reader, at, "<Failed> alone in the content") end
  return { kind = "text", done = function(text) parent.view.failed, parent.only = text, name end }
end

function open.element(reader, at, parent, name, attributes)
  count_node(reader, at)
  local node = attributes
  node[1] = name
  parent.list[#parent.list + 1] = node
  return { kind = "element", list = node }
end

function open.inner(reader, at, parent, name, attributes)
  count_node(reader, at)
  local frame = open.window(reader, at, parent, name, attributes)
  parent.list[#parent.list + 1] = { view = frame.view }
  return frame
end

--- Kind of a tag, by the kind around it and its name; [1]: all other names.
local WITHIN = {
  root = { Window = "window" },
  window = { Description = "description", Content = "content", Actions = "actions" },
  content = { Window = "inner", Failed = "failed", "element" },
  element = { Window = "inner", "element" },
  actions = { action = "action" },
  text = {},
}

local EXPECTED = {
  root = "<Window>", window = "<Description>, <Content> or <Actions>", actions = "<action>", text = "text only",
}

local function open_tag(reader, at, name)
  local parent = reader.stack[#reader.stack]
  local what = WITHIN[parent.kind][name] or WITHIN[parent.kind][1]
  if not what then fail(reader, at, ("%s here, not <%s>"):format(EXPECTED[parent.kind], model_text.line(name, 64))) end
  if parent.only then fail(reader, at, ("<%s> alone in the content"):format(parent.only)) end
  if #reader.stack > markup_read.DEPTH_MAX then
    fail(reader, at, ("at most %d levels of tags"):format(markup_read.DEPTH_MAX), "limit")
  end
  local attributes, is_empty = read_attributes(reader)
  local frame = open[what](reader, at, parent, name, attributes)
  frame.name, frame.at = name, at
  reader.stack[#reader.stack + 1] = frame
  return is_empty
end

---- Closing tags ----

--- A table that begins with a string is an element, so a list that does begins with an empty list.
local function set_content(frame)
  local view, list = frame.view, frame.list
  if view.failed or #list == 0 then return end
  view.content = list
  if type(list[1]) ~= "string" then return end
  if #list == 1 then view.content = list[1] else table.insert(list, 1, {}) end
end

--- Removes white space with a line's end in it next to tags: the file was indented by hand.
local function without_indents(frame)
  local list, first = frame.list, frame.kind == "element" and 2 or 1
  if #list == first then return end   -- all there is
  local count = first - 1
  for i = first, #list do
    local node = list[i]
    list[i] = nil
    if type(node) ~= "string" or node:find "%S" or not node:find "\n" then
      count = count + 1
      list[count] = node
    end
  end
end

local function close_frame(reader, at)
  local frame = reader.stack[#reader.stack]
  reader.stack[#reader.stack] = nil
  if frame.list and reader.indented then without_indents(frame) end
  if frame.kind == "text" then frame.done(frame.text or "") end
  if frame.kind == "content" then set_content(frame) end
  if frame.kind == "window" and not frame.seen.Content then fail(reader, at, "<Content> before </Window>") end
  if #reader.stack == 1 then reader.view = frame.view end
end

local function close_tag(reader, at)
  local name, after = match_name(reader.text, at + 2)
  if not name then fail(reader, at, "a closing tag: '</' and a name") end
  local frame = reader.stack[#reader.stack]
  if frame.name ~= name then
    local expected = "<Window>"
    if frame.name then expected = ("</%s>, for the tag at %s"):format(frame.name, text_place(reader.text, frame.at)) end
    fail(reader, at, ("%s, not </%s>"):format(expected, model_text.line(name, 64)))
  end
  after = SPACE:match(reader.text, after)
  if reader.text:byte(after) ~= 62 then fail(reader, after, "'>'") end
  reader.at = after + 1
  close_frame(reader, at)
end

---- Reading ----

local function put_text(reader, at, text)
  local frame = reader.stack[#reader.stack]
  if frame.kind == "text" then
    frame.text = text
  elseif frame.list then
    if frame.only then fail(reader, at, ("<%s> alone in the content"):format(frame.only)) end
    count_node(reader, at)
    frame.list[#frame.list + 1] = text
  elseif not ONLY_SPACE:match(text) then
    fail(reader, at, EXPECTED[frame.kind] .. " here, not text")
  end
end

--- Fails at the place where a text ended and no tag follows.
local function fail_text(reader, at)
  if reader.text:byte(at) == 38 then
    fail(reader, at, "&amp; &lt; &gt; &quot; &apos; or &#N; of a character; in a text '&' is &amp;")
  end
  fail(reader, at, ("a character; control characters are written as &#%d;"):format(utf8.codepoint(reader.text, at)))
end

--- One text and the tag after it.
local function step(reader)
  local text, start = reader.text, reader.at
  local run, at = TEXT:match(text, start)
  reader.at = at
  if run ~= "" then put_text(reader, start, run) end
  local name = reader.stack[#reader.stack].name
  if at > #text then fail(reader, at, name and ("</%s>"):format(name) or "<Window>") end
  if text:byte(at) ~= 60 then fail_text(reader, at) end
  if text:byte(at + 1) == 47 then return close_tag(reader, at) end
  local opened, after = match_name(text, at + 1)
  if not opened then fail_tag(reader, at) end
  reader.at = after
  if open_tag(reader, at, opened) then close_frame(reader, at) end
end

local function read_all(reader)
  if #reader.text > markup_read.BYTES_MAX then
    fail(reader, 1, ("at most %d bytes of markup"):format(markup_read.BYTES_MAX), "limit")
  end
  local _, bad = utf8.len(reader.text)
  if bad then fail(reader, bad, "UTF-8", "encoding") end
  while not reader.view do
    step(reader)
  end
  local last = SPACE:match(reader.text, reader.at)
  if last <= #reader.text then fail(reader, last, "nothing after </Window>") end
  return reader.view
end

--- The view of the one window that the text is. All values of attributes are strings. A content
--- is a string or a list of nodes, nil where it is empty; neighbouring texts have become one.
--- A list whose first node is a text has an empty list before it, as that would be an element.
---@param text string
---@param options? { indented?: boolean }   indented: white space with a newline between tags is not content
---@return ebb.WindowView? view
---@return ebb.Error? problem   "line:byte: expected ..."; code: "syntax", "encoding", "limit"
function markup_read.read(text, options)
  schema.check({ type = "string" }, text, "read_window")
  local values = schema.options({ indented = { type = "boolean" } }, options, "read_window")
  local reader = { text = text, at = 1, stack = { { kind = "root" } }, nodes = 0, indented = values.indented == true }
  local ok, result = pcall(read_all, reader)
  if ok then return result end
  if core.is_error(result) or type(result) ~= "table" then error(result, 0) end   -- memory
  return nil, core.error(result.code, ("%s: expected %s"):format(text_place(text, result.at), result.message))
end

return markup_read
