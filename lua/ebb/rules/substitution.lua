--- Macros in the patterns and replacements of rules.
--
-- A pattern is code, so its macros are found one by one and their values are
-- pasted: as they are (RAW), or with all that a pattern gives a meaning taken
-- literally (ESCAPED). In a replacement a value's dollar signs are never
-- references. An unknown macro stays as it is written.

local substitution = {}

--- Returns the last byte of the macro that begins at `first`: the end of the braces that close it; nil if none do.
local function closing(text, first)
  local depth, at = 0, first
  while true do
    local position, braces = text:match("()([{}][{}])", at)
    if not position then return nil end
    if braces == "{{" then
      depth, at = depth + 1, position + 2
    elseif braces == "}}" then
      depth, at = depth - 1, position + 2
    else
      at = position + 1
    end
    if depth == 0 then return at - 1 end
  end
end

--- Replaces each macro of the text by `paste(value)`; `unescape`: `\{{` loses its backslash.
local function each(text, expand, paste, unescape)
  local out, at = {}, 1
  while true do
    local first = text:find("{{", at, true)
    local last = first and closing(text, first)
    if not last then break end
    local escaped = text:sub(first - 1, first - 1) == "\\" and first > at
    out[#out + 1] = text:sub(at, first - ((escaped and unescape) and 2 or 1))
    if escaped then
      out[#out + 1] = "{{"
      at = first + 2
    else
      local macro = text:sub(first, last)
      local value = expand(macro)
      out[#out + 1] = value == macro and macro or paste(value)
      at = last + 1
    end
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out)
end

local function as_it_is(value) return value end

--- Everything with a meaning in a pattern, taken literally.
function substitution.escaped(value)
  return (value:gsub("[%^%$\\%.%*%+%?%(%)%[%]{}|/%-]", "\\%0"))
end

local function dollars_doubled(value)
  return (value:gsub("%$", "$$"))
end

--- True if the rule has macros that count.
function substitution.wanted(rule)
  return rule.replacement:find("{{", 1, true) ~= nil
    or (rule.mode ~= "NONE" and rule.pattern:find("{{", 1, true) ~= nil)
end

---@param rule table        checked
---@param expand fun(text: string): string
---@return string pattern
---@return string replacement
function substitution.apply(rule, expand)
  local pattern = rule.pattern
  if rule.mode ~= "NONE" then
    pattern = each(pattern, expand, rule.mode == "ESCAPED" and substitution.escaped or as_it_is, false)
  end
  return pattern, each(rule.replacement, expand, dollars_doubled, true)
end

return substitution
