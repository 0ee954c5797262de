--- Files of programs, next to the requests that they sent: what an import gives is the request.

local assert = require "luassert"
local helper = dofile "tests/lua/helper.lua"
local json = helper.ebb.json

--- A content as texts and others: what the program marks for its provider's cache is no part of it.
local function plain_content(content)
  if type(content) ~= "table" then return content end
  local list = {}
  for i, part in ipairs(content) do
    local words = {}
    for name, value in pairs(part) do
      if name ~= "cache_control" then words[name] = type(value) == "table" and plain_content(value) or value end
    end
    list[i] = json.encode(words)
  end
  return content[2] == nil and content[1] and content[1].type == "text" and content[1].text or table.concat(list, " ")
end

--- A message as one text: its role, its content, its calls.
local function plain(message)
  local words = { message.role or message.type, plain_content(message.content or message.parts or json.null) or "" }
  for _, call in ipairs(message.tool_calls or {}) do
    words[#words + 1] = ("%s(%s)%s"):format(call["function"].name, call.id, call["function"].arguments)
  end
  words[#words + 1] = message.tool_call_id
  for i, word in ipairs(words) do words[i] = word == json.null and "" or tostring(word) end
  return table.concat(words, " ")
end

local sent = {}

--- The session, its request, the dialect; `skip`: messages of the request that no session has; `made`: messages that
--- the program words anew, by their place among the others; `texts`: what has to be there nevertheless.
sent.ROWS = {
  { "qwen-code-chat.session.jsonl", "qwen-code-chat.json", "openai", skip = { true, true, true } },
  { "copilot.events.jsonl", "copilot.json", "openai" },
  { "pi-1.6-compacted.session.jsonl", "pi-1.6-compacted.json", "openai", made = { true } },
  { "codex-apply-patch.session.jsonl", "codex-apply-patch.json", "responses", skip = { true } },
  { "gemini-cli-resumed.session.jsonl", "gemini-cli-resumed.json", "gemini",
    made = { false, true, true, [6] = true, [7] = true, [8] = true } },
  { "cline-3.messages.json", "cline-3.json", "openai", made = { true }, texts = { "You help in the house." } },
  { "opencode-compacted.export.json", "opencode-compacted.json", "openai", skip = { true }, made = { true } },
  { "claude-code-skill.session.jsonl", "claude-code-skill.json", "anthropic", skip = { [2] = true }, made = { true },
    texts = { "two doors" } },
  { "claude-code-attached-file.session.jsonl", "claude-code-attached-file.json", "anthropic",
    skip = { [2] = true, [11] = true }, made = { true }, texts = { "cellar" } },
  { "claude-code-tool-search.session.jsonl", "claude-code-tool-search.json", "anthropic",
    made = { true, true, [4] = true }, texts = { "You help in the house.", '"name":"Read"', "system-reminder" } },
}

local function messages_of(body)
  return body.messages or body.contents or body.input
end

--- Converts the session of a row, and expects the messages of its request.
---@param command table   tests/lua/command.lua, with a folder
---@param row table       of sent.ROWS
---@param folder string   where both files are
function sent.compare(command, row, folder)
  local request = json.decode(helper.read(folder .. row[2]))
  local out = command.does(("convert %s --to %s"):format(folder .. row[1], row[3]))
  local expected, messages = {}, {}
  for i, message in ipairs(messages_of(request)) do
    if not (row.skip and row.skip[i]) then expected[#expected + 1] = plain(message) end
  end
  for i, message in ipairs(messages_of(json.decode(out))) do messages[i] = plain(message) end

  for i, text in ipairs(expected) do
    if not (row.made and row.made[i]) then assert.equal(text, messages[i]) end
  end
  for _, text in ipairs(row.texts or {}) do command.contains(text, out) end
end

return sent
