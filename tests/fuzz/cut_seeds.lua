--- Makes seeds for the fuzzers of real conversations, small enough to be bred on:
--
--     LUA_PATH=.. LUA_CPATH=.. lua5.4 tests/fuzz/cut_seeds.lua FOLDER FILE...
--
-- Writes each file's first messages that fit into SIZE bytes, as array, JSONL and
-- body by turns.

local ebb = require "ebb"

local SIZE = 2500

local function first_messages(chat)
  local lines, size = {}, 0
  for _, message in ipairs(chat) do
    size = size + #message.json
    if size > SIZE then break end
    lines[#lines + 1] = message.json
  end
  return lines
end

local shapes = {
  function(lines) return "[" .. table.concat(lines, ",\n") .. "]" end,
  function(lines) return table.concat(lines, "\n") .. "\n" end,
  function(lines) return '{"model":"m","messages":[' .. table.concat(lines, ", ") .. ']}' end,
}

local folder = arg[1]
for i = 2, #arg do
  local chat = ebb.load(arg[i], { lenient = true })
  if chat then
    local out = assert(io.open(("%s/%d"):format(folder, i), "wb"))
    out:write(shapes[i % #shapes + 1](first_messages(chat)))
    out:close()
  end
end
