--- Trim policy: a newer message with the same key takes the place of older ones.

local function key_of(message, field)
  local metadata = message.metadata
  local key = type(metadata) == "table" and metadata[field]
  local plain = type(key) == "string" or type(key) == "number"
  return plain and key or nil
end

--- Alone it goes; as a part of a unit it shrinks, for the other results are not worthless.
local function retire(draft, message, placeholder)
  if message.unit.count == 1 then return draft:drop(message, "superseded") end
  if message.text ~= placeholder and #message.calls == 0 then
    return draft:replace(message, { content = placeholder }, "superseded")
  end
end

---@type ebb.Policy
return {
  name = "supersede",
  summary = "drop messages that a newer one with the same key replaces",
  options = {
    key = { type = "string", default = "key", help = "field of a message's metadata that holds its key" },
    placeholder = { type = "string", default = "[superseded]", help = "content of a superseded tool result" },
  },
  help = [[
Messages whose metadata holds a key (`{"metadata": {"key": "todo"}}`) are states of
one thing: only the newest of a key stays. A tool result stays beside its call and
loses its content. Messages without a key are left alone. The budget plays no part,
so another policy usually comes after it.

Kept whatever happens: guarded messages (system, pinned, a call without its
results, the last user message).]],
  example = [[ebb trim scripts/policies/agent.json --encoding cjk --budget 700 --policy supersede]],

  ---@param draft ebb.Draft
  ---@param options { key: string, placeholder: string }
  trim = function(draft, _, options)
    local seen = {}
    for message in draft:messages { from = "newest" } do
      local key = key_of(message, options.key)
      if key and seen[key] then
        retire(draft, message, options.placeholder)
      elseif key then
        seen[key] = true
      end
    end
  end,
}
