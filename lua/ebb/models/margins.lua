--- Margins: how far a request may lie above its estimate. Budgets keep that much free.
--
-- By measurements of others and of the project, an estimate and its margin are below the truth in at most 5 % of the
-- known cases; what a provider reports (chat:report_usage) takes the place of a margin. A model may have its own.

local core = require "ebb.support.core"
local models = require "ebb.models"
local vocabularies = require "ebb.models.vocabularies"

local margins = {}

--- Percent of an estimate, by the encoding of the model.
local PERCENT = {
  -- 4.33 characters a token of English, 3.66 of TypeScript (claudecodecamp.com, April 2026): 2 % above the estimate
  -- of prose, below that of code; the rest for texts that were not measured.
  claude = 10,
  -- 1.45 times the tokens of before in English prose (sol.ava.dev, 2026-04-17), 1.20 in other prose
  -- (claudecodecamp.com): up to 13 % above the estimate.
  claude_4_7 = 15,
  -- The estimate cjk over the count, per conversation: Gemma 3 0.91, seldom below 0.80; Qwen 3 0.94; Llama 3 1.02,
  -- DeepSeek 1.00, o200k 1.01, at least 0.90 of it.
  gemma3 = 25, qwen3 = 20, llama3 = 12, deepseek = 12, o200k_base = 12, cl100k_base = 12,
  bytes4 = 0, utf16_2_5 = 0,          -- rules that a user chose for a model
}
local OTHERS = 15                     -- cjk for a vocabulary of which nothing was measured

--- Narrows a margin by reports of other conversations; the command sets it (usage_reports.margin).
---@type (fun(name: string, encoding: string, percent: integer): integer)?
margins.narrowed = nil

--- The margin of a model's counts in percent of an estimate; 0 where its vocabulary is installed.
---@param model ebb.Model
---@param name? string       of the model; without it reports do not count
---@return integer percent
function margins.percent(model, name)
  local encoding = model.encoding
  local is_estimator = models.is_estimator(encoding)
  if not is_estimator and vocabularies.find(encoding) then return 0 end
  if model.margin then return model.margin end
  local percent = PERCENT[encoding] or OTHERS
  if not (margins.narrowed and name) then return percent end
  return margins.narrowed(name, is_estimator and encoding or models.STAND_IN, percent)
end

--- Takes the margin off budgets of a conversation from now on, before they are given; forks do not know it.
---@param chat ebb.Conversation
function margins.settle(chat)
  core.state(chat).has_net_budgets = true
end

--- The margin of a conversation's counts: 0 without a model, by an encoding that the caller chose, and after a report.
---@param chat ebb.Conversation
---@return integer percent
function margins.of_chat(chat)
  local model, encoding = models.of_chat(chat), chat:encoding()
  local is_estimated = model and encoding and models.is_estimator(encoding)
  if core.state(chat).has_net_budgets then return 0 end
  if not is_estimated or models.is_chosen(chat) or encoding ~= model.encoding and not models.missing(chat) then
    return 0
  end
  return chat:trust() == "calibrated" and 0 or margins.percent(model, models.name(chat))
end

--- The greatest estimate that is within `tokens` with its margin.
---@param tokens integer     0 or more
---@param percent integer
---@return integer
function margins.without(tokens, percent)
  return tokens * 100 // (100 + percent)
end

--- An estimate with its margin, in tokens.
---@param tokens integer
---@param percent integer
---@return integer
function margins.with(tokens, percent)
  return (tokens * (100 + percent) + 99) // 100
end

return margins
