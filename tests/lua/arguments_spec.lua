--- Wrong arguments: every function that C gives to Lua, and the library's own on
--- top, called with wrong values. Each call works or
--- raises, and the conversation is whole after it. The run under sanitizers is
--- the one that sees what a crash does not show.
--
-- SEED=n repeats a run; CALLS=n makes it longer.

local helper = dofile "tests/lua/helper.lua"
local core = require "ebb.support.core"
local log = require "ebb.support.log"
require "ebb.windows"      -- loaded on first use
local ebb = helper.ebb

local seed = helper.seed()
local CALLS = math.tointeger(tonumber(os.getenv "CALLS")) or 30000
local BATCH = 50   -- calls on one world, before it is checked and made anew

local state = seed

local function random(low, high)
  if not high then low, high = 1, low end
  state = state * 6364136223846793005 + 1442695040888963407
  return low + (state >> 33) % (high - low + 1)
end

local function pick(list) return list[random(#list)] end

---- The world ----

local tokenizer, folder   -- where calls may read and write; made before all

local HISTORY = "s10 u20 a30 c9(x,y) r5(x) r6(y) u7! a8 u5 c3(z)"

local current   -- the world of the call

--- Edits the draft and the chat, as a callback may do while the call that asked it is still running.
local function meddle()
  if not current or random(20) > 1 then return end
  pcall(core.draft.discard, current.draft)
  pcall(core.draft.commit, current.draft, { operation = "trim", description = "" })
  pcall(current.chat.append, current.chat, { role = "user", content = "meddled" })
  pcall(current.chat.rollback, current.chat, 0)
  if random(4) == 1 then error("raised by a callback", 0) end
end

local function clock()
  meddle()
  return 1700000000000
end

local function count(message)
  meddle()
  return type(message.content) == "string" and helper.tokens_of(message) or 1
end

--- Handles of every kind, alive and ended.
local function new_world()
  current = nil
  local chat = helper.conversation(HISTORY, { clock = clock, counter = count })
  local window = chat.windows:open { id = "w", content = function() meddle() return "x" end }
  chat:checkpoint "begin"
  chat:truncate { remove_first = 1 }
  local discarded, committed = chat:draft(), chat:draft { guards = false }
  local gone = discarded:insert(1, { role = "user", content = "gone" })
  core.draft.discard(discarded)
  committed:drop(1)
  core.draft.commit(committed, { operation = "trim", description = "" })
  local copy
  core.transaction(chat, function(inner) copy = inner end)
  local outer_window = chat.windows:open { id = "v", content = { { window = "w" }, { "item", id = 1 } } }
  local draft = chat:draft { guards = false }
  local unit
  for found in draft:units {} do unit = found end
  local turn
  for found in draft:turns {} do turn = found end
  return {
    chat = chat, fork = chat:fork(), stolen = chat:fork(),
    copy = copy, empty = ebb.conversation(), parsed = ebb.parse "[]",
    batch = chat:batch(0), draft = draft, discarded = discarded, committed = committed,
    message = chat[1], drafted = draft[2], gone = gone, unit = unit, turn = turn,
    window = window, outer_window = outer_window, windows = chat.windows,
    selection = chat:where { role = "user" }, nothing = chat:recent("user", 0), ledger = core.draft.ledger(draft),
    tokenizer = tokenizer,
  }
end

--- A conversation that is not closed can be written, read again, looked through.
--- Callbacks may have put other values in its place.
local function whole(chat)
  if core.type(chat) ~= "Conversation" or not pcall(chat.stats, chat) then return end
  local world = current
  current = nil   -- contents of windows do not meddle now
  local again = assert(ebb.parse(chat:json()))
  assert(#again == #chat.windows:render(), "what was written has another length")
  for i = 1, #chat do
    assert(type(chat[i].text) == "string")
  end
  chat:state()
  chat:check "openai"
  current = world
end

---- Values ----

local NUMBERS = {
  0, 1, 2, 3, 5, -1, -2, 1.0, 0.5, -0.0, 1e308, -1e308, 1 / 0, -1 / 0, 0 / 0, 2 ^ 31, 2 ^ 32, 2 ^ 53, 2 ^ 63,
  0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, math.maxinteger, math.mininteger,
}

local TEXTS = {
  "", "user", "assistant", "system", "tool", "begin", "pinned", "json", "role", "content", "x", "0", "1", "oldest",
  "newest", "text", "trim", "filter", "openai", "keep_recent", "cjk", "only", "a\0b", "\xFF\xFE", "\u{2603}",
  "%", "[", "%f[", "(((", "[[", ("x"):rep(100000), ("["):rep(1000),
  "[{\"role\":\"user\",\"content\":\"x\"}]", "{\"role\":\"user\"",
}

--- Names of options, wherever they are known.
local NAMES = {
  "role", "content", "roles", "keep_first", "keep_last", "remove_first", "remove_last", "range", "scope",
  "whole_units", "keep_system_message", "content_contains", "content_excludes", "include_names", "exclude_names",
  "include_ids", "exclude_ids", "exclude_tool_calls", "where", "pattern", "marked", "since", "before", "matches",
  "has", "calls", "from", "skip_last", "droppable", "empty", "to", "keep", "reason", "guards", "budget", "reserve",
  "policy", "dry_run", "encoding", "counter", "clock", "limit", "on_limit", "tools", "tools_heading", "model",
  "max_message", "max_file", "indent", "raw",
  "window", "obsolete", "important", "closable", "actions", "refresh", "render", "hidden", "item", "max_tokens",
  "dialect", "shape", "operation", "description", "name", "id", "tool_calls", "tool_call_id", "metadata", "text",
}

local function deep_table(depth, key)
  local value = {}
  for _ = 1, depth do
    value = { [key] = value }
  end
  return value
end

local function self_table(key)
  local value = { role = "user" }
  value[key] = value
  return value
end

local function raising() error("raised on purpose", 0) end

local any   -- a random value; forward

local function random_list(depth)
  local list = {}
  for i = 1, random(0, 4) do
    list[i] = any(depth + 1)
  end
  return list
end

local function random_options(depth)
  local options = {}
  for _ = 1, random(0, 3) do
    options[pick(NAMES)] = any(depth + 1)
  end
  return options
end

local function random_message(depth)
  local message = { role = pick { "user", "assistant", "tool", "system" }, content = "hello" }
  if random(3) == 1 then message[pick(NAMES)] = any(depth + 1) end
  if random(4) == 1 then message.tool_calls = { { id = "x", type = "function", ["function"] = { name = "f" } } } end
  return message
end

--- Tables whose metamethods lie, raise, or end what the call is about.
local function hostile_table()
  return setmetatable({ "user" }, pick {
    { __index = raising }, { __len = function() return math.maxinteger end, __index = function() return "user" end },
    { __len = function() return -1 end }, { __len = raising }, { __index = meddle, __len = meddle }, { __mode = "k" },
    { __tostring = raising }, { __name = 5 }, { __gc = raising }, { __pairs = raising }, { __eq = raising },
    { __metatable = false, __call = meddle }, { __close = raising },
  })
end

--- Functions that answer oddly, raise, yield, or edit what they are called from.
local function hostile_function(world)
  return pick {
    function() end, raising, function(...) return ... end, function() return 0 / 0 end, function() return -1 end,
    function() return "x" end, function() return 5 end, function() return true end, coroutine.yield, print and rawlen,
    function() world.chat:append { role = "user", content = "inside" } return 1 end,
    function() core.draft.discard(world.draft) return 1 end,
    function(copy) world.stolen = copy raising() end,
    function(copy) world.stolen = copy:fork() world.stolen:append { role = "user", content = "fork" } raising() end,
    function(copy)
      copy:append { role = "user", content = "copied" }
      world.draft, world.gone, world.fork = copy:draft(), copy[#copy], copy:fork()
      if random(2) == 1 then raising() end
    end,
    function() collectgarbage() return 2 end,
    function() error(setmetatable({}, { __tostring = raising })) end, function() error(nil) end,
  }
end

local HANDLES = {}
for name in pairs(new_world()) do
  HANDLES[#HANDLES + 1] = name
end
table.sort(HANDLES)

local makers = {
  function() return nil end, function() return random(2) == 1 end,
  function() return pick(NUMBERS) end, function() return pick(NUMBERS) end, function() return random(0, 12) end,
  function() return pick(TEXTS) end, function() return pick(TEXTS) end, function() return pick(NAMES) end,
  random_list, random_list, random_options, random_options, random_message, random_message,
  function() return deep_table(pick { 1, 100, 254, 255, 256, 257, 3000 }, pick { 1, "content", "metadata" }) end,
  function() return self_table(pick { 1, "content", "metadata", "x" }) end,
  function() return hostile_table() end, function() return hostile_function(current) end,
  function() return current[pick(HANDLES)] end, function() return current[pick(HANDLES)] end,
  function() return current[pick(HANDLES)] end, function() return io.stdout end,
  function() return coroutine.create(raising) end,
  function() return ebb.null end, function() return ebb.json.array { any(2) } end,
  function() return core.json.raw(pick { "1", "[1]", "null", '{"role":"user","content":"raw"}', "[{}]", "1e999" }) end,
  function() return debug.setmetatable({}, debug.getmetatable(core.json.raw "1")) end,   -- a raw value without a text
}

function any(depth)
  if depth and depth > 3 then return pick(TEXTS) end
  return pick(makers)(depth or 0)
end

---- Calls ----

--- All that can be called: name, function, names of parameters.
local function all_functions()
  local found = {}
  local function add(name, run, parameters)
    if type(run) ~= "function" then return end
    found[#found + 1] = { name = name, run = run, parameters = parameters or { "a", "b" } }
  end
  for type_name, methods in pairs(core.methods) do
    for name, run in pairs(methods) do
      add(type_name .. ":" .. name, run, core.parameters[type_name .. ":" .. name])
    end
  end
  local function parameters_of(space, name)
    if name == "tokenizer" then return { "path" } end
    if name == "session" or name == "sessions" then return { "place", "options" } end
    return core.parameters[space .. "." .. name] or core.parameters["core." .. name]
  end
  for _, space in ipairs {
    { "ebb", core }, { "ebb", ebb }, { "ebb.json", core.json }, { "core.draft", core.draft },
    { "core.vocab", core.vocab }, { "core.window", core.window },
  } do
    for name, run in pairs(space[2]) do
      add(space[1] .. "." .. name, run, parameters_of(space[1], name))
    end
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

local FUNCTIONS = all_functions()

--- Files are read and written in the folder only, standard input and output never.
local PATHS = {
  "", "/absent", "/absent/file", "/kept.json", "/out.json", "/broken.json", "/small.vocab",
  "/" .. ("x"):rep(300), "/a\0b",
}

local function path() return folder .. pick(PATHS) end

local OWNERS = {
  Conversation = { "chat", "chat", "chat", "fork", "stolen", "copy", "empty", "parsed" }, Batch = { "batch" },
  Draft = { "draft", "draft", "draft", "discarded", "committed" }, Message = { "message", "drafted", "gone" },
  Selection = { "selection", "nothing" }, Unit = { "unit" }, Turn = { "turn" }, Ledger = { "ledger" },
  Tokenizer = { "tokenizer" }, Window = { "window", "outer_window" }, Windows = { "windows" },
}

local MESSAGES = { "message", "drafted", "unit", "turn", "selection", "gone" }

--- Mostly a value of the right kind, so that calls come further than their first check.
local function argument(name)
  if name == "path" or name == "place" then return path() end
  if name == "run" and random(3) > 1 then return hostile_function(current) end
  if random(2) == 1 then return any() end
  if name == "options" or name == "conditions" or name == "walk" then return random_options(1) end
  if name == "message" or name == "what" then return current[pick(MESSAGES)] end
  if name == "messages" then return random_message(1) end
  if name == "draft" then return current[pick(OWNERS.Draft)] end
  if name == "conversation" then return current[pick(OWNERS.Conversation)] end
  if name == "role" then return pick { "user", "tool", { "user", "assistant" } } end
  if name == "fields" then return { content = any(1) } end
  return random(0, 8)
end

local function arguments_of(call)
  local values, n = {}, 0
  local type_name = call.name:match "^(%u%a+):"
  if type_name then
    n = 1
    if random(12) > 1 then values[1] = current[pick(OWNERS[type_name])] else values[1] = any() end
  end
  for _, name in ipairs(call.parameters) do
    n = n + 1
    values[n] = argument(name)
  end
  for _ = 1, random(0, 9) // 9 do
    n = n + 1
    values[n] = any()
  end
  if random(6) == 1 and not call.name:find "load" and not call.name:find "file$" and not call.name:find "save" then
    n = random(0, n)
  end
  return values, n
end

local FIELDS = { "text", "content", "parts", "calls", "json", "index", "unit", "messages", "tokens", "memory" }

--- Looks at a value: fields, length, positions, iteration.
local function look(value)
  pcall(function() return #value end)
  pcall(function() return value[any()] end)
  pcall(function() return value[pick(NAMES)] end)
  pcall(function() value[any()] = any() end)
  for _, name in ipairs(FIELDS) do
    pcall(function() return value[name] end)
  end
end

--- Calls, within a coroutine, so that a function that yields is no end of the test.
local function try(call)
  local values, n = arguments_of(call)
  local results = table.pack(coroutine.wrap(pcall)(call.run, table.unpack(values, 1, n)))
  if results[1] == true then
    for i = 2, results.n do
      local value = results[i]
      if type(value) == "function" then value = select(2, coroutine.wrap(pcall)(value)) end
      if type(value) == "userdata" then look(value) end
    end
  elseif core.is_error(results[2]) then
    assert(type(results[2].code) == "string" and type(results[2].message) == "string", call.name)
    assert(type(tostring(results[2])) == "string", call.name)
  end
  return results[1] == true
end

---- The tests ----

describe("wrong arguments (SEED=" .. seed .. ")", function()
  local log_before

  setup(function()
    log_before = log.to(function() end)   -- windows that do not exist
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    for name, text in pairs { ["kept.json"] = '[{"role":"user","content":"kept"}]', ["broken.json"] = "[{" } do
      local file = assert(io.open(folder .. "/" .. name, "wb"))
      file:write(text)
      file:close()
    end
    local asked = { file = "small", name = "small", pattern = "o200k" }
    assert(core.write_file(folder .. "/small.vocab", core.vocab.build(helper.tiktoken(), asked)))
    tokenizer = assert(core.tokenizer(folder .. "/small.vocab"))
  end)

  teardown(function()
    log.to(log_before)
    os.execute("rm -rf " .. folder)
  end)

  it("of every function are refused or borne", function()
    local worked, names = 0, {}   -- names: of what was called
    for i = 1, CALLS // BATCH do
      state = seed + i
      current = new_world()
      local chat, fork = current.chat, current.fork
      for _ = 1, BATCH do
        local call = pick(FUNCTIONS)
        names[call.name] = true
        if try(call) then worked = worked + 1 end
      end
      for _, checked in ipairs { chat, fork, current.fork, current.stolen } do
        local ok, problem = pcall(whole, checked)
        assert(ok, ("SEED=%d after batch %d: %s"):format(seed, i, tostring(problem)))
      end
    end
    for _, call in ipairs(CALLS >= 20000 and FUNCTIONS or {}) do
      assert.is_true(names[call.name], call.name .. " was never called")
    end
    assert.is_true(worked > CALLS // 20, "too few calls came through to try much")
  end)
end)

---- Wrong types, one argument at a time ----

describe("a bound function that is called with a wrong type", function()
  local database
  before_each(function() database = os.tmpname() end)
  after_each(function() os.execute(("rm -f '%s' '%s'-*"):format(database, database)) end)

  --- Every function of core.parameters that can be reached from here: name, function, names of parameters.
  local function bound_functions()
    local regex, set = core.regex.compile "x", core.regex.set()
    local storage = require "ebb.support.storage"
    local hidden = { Regex = regex, RegexSet = set, Root = core.root ".", Keywords = core.keywords({ "a" }, { 0 }),
      Storage = assert(storage.open(database, { create = true })) }
    local list = {}
    for name, parameters in pairs(core.parameters) do
      local type_name, method = name:match "^(%u%a+):(.+)$"
      local run, object
      if type_name then
        object = hidden[type_name] or current[OWNERS[type_name][1]]
        run = (core.methods[type_name] or object)[method]
      else
        run = name:find "^storage%." and { storage = require "ebb.support.storage" } or core
        for word in name:gsub("^ebb%.", ""):gsub("^core%.", ""):gmatch "[^.]+" do run = run[word] end
      end
      assert(type(run) == "function", name)
      local is_c = debug.getinfo(run, "S").what == "C"   -- the library puts functions of its own over some
      local short = method or name:match "^ebb%.(json%..+)" or name:match "[^.]+$"
      if is_c then
        list[#list + 1] = { name = name, short = short, run = run, object = object, parameters = parameters }
      end
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    return list
  end

  local WRONG = { false, true, 1.5, -7, "no such word", {}, { no_such_option = 1 }, { 1 }, { from = 5, role = {} },
    function() end, io.stdout, coroutine.create(print) }

  --- Calls that would wait, end the process's streams or the world's own objects are left out.
  local HARMFUL = { ["core.draft.discard"] = true, ["ebb.transaction"] = true, ["core.window.call"] = true,
    ["core.sandbox.new"] = true, ["core.sandbox.enter"] = true, ["core.sandbox.set_hint"] = true,
    ["ebb.write_file"] = true, ["Storage:close"] = true, ["Storage:wait"] = true,
    ["ebb.make_folder"] = true, ["Conversation:save"] = true }

  --- The number of the argument that is the place of a database.
  local PLACES = { ["storage.open"] = 1, ["ebb.session"] = 1, ["ebb.sessions"] = 1, ["Storage:backup"] = 2 }

  --- Arguments of a call; databases are made in the folder only.
  local function in_folder(call, ...)
    local arguments, at = table.pack(...), PLACES[call.name]
    local kind = at and type(arguments[at])
    if kind == "string" or kind == "number" then arguments[at] = path() end
    return table.unpack(arguments, 1, arguments.n)
  end

  it("raises an error object that names it", function()
    local plain, nameless, refusals = {}, {}, 0
    current = new_world()
    local calls = bound_functions()
    for _, call in ipairs(calls) do
      for i = 0, HARMFUL[call.name] and 0 or #call.parameters do
        for _, wrong in ipairs(WRONG) do
          current = new_world()
          local arguments, n = { call.object }, (call.object and 1 or 0) + #call.parameters
          for j, name in ipairs(call.parameters) do
            arguments[n - #call.parameters + j] = argument(name)
          end
          if i == 0 then n = 0 else arguments[n - #call.parameters + i] = wrong end
          local ok, problem = pcall(call.run, in_folder(call, table.unpack(arguments, 1, n)))
          if not ok and core.is_error(problem) then
            refusals = refusals + 1
            local about = problem.code == "argument" or problem.code == "unknown_name"
            if about and not problem.message:find("^" .. call.short:gsub("%p", "%%%0") .. ": ") then
              nameless[call.name] = problem.message
            end
          elseif not ok and problem ~= "raised by a callback" then
            plain[call.name] = tostring(problem)
          end
        end
      end
    end
    assert.same({}, plain)
    assert.same({}, nameless)
    assert.is_true(#calls > 100 and refusals > 1000, refusals .. " refusals of " .. #calls .. " functions")
  end)

  --- All functions that scripts can reach, those of Lua, too: name, function, and what makes its object.
  local function library_functions()
    local list = {}
    local function add(name, space, object_of)
      for method, run in pairs(space or {}) do
        if type(run) == "function" and not method:find "^__" then
          list[#list + 1] = { name = name .. method, run = run, object_of = object_of }
        end
      end
    end
    for type_name, methods in pairs(core.methods) do
      local owner = OWNERS[type_name]
      if owner then add(type_name .. ":", methods, function() return current[owner[1]] end) end
    end
    add("Pipeline:", require("ebb.pipeline").methods, function() return ebb.pipeline() end)
    add("ebb.", ebb)
    for _, space in ipairs { "json", "macros", "rules", "workflow" } do add("ebb." .. space .. ".", ebb[space]) end
    table.sort(list, function(x, y) return x.name < y.name end)
    return list
  end

  it("raises an error object, in Lua as in C", function()
    local plain, refusals, calls = {}, 0, library_functions()
    for _, call in ipairs(calls) do
      local function attempt(...)
        local ok, problem = pcall(call.run, in_folder(call, ...))
        refusals = refusals + (ok and 0 or 1)
        local is_ours = core.is_error(problem) or problem == "raised by a callback"
        if not ok and not is_ours then plain[call.name] = tostring(problem) end
      end
      for _, wrong in ipairs(HARMFUL[call.name] and {} or WRONG) do
        current = new_world()
        local handle = call.object_of and call.object_of() or current.chat
        attempt(handle, wrong)
        attempt(handle, 1, wrong)
        attempt(handle, "x", wrong)
        attempt(wrong)
      end
      attempt()
    end
    assert.same({}, plain)
    assert.is_true(#calls > 140 and refusals > 4000, refusals .. " refusals of " .. #calls .. " functions")
  end)

  local rows = {
    { "units", "from", "unknown_name", function(w) w.draft:units { from = "newset" } end, "did you mean 'newest'?" },
    { "units", "walk", "argument", function(w) w.draft:units "oldest" end },
    { "note", "text", "argument", function(w) w.draft:note {} end },
    { "mark", "name", "argument", function(w) w.chat:mark(1) end },
    { "checkpoint", "name", "argument", function(w) w.chat:checkpoint() end },
    { "rollback", "batch", "argument", function(w) w.chat:rollback "begin" w.chat:rollback {} end },
    { "truncate", "scope", "unknown_name", function(w) w.chat:truncate { role = "user", scope = "al" } end,
      "it may be only or within" },
  }
  for _, row in ipairs(rows) do
    it(("names the argument: %s, %s"):format(row[1], row[2]), function()
      local world = new_world()
      current = nil   -- callbacks do not meddle
      local ok, problem = pcall(row[4], world)
      assert.is_false(ok)
      assert.is_true(core.is_error(problem), tostring(problem))
      assert.equal(row[3], problem.code)
      assert.equal(row[1] .. ": " .. row[2] .. ": ", problem.message:sub(1, #row[1] + #row[2] + 4))
      assert.equal(row[5], problem.hint)
    end)
  end
end)

---- What such calls once broke ----

describe("a conversation", function()
  local function refused(code, run, ...)
    assert.equal(code, helper.refusal(run, ...).code)
  end

  it("changed by apply refuses the commit of an older draft, which can still be looked at", function()
    local chat = helper.conversation(HISTORY)
    local draft = chat:draft { guards = false }
    draft:drop(1)
    chat:apply { operation = "truncate", truncate = { keepLast = 3 } }

    assert.equal(9, #draft)
    refused("conflict", core.draft.commit, draft, { operation = "trim", description = "" })
  end)

  it("that a failed transaction was tried on keeps forks of the copy, and closes its drafts", function()
    local chat, fork, draft = helper.conversation(HISTORY), nil, nil
    assert.is_false(pcall(core.transaction, chat, function(copy)
      copy:append { role = "user", content = "u3" }
      fork, draft = copy:fork(), copy:draft()
      error "no"
    end))
    chat:append { role = "user", content = "u4" }
    fork:append { role = "user", content = "u5" }

    assert.equal("u4", chat[#chat].text)
    assert.same({ "u3", "u5" }, { fork[#fork - 1].text, fork[#fork].text })
    refused("closed", draft.tokens, draft)
    whole(chat)
  end)

  it("keeps a fork that was made in a transaction which went well", function()
    local chat, fork = helper.conversation(HISTORY), nil
    core.transaction(chat, function(copy)
      copy:append { role = "user", content = "u3" }
      fork = copy:fork()
    end)

    assert.equal(chat:json(), fork:json())
    fork:append { role = "user", content = "u5" }
    whole(fork)
  end)

  it("whose clock or counter ends the draft refuses the edit", function()
    local draft
    local function ends_it()
      if draft then core.draft.discard(draft) end
      return 1
    end
    local chat = helper.conversation(HISTORY, { clock = ends_it })
    draft = chat:draft()
    refused("closed", draft.insert, draft, 1, { role = "user", content = "u1" })

    draft = nil
    local counted = helper.conversation(HISTORY, { counter = ends_it })
    draft = counted:draft()
    refused("busy", draft.insert, draft, 1, { role = "user", content = "u1" })
    assert.equal(10, #draft)
  end)

  it("reads lists and options without metamethods", function()
    local chat = helper.conversation(HISTORY)
    local liar = setmetatable({}, { __len = function() return 1 << 60 end, __index = function() return "user" end })

    chat:filter { include_names = liar, roles = { "user" } }

    assert.equal(3, #chat)
    assert.equal(0, chat:count(liar))
  end)

  it("refuses a reason that is no string", function()
    local draft = helper.conversation(HISTORY):draft { guards = false }

    assert.is_false(pcall(draft.replace, draft, 4, { content = "c1" }, {}))
    assert.equal("c9(x,y)", draft[4].content)
  end)
end)
