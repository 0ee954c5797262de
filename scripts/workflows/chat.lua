--- Workflow: a turn of a chat that may go on for ever. What no longer fits is summarized by the model that answers.
--
-- Run:   ebb run scripts/workflows/chat.lua chat.json -i
-- after the user's message was appended to chat.json. The key is that of the environment (OPENAI_API_KEY);
-- --model-command takes another model.

local MODEL, BUDGET = "gpt-4o-mini", 4000

return {
  name = "chat",
  nodes = {
    { type = "branch", when = { last_role = "user" }, nodes = {
      { type = "branch", when = { tokens_over = BUDGET }, nodes = {
        { type = "trim", budget = BUDGET, policy = { { "summarize", keep = 4, max_tokens = 600 }, "keep_recent" },
          ask = { model = MODEL } },
      } },
      { type = "check", severity = "refused" },
      { type = "model", model = MODEL, max_tokens = 1000 },
    } },
  },
}
