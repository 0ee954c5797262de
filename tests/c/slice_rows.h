/*
** Shapes of work for slices: what honest scripts do in a long run, and what once could not be
** interrupted. None may end its step late.
*/
#ifndef EBB_TESTS_SLICE_ROWS_H
#define EBB_TESTS_SLICE_ROWS_H

typedef struct Shape {
  const char *name, *script;
} Shape;

#define INDEX_CHAIN \
  "local t = {} for i = 1, 1900 do t = setmetatable({}, {__index = t}) end while true do local _ = t.x end"
#define SPIN "local function spin(n) for _ = 1, n or 5000 do end end "

static const Shape SHAPES[] = {
  /* Lua alone */
  {"a loop", "while true do end"},
  {"calls", "local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end f(40)"},
  {"pcall in a loop", "while true do pcall(error, 'x') end"},
  {"tables", "while true do local t = {} for i = 1, 1000 do t[i] = {i} end end"},
  {"texts", "local s = '' while true do s = (s .. 'x'):sub(-5000) end"},
  {"closures", "while true do local x = {} local function f() return x end f() end"},
  {"coroutines", "local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do f() end"},
  {"coroutines within coroutines",
   "local function nest(n) return coroutine.wrap(function() if n > 0 then nest(n - 1)() end while true do end end) end"
   " nest(80)()"},
  {"deep recursion",
   "local function f(n) if n > 0 then return 1 + f(n - 1) end return 0 end while true do f(20000) end"},
  {"errors caught at a deep stack",
   "local function f(n) if n > 0 then return 1 + f(n - 1) end while true do pcall(error) end end f(20000)"},
  {"errors that rise through pcalls",
   "local function f(n) if n == 0 then error 'x' end local ok, e = pcall(f, n - 1) error(e, 0) end"
   " while true do pcall(f, 150) end"},
  {"varargs", "local function f(...) while true do local _ = select('#', ...) end end f(('x'):rep(30000):byte(1, -1))"},
  {"pairs over many keys",
   "local t = {} for i = 1, 2000 do t['k' .. i] = i end while true do for _ in pairs(t) do end end"},
  {"the first pairs over 8,000 keys",
   "while true do local t = {} for i = 1, 8000 do t['k' .. i] = i end for _ in pairs(t) do break end end"},
  {"pairs over 200,000 elements, of which one is read",
   "local t = {} for i = 1, 200000 do t[i] = i end while true do for _ in pairs(t) do break end end"},
  {"pairs over keys of 500 KB",
   "local t, s = {}, ('x'):rep(500000) for i = 1, 50 do t[s .. i] = i end while true do for _ in pairs(t) do end end"},
  {"equal long strings", "local a, b = ('x'):rep(1000000), ('x'):rep(1000000) while true do local _ = a == b end"},

  /* callbacks of C functions */
  {"gsub with a function, over words",
   SPIN "local text = ('word and another '):rep(64) while true do text:gsub('%a+', function(w) spin(8000)"
   " return w end) end"},
  {"gsub with a function, one long call",
   "local text = ('word and another '):rep(100000) text:gsub('%a+', function(w) return w:upper() end)"},
  {"gsub with a function in C, one long call", "local s = ('a'):rep(1000000) s:gsub('a', string.upper)"},
  {"gsub with a table, one long call", "local s = ('a'):rep(1000000) s:gsub('a', { a = 'b' })"},
  {"gsub with a function that never ends", "('x'):gsub('x', function() while true do end end)"},
  {"gsub with a table that has an __index",
   SPIN "local t = setmetatable({}, { __index = function(_, k) spin() return k end })"
   " local text = ('word and another '):rep(64) while true do text:gsub('%a+', t) end"},
  {"gsub within gsub",
   SPIN "local function f(n) return (('ab'):gsub('%a', function(c) spin(500) return n > 0 and f(n - 1) or c end)) end"
   " while true do f(12) end"},
  {"sort with a function",
   "local t = {} while true do for i = 1, 20000 do t[i] = i * 7919 % 10007 end"
   " table.sort(t, function(a, b) return a < b end) end"},
  {"sort with a function that never ends", "table.sort({ 2, 1 }, function() while true do end end)"},
  {"sort by __lt",
   SPIN "local m = { __lt = function(a, b) spin() return a[1] < b[1] end } local t = {}"
   " for i = 1, 200 do t[i] = setmetatable({ i * 79 % 101 }, m) end while true do table.sort(t) end"},
  {"sort of texts", "local t = {} for i = 1, 50000 do t[i] = tostring(i * 7919 % 10007) end"
   " while true do local c = table.move(t, 1, #t, 1, {}) table.sort(c) end"},
  {"tostring by __tostring",
   SPIN "local t = setmetatable({}, { __tostring = function() spin(500000) return 'x' end })"
   " while true do tostring(t) end"},
  {"format of __tostring",
   SPIN "local t = setmetatable({}, { __tostring = function() spin(500000) return 'x' end })"
   " while true do local _ = ('%s %d %s'):format(t, 1, t) end"},
  {"concat by __index",
   SPIN "local t = setmetatable({}, { __index = function(_, i) spin() return 'x' end, __len = function() return"
   " 1000 end })"
   " while true do table.concat(t, ',') end"},
  {"load with a reader",
   SPIN "while true do local n = 0 load(function() spin() n = n + 1 return n < 200 and 'x = 1 ' or nil end) end"},
  {"load with a reader that never ends", "load(function() while true do end end)"},
  {"load of nested parentheses", "while true do load('return ' .. ('('):rep(300)) end"},
  {"load of a source", "local s = ('x = x + 1 '):rep(500) while true do load(s) end"},
  {"sums of a text and an object",
   SPIN "local t = setmetatable({}, { __add = function() spin(500000) return 1 end }) while true do local _ ="
   " 'x' + t end"},
  {"pairs by __pairs",
   SPIN "local t = setmetatable({}, { __pairs = function() spin(500000) return next, {} end })"
   " while true do for _ in pairs(t) do end end"},
  {"require of a module's function", SPIN "local s = require 'string' while true do spin() s.rep('x', 10) end"},

  /* long work of C functions */
  {"find that backtracks, one call", "local _ = ('a'):rep(3000):find('.-.-.-.-b')"},
  {"match that backtracks", "while true do local _ = ('a'):rep(400):match('.-.-.-b') end"},
  {"gmatch that backtracks", "while true do for _ in ('a'):rep(3000):gmatch('a*a*a*a*b') do end end"},
  {"gsub that backtracks", "while true do local _ = ('a'):rep(3000):gsub('.-.-.-.-b', '') end"},
  {"gsub of a long text", "local s = ('word '):rep(100000) while true do s:gsub('%a+', '%0%0') end"},
  {"plain find of 1 MB in 2 MB",
   "local s, t = ('a'):rep(2^21), ('a'):rep(2^20) .. 'b' while true do local _ = s:find(t, 1, true) end"},
  {"runs over 1 MB", "local s = ('a'):rep(1000000) while true do local _ = s:find('[^b]*b') end"},
  {"balance over 1 MB", "local s = ('('):rep(1000000) while true do local _ = s:find('%b()') end"},
  {"upper and lower of 300 KB", "local s = ('a'):rep(300000) while true do s:upper() s:lower() end"},
  {"reverse of 300 KB", "local s = ('a'):rep(300000) while true do s:reverse() end"},
  {"concat of 100,000 texts",
   "local t = {} for i = 1, 100000 do t[i] = 'text' end while true do table.concat(t, ',') end"},
  {"inserts in front and removes of many",
   "local t = {} for i = 1, 200000 do t[i] = i end while true do table.insert(t, 1, 1) table.remove(t, 1) end"},
  {"move of 100,000 elements",
   "local t = {} for i = 1, 100000 do t[i] = i end while true do table.move(t, 1, #t, 2) end"},
  {"unpack of 30,000",
   "local t = table.pack(('x'):rep(30000):byte(1, -1)) while true do local _ = table.unpack(t) end"},
  {"format of numbers", "while true do local _ = ('%.99f'):format(1e308) end"},
};

/* ---- walks over tables that need a long deadline to grow ---- */

static const Shape WALKS[] = {
  {"pairs over 60,000 keys, of which one is read",
   "local t = {} for i = 1, 60000 do t['k' .. i] = i end for _ = 1, 9 do for _ in pairs(t) do break end end"},
  {"pairs over 60,000 tables as keys",
   "local t = {} for i = 1, 60000 do t[{}] = i end for _ = 1, 9 do for _ in pairs(t) do break end end"},
  {"next over 60,000 keys",
   "local t = {} for i = 1, 60000 do t['k' .. i] = i end for _ = 1, 19 do local _ = next(t) end"},
};

/* ---- scripts whose memory is full, over and over ---- */

static const Shape FULL[] = {
  {"tables until memory is full",
   "while true do pcall(function() local all = {} while true do local t = {} for i = 1, 1000 do t[i] = {i} end"
   " all[#all + 1] = t end end) end"},
  {"closures until memory is full",
   "while true do pcall(function() local f = print while true do local g = f f = function() return g end end end) end"},
  {"long texts until memory is full",
   "while true do pcall(function() local all = {} while true do local t = {} for i = 1, 100 do t[i] = ('x'):rep(100)"
   " .. i end all[#all + 1] = t end end) end"},
  {"garbage while much is alive",
   "local all = {} pcall(function() while true do local t = {} for i = 1, 1000 do t[i] = {i} end all[#all + 1] = t end"
   " end) for i = 1, #all / 4 do all[i] = nil end while true do local _ = {{}} end"},
};

/* ---- scripts that hold much when they are stopped: none ends by itself ----
**
** Of the last UNSLICED some steps are long: nothing yields there, or the first instructions are dear.
*/

#define UNSLICED 9

static const Shape STOPPED[] = {
  {"35,000 pcalls in each of five coroutines",
   "local LEVELS, DEEP = 35000, 5"
   " local function nest(d) local n, f = 0"
   " f = function() pcall(function() coroutine.yield() n = n + 1"
   " if n >= LEVELS then if d > 1 then nest(d - 1) end while true do end end f() end) end"
   " local co = coroutine.wrap(f) while true do co() end end nest(DEEP)"},
  {"pcalls within __eq",
   "local m = {} m.__eq = function(a, b) pcall(function() return a == b end) while true do end end"
   " local c, d = setmetatable({}, m), setmetatable({}, m) local _ = c == d"},
  {"xpcalls in one coroutine, whose handlers loop",
   "local function f(n) coroutine.yield() xpcall(function() if n == 0 then while true do end end f(n - 1) end,"
   " function() while true do end end) while true do end end"
   " local co = coroutine.wrap(f) co(30000) while true do co() end"},
  {"pcalls that go on at a deep stack",
   "local function f(n) if n > 0 then return 1 + f(n - 1) end while true do pcall(error) end end f(60000)"},
  {"pcalls within each other at a deep stack",
   "local function g(n) if n == 0 then while true do end end pcall(g, n - 1) while true do end end"
   " local function f(n) if n > 0 then return 1 + f(n - 1) end g(180) end f(60000)"},
  {"pcalls in functions of gsub",
   "local function f(n) if n == 0 then while true do end end"
   " pcall(string.gsub, 'x', 'x', function() f(n - 1) end) while true do end end f(60)"},
  {"__close that loops, a hundred times",
   "local function f(n) local x <close> = setmetatable({}, { __close = function() while true do end end })"
   " if n == 0 then while true do end end f(n - 1) end f(100)"},
  {"coroutines within coroutines that catch",
   "local function f(n) while true do pcall(coroutine.wrap(function() if n > 0 then f(n - 1) end while true do"
   " end end))"
   " end end f(150)"},
  {"a match that goes back and forth", "while true do pcall(string.find, ('a'):rep(3000), '.-.-.-.-b') end"},
  {"coroutines that close each other",
   "local function f(n) local co = coroutine.create(function() local x <close> = setmetatable({}, { __close ="
   " function() if n > 0 then f(n - 1) end while true do pcall(error) end end }) coroutine.yield() end)"
   " coroutine.resume(co) coroutine.close(co) end f(50)"},
  {"sources that compile for long",
   "local s = ('x = x + 1 '):rep(60000) while true do pcall(load, s) end"},
  {"comparisons of texts of NULs",
   "local a, b = ('\\0'):rep(10^5), ('\\0'):rep(10^5) .. 'x' while true do local _ = a < b end"},
  {"comparisons of texts with half as many NULs as may be",
   "local a, b = ('\\0'):rep(2^18), ('\\0'):rep(2^18) .. 'x' while true do local _ = a < b end"},
  {"fields along a chain of __index", INDEX_CHAIN},
  {"fields along a chain of __newindex",
   "local t = {} for i = 1, 1900 do t = setmetatable({}, {__newindex = t}) end while true do t.x = nil end"},
  {"calls along a chain of __call",
   "local f = function() end for i = 1, 180 do f = setmetatable({}, {__call = f}) end while true do f() end"},
  {"NULs that %q writes", "local s = ('\\0'):rep(2^19) while true do pcall(string.format, '%q', s) end"},
  {"formats of megabytes", "local s = ('b'):rep(4 * 10^6) while true do pcall(string.packsize, s) end"},
};

/* ---- what cannot yield: such a script is stopped some time after its slice ---- */

static const Shape LATE[] = {
  {"a handler", "xpcall(error, function() while true do end end)"},
  {"__close of a coroutine",
   "local co = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() while true do end"
   " end }) coroutine.yield() end) coroutine.resume(co) coroutine.close(co)"},
  {"__newindex of an insert", "table.insert(setmetatable({}, { __newindex = function() while true do end end }), 1)"},
  {"a coroutine within __newindex",
   "table.insert(setmetatable({}, { __newindex = coroutine.wrap(function() while true do pcall(error) end end) }), 1)"},
};

#endif
