--- Workflow: the nightly clean-up of a folder of conversations. Long tool results shrink, old turns go, and what a
--- provider would refuse afterwards is an error in the report, not a broken file.
--
-- Run:   ebb each chats/ --run scripts/workflows/nightly.lua --out cleaned/
-- A rerun skips what is done; --retry runs again what failed.

return {
  name = "nightly",
  nodes = {
    { type = "filter", filter = "../filters/drop_tool_noise.lua" },
    { type = "branch", when = { tokens_over = 8000 }, nodes = {
      { type = "trim", budget = 8000, policy = { "shrink_results", "keep_turns" } },
    } },
    { type = "check" },
  },
}
