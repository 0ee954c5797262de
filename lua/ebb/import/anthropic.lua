--- Messages of Anthropic's form out of records: blocks stay the bytes that they were.

local core = require "ebb.support.core"
local fields = require "ebb.import.fields"

local anthropic = {}

---@class ebb.import.Block
---@field value table|string    decoded
---@field raw string

--- The blocks of a content; a string is one block of text.
---@param content string        JSON: a string or a list
---@return ebb.import.Block[]?  nil: neither
function anthropic.blocks(content)
  local first = content:match "^%s*(.)"
  if first == "[" then return fields.elements(content) end
  if first ~= '"' then return nil end
  local text = core.json.decode(content)
  if text == "" then return {} end
  return { { value = { type = "text", text = text }, raw = ('{"type":"text","text":%s}'):format(content) } }
end

local STREAMED = { text = "text", thinking = "thinking" }     -- type -> the member that grows while it streams
local IDS = { tool_use = "id", server_tool_use = "id", tool_result = "tool_use_id" }

---@class ebb.import.KeyedBlock: ebb.import.Block
---@field place integer
---@field key string       equal keys: one block, in two versions

--- The blocks that are not there before with the same bytes or id; of one id the last version stays, in the first
--- place. Those that stream are set apart.
local function first_of_each(blocks)
  local kept, streamed, by_key, places = {}, {}, {}, 0
  for _, block in ipairs(blocks) do
    local kind = fields.text(block.value, "type") or ""
    local id = fields.text(block.value, IDS[kind] or "")
    local text = fields.text(block.value, STREAMED[kind] or "")
    local key = id and kind .. "\0" .. id or "\0" .. block.raw
    places = places + 1
    if text then
      streamed[#streamed + 1] = { value = block.value, raw = block.raw, place = places, key = kind .. "\0" .. text }
    elseif by_key[key] then
      by_key[key].value, by_key[key].raw = block.value, block.raw
    else
      by_key[key] = { value = block.value, raw = block.raw, place = places, key = key }
      kept[#kept + 1] = by_key[key]
    end
  end
  return kept, streamed
end

--- Keeps the longest of texts that begin with one another, at the place of the first. In sorted order a text comes
--- directly before one that begins with it, if there is any.
local function longest_of_each(streamed, kept)
  table.sort(streamed, function(a, b)
    if a.key ~= b.key then return a.key < b.key end
    return #a.raw < #b.raw or #a.raw == #b.raw and a.place < b.place
  end)
  for i, block in ipairs(streamed) do
    local next_block = streamed[i + 1]
    if next_block and next_block.key:sub(1, #block.key) == block.key then
      next_block.place = math.min(next_block.place, block.place)
    else
      kept[#kept + 1] = block
    end
  end
end

--- The blocks of one reply, of which a stream may have left several versions: each once, the most complete one.
---@param blocks ebb.import.Block[]    of all its records, in order
---@return ebb.import.Block[]
function anthropic.merged(blocks)
  local kept, streamed = first_of_each(blocks)
  longest_of_each(streamed, kept)
  table.sort(kept, function(a, b) return a.place < b.place end)
  return kept
end

--- A content of blocks.
---@param blocks ebb.import.Block[]
---@return string json
function anthropic.content(blocks)
  local raws = {}
  for i, block in ipairs(blocks) do raws[i] = block.raw end
  return ("[%s]"):format(table.concat(raws, ","))
end

--- The blocks with results of tools first, as a message that answers calls must have them.
---@param blocks ebb.import.Block[]
---@return ebb.import.Block[]
function anthropic.results_first(blocks)
  local list = {}
  for _, wanted in ipairs { true, false } do
    for _, block in ipairs(blocks) do
      if (fields.text(block.value, "type") == "tool_result") == wanted then list[#list + 1] = block end
    end
  end
  return list
end

return anthropic
