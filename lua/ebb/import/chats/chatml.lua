--- Text of ChatML, as templates render it: <|im_start|>role, a newline, the text, <|im_end|>.
--
-- A text may hold the markers itself. A turn ends only at <|im_end|> before the next <|im_start|> or the end of the
-- text. Qwen's calls (<tool_call> in the assistant's text) and results (<tool_response> in a user's) become such.

local content = require "ebb.import.content"
local dataset = require "ebb.import.dataset"
local refuse = require "ebb.support.refuse"
local text_place = require "ebb.support.text_place"
local turns = require "ebb.import.turns"

local chatml = { name = "chatml", title = "rendered ChatML", kind = "text" }

local START, STOP = "<|im_start|>", "<|im_end|>"

function chatml.recognise(sample)
  if sample.value ~= nil or sample.records then return false end
  return sample.text:find "^%s*<|im_start|>%l+\r?\n" ~= nil
end

--- The end of the text that begins at `at`, and where the next turn begins; past the end for the last one.
local function end_of_turn(text, at)
  local from = at
  while true do
    local stop, last = text:find(STOP, from, true)
    if not stop then return #text + 1, #text + 1, true end
    local following = text:match("^%s*()<|im_start|>", last + 1) or text:match("^%s*()$", last + 1)
      or text:match("^%s*()<|endoftext|>%s*$", last + 1)
    if following then return stop, following, false end
    from = last + 1
  end
end

---- Calls ----

--- Cuts <tag>...</tag> out of a text: what is between the tags, and the text without them.
local function cut(text, tag)
  local pieces = {}
  local opening, closing = "<" .. tag .. ">", "</" .. tag .. ">"
  local rest, at = {}, 1
  while true do
    local first, last = text:find(opening, at, true)
    local stop, past = text:find(closing, last and last + 1 or at, true)
    if not first or not stop then break end
    rest[#rest + 1] = text:sub(at, first - 1)
    pieces[#pieces + 1] = content.trim(text:sub(last + 1, stop - 1))
    at = past + 1
  end
  rest[#rest + 1] = text:sub(at)
  return pieces, content.trim(table.concat(rest))
end

local function add_assistant(built, text, line)
  local from = text:match "^%s*<think>()"
  local stop, last = text:find("</think>", from or #text + 1, true)
  if stop then
    local thinking = content.trim(text:sub(from, stop - 1))
    if thinking ~= "" then built:reason(thinking) end
    text = content.trim(text:sub(last + 1))
  end
  local pieces, spoken = cut(text, "tool_call")
  local calls = {}
  for i, piece in ipairs(pieces) do
    local list = dataset.calls(piece)
    if not list then
      built.report:add("call that is not JSON", "it stays the text of the assistant", line)
      return built:add { role = "assistant", content = text }
    end
    list[1].line = line
    calls[i] = list[1]
  end
  local message
  if spoken ~= "" or not calls[1] then
    message = built:add { role = "assistant", content = calls[1] and spoken or text }
  end
  for _, call in ipairs(calls) do built:call(call, message) end
end

local function add_user(built, text, line)
  local results, spoken = cut(text, "tool_response")
  for _, result in ipairs(results) do built:result { content = result, line = line } end
  if not results[1] or spoken ~= "" then built:add { role = "user", content = results[1] and spoken or text } end
end

local ADD = {
  assistant = add_assistant, user = add_user,
  system = function(built, text) built:add { role = "system", content = text } end,
  tool = function(built, text, line)
    local results = cut(text, "tool_response")
    for _, result in ipairs(results[1] and results or { text }) do built:result { content = result, line = line } end
  end,
}
ADD.developer = ADD.system

---- Turns ----

local function note_markers(text, report, line)
  if text:find(START, 1, true) or text:find(STOP, 1, true) then
    report:add("marker in a text", "it stays part of the text", line)
  end
end

function chatml.read(source)
  local text, report = source.text:gsub("\r\n", "\n"), source.report
  local built, line, counted = turns.new(report), 1, 1
  local at = text:match("^%s*()<|im_start|>") or (text:find("\n<|im_start|>", 1, true) or #text) + 1
  if text:find("%S") and text:find("%S") < at then report:add("text before the first turn", "left out") end
  while at <= #text and text:find("^<|im_start|>", at) do
    line, counted = line + select(2, text:sub(counted, at - 1):gsub("\n", "")), at
    local role, from = text:match("^([%w_]+)[^\n]*\n?()", at + #START)
    if not role or not ADD[role] then
      refuse("role", ("%s: expected a role of ChatML: system, user, assistant or tool"):format(text_place(text, at)))
    end
    local stop, following, is_cut = end_of_turn(text, from)
    local said = text:sub(from, stop - 1)
    note_markers(said, report, line)
    if is_cut and said:find "%S" then report:add("open turn", "it has no end mark", line) end
    if not is_cut or said:find "%S" then ADD[role](built, said, line) end
    at = following
  end
  return { dialect = "openai", messages = built:finish(), report = report, branches = 1 }
end

return chatml
