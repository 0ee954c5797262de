--- Filter: tool results that say nothing go, with their calls; long ones are cut.
--
-- A result says nothing if its text is empty or one of the usual words for
-- "done". Units stay whole, so the call goes along, and so do the results of
-- calls made with it: only units of one call are looked at for that reason.
--
-- Run:   ebb filter scripts/filters/drop_tool_noise.lua --input scripts/filters/drop_tool_noise.in.json
-- gives scripts/filters/drop_tool_noise.out.json

local NOISE = { [""] = true, ok = true, done = true, null = true, success = true, ["{}"] = true, ["[]"] = true }

---@type ebb.FilterFile
return {
  name = "drop_tool_noise",
  summary = "drop tool results that say nothing, cut long ones",
  options = {
    longest = { type = "integer", default = 400, min = 1, help = "bytes of a result that stay" },
  },

  ---@param message ebb.Message
  ---@param options { longest: integer }
  filter = function(message, options)
    if message.role ~= "tool" then return true end
    local text = message.text:match "^%s*(.-)%s*$"
    if NOISE[text:lower()] then return message.unit.count > 2 end
    if #message.text <= options.longest then return true end

    local cut = message:totable()
    local last = utf8.offset(message.text, 0, options.longest + 1) - 1   -- never inside a character
    cut.content = ("%s [%d bytes left out]"):format(message.text:sub(1, last), #message.text - last)
    return cut
  end,
}
