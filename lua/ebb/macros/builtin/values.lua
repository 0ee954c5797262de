--- Values of the environment: user, character, model ... What it
-- was not given is empty; a user and a character always have a name.

local text = require "ebb.macros.text"

--- name, value it reads, values it falls back on, text without any, stability, summary, aliases.
local VALUES = {
  { "user", { "user" }, "User", "session", "the user's name" },
  { "char", { "char", "agent" }, "Assistant", "stable", "the agent's name" },
  { "agent", { "agent", "char" }, "Assistant", "stable", "the agent's name" },
  { "persona", { "persona" }, "", "session", "the user's profile" },
  { "description", { "description" }, "", "stable", "the agent's description" },
  { "personality", { "personality" }, "", "stable", "the agent's personality" },
  { "scenario", { "scenario" }, "", "stable", "where and when the conversation takes place" },
  { "mesExamplesRaw", { "mes_examples" }, "", "stable", "sample dialogue of the agent, as its author wrote it" },
  { "creatorNotes", { "creator_notes" }, "", "stable", "what the agent's author says of it", { "charCreatorNotes" } },
  { "charPrompt", { "char_prompt" }, "", "stable", "the agent's own main prompt" },
  { "charInstruction", { "char_instruction" }, "", "stable", "the agent's own instructions after the history",
    { "charJailbreak" } },
  { "group", { "group", "char", "agent" }, "Assistant", "session", "the names of all speakers, or the agent's" },
  { "model", { "model", "model_id" }, "", "stable", "the model" },
  { "modelId", { "model_id", "model" }, "", "stable", "the model's whole id" },
  { "modelName", { "model_name", "model_id", "model" }, "", "stable", "the model's name for people" },
  { "profileId", { "profile_id" }, "", "stable", "the id of the model's configuration" },
  { "profileName", { "profile_name", "profile_id" }, "", "stable", "the name of the model's configuration" },
  { "provider", { "provider" }, "", "stable", "the provider of the model" },
  { "agentVersion", { "agent_version" }, "", "stable", "the agent's version", { "charVersion", "char_version" } },
  { "input", { "input" }, "", "turn", "the user's new input" },
  { "tools", { "tools" }, "", "stable", "the tools that the request offers, a line each" },
  { "tool_usage", { "tool_usage" }, "", "stable", "how these tools are called: their parameters, a line each" },
  { "tool_context", { "tool_context" }, "", "turn", "what the host says of the tools' state" },
}

local HISTORY = {
  { "lastMessage", "last", "the last message" },
  { "lastUserMessage", "user", "the user's last message" },
  { "lastCharMessage", "assistant", "the agent's last message" },
  { "lastMessageId", "id", "the number of the last message, from 0" },
}

local function reader(names, without)
  return function(call)
    for _, name in ipairs(names) do
      local value = call:value(name)
      if value and value ~= "" then return value end
    end
    return without
  end
end

local macros = {}

for _, row in ipairs(VALUES) do
  local name, names, without, stability, summary, aliases = table.unpack(row)
  macros[#macros + 1] = { name = name, summary = summary, stability = stability, aliases = aliases,
    run = reader(names, without) }
end

macros[#macros + 1] = {
  name = "mesExamples",
  summary = "sample dialogue of the agent: its blocks, without the lines <START> between them",
  stability = "stable",
  run = function(call) return text.dialogue(call:value "mes_examples" or "") end,
}

for _, row in ipairs(HISTORY) do
  local name, kind, summary = table.unpack(row)
  macros[#macros + 1] = {
    name = name,
    summary = summary,
    stability = "turn",
    run = function(call)
      local history = call.environment.history
      return history and history(kind) or ""
    end,
  }
end

macros[#macros + 1] = {
  name = "outlet",
  summary = "the lorebook entries of an outlet, by its name",
  parameters = { "name" },
  stability = "turn",
  example = "{{outlet::world}}",
  run = function(call, name)
    local outlets = call.environment.outlets
    return outlets and outlets[name:match "^%s*(.-)%s*$"] or ""
  end,
}

return macros
