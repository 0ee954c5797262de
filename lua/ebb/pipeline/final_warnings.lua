--- Warnings about the request as a whole, logged at the end of a run.

local assets = require "ebb.processors.assets"
local core = require "ebb.support.core"
local models = require "ebb.models"
local parse = require "ebb.macros.parse"
local repair = require "ebb.models.repair"

local final_warnings = {}

--- Attachments that no stage took do not travel.
---@param from ebb.Context
function final_warnings.left(from)
  if assets.none(from) then return end
  for i, message in ipairs(from.messages) do
    if message.attachments and #message.attachments > 0 then
      local text = "messages[%d]: %d attachments are not sent: nothing resolved them"
      from:log("warn", text:format(i, #message.attachments))
    end
  end
end

--- Requests to the host that a preview left out: the real request may differ by their answers.
---@param from ebb.Context
---@param unasked { service: string, request: any }[]
function final_warnings.unasked(from, unasked)
  for _, each in ipairs(unasked) do
    local name = type(each.request) == "table" and each.request.name
    from:log("warn", ("the host would be asked to '%s'%s: the real request may differ"):format(each.service,
      type(name) == "string" and " " .. name or ""))
  end
end

--- The texts of a message.
local function texts_of(message)
  if type(message.content) == "string" then return { message.content } end
  local texts = {}
  for _, part in ipairs(type(message.content) == "table" and message.content or {}) do
    if type(part) == "table" and type(part.text) == "string" then texts[#texts + 1] = part.text end
  end
  return texts
end

local function holds(message, text)
  for _, each in ipairs(texts_of(message)) do
    if each:find(text, 1, true) then return true end
  end
  return false
end

--- True if a message is of the stored conversation, at least in part.
local function has_history(message)
  for _, source in ipairs(message.sources or { message }) do
    if source.source == "history" then return true end
  end
  return false
end

--- The place of a message, for people: "messages[2], preset 'main'".
local function place_of(i, message)
  local place, id = ("messages[%d], %s"):format(i, message.source or "plugin"), message.source_id
  return type(id) == "string" and ("%s '%s'"):format(place, id) or place
end

local BRACES = 20     -- names that are reported

local STAYS = "%s: {{%s}} is sent unchanged: macros of %s are not expanded"

--- The name in each pair of braces of a message, but for those that an escape keeps. The history may hold programs and
--- templates: there only names of macros count.
local function braces_of(message, expansion)
  local names, registry = {}, expansion.environment.registry
  local is_own = not has_history(message) and message.source ~= "window"
  for _, text in ipairs(texts_of(message)) do
    for content in text:gmatch "{{([^{}]+)" do
      local name = content:match(parse.NAME)
      local counts = name and (is_own and not expansion.literal[name] or not is_own and registry:has(name))
      if counts then names[#names + 1] = name end
    end
  end
  return names, is_own
end

--- Braces that are left in the request: those of the history, and those in what macros gave.
---@param from ebb.Context
---@param expansion ebb.Expansion
function final_warnings.braces(from, expansion)
  local count = 0
  for _, i in ipairs(core.working.holding(from.messages, "{{")) do
    local names, is_own = braces_of(from.messages[i], expansion)
    for _, name in ipairs(names) do
      if count < BRACES and expansion:is_first(name) then
        count = count + 1
        local owner = is_own and "variables, of input and of what other macros give" or "the history"
        from:log("warn", STAYS:format(place_of(i, from.messages[i]), name, owner))
      end
    end
  end
end

--- A name that no model has but nearly: its window and abilities are those of an unknown one.
---@param from ebb.Context
function final_warnings.model(from)
  local name = from.capabilities.model
  local near = name and models.near(name)
  if near then
    from:log("warn", ("model '%s' is unknown: did you mean '%s'?"):format(name, near))
  end
end

--- Texts that differ in each request, before the history: a provider that keeps the
--- beginning of one for the next finds nothing again of what follows them.
---@param from ebb.Context
---@param texts { text: string, names: string[] }[]
function final_warnings.volatile(from, texts)
  for _, each in ipairs(texts) do
    for _, message in ipairs(from.messages) do
      if has_history(message) and message.role ~= "system" then break end
      if holds(message, each.text) then
        from:log("warn", ("{{%s}} %s; nothing after %s can be cached"):format(
          table.concat(each.names, "}}, {{"), each.names[2] and "change on every request" or "changes on every request",
          each.names[2] and "them" or "it"))
        break
      end
    end
  end
end

--- The report of the repair: mended and remaining violations.
---@param from ebb.Context
---@param report? ebb.RepairReport
function final_warnings.repair(from, report)
  if not report then return end
  for _, line in ipairs(repair.lines(report)) do from:log("warn", line) end
end

--- Logs the losses of a conversion, each kind once. Changes of form are information, not warnings.
---@param from ebb.Context
---@param losses ebb.Loss[]
function final_warnings.losses(from, losses)
  local logged = {}
  for _, loss in ipairs(losses) do
    local text = ("%s: %s"):format(loss.code, loss.text)
    if not logged[text] then from:log(loss.changed and "info" or "warn", text) end
    logged[text] = true
  end
end

return final_warnings
