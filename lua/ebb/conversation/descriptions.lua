--- Makes tostring's line for the library's values: their type and size.

local core = require "ebb.support.core"

local function plural(count, noun)
  return ("%d %s%s"):format(count, noun, count == 1 and "" or "s")
end

local DESCRIPTIONS = {
  Conversation = function(chat)
    local size, tokens = plural(#chat, "message"), plural(chat:tokens(), "token")
    return ("Conversation of %s, %s (%s)"):format(size, tokens, chat:trust())
  end,
  Batch = function(batch) return "Batch of " .. plural(#batch, "message") end,
  Draft = function(draft)
    return ("Draft of %s, %s"):format(plural(#draft, "message"), plural(draft:tokens(), "token"))
  end,
  Selection = function(selection) return "Selection of " .. plural(selection:count(), "message") end,
  Unit = function(unit)
    return ("Unit of %s, %s"):format(plural(unit.count, "message"), plural(unit.tokens, "token"))
  end,
  Turn = function(turn)
    return ("Turn of %s, %s"):format(plural(turn.count, "message"), plural(turn.tokens, "token"))
  end,
  Ledger = function(ledger) return ("Ledger of %d %s"):format(#ledger, #ledger == 1 and "entry" or "entries") end,
  Tokenizer = function(tokenizer) return ("Tokenizer %s, %d ids"):format(tokenizer.name, tokenizer.size) end,
  Windows = function(windows) return plural(#windows:list(), "window") end,
}

--- Codes of errors for values whose owner has closed, and for units and turns that have left their list.
local ABSENT = { closed = true, out_of_range = true }

--- Nil for a value that has closed or left: then the type and the address are all there is to say.
local function describe(description, value)
  local ok, text = pcall(description, value)
  if ok then return text end
  if core.is_error(text) and ABSENT[text.code] then return nil end
  return error(text, 0)
end

--- The description of a value of the library.
---@param value userdata
---@return string?
return function(value)
  return describe(DESCRIPTIONS[core.type(value)], value)
end
