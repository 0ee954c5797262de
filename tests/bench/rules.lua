--- Regex rules and injection as a pipeline meets them: 10,000 messages of 500 bytes,
--- 50 rules, 30 preset messages. Medians of ROUNDS runs, in processor time.
--
--     lua5.4 tests/bench/rules.lua        after `make`

package.path = "build/release/lua/?.lua;build/release/lua/?/init.lua;" .. package.path
package.cpath = "build/release/lua/?.so;" .. package.cpath

local injection = require "ebb.injection"
local rules = require "ebb.rules"

local MESSAGES, BYTES, ROUNDS = 10000, 500, 9

--- Patterns of people's rules: reasoning, stage directions, markup, notes, names, spelling.
local PATTERNS = {
  "/<think>[\\s\\S]*?<\\/think>\\s*/g", "/<thinking>[\\s\\S]*?<\\/thinking>/gi", "/\\*[^*\\n]+\\*/g",
  "/\\[OOC:.*?\\]/gi",
  "/^#+ (.*)$/gm", "/```[\\s\\S]*?```/g", "/<!--[\\s\\S]*?-->/g", "/<(\\w+)[^>]*>(.*?)<\\/\\1>/gs",
  "/!\\[.*?\\]\\(.*?\\)/g",
  "/https?:\\/\\/[^\\s)]+/g", "/[\\w.]+@[\\w.]+\\.\\w+/g", "/\\b\\d{3}-\\d{4}-\\d{4}\\b/g", "/\\d{4}-\\d{2}-\\d{2}/g",
  "/[\\u4e00-\\u9fff]+/g", "/—/g", "/[“”]/g", "/\\bcolour\\b/gi", "/\\bas an ai\\b[^.]*\\./gi", "/\\n{3,}/g",
  "/[ \\t]+$/gm",
  "/\\{\\{user\\}\\}/g", "/\"([^\"]*)\"/g", "/^\\s*\\n/gm", "/(?<name>Ann|Bob|Eve) said/g", "/zebra/g",
}

local WORDS = {}
for word in ([[the quick brown fox jumps over a lazy dog and then something else happened in far land where nobody had
  ever been before so they went on for many days until at last Ann said that it was enough and that all should rest]])
  :gmatch "%a+" do
  WORDS[#WORDS + 1] = word
end

local function text_of(random)
  local words, size = {}, 0
  while size < BYTES do
    local word = WORDS[random(#WORDS)]
    if random(12) == 1 then word = word .. ".\n" end
    if random(400) == 1 then word = "*" .. word .. "*" end
    if random(2000) == 1 then word = "<think>" .. word .. "</think>" end
    words[#words + 1] = word
    size = size + #word + 1
  end
  return table.concat(words, " ")
end

local function make()
  local list = {}
  for i = 1, 50 do
    local regex = PATTERNS[(i - 1) % #PATTERNS + 1]
    list[i] = { id = "r" .. i, regex = regex, replacement = i % 2 == 0 and "[$&]" or "", order = i }
  end
  local presets = { { type = "chat_history" } }
  for i = 2, 30 do
    local depth = i % 3 == 0 and { depth = i } or i % 3 == 1 and { anchorTarget = "chat_history" } or nil
    presets[i] = { id = "p" .. i, content = "preset " .. i, injectionStrategy = depth }
  end
  return { { id = "bench", rules = list } }, presets
end

local function median(list)
  table.sort(list)
  return list[#list // 2 + 1]
end

math.randomseed(1)
local texts = {}
for i = 1, MESSAGES do
  texts[i] = text_of(math.random)
end
local rule_presets, presets = make()
local times = { compile = {}, apply = {}, inject = {} }
local report
for round = 1, ROUNDS do
  local messages = {}
  for i, text in ipairs(texts) do
    messages[i] = { role = i % 2 == 0 and "assistant" or "user", content = text, source = "history", seq = i }
  end
  collectgarbage()
  local start = os.clock()
  local set, problems = rules.compile(rule_presets)
  assert(#problems == 0, problems[1] and problems[1].message)
  set:apply {}                                   -- makes machine code
  local compiled = os.clock()
  report = set:apply(messages)
  local applied = os.clock()
  injection.assemble(messages, presets, { model = "gpt-4o" })
  times.compile[round] = (compiled - start) * 1e3
  times.apply[round] = (applied - compiled) * 1e3
  times.inject[round] = (os.clock() - applied) * 1e3
end
assert(#report.failures == 0)
print(("%d messages of %d bytes, %d rules, %d presets"):format(MESSAGES, BYTES, report.rules, #presets))
print(("compile %6.1f ms   apply %6.1f ms (%d replacements in %d messages)   inject %6.1f ms"):format(
  median(times.compile), median(times.apply), report.replacements, report.messages, median(times.inject)))
