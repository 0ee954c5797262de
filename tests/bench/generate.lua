--- Writes a conversation of N messages as OpenAI-shaped JSONL, the same for the same N and SEED.
--
--     lua5.4 generate.lua N [SEED]
--
-- The mix of a long agent log: system 0.1 %, user 23 %, assistant 50 % (half of them with one tool call), tool 27 %,
-- each directly after its call. A line has 530 bytes in the mean; one message in eight holds Chinese text. Texts are
-- escaped as JSON writers do (\n, \", \u001b, \u2019), Chinese stays as it is.
--
-- Texts are drawn from pools made beforehand, so that a million lines take seconds. Only integers decide, never
-- math.random: its sequence is Lua's to change.

local count = math.tointeger(tonumber(arg[1]))
local seed = math.tointeger(tonumber(arg[2] or 1))
if not count or count < 1 or not seed then
  io.stderr:write("usage: lua5.4 generate.lua N [SEED]\n")
  os.exit(2)
end

local POOL = 1024          -- texts per pool
local FLUSH = 4096         -- lines per write

-- Shares of 1000, by unit; a call with its result is one unit of two messages.
local SYSTEM, USER, ANSWER = 1, 230, 230   -- the other 539 of 1000 messages are calls and results
local CALL = 270
local UNITS = SYSTEM + USER + ANSWER + CALL

-- xorshift64; state is never 0
local state = (seed * 0x9E3779B97F4A7C15) | 1

---@return integer  1 .. n
local function draw(n)
  state = state ~ (state << 13)
  state = state ~ (state >> 7)
  state = state ~ (state << 17)
  return (state >> 11) % n + 1
end

local words = {}
for word in ([[
  the order total of this invoice does not match its lines so please check which worker wrote it and when the queue was
  last empty because after the release on Monday some rows are missing in the replica while the primary still has them
  and nobody can say whether a retry would send them twice we read the log found one timeout at night then nothing more
  first look at the index second measure how long a page takes third compare both plans before anything is changed
]]):gmatch("%a+") do words[#words + 1] = word end

local phrases = {
  "请检查昨天晚上的日志", "发票总额与明细不一致", "副本数据库的磁盘快满了", "重试之后没有新的错误", "我们先看看索引是否有效",
  "这个函数返回的结果不对", "测试已经全部通过", "能不能解释一下原因", "客户明天需要更正后的发票", "队列里还有三百条消息",
}

-- JSON escapes for line breaks, quotes, terminal colours, apostrophes, accents, emoji and tabs.
local escapes = {
  "\\n", "\\n", "\\n\\n", "\\n- ", "\\\"done\\\"", "\\\"id\\\": 7,", "\\u001b[31mERROR\\u001b[0m", "it\\u2019s",
  "caf\\u00e9", "\\ud83d\\ude00", "\\tC:\\\\log\\\\run.txt", "2025-03-13T01:34:17Z", "0x7f3a", "`make test`",
}

--- A text of about `size` bytes, already escaped.
local function text(size, chinese)
  local parts, bytes = {}, 0
  while bytes < size do
    local part
    if chinese and draw(3) == 1 then
      part = phrases[draw(#phrases)] .. "，"
    elseif draw(14) == 1 then
      part = escapes[draw(#escapes)]
    else
      part = words[draw(#words)]
    end
    parts[#parts + 1] = part
    bytes = bytes + #part + 1
  end
  return table.concat(parts, " ")
end

--- A pool of texts whose sizes are skewed as in real logs: most are short, every eighth is long. The sizes are the same
-- for every seed, so that the mean of a line is. Every seventh text has Chinese: of all messages, some of which have no
-- text, that is one in eight.
local function pool(mean)
  local texts = {}
  for i = 1, POOL do
    local share = mean * (i * 381 % POOL) // POOL   -- 0 .. mean, evenly spread
    local size = i % 8 == 0 and mean * 2 + 4 * share or mean // 8 + share
    texts[i] = text(size, i % 7 == 0)
  end
  return texts
end

local questions, answers, results = pool(328), pool(628), pool(682)
local plans = pool(90)     -- what an assistant says beside a call; every third call says nothing

local tools = {
  { "read_file", [[{\"path\": \"/srv/billing/module_%d.py\", \"from\": %d}]] },
  { "run_sql", [[{\"query\": \"select * from invoices where batch = %d and total > %d\", \"database\": \"billing\"}]] },
  { "search_logs", [[{\"service\": \"worker-%d\", \"query\": \"level>=ERROR\", \"limit\": %d}]] },
}
local arguments = {}
for i = 1, POOL do
  local tool = tools[i % #tools + 1]
  arguments[i] = ('"function":{"name":"%s","arguments":"%s"}'):format(tool[1], tool[2]:format(draw(900), draw(9000)))
end

local lines, pending, written = {}, 0, 0
local function emit(line)
  pending = pending + 1
  lines[pending] = line
  written = written + 1
  if pending == FLUSH then
    io.write(table.concat(lines, "\n", 1, pending), "\n")
    pending = 0
  end
end

local function plain(role, content) emit('{"role":"' .. role .. '","content":"' .. content .. '"}') end

local calls = 0
local function call_and_result()
  calls = calls + 1
  local id = ("call_%08x"):format(calls)
  local content = draw(3) == 1 and "null" or '"' .. plans[draw(POOL)] .. '"'
  emit('{"role":"assistant","content":' .. content .. ',"tool_calls":[{"id":"' .. id .. '","type":"function",'
    .. arguments[draw(POOL)] .. "}]}")
  emit('{"role":"tool","tool_call_id":"' .. id .. '","content":"' .. results[draw(POOL)] .. '"}')
end

io.stdout:setvbuf("full", 1 << 20)
plain("system", "You help the people who run a billing system. Show the evidence for each claim.")
while written < count do
  local unit = draw(UNITS)
  if unit <= SYSTEM then
    plain("system", "The rules still hold: read before you change, and run the tests.")
  elseif unit <= SYSTEM + USER then
    plain("user", questions[draw(POOL)])
  elseif unit <= SYSTEM + USER + ANSWER or written + 1 == count then   -- no room for a call with its result
    plain("assistant", answers[draw(POOL)])
  else
    call_and_result()
  end
end
if pending > 0 then io.write(table.concat(lines, "\n", 1, pending), "\n") end
