--- Scripts of strangers that once outlived their limits, in variants: bodies for a policy, a filter, a processor,
--- the content of a window and a task, each of which hands out the global `r` where it ends by itself.
--
-- S2, S3, S4, S7 and S9 are the findings of a review; S1 (machine code), S5 (agents), S6 (files) and S8 (order) have
-- tests of their own.

---@type { [1]: string, [2]: string }[]     what it is, its body
return {
  -- S2: what is stopped is not unwound
  { "S2: xpcalls in coroutines, whose handlers loop", [[
    local function nest(d)
      local n, f = 0
      function f()
        xpcall(function()
          coroutine.yield()
          n = n + 1
          if n >= 15000 then
            if d > 1 then nest(d - 1) end
            while true do end
          end
          f()
          while true do end
        end, function() while true do end end)
        while true do end
      end
      local co = coroutine.wrap(f)
      while true do co() end
    end
    nest(4)]] },
  { "S2: __index that catches, closes and goes on", [[
    local m = {}
    m.__index = function(t, k)
      local _ <close> = setmetatable({}, { __close = function() while true do pcall(error) end end })
      pcall(function() local _ = t[k .. 1] end)
      while true do pcall(error, {}) end
    end
    local _ = setmetatable({}, m).x]] },
  { "finalizers at the last level of C calls, where Lua gives them up", [[
    local json, m = require "ebb".json, {}
    m.__index = function(t, k)
      pcall(function() return t[k .. 1] end)
      while true do json.encode { k } end
    end
    local _ = setmetatable({}, m).x]] },
  { "S2: comparisons of sort that catch, in coroutines", [[
    local function f(n)
      pcall(table.sort, { 3, 2, 1 }, function()
        if n > 0 then coroutine.wrap(f)(n - 1) end
        while true do pcall(error) end
      end)
      while true do end
    end
    f(60)]] },

  -- S3: no ephemerons
  { "S3: a mode that pairs copies, four tables", [=[
    local all, weak, meta, n = {}, {}, {}, 12000
    for i = 1, n do all[i] = {} end
    for i = n, 2, -1 do local j = math.random(i) all[i], all[j] = all[j], all[i] end
    for i = 1, 4 do weak[i] = setmetatable({}, meta) end
    for i = 2, n do weak[i % 4 + 1][all[i - 1]] = all[i] end
    KEPT = all[1] all = nil
    for k, v in pairs { __mode = "k" } do meta[k] = v end
    while true do local _ = ("x"):rep(1000000) end]=] },
  { "S3: a metatable that is the weak table", [=[
    local t, all, n = {}, {}, 12000
    setmetatable(t, t)
    for i = 1, n do all[i] = {} end
    for i = 2, n do t[all[i - 1]] = all[i] end
    KEPT = all[1] all = nil
    rawset(t, "__mode", "k")
    while true do local _ = ("x"):rep(1000000) end]=] },
  { "S3: weak values that refer to each other", [[
    local t = setmetatable({}, { __mode = "v" })
    while true do
      for i = 1, 8000 do t[-i] = { t[1 - i] } end
    end]] },

  -- S4: what leaves
  { "S4: float keys that collide, 200 tables", [[
    r = {}
    for k = 1, 200 do
      local t = {}
      for i = 1, 4000 do t[i * 2.0 ^ 70] = 1 end
      r[k] = t
    end]] },
  { "S4: one wide list, many times", [[
    r = {}
    local t = {}
    for i = 1, 100000 do t[i] = i end
    for i = 1, 300 do r[i] = t end]] },
  { "S4: tables of two, 40 levels", "r = {} for i = 1, 40 do r = { a = r, b = r } end" },
  { "S4: texts of 3 MB, 100 of them", [[
    r = {}
    local s = ("x"):rep(3000000)
    for i = 1, 100 do r[i] = s end]] },

  -- S7: what cannot be interrupted
  { "S7: gsub with an __index that never ends", [[
    local t = setmetatable({}, { __index = function() while true do pcall(error) end end })
    local _ = ("word "):rep(64):gsub("%a+", t)]] },
  { "S7: a reader of load that loads", [[
    local function reader() while true do pcall(load, reader) end end
    load(reader)]] },
  { "S7: concat of what __index matches", [[
    local t = setmetatable({}, { __len = function() return 100000 end,
      __index = function() return tostring((("a"):rep(200)):find(".-.-b")) end })
    while true do table.concat(t) end]] },

  -- S9: the terminal
  { "S9: a flood of sequences", [[while true do print(("\27]52;c;\7"):rep(10000)) end]] },
  { "S9: texts of __tostring", [[
    local t = setmetatable({}, { __tostring = function() return ("\27[2J"):rep(200000) end })
    while true do print(t, t) end]] },
  { "S9: prints in coroutines that catch", [[
    while true do coroutine.wrap(function() while true do pcall(print, ("\155"):rep(100000)) end end)() end]] },

  -- what was known to be open
  { "JSON of a million lists", [[
    local json = require "ebb".json
    local lists = ("["):rep(250) .. ("]"):rep(250)
    local text = "[" .. (lists .. ","):rep(7000) .. "1]"
    while true do pcall(json.decode, text) end]] },
  { "comparisons of texts of NULs", [[
    local a, b = ("\0"):rep(100000), ("\0"):rep(100000) .. "x"
    while true do local _ = a < b or a <= b end]] },
  { "a sort of texts of NULs", [[
    local t = {}
    for i = 1, 60 do t[i] = ("\0"):rep(60000) .. i end
    while true do table.sort(t) end]] },
  { "first walks over many keys", [[
    while true do
      local t = {}
      for i = 1, 8000 do t["k" .. i] = i end
      for _ in pairs(t) do break end
      local _ = next(t)
    end]] },
  { "lengths of tables that are all hash", [[
    local t = {}
    for i = 8000, 1, -1 do t[i] = i end
    while true do local _ = #t end]] },
  { "a chain of __call", [[
    local f = function() end
    for _ = 1, 180 do f = setmetatable({}, { __call = f }) end
    while true do f() end]] },
  { "a chain of __index", [[
    local t = {}
    for _ = 1, 1900 do t = setmetatable({}, { __index = t }) end
    while true do local _ = t.x end]] },
  { "texts of 4 MB in functions of string", [[
    local s = ("a"):rep(4000000)
    local functions = { s.upper, s.reverse, s.len, utf8.len, tonumber, tostring,
      function() return s:find("b", 1, true) end, function() return s:gsub("a", { a = "b" }) end,
      function() return s:byte(1, 90000) end, function() return ("%q"):format(s) end,
      function() return s .. "x" end, function() return s:pack() end, function() return s:match "^(a*)%1$" end }
    while true do
      for _, f in ipairs(functions) do pcall(f, s) end
    end]] },
}
