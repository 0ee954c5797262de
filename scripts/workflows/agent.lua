--- Workflow: an agent that calls tools until it has an answer.
--
-- Run:   ebb run scripts/workflows/agent.lua scripts/workflows/agent.in.json
-- The key is that of the environment (OPENAI_API_KEY). Recorded, without a model:
--        ebb run scripts/workflows/agent.lua scripts/workflows/agent.in.json \
--          --replay-model scripts/workflows/agent.jsonl
-- gives scripts/workflows/agent.out.json

return {
  name = "agent",
  tools = {
    { name = "add", description = "Adds two numbers.", parameters = "a:number, b:number",
      run = function(arguments) return arguments.a + arguments.b end },
    { name = "date", description = "The weekday of a date, such as 2026-02-28.", parameters = "day:string",
      run = function(arguments)
        local year, month, day = arguments.day:match "^(%d+)-(%d+)-(%d+)$"
        if not year then return nil, "expected such as 2026-02-28" end
        return os.date("!%A", os.time { year = year, month = month, day = day, hour = 12 })
      end },
    -- a program that reads {"name", "id", "arguments"} as JSON:   { name = "grep", command = "./grep.sh" }
    -- a server of the Model Context Protocol:   { mcp = "npx -y @modelcontextprotocol/server-everything" }
  },
  nodes = {
    { type = "loop", stop_when = { answered = true }, at_most = 8, nodes = {
      { type = "trim", budget = 60000, policy = "agent" },
      { type = "model", model = "gpt-4o-mini" },
      { type = "tool", at_most = 8 },
    } },
  },
}
