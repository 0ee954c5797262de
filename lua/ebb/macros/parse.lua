--- Text with macros as a tree: {{name}}, {{name::a::b}}, nested, \{{ literal.
--
-- The grammar is flat: LPeg only finds the next token, and a stack in Lua nests
-- them. A recursive grammar would read an opening that is never closed, fail, and
-- read all after it again, at each level: twice the work per `{{`. Here each
-- byte is looked at once, and what is open at the end turns out to be text.
--
--     a {{b::{{c}}::d}} e      items: "a ", node b, " e"
--           /      \
--        { node c } { "d" }    arguments: a list of items each
--
-- An item is a text, an escape {text, raw}, or a node. Texts keep their white
-- space: an unknown macro is written back unchanged.

local lpeg = require "ebb.support.lpeg"
local texts = require "ebb.macros.text"

local compiled, Cc, Cp, P, S = lpeg.compiled, lpeg.Cc, lpeg.Cp, lpeg.P, lpeg.S

local parse = {}

--- Macros within macros. Templates written by hand stay below ten; the evaluator
--- recurses once per level, so this also bounds its stack.
parse.DEPTH_MAX = 64

--- Most arguments of one macro: they become arguments of a Lua function, whose stack is bounded. Real lists of choices
--- are shorter.
parse.ARGUMENTS_MAX = 1000

--- The name at the beginning of the content of braces, after blanks.
parse.NAME = "^%s*([%w_\x80-\xFF][%w_.\x80-\xFF-]*)"

local NAME_BYTES_MAX = 64    -- longer words are text that happens to be in braces
local LABEL_BYTES_MAX = 40   -- of a label in reports, for a node without a name

---@class ebb.MacroEscape
---@field text string    the text that it produces
---@field raw string     how it was written

---@class ebb.MacroNode
---@field first integer  position of its "{{"
---@field last integer   position of the end of its "}}"
---@field name? string   nil: the braces have no valid name
---@field inline? table  items after a blank or one colon: {{roll 1d6}}, {{roll:1d6}}
---@field head table     items before the first "::"
---@field too_many? boolean  the last argument holds the rest of too many
---@field [integer] table  items of each argument

local open = P "{{" * -P "{"     -- of three braces the first is text: {{{user}}} is a name in braces
local escape_open = P "\\{{"
local escape = escape_open + "\\}}" + "\\::"

--- The next of `tokens` from a position on: its beginning, the token, its end.
local function finder(specials, tokens, start)
  local text = (P(1) - S(specials)) ^ 1 + (P(1) - start)
  return compiled(text ^ 0 * Cp() * (tokens + Cc "end") * Cp())
end

local OUTSIDE = finder("{\\", open * Cc "open" + escape_open * Cc "escape", open + escape_open)
local INSIDE = finder("{}:\\",
  open * Cc "open" + P "}}" * Cc "close" + P "::" * Cc "separator" + escape * Cc "escape",
  open + "}}" + "::" + escape)

local ESCAPES = {}
for _, text in ipairs { "{{", "}}", "::" } do
  ESCAPES["\\" .. text] = { text = text, raw = "\\" .. text }
end

--- The items after the name: the rest of the text it is in, and all others.
local function inline_items(head, rest)
  local items = { rest ~= "" and rest or nil }
  table.move(head, 2, #head, #items + 1, items)
  return items
end

--- The name of a macro: the content of the braces before the first "::".
local function name_node(node)
  local head = node.head
  local text = head[1]
  if type(text) ~= "string" then return end
  if text:find "^%s*//" then
    node.name, node.head = "//", {}
    for i = #node, 1, -1 do
      node[i] = nil   -- a comment's macros are comment, too
    end
    return
  end
  local offset = text:lower():match "^%s*time_utc%s*([+-]%d+)%s*$"
  if offset and #node.head == 1 and #node == 0 then
    node.name, node.inline = "time_UTC", { offset }
    return
  end
  local name, gap, rest = text:match(parse.NAME .. "(%s*:?)(.*)$")
  if not name or #name > NAME_BYTES_MAX then return end
  if rest == "" and #head == 1 and not gap:find ":" then
    node.name = name
  elseif gap ~= "" then
    node.name, node.inline = name, inline_items(head, rest)
  end
end

---@class ebb.MacroReader
---@field text string
---@field depth integer       open frames
---@field excess integer      openings beyond the deepest allowed one, not yet closed
---@field items table         where the next item goes
---@field from integer        where the text begins that is not yet an item
---@field problems table[]

local function flush(reader, before)
  if before > reader.from then
    reader.items[#reader.items + 1] = reader.text:sub(reader.from, before - 1)
  end
end

local function close(reader, after)
  local node = reader[reader.depth]
  reader[reader.depth] = nil
  reader.depth = reader.depth - 1
  node.last = after - 1
  local parent = reader[reader.depth]
  reader.items = parent and (parent[#parent] or parent.head) or reader.tree
  if node.too_deep then
    reader.items[#reader.items + 1] = reader.text:sub(node.first, node.last)
    reader.problems[#reader.problems + 1] = { code = "too_deep", position = node.first, limit = parse.DEPTH_MAX }
    return
  end
  name_node(node)
  reader.items[#reader.items + 1] = node
end

--- The action of each token: function(reader, its beginning, its end).
local TOKEN = {
  open = function(reader, first)
    local node = { first = first, head = {} }
    reader.depth = reader.depth + 1
    reader[reader.depth] = node
    reader.items = node.head
  end,
  separator = function(reader)
    local node = reader[reader.depth]
    if #node == parse.ARGUMENTS_MAX then
      node.too_many = true
      reader.items[#reader.items + 1] = "::"
    else
      node[#node + 1] = {}
      reader.items = node[#node]
    end
  end,
  escape = function(reader, first, after)
    reader.items[#reader.items + 1] = ESCAPES[reader.text:sub(first, after - 1)]
  end,
  close = function(reader, _, after) close(reader, after) end,
}

--- Beyond the deepest level, openings and closings are only counted: the outermost
--- macro around them stays text.
local function skip_excess(reader, kind)
  if kind == "open" and (reader.excess > 0 or reader.depth == parse.DEPTH_MAX) then
    reader[1].too_deep = true
    reader.excess = reader.excess + 1
    return true
  end
  if reader.excess == 0 then return false end
  if kind == "close" then reader.excess = reader.excess - 1 end
  return true
end

--- Openings without an end are text, and what comes after them belongs to the
--- level below. One walk from the outermost to the innermost moves each item once.
local function spread_unclosed(reader)
  local tree = reader.tree
  for level = 1, reader.depth do
    local node = reader[level]
    tree[#tree + 1] = "{{"
    table.move(node.head, 1, #node.head, #tree + 1, tree)
    for _, items in ipairs(node) do
      tree[#tree + 1] = "::"
      table.move(items, 1, #items, #tree + 1, tree)
    end
    reader.problems[#reader.problems + 1] = { code = "unclosed", position = node.first }
  end
end

local TOKENS_PAID = 64   -- at once, where a macro begins; twice as many elsewhere

--- The items of a text, and its problems.
---@param text string
---@param pay? fun(tokens: integer, first: integer)   called as tokens are read, with the place of the last
---@return (string|ebb.MacroEscape|ebb.MacroNode)[] items
---@return { code: string, position: integer, limit: integer? }[] problems
function parse.tree(text, pay)
  local tree, unpaid = {}, 0
  local reader = { text = text, tree = tree, items = tree, depth = 0, excess = 0, from = 1, problems = {} }
  local position = 1
  while true do
    local first, kind, after = lpeg.match(reader.depth == 0 and OUTSIDE or INSIDE, text, position)
    if kind == "end" then break end
    position, unpaid = after, unpaid + 1
    if pay and unpaid >= TOKENS_PAID and (kind == "open" or unpaid == 2 * TOKENS_PAID) then
      pay(unpaid, first)
      unpaid = 0
    end
    if not skip_excess(reader, kind) then
      flush(reader, first)
      reader.from = after
      TOKEN[kind](reader, first, after)
    end
  end
  flush(reader, #text + 1)
  spread_unclosed(reader)
  return tree, reader.problems
end

--- The name of a node in reports.
---@param node ebb.MacroNode
---@param text string       that it was read from
---@return string
function parse.label(node, text)
  return node.name or texts.short(text:sub(node.first + 2, node.last - 2), LABEL_BYTES_MAX)
end

return parse
