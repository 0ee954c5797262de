--- Activates entries of lorebooks by the texts of the history. The injection assembler puts them in.

local budgets = require "ebb.processors.token_limiter"
local core = require "ebb.support.core"
local lorebook = require "ebb.lorebook"
local random = require "ebb.macros.random"
local speech = require "ebb.lorebook.speech"
local trimmed = require "ebb.lorebook.trimmed"

local DRAW = 1 << 53         -- values of a draw: all that a float tells apart

--- The name of a role's speaker, as it comes before texts: "Ann: ", or "".
local function label(name)
  return type(name) == "string" and name ~= "" and #name <= speech.NAME_BYTES_MAX and name .. ": " or ""
end

--- Returns, by role, the label before texts of messages that have no name.
local function labels_of(context)
  return {
    user = label(context.user_profile and context.user_profile.name),
    assistant = label(context.agent_config.nickname or context.agent_config.name),
  }
end

--- The preset message with an id; nil if there is none, or it is disabled.
local function preset_of(agent, key, value)
  for _, preset in ipairs(agent.presets or {}) do
    if preset[key] == value and preset.isEnabled ~= false and preset.is_enabled ~= false then return preset end
  end
end

local function preset_text(context, id, read)
  local preset = preset_of(context.agent_config, "id", id)
  local content = preset and preset.content
  return type(content) == "string" and read(content, id) or nil
end

--- Expands texts that are only looked at: the variables that they set, and what they draw, are not the run's.
---@return fun(text: string, where: string): string
local function reader_of(context)
  local trial = context.run.macros:fork()
  trial.reported = context.run.macros.reported
  return function(text, where) return trial:expand(context, text, nil, where) end
end

local function sources_of(context, read)
  local agent, user = context.agent_config, context.user_profile or {}
  local result = {}
  for name, text in pairs {
    persona = user.description or false, description = agent.description or false,
    personality = agent.personality or false, scenario = agent.scenario or false,
    creator_notes = agent.creator_notes or false,
  } do
    if text and text ~= "" then result[name] = read(text, name) end
  end
  result.note = preset_text(context, "character_note", read)
  return result
end

--- The number from 0 of the greeting that begins the history; nil where another text begins it.
local function greeting_of(context, said, read)
  local first = said.count > 0 and context.agent_config.greetings and said:text(1)
  for i, text in ipairs(context.agent_config.greetings or {}) do
    if first and trimmed(read(text, "a greeting")) == trimmed(first) then return i - 1 end
  end
end

--- The budget of all entries in tokens: a share of the request's, with a cap.
local function budget_of(context, config)
  local whole
  for _, step in ipairs(context.run.steps) do
    if step.processor.id == "token-limiter" then whole = budgets.budget(context.capabilities, step.values) end
  end
  local share = whole and math.max(1, math.floor(whole * config.budget_percent / 100 + 0.5)) or math.huge
  return config.budget_cap > 0 and math.min(share, config.budget_cap) or share
end

--- Draws by the seed of the run, the length of the history and what is drawn for.
local function draws(context, messages)
  local seed = context.run.macros.environment.seed
  return function(what)
    local _, number = random.below(random.seed(("%s %d %s"):format(seed, messages, what)), DRAW)
    return number / DRAW
  end
end

local function log_result(context, active, placement)
  local names = {}
  for i, each in ipairs(active) do names[i] = each.entry.title end
  context:log("info", ("lorebook entries put in: %d"):format(#active), { entries = names })
  for _, position in ipairs(placement.lost) do
    context:log("warn", ("entries of position %s are not sent: no preset has their id"):format(position))
  end
end

--- Keeps the placement for the assembler and the outlets for macros, and logs the result.
local function keep(context, result, messages)
  local agent = context.agent_config
  local placement = lorebook.placement.of(result.active, {
    messages = messages,
    has_anchor = function(type) return preset_of(agent, "type", type) ~= nil end,
    has_preset = function(id) return preset_of(agent, "id", id) ~= nil end,
  })
  context.run.macros.environment.outlets = placement.outlets
  context.shared_data.lorebook = placement
  log_result(context, result.active, placement)
end

local function settings_of(config)
  local result = {}
  for name, value in pairs(config) do
    result[name] = type(value) == "number" and math.tointeger(math.floor(value)) or value
  end
  return result
end

---@type ebb.Processor
return {
  id = "lorebook",
  name = "Lorebook",
  description = "activates entries of lorebooks whose keys occur in the history",
  priority = 290,
  is_core = true,
  config_fields = {
    { key = "scan_depth", type = "number", min = 0, default = 2,
      label = "Messages that are searched, from the newest" },
    { key = "recursive", type = "boolean", default = true, label = "Contents of entries activate others" },
    { key = "max_steps", type = "number", min = 0, default = 0,
      label = "Sweeps at most; 0: as many as there is something new" },
    { key = "min_activations", type = "number", min = 0, default = 0,
      label = "Entries that are wanted: older messages are searched until there are so many" },
    { key = "min_depth_max", type = "number", min = 0, default = 0,
      label = "Messages that are searched for these; 0: all" },
    { key = "case_sensitive", type = "boolean", default = false, label = "Keys have the case of the text" },
    { key = "whole_words", type = "boolean", default = true, label = "Keys without spaces are whole words" },
    { key = "include_names", type = "boolean", default = true, label = "Names of speakers are searched, too" },
    { key = "note_scan", type = "boolean", default = false, label = "The author's note is searched, too" },
    { key = "group_scoring", type = "boolean", default = false, label = "In groups, most keys win" },
    { key = "strategy", type = "select", default = "character_first",
      options = { "evenly", "character_first", "global_first" }, label = "Whose entries come first" },
    { key = "budget_percent", type = "number", min = 0, max = 100, default = 25,
      label = "Share of the request's tokens, in percent" },
    { key = "budget_cap", type = "number", min = 0, default = 0, label = "Tokens at most; 0: no cap" },
  },

  execute = function(context, config)
    local lore = context.run.lore
    if not lore then return end
    local settings, agent = settings_of(config), context.agent_config
    local said = speech.of(context.messages, settings.include_names and labels_of(context) or nil)
    local read = reader_of(context)
    local note = settings.note_scan and preset_text(context, "authors_note", read)
    local original = context.run.request.original
    local result = lore:run {
      said = said, sources = sources_of(context, read), notes = { note or nil }, settings = settings,
      facts = { messages = said.count, replies = said.replies, agent = agent.name, tags = agent.tags or {},
        trigger = context.session.trigger or "normal", greeting = greeting_of(context, said, read) },
      state = context.run.lorebook_state, budget = budget_of(context, config),
      count = function(text) return core.counter.text(original, text) end,
      random = draws(context, said.count),
      expand = function(text, title)
        return text:find("{{", 1, true) and context:expand(text, nil, title) or text
      end,
      check = function() context.run.budget:check "lorebook" end,
      hold = function(bytes, where) context.run.budget:hold(bytes, where) end,
      log = function(level, message) context:log(level, message) end,
    }
    context.run.lorebook_state = result.state
    keep(context, result, said.count)
  end,
}
