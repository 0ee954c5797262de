--- Trim policy: of long old tool results, head and tail stay.
--
-- The lengths are fixed. Were they taken from what the budget leaves, each request would cut the same result
-- elsewhere, and no provider's cache could serve its beginning.

local core = require "ebb.support.core"
local json_tree = require "ebb.support.json_tree"
local results = require "ebb.conversation.results"

local SLACK = 200        -- bytes beyond head and tail that a text must have: less is not worth a note
local ITEMS = 8          -- items of a long JSON list that stay: all but two of them from its beginning
local NOTE = "[%d characters left out]"

--- The last byte of whole characters up to `at`.
local function character_end(text, at)
  local first = utf8.offset(text, 0, at + 1)
  return first and first - 1 or at
end

--- Head and tail of a text, cut at a line break where one is near.
local function shortened(text, head, tail, separator)
  if #text <= head + tail + SLACK then return nil end
  local head_end, tail_start = character_end(text, head), character_end(text, #text - tail) + 1
  local line_end = text:sub(1, head_end):match ".*()\n"
  local line_start = text:match("^[^\n]*\n()", tail_start)
  if line_end and line_end > head_end // 2 then head_end = line_end - 1 end
  if line_start and line_start < tail_start + tail // 2 then tail_start = line_start end
  local gap = utf8.len(text, head_end + 1, tail_start - 1, true) or tail_start - 1 - head_end
  return table.concat({ text:sub(1, head_end), NOTE:format(gap), text:sub(tail_start) }, separator)
end

local shrink_node

--- Keeps the first items of a long list, a note with the number left out, and the last two.
local function shrink_list(list, options)
  local items = { kind = "array" }
  for i, item in ipairs(list) do
    if #list <= ITEMS + 2 or i <= ITEMS - 2 or i > #list - 2 then
      items[#items + 1] = shrink_node(item, options)
    elseif i == ITEMS - 1 then
      items[#items + 1] = ('"[%d items left out]"'):format(#list - ITEMS)
    end
  end
  return items
end

--- A value with its long lists and strings made short.
function shrink_node(node, options)
  if type(node) == "string" then
    if node:byte() ~= 34 or #node <= options.head + options.tail + SLACK then return node end
    local text = core.json.decode(node)
    local short = shortened(text, options.head // 2, options.tail // 2, " ")
    return short and core.json.encode(short) or node
  elseif node.kind == "array" then
    return shrink_list(node, options)
  end
  local object = { kind = "object", values = {} }
  for i, key in ipairs(node) do
    object[i], object.values[i] = key, shrink_node(node.values[i], options)
  end
  return object
end

---@type ebb.Policy
return {
  name = "shrink_results",
  summary = "keep head and tail of long old tool results",
  options = {
    keep = results.options.keep,
    step = results.options.step,
    users = results.options.users,
    head = { type = "integer", default = 600, min = 0, help = "bytes that stay of the beginning" },
    tail = { type = "integer", default = 300, min = 0, help = "bytes that stay of the end" },
  },
  help = [[
A result longer than head and tail together loses what is between them, and a note
says how much. JSON stays JSON: its long strings are cut, and its long lists keep their
first six and last two items. Errors stay whole, and so do the newest `keep` results;
the others become old `step` at a time. Lengths are fixed, so that requests keep
their beginning. The budget plays no part, so another policy usually comes after it.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 700 \
    --policy shrink_results:keep=1,step=1,head=100,tail=50]],

  ---@param draft ebb.Draft
  ---@param options { keep: integer, step: integer, users: boolean, head: integer, tail: integer }
  trim = function(draft, _, options)
    local choice = { keep = options.keep, step = options.step, users = options.users, reason = "long tool result" }
    local shrunk = results.remembering(("shrink_results %d %d"):format(options.head, options.tail), function(text)
      local tree = json_tree.read(text)
      if tree then return json_tree.text(shrink_node(tree, options)) end
      return shortened(text, options.head, options.tail, "\n")
    end)
    results.rewrite(draft, choice, function(text, result)
      if #text <= options.head + options.tail + SLACK then return nil end
      if result.error or results.is_error(text) then return nil end
      return shrunk(text)
    end)
  end,
}
