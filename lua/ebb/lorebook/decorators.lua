--- Decorators of Character Card V3: lines at the start of an entry's content.
--
--     @@depth 5                 the entry's depth is 5
--     @@unknown_one 4           is skipped, and its fallback is tried:
--     @@@activate_only_after 4  three signs: only if the line above was skipped
--     The text.
--
-- The first of several lines of one name counts, but for additional_keys and exclude_keys. All lines are cut from
-- the text. Decorators that count tokens of a prompt without messages, and those about icons, are skipped.

local decorators = {}

local POSITIONS = { after_desc = "after_char", before_desc = "before_char", personality = "personality",
  scenario = "scenario" }
local ROLES = { system = true, user = true, assistant = true }
local PROMPTS = { system_prompt = true, post_history_instructions = true }

local function integer_of(value)
  local number = value:find "^%-?%d+$" and math.tointeger(tonumber(value))
  return number and number >= 0 and number or nil
end

--- Sets a field of the entry to a whole number.
local function number(field)
  return function(entry, value)
    local read = integer_of(value)
    if not read then return false end
    entry[field] = read
  end
end

local function flag(field)
  return function(entry, value)
    if value ~= "" and value ~= "true" then return false end
    entry[field] = true
  end
end

--- Adds a list of words: the conditions of a decorator that may be there several times.
local function words(field)
  return function(entry, value)
    local list = {}
    for word in (value .. ","):gmatch "%s*(.-)%s*," do
      if word ~= "" then list[#list + 1] = word end
    end
    if #list == 0 then return false end
    entry[field] = entry[field] or {}
    table.insert(entry[field], list)
  end
end

local function depth(field)
  return function(entry, value, names)
    local read = integer_of(value)
    if not read or names.position or field == "reverse_depth" and names.depth then return false end
    entry.position, entry[field] = "depth", read
  end
end

--- Applies each decorator to an entry; false: its value is wrong, or it has no meaning here.
---@type table<string, fun(entry: table, value: string, names: table<string, boolean>): false?>
local KNOWN = {
  activate = flag "always", dont_activate = flag "never",
  activate_only_after = number "replies_min", activate_only_every = function(entry, value)
    local every = integer_of(value)
    if not every or every == 0 then return false end
    entry.replies_every = every
  end,
  keep_activate_after_match = flag "keep_after_match", dont_activate_after_match = flag "never_after_match",
  depth = depth "depth", reverse_depth = depth "reverse_depth",
  role = function(entry, value)
    if not ROLES[value] then return false end
    entry.role = value
  end,
  scan_depth = number "scanDepth", is_greeting = number "greeting",
  position = function(entry, value)
    if not POSITIONS[value] then return false end
    entry.position = POSITIONS[value]
  end,
  ignore_on_max_context = flag "drops_first",
  additional_keys = words "additional_keys", exclude_keys = words "exclude_keys",
  disable_ui_prompt = function(entry, value)
    if not PROMPTS[value] then return false end
    entry.disables = entry.disables or {}
    table.insert(entry.disables, value)
  end,
}

local REPEATED = { additional_keys = true, exclude_keys = true, disable_ui_prompt = true }

--- The lines of decorators, in groups of a line and its fallbacks, and the text after them.
---@param content string
---@return { name: string, value: string, line: string }[][] groups
---@return string text
function decorators.parse(content)
  local groups, at = {}, content:match "^%s*()@@" or 1
  while true do
    local signs, name, value, past = content:match("^(@@@?)([%w_]+)[ \t]*([^\r\n]*)\r?\n?()", at)
    if not signs then break end
    local item = { name = name, value = value:match "^(.-)%s*$", line = signs .. name }
    if signs == "@@" or #groups == 0 then groups[#groups + 1] = { signs == "@@" and item or nil } end
    if signs == "@@@" and #groups[#groups] > 0 then table.insert(groups[#groups], item) end
    at = content:match("^[ \t\r\n]*()@@", past) or content:match("^[\r\n]*()", past)
  end
  return groups, #groups == 0 and content or content:sub(at)
end

--- Names of the first lines, for decorators that give way to others.
local function names_of(groups)
  local names = {}
  for _, group in ipairs(groups) do
    for _, item in ipairs(group) do names[item.name] = true end
  end
  return names
end

--- Applies the decorators of an entry's content to its fields, and cuts them from it.
---@param entry table
---@return string[] skipped    lines that are unknown, wrong or not used here, and had no fallback
function decorators.apply(entry)
  local groups, text = decorators.parse(entry.content)
  local names, seen, skipped = names_of(groups), {}, {}
  for _, group in ipairs(groups) do
    local done = false
    for _, item in ipairs(group) do
      local run = KNOWN[item.name]
      if run and seen[item.name] and not REPEATED[item.name] then done = true
      elseif run and run(entry, item.value, names) ~= false then done, seen[item.name] = true, true end
      if done then break end
    end
    if not done and group[1] then skipped[#skipped + 1] = group[1].line end
  end
  if text ~= entry.content then entry.content = text end
  return skipped
end

return decorators
