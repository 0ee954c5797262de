--- draft:summarize: one message that replaces several, written by a model.
--
--     choose    the units from `first` to `last` that nothing holds
--     ask       the host's model, with their text and that of an earlier summary
--     judge     empty, cut off or not smaller: refused, and nothing has changed
--     replace   the units go, the summary comes where the first of them was
--
-- A summary begins with a heading. By that a later one finds it, folds it into
-- itself and takes its place, also after the conversation was written and read.
-- Messages that a guard holds are not summarized; they stay where they are.

local core = require "ebb.support.core"
local hints = require "ebb.support.hints"
local quantity = require "ebb.support.quantity"
local refuse = require "ebb.support.refuse"
local schema = require "ebb.support.schema"
local transcript = require "ebb.conversation.transcript"

local summary = {}

--- The options of draft:summarize: those of the policy `summarize` that do not choose messages.
local OPTIONS = {}
for name, declaration in pairs(require("ebb.policies.summarize").options) do
  if name ~= "keep" and name ~= "to" then OPTIONS[name] = declaration end
end

---- What is to be summarized ----

local function position_of(draft, value, name)
  local position = core.type(value) == "Message" and value.index or math.tointeger(value)
  if not position or position < 1 or position > #draft then
    refuse("out_of_range", ("summarize: %s is a message of the draft, or its position"):format(name))
  end
  return position
end

local function is_summary(message, heading)
  return message.role ~= "tool" and message.text:sub(1, #heading) == heading
end

--- One message as the model reads it.
local function line_of(message)
  if message.role ~= "tool" then
    local text = transcript.text(message)
    local lines = { text ~= "" and ("%s: %s"):format(message.role, text) or nil }
    for _, call in ipairs(message.calls) do
      lines[#lines + 1] = ("%s calls %s"):format(message.role, transcript.call(call))
    end
    return table.concat(lines, "\n")
  end
  local name = message.call and message.call.name or message.name or "tool"
  return ("result of %s: %s"):format(name, message.text)
end

---@class ebb.SummaryPlan
---@field units ebb.Unit[]
---@field lines string[]
---@field previous? string     an earlier summary, without its heading
---@field tokens integer
---@field position? integer    where the first is

local function add_unit(plan, unit, tokens, heading)
  plan.units[#plan.units + 1] = unit
  plan.tokens = plan.tokens + tokens
  plan.position = plan.position or unit.first
  for _, message in ipairs(unit.messages) do
    if is_summary(message, heading) then
      local text = message.text:sub(#heading + 1):match "^%s*(.-)%s*$"
      plan.previous = plan.previous and plan.previous .. "\n\n" .. text or text
    else
      plan.lines[#plan.lines + 1] = line_of(message)
    end
  end
end

--- A unit belongs to the range with its first message. Windows are left where they
--- are: what they show is no past.
local function plan_of(draft, first, last, heading)
  local plan = { units = {}, lines = {}, tokens = 0 }
  for unit, tokens in draft:units { droppable = true } do
    local at = unit.first
    if at > last then break end
    if at >= first and not draft[at].window then add_unit(plan, unit, tokens, heading) end
  end
  return plan
end

---- Asking ----

---@return ebb.ModelRequest
local function request_of(plan, values)
  local text = table.concat(plan.lines, "\n\n")
  if plan.previous then text = ("Earlier summary:\n%s\n\nWhat came after it:\n%s"):format(plan.previous, text) end
  return {
    purpose = "summarize", max_tokens = values.max_tokens, tokens = plan.tokens,
    messages = { { role = "system", content = values.instructions }, { role = "user", content = text } },
  }
end

local function text_of_parts(content)
  if type(content) ~= "table" then return content end
  local texts = {}
  for _, part in ipairs(content) do
    if type(part) == "table" and part.type == "text"
      and type(part.text) == "string" then texts[#texts + 1] = part.text end
  end
  return table.concat(texts)
end

--- The text of an answer and why it ended: a text, {text, finish_reason}, or the
--- response body of a provider.
local function read_answer(answer)
  if type(answer) ~= "table" then return answer end
  local choice = type(answer.choices) == "table" and answer.choices[1]
  if type(choice) == "table" then
    return text_of_parts(type(choice.message) == "table" and choice.message.content or nil), choice.finish_reason
  end
  return text_of_parts(answer.text or answer.content), answer.finish_reason or answer.stop_reason
end

local CUT_OFF = { length = true, max_tokens = true, content_filter = true, refusal = true }

---@return string? text
---@return string? why
local function ask(model, request)
  local answer, why = model(request)
  if answer == nil or answer == false then return nil, "the model gave no answer: " .. tostring(why
    or "no reason given") end
  local text, reason = read_answer(answer)
  if type(text) ~= "string" then return nil, "the model's answer has no text" end
  text = text:match "^%s*(.-)%s*$"
  if text == "" then return nil, "the summary is empty" end
  if CUT_OFF[reason] then return nil, ("the summary was cut off (%s)"):format(reason) end
  return text
end

---- Doing ----

--- Returns the position of the first dropped unit, or of a kept unit that begins before it and reaches past it.
local function open_place(draft, plan)
  local goes, reach = {}, {}
  for _, unit in ipairs(plan.units) do
    goes[unit.first] = true
  end
  for unit in draft:units {} do
    local first, messages = unit.first, unit.messages
    if first >= plan.position then break end
    if not goes[first] then reach[#reach + 1] = { first = first, last = messages[#messages].index } end
  end
  local position = plan.position
  for i = #reach, 1, -1 do
    if reach[i].last >= position then position = reach[i].first end
  end
  return position
end

local function replace(draft, plan, message)
  local position = open_place(draft, plan)
  for _, unit in ipairs(plan.units) do
    draft:drop(unit, "summarized")
  end
  local insertion, why = draft:insert(position, message, "summary")
  return insertion and true or error(why, 0)   -- nothing that stays lies around an open place
end

---@param draft ebb.Draft
---@param first integer|ebb.Message
---@param last integer|ebb.Message
---@param options? table
---@param model? fun(request: ebb.ModelRequest): any, string?
---@return integer|false freed
---@return ebb.Error? problem  code: "model" if there was no answer that could be used, or "guarded"
function summary.run(draft, first, last, options, model)
  local values = schema.options(OPTIONS, options, "summarize")
  local plan = plan_of(draft, position_of(draft, first, "first"), position_of(draft, last, "last"), values.heading)
  if #plan.units == 0 then return false, core.error("guarded", "nothing to summarize: all of it is guarded") end
  if #plan.lines == 0 then return false, core.error("guarded", "nothing to summarize: it is a summary already") end
  if not model then
    return false, core.error("model", "there is no model to ask: " .. hints.model)
  end

  local text, why = ask(model, request_of(plan, values))
  if not text then return false, core.error("model", why) end
  local message = { role = values.role, content = values.heading .. "\n" .. text }
  local cost = draft:cost(message)
  if plan.tokens - cost < values.min_savings then
    local words = "the summary is not smaller: %s instead of %d"
    return false, core.error("model", words:format(quantity(cost, "token"), plan.tokens))
  end
  replace(draft, plan, message)
  return plan.tokens - cost
end

return summary
