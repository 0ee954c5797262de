--- Words the errors' hints for the C API (runtime/include/ebb.h).

local hints = require "ebb.support.hints"

hints.set {
  budget = 'a "budget" in the options, or a chat with a "model"',
  policies = "ebb_policy_load gives names to others",
  policy = "it is for ebb_chat_trim",
  filter = "filters are for scripts: chat:filter",
  model = "only a task asks for one: ebb_task_trim",
  models = 'an "encoding" or no "model" counts by that alone',
  abilities = '"capabilities" in the "model_config" say it',
  vocabularies = "the host's `read` has none, and none was added",
  vocabulary = "the bytes are not those of a vocabulary",
  window_exists = "ebb_window_update changes it",
  window_closed = "ebb_window_open opens it again",
  limits = false,
}

return hints
