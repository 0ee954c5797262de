--- aider's history: Markdown, whose lines say by their beginnings who speaks.
--
--     # aider chat started at 2026-11-01 10:00:00      a session
--     > Added a.py to the chat.                        output of the program
--     #### rename it                                   the user, each line of a message
--     Done.                                            the assistant
--
-- The form cannot tell a heading `#### x` or a quoted line `> x` of the assistant from the user's and the program's.

local content = require "ebb.import.content"
local many = require "ebb.import.many"

local aider = { name = "aider", title = "aider history", kind = "text" }

local SESSION = "^# aider chat started at (.*)$"

function aider.recognise(sample)
  if sample.value ~= nil or sample.records then return false end
  return sample.text:find "^# aider chat started at " ~= nil or sample.text:find "\n# aider chat started at " ~= nil
end

--- Returns a line's speaker ("user", "program" or "assistant") and, unless it is a program's, its text.
local function speaker_of(line)
  local said = line:match "^####%s(.*)$" or line == "####" and ""
  if said then return "user", content.trim(said) end
  if line:find "^> " or line == ">" then return "program" end
  return "assistant", line
end

--- Reads the lines of one session.
local function read_one(entry)
  local messages, lines, speaker = {}, {}, nil
  local function finish()
    local text = content.trim(table.concat(lines, "\n"))
    if text ~= "" then messages[#messages + 1] = { role = speaker, content = text } end
    lines = {}
  end
  for i, line in ipairs(entry.value) do
    local who, said = speaker_of(line)
    if who == "program" then entry.report:add("line of the program", "left out", entry.line + i) end
    if who ~= speaker then finish() end
    speaker = who
    lines[#lines + 1] = said
  end
  finish()
  return { dialect = "openai", messages = messages, conversation = entry.value.heading, branches = 1 }
end

--- The sessions: lists of their lines, with `heading` and `line`.
local function sessions_of(source)
  local list, number = {}, 0
  for line in source.text:gmatch "([^\n]*)\n?" do
    number = number + 1
    line = line:gsub("\r$", "")
    local heading = line:match(SESSION)
    if heading then list[#list + 1] = { heading = content.trim(heading), line = number }
    elseif list[1] then table.insert(list[#list], line)
    elseif line ~= "" then source.report:add("line before the first session", "left out", number) end
  end
  return list
end

function aider.read(source, options)
  local list, number = sessions_of(source), 0
  return many.collect(source, options, read_one, function(session) return nil, session.heading end,
    function()
      number = number + 1
      if list[number] then return number, list[number], nil, list[number].line end
    end)
end

return aider
