--- Trim policy: messages that name a ticket stay; old tool results shrink to one
--- line; images go before words; then the oldest units go.
--
-- Each step is taken only while the request is still over the budget.
--
-- Run:   ebb trim scripts/policies/tickets.in.json --encoding cjk --budget 168 \
--          --policy scripts/policies/tickets.lua:turns=2
-- gives scripts/policies/tickets.out.json

--- One line instead of a tool result.
local function shrink(draft, message)
  local first = message.text:match "^[^\n]*"
  if first == message.text then return end
  local lines = select(2, message.text:gsub("\n", "\n"))
  draft:replace(message, { content = ("%s [%d more lines]"):format(first, lines) }, "old tool result")
end

--- The message without its images; what was only an image says so.
local function strip_images(draft, message)
  local content = message:without("image").content
  if #content == 0 then content = "[image]" end
  draft:replace(message, { content = content }, "image")
end

---@type ebb.Policy
return {
  name = "tickets",
  summary = "keep what names a ticket, shrink old results, drop images, then the oldest",
  options = {
    ticket = { type = "string", default = "%u%u+%-%d+", help = "Lua pattern of a ticket's name" },
    turns = { type = "integer", default = 10, min = 0, help = "results of the newest turns stay whole" },
  },

  ---@param draft ebb.Draft
  ---@param budget integer
  ---@param options { ticket: string, turns: integer }
  trim = function(draft, budget, options)
    for message in draft:messages { matches = options.ticket } do
      draft:keep(message, "names a ticket")
    end
    for message in draft:messages { role = "tool", droppable = true } do
      if draft:tokens() <= budget or message.age.turns < options.turns then break end
      shrink(draft, message)
    end
    for message in draft:messages { has = "image", droppable = true } do
      if draft:tokens() <= budget then return end
      strip_images(draft, message)
    end
    draft:drop_oldest { to = budget, reason = "oldest" }
  end,
}
