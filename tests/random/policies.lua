--- Policies of a random kind: sets of messages, units, tables, functions, coroutines, texts and numbers, walked over
--- by pairs and next, sorted, emptied while they are walked, with garbage in between. What each walk meets decides
--- what is dropped, so any order that differs from run to run shows in the messages that remain.
--
--     lua5.4 tests/random/policies.lua SEED COUNT FOLDER
--
-- writes FOLDER/chat.json and FOLDER/1.lua ... FOLDER/COUNT.lua.

local seed, count, folder = tonumber(arg[1]), tonumber(arg[2]), arg[3]

local state = seed

local function roll(n)
  state = state * 6364136223846793005 + 1442695040888963407
  return (state >> 33) % n + 1
end

local function one_of(list) return list[roll(#list)] end

--- NAME fields of a piece of code become what `fill` has, or random numbers.
local function filled(piece, fill)
  return (piece:gsub("%$(%a+)", function(name)
    return fill and fill[name] or tostring(name == "small" and roll(9) or roll(200))
  end))
end

local PRELUDE = [==[
-- Keys of all kinds, in the order in which they came; `weight` of a key is its place, `hash` sums up what walks met.
return function(draft, budget)
math.randomseed($number)
local keys, weight, hash = {}, {}, 7
local function add(key)
  keys[#keys + 1] = key
  weight[key] = #keys
  return key
end
local function meet(key, value)
  hash = (hash * 31 + (weight[key] or 0) * 7 + (value or 0)) % 1000003
  return hash
end
local function touch(key, value)
  local n = meet(key, value)
  if type(key) ~= "userdata" or draft:tokens() <= budget then return end
  if n % 3 == 0 then pcall(draft.drop, draft, key, "by " .. n) elseif n % 7 == 0 then pcall(draft.keep, draft, key) end
end
local function set_of(first, step, modulus)
  local set = {}
  for i = first, #keys, step do set[keys[i]] = i % modulus end
  return set
end
for message in draft:messages {} do add(message) end
for unit in draft:units {} do add(unit) end
local s = set_of(1, 1, 5)
]==]

local ADDED = {
  "add {}", "add(function() return keys end)", "add(coroutine.create(function() coroutine.yield(1) end))",
  "add('text $number')", "add($number / 7)", "add(-$number)", "add(setmetatable({}, { __index = weight }))",
  "add(pairs {})", "add(coroutine.wrap(print))", "add(load 'return ...')", "add(('x'):rep($number) .. '$number')",
  "add(({ pcall, math.floor, string.find, ipairs, table.sort, (ipairs {}), type })[$small % 7 + 1])",
  "for message in draft:messages { from = 'newest' } do add(message) end",
  "for i = 1, $number do add(i % 3 == 0 and {} or i % 3 == 1 and function() return i end or 'k' .. i) end",
}

local WALKS = {
  "for key, value in pairs(s) do touch(key, value) end",
  "local key, value = next(s) while key ~= nil do touch(key, value) key, value = next(s, key) end",
  "for key, value in next, s do touch(key, value) end",
  "for key, value in pairs(s) do s[key] = nil touch(key, value) end",
  "for key, value in pairs(s) do if meet(key, value) % 4 == 0 then s[key] = nil s[add {}] = value end end",
  "coroutine.wrap(function() for key, value in pairs(s) do touch(key, value) end end)()",
  "local list = {} for key in pairs(s) do list[#list + 1] = key end"
    .. " table.sort(list, function(a, b) return (weight[a] or 0) % $small < (weight[b] or 0) % $small end)"
    .. " for i, key in ipairs(list) do touch(key, i) end",
  "local by = {} for key, value in pairs(s) do local n = math.tointeger(value) or 0"
    .. " by[n] = by[n] or {} by[n][key] = weight[key] end"
    .. " for n, group in pairs(by) do for key in pairs(group) do touch(key, n) end end",
  "local m = setmetatable({}, { __pairs = function() return next, s, nil end })"
    .. " for key, value in pairs(m) do touch(key, value) end",
  "local copy = {} for key, value in pairs(s) do copy[key] = value end s = copy",
  "local names = {} for key in pairs(s) do names[#names + 1] = type(key) end"
    .. " local _ = table.concat(names, ' '):gsub('%a+', function(name) meet(nil, #name) end)",
  "for key in pairs(s) do print('label', pcall(tostring, key)) end",
  "for key in pairs(string) do meet(nil, #key) end",
  "local f = load('local s, f = ... for key, value in pairs(s) do f(key, value) end') f(s, touch)",
}

local OTHERS = {
  "s = set_of($small, $small, $small)", "local t = set_of($small, 1, 9) for key in pairs(t) do s[key] = $small end",
  "for i = 1, $number * 20 do local _ = { i } end", "local _ = ('x'):rep($number * 5000)",
  "print('hash', hash)", "meet(nil, math.random($number))", "draft.memory.hash = hash",
  "draft:note('n' .. hash)", "if draft:tokens() > budget then pcall(draft.drop, draft, hash % #draft + 1) end",
  "pcall(draft.replace, draft, hash % #draft + 1, { content = 'short ' .. hash })",
  "pcall(draft.replace, draft, hash % #draft + 1, { content = 'f', zeta = 1, alpha = 2, beta = { b = 1, a = 2 } })",
  "print('error', pcall(draft.messages, draft, { wrong = 1, other = 2, third = 3 }))",
  "print('error', pcall(require('ebb').json.encode, { [1.5] = 1, [true] = 2, [-3.5] = 3, x = 4 }))",
  "pcall(draft.insert, draft, 1 + hash % #draft, { role = 'user', content = 'in' })",
  "print('error', (select(2, pcall(draft.drop, draft, add {}))))",
  "local ok, why = pcall(error, { code = hash }) meet(nil, why.code)",
}

local function policy()
  local lines = { filled(PRELUDE) }
  for _ = 1, roll(6) do lines[#lines + 1] = filled(one_of(ADDED)) end
  lines[#lines + 1] = "s = set_of(1, 1, 7)"
  for _ = 1, 3 + roll(9) do
    local piece = one_of(roll(3) == 1 and OTHERS or roll(4) == 1 and ADDED or WALKS)
    lines[#lines + 1] = ("do %s end"):format(filled(piece))
  end
  lines[#lines + 1] = "print('end', hash) draft:drop_oldest { to = budget } end\n"
  return table.concat(lines, "\n")
end

--- A conversation of many short messages.
local function chat()
  local messages = { '{"role":"system","content":"Be brief."}' }
  for i = 1, 60 do
    messages[#messages + 1] = ('{"role":"%s","content":"%s %d"}')
      :format(i % 2 == 1 and "user" or "assistant", ("word "):rep(roll(12)), i)
  end
  return ('{"messages":[%s]}\n'):format(table.concat(messages, ","))
end

local function write(name, text)
  local file = assert(io.open(("%s/%s"):format(folder, name), "w"))
  file:write(text)
  file:close()
end

write("chat.json", chat())
for i = 1, count do write(("%d.lua"):format(i), policy()) end
