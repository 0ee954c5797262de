--- Random lives of saved conversations: after each few operations one is saved and read again, by the library or the
--- command, and goes on. It must stay what its twin is, which is never saved, and what a plain model says, lists of
--- texts by batch. LIVES and LIFE_STEPS say how many, SEED which ones. And mutations of what was saved: MUTATIONS.

local command = dofile "tests/lua/command.lua"
local helper = dofile "tests/lua/helper.lua"
local ebb = helper.ebb

local LIVES = math.tointeger(tonumber(os.getenv "LIVES" or "12"))
local STEPS = math.tointeger(tonumber(os.getenv "LIFE_STEPS" or "40"))
local MUTATIONS = math.tointeger(tonumber(os.getenv "MUTATIONS" or "400"))
local SEED = helper.seed()

local function clock() return 1700000000000 end

local BEGINNINGS = {
  '{"model":"gpt-4o","x":[1],"messages":[{"role":"system","content":"s0"},\n{"role":"user","content":"u0"}]}',
  '[{"role":"user","content":"u0","metadata":{"k":1}}]', '{"role":"user","content":"u0"}\n', "[]",
  '{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text",' ..
  '"text":"u0"}]},' ..
  '{"role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"cw=="},' ..
  '{"type":"text","text":"a0"}]}]}',
  '{"contents":[{"role":"user","parts":[{"text":"u0"}]},{"role":"model","parts":[{"functionCall":{"name":"f",' ..
  '"args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]}]}',
  '{"model":"gpt-5","input":[{"role":"user","content":"u0"},{"type":"function_call","call_id":"c","name":"f",' ..
  '"arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]}',
}

---- The plain model: batches of texts ----

local function texts_of(list)
  local texts = {}
  for i, message in ipairs(list) do texts[i] = message.window and "<" .. message.window .. ">" or message.text end
  return texts
end

local function begin(batch, model)
  model.batches[#model.batches + 1] = batch
  model.current = #model.batches
end

local function slice(list, first, last) return table.move(list, first, last, 1, {}) end

local number = 0

local function new_message()
  number = number + 1
  local role = ({ "user", "assistant", "system" })[math.random(3)]
  return { role = role, content = ("%s%d \u{e9}\n\"x\""):format(role:sub(1, 1), number) }
end

--- Each changes two conversations and the model alike.
local OPERATIONS = {
  append = function(both, model)
    local message = new_message()
    for _, chat in ipairs(both) do chat:append(message) end
    local list = model.batches[model.current]
    list[#list + 1] = message.content
  end,
  insert = function(both, model)
    local list = table.move(model.batches[model.current], 1, #model.batches[model.current], 1, {})
    local message, at = new_message(), math.random(#list + 1)
    for _, chat in ipairs(both) do chat:insert(at, message) end
    table.insert(list, at, message.content)
    begin(list, model)
  end,
  replace = function(both, model)
    local list = slice(model.batches[model.current], 1, #model.batches[model.current])
    if #list == 0 then return end
    local at, message = math.random(#list), new_message()
    message.role = both[1][at].role
    if not message.role then return end
    for _, chat in ipairs(both) do chat:replace(at, message) end
    list[at] = message.content
    begin(list, model)
  end,
  truncate = function(both, model)
    local list = model.batches[model.current]
    if #list == 0 then return end
    local first = math.random(#list)
    local last = math.random(first, #list)
    for _, chat in ipairs(both) do chat:truncate { range = { first, last } } end
    begin(slice(list, first, last), model)
  end,
  rollback = function(both, model)
    local batch = math.random(#model.batches)
    for _, chat in ipairs(both) do chat:rollback(batch - 1) end
    model.current = batch
  end,
  trim = function(both, model)
    local list = model.batches[model.current]
    if #list < 2 then return end
    local dropped = math.random(#list - 1)
    for _, chat in ipairs(both) do
      local budget = 2 * chat:tokens()      -- whatever the margin of a model that is estimated
      assert(chat:trim { budget = budget, guards = false, policy = { name = "remembering", trim = function(draft)
        draft.memory.runs = (draft.memory.runs or 0) + 1
        draft:note("run " .. draft.memory.runs)
        for i = dropped, 1, -1 do draft:drop(draft[i], "old") end
      end } })
    end
    begin(texts_of(both[1]), model)
  end,
  mark = function(both, model)
    if #model.batches[model.current] == 0 then return end
    local at, name = math.random(#model.batches[model.current]), math.random(2) == 1 and "pinned" or "mine"
    for _, chat in ipairs(both) do chat:mark(at, name) end
  end,
  checkpoint = function(both)
    local name = "c" .. math.random(4)
    for _, chat in ipairs(both) do chat:checkpoint(name) end
  end,
  window = function(both, model)
    local id = "w" .. math.random(3)
    local window = both[1].windows:get(id)
    number = number + 1
    if window and not window.closed then
      local close = math.random(3) == 1
      for _, chat in ipairs(both) do
        if close then chat.windows:get(id):close "done"
        else chat.windows:get(id):update { content = { "p", n = number, "text" } } end
      end
      return
    end
    for _, chat in ipairs(both) do
      chat.windows:open { id = id, content = "c" .. number,
        actions = { { id = "go", label = "Go", params = "n:int" } } }
    end
    local list = model.batches[model.current]
    list[#list + 1] = "<" .. id .. ">"
  end,
  variables = function(both, model)
    local list = slice(model.batches[model.current], 1, #model.batches[model.current])
    number = number + 1
    for _, chat in ipairs(both) do
      chat:input(("{{setvar::v%d::%d}}u%d {{incvar::n}}{{getvar::n}}"):format(number % 3, number, number), { now = 0 })
    end
    list[#list + 1] = both[1][#both[1]].text
    begin(list, model)
  end,
  usage = function(both)
    local factor = math.random(11, 19)
    for _, chat in ipairs(both) do
      if chat:tokens() > 0 then chat:report_usage { prompt_tokens = chat:tokens() * factor // 10 } end
    end
  end,
  fork = function(both)
    both[2] = both[2]:fork()
  end,
  forget = function(both, model)
    local at = #model.batches[model.current] > 0 and math.random(#model.batches[model.current])
    if not at or math.random(3) > 1 or both[1][at].window then return end
    local before, becomes, wanted = {}, {}, model.batches[model.current][at]
    for _, message in ipairs(both[1]:all()) do before[message.seq] = message.text end
    for i, chat in ipairs(both) do
      chat:forget(at)
      both[i] = assert(ebb.parse(chat:write "ebb", { clock = clock }))    -- until then it weighs what it weighed
    end
    for _, message in ipairs(both[1]:all()) do      -- versions of it, and what trims inserted after it, go with it
      local text = message.text
      if text ~= before[message.seq] then
        assert(text:find "^[[{-]", text)
        becomes[before[message.seq]] = text
      end
    end
    assert(becomes[wanted] or wanted:find "^[[{-]", wanted)
    for _, list in ipairs(model.batches) do
      for i, text in ipairs(list) do list[i] = becomes[text] or text end
    end
  end,
}

local NAMES = {}
for name in pairs(OPERATIONS) do NAMES[#NAMES + 1] = name end
table.sort(NAMES)

---- Saving and reading ----

local function through_text(chat)
  return assert(ebb.parse(chat:write "ebb", { clock = clock }))
end

local function through_file(chat)
  local path = command.path_of "life.ebb"
  assert(chat:save(path, { dialect = "ebb" }))
  return assert(ebb.load(path, { clock = clock }))
end

--- The command reads it, rolls it back to where it is, and writes it in place.
local function through_command(chat)
  local path = command.path_of "life.ebb"
  assert(chat:save(path, { dialect = "ebb" }))
  local before = command.read(path)
  command.does(([[apply '{"operation":"rollback","targetBatchIndex":%d}' %s -i]])
    :format(chat:stats().current_batch_index, path))
  assert.equal(before, command.read(path))
  return assert(ebb.load(path, { clock = clock }))
end

local function check(both, model, where)
  local twin, copy = both[1], both[2]
  assert.equal((twin:write "ebb"), (copy:write "ebb"), where)
  assert.equal(twin:tokens(), copy:tokens(), where)
  for i, list in ipairs(model.batches) do
    assert.same(list, texts_of(copy:batch(i - 1)), where)
  end
  assert.same(model.batches[model.current], texts_of(copy), where)
end

local LATE = { 1, 31, 32, 4095, 4096, 1000000, 60000000 }

local function live(life)
  math.randomseed(SEED * 1000 + life)
  number = 0
  local text = BEGINNINGS[math.random(#BEGINNINGS)]
  if math.random(3) == 1 then text = helper.saved_after(LATE[math.random(#LATE)]) end
  local both = { assert(ebb.parse(text, { clock = clock })), assert(ebb.parse(text, { clock = clock })) }
  local model = { batches = { texts_of(both[1]) }, current = 1 }
  for step = 1, STEPS do
    local name = NAMES[math.random(#NAMES)]
    OPERATIONS[name](both, model)
    local dice = math.random(40)
    local way = dice == 1 and through_command or dice <= 6 and through_file or dice <= 14 and through_text
    if way then both[2] = way(both[2]) end
    check(both, model, ("SEED=%d: life %d, step %d: %s"):format(SEED, life, step, name))
  end
  return both[2]
end

describe("a life with saves", function()
  before_each(command.make_folder)
  after_each(command.remove_folder)

  it("is the life without them", function()
    for life = 1, LIVES do live(life) end
  end)

  it("makes files of which no changed one is read as another, and what is read under lenient works", function()
    local text, salvaged = live(1):write "ebb", 0
    math.randomseed(SEED)
    for _ = 1, MUTATIONS do
      local at = math.random(#text)
      local byte = text:byte(at) ~ (1 << math.random(0, 7))
      local changed = text:sub(1, at - 1) .. string.char(byte) .. text:sub(at + 1)
      local chat, problem = ebb.parse(changed)
      -- white space after the digest means nothing
      if chat then
        assert.equal(text, (chat:write "ebb"), ("SEED=%d, byte %d"):format(SEED, at))
      else
        assert.truthy(problem.message:find "^text:%d+:%d+: expected ", problem.message)
      end
      chat = ebb.parse(changed, { lenient = true })
      if chat and chat.saved then
        salvaged = salvaged + 1
        local again = assert(ebb.parse(chat:write "ebb"))
        assert.equal((chat:write "ebb"), (again:write "ebb"))
        chat:rollback(0)
        chat:clear {}
        chat.windows:render()
      end
    end
    assert.is_true(salvaged > 0)
  end)
end)
