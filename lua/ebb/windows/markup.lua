--- Windows as the model reads them: a view in, one line of markup out.
--
--     <Window id="x"><Description>..</Description><Content>..</Content>
--     <Actions><action id="add" params="text:string">label</action></Actions></Window>
--     <Window id="x" compact="true">..</Window>
--
-- No white space is written between tags: everything there is content. For any text
-- the markup is well-formed, and reading it gives the same text:
--
--   - `&`, `<`, `>` are escaped everywhere (`]]>` and `</Window>` are plain text),
--     in attributes `"` too.
--   - Control characters are references, `&#27;`: U+0000 to U+0008, U+000B to U+001F,
--     U+007F to U+009F, U+FFFE and U+FFFF. XML 1.1 has them so, but for the first and the
--     last two, which only our reader takes; XML 1.0 has no way to write them.
--     Tab and newline are kept in text, and written as references in attributes.
--   - Each byte of invalid UTF-8 becomes U+FFFD.

local core = require "ebb.support.core"

local markup = {}

--- A string, number or boolean; {"name", attribute = value, child, ...}; or {view = ebb.WindowView}.

---- Text ----

--- The text with U+FFFD in place of each byte of invalid UTF-8.
---@param text string
---@return string
function markup.valid(text)
  if utf8.len(text) then return text end
  local pieces, from = {}, 1
  while from <= #text do
    local _, bad = utf8.len(text, from)
    pieces[#pieces + 1] = text:sub(from, bad and bad - 1 or #text)
    if not bad then break end
    pieces[#pieces + 1] = "\u{FFFD}"
    from = bad + 1
  end
  return table.concat(pieces)
end

local escape = core.window.escape

local function escape_attribute(text)
  return escape(text, true)
end

---- Elements ----

local ASCII_NAME = "^[A-Za-z_][A-Za-z0-9_.-]*$"

--- First and last of the characters that XML 1.0 lets a name begin with, and of those that may follow; but for the
--- colon, which is for namespaces, of which a window has none.
local NAME_START = {
  { 0x41, 0x5A }, { 0x5F, 0x5F }, { 0x61, 0x7A }, { 0xC0, 0xD6 }, { 0xD8, 0xF6 }, { 0xF8, 0x2FF }, { 0x370, 0x37D },
  { 0x37F, 0x1FFF }, { 0x200C, 0x200D }, { 0x2070, 0x218F }, { 0x2C00, 0x2FEF }, { 0x3001, 0xD7FF },
  { 0xF900, 0xFDCF }, { 0xFDF0, 0xFFFD }, { 0x10000, 0xEFFFF },
}
local NAME_MORE = { { 0x2D, 0x2E }, { 0x30, 0x39 }, { 0xB7, 0xB7 }, { 0x300, 0x36F }, { 0x203F, 0x2040 } }

local function is_within(code, ranges)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then return true end
  end
  return false
end

--- True if an element or attribute may have this name, as XML 1.0 allows it, in any script.
---@param name any
---@return boolean
function markup.is_name(name)
  if type(name) ~= "string" then return false end
  if name:find(ASCII_NAME) then return true end
  if name == "" or not utf8.len(name) then return false end
  for at, code in utf8.codes(name) do
    if not is_within(code, NAME_START) and (at == 1 or not is_within(code, NAME_MORE)) then return false end
  end
  return true
end

local function put(out, text)
  out[#out + 1] = text
end

local function by_name(a, b)
  if (a == "id") ~= (b == "id") then return a == "id" end
  return a < b
end

--- The text of a string, number or boolean.
local function text_of(value)
  return type(value) == "string" and value or core.tostring(value)
end

local function attribute(name, value)
  return " " .. name .. '="' .. escape(text_of(value), true) .. '"'
end

--- The opening tag; of its attributes `id` first, the others by name.
local function opening(element)
  local names, only
  for name in next, element do
    if type(name) == "string" then
      if only then
        names = names or { only }
        names[#names + 1] = name
      end
      only = only or name
    end
  end
  if not only then return "<" .. element[1] .. ">" end
  if not names then return "<" .. element[1] .. attribute(only, element[only]) .. ">" end
  table.sort(names, by_name)
  for i, name in ipairs(names) do
    names[i] = attribute(name, element[name])
  end
  return "<" .. element[1] .. table.concat(names) .. ">"
end

local put_node

local function put_element(out, element)
  local count, child = #element, element[2]
  if count == 2 and type(child) ~= "table" then      -- as most are: one piece
    return put(out, opening(element) .. escape(text_of(child)) .. "</" .. element[1] .. ">")
  end
  put(out, opening(element))
  for i = 2, count do
    put_node(out, element[i])
  end
  put(out, "</" .. element[1] .. ">")
end

local put_window

function put_node(out, node)
  if type(node) ~= "table" then return put(out, escape(text_of(node))) end
  if node.view then return put_window(out, node.view) end
  if type(node[1]) == "string" then return put_element(out, node) end
  for i = 1, #node do
    put_node(out, node[i])
  end
end

---- Windows ----

local function put_content(out, view)
  if view.failed then return put(out, "<Failed>" .. escape(view.failed) .. "</Failed>") end
  if view.content ~= nil then put_node(out, view.content) end
end

local function put_action(out, action)
  local tag = '<action id="' .. escape_attribute(action.id) .. '"'
  if action.params and action.params ~= "" then tag = tag .. ' params="' .. escape_attribute(action.params) .. '"' end
  put(out, tag .. ">" .. escape(action.label or "") .. "</action>")
end

---@class ebb.WindowShell     The markup around the content; the same for one version of a window
---@field head string
---@field tail string
---@field actions ebb.WindowAction[]

--- The markup of a view but for its content.
---@param view ebb.WindowView
---@return ebb.WindowShell
function markup.shell(view)
  local head, out = '<Window id="' .. escape_attribute(view.id) .. '"', {}
  if view.compact then return { head = head .. ' compact="true">', tail = "</Window>", actions = view.actions } end
  head = head .. ">"
  if view.description and view.description ~= "" then
    head = head .. "<Description>" .. escape(view.description) .. "</Description>"
  end
  put(out, "</Content>")
  if #view.actions > 0 then put(out, "<Actions>") end
  for _, action in ipairs(view.actions) do
    put_action(out, action)
  end
  if #view.actions > 0 then put(out, "</Actions>") end
  put(out, "</Window>")
  return { head = head .. "<Content>", tail = table.concat(out), actions = view.actions }
end

function put_window(out, view, shell)
  shell = shell or markup.shell(view)
  put(out, shell.head)
  put_content(out, view)
  put(out, shell.tail)
end

--- The view as markup. Names in it are valid, as ebb.windows.elements checks them.
---@param view ebb.WindowView
---@param shell? ebb.WindowShell      of the view, if it is at hand
---@return string
function markup.write(view, shell)
  local out = {}
  put_window(out, view, shell)
  return table.concat(out)
end

return markup
