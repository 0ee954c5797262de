/*
** Threats to a sandbox: the rows of the safety page in their own form, then
** variants. What is tested is that they stop, or are refused, in time.
*/
#ifndef EBB_TESTS_SANDBOX_ROWS_H
#define EBB_TESTS_SANDBOX_ROWS_H

typedef enum Expected {
  STOPS,       /* never ends by itself: fuel or the deadline ends it */
  ENDS,        /* ends without an error: what is refused, it checks itself */
  IN_TIME      /* stopped, refused or done: in time */
} Expected;

typedef struct Row {
  const char *threat;
  Expected expected;
  const char *script;
} Row;

static const Row ROWS[] = {
  /* backtracking in C */
  {"find backtracks", STOPS, "while true do local _ = ('a'):rep(3000):find('.-.-.-.-b') end"},
  {"gsub backtracks", STOPS, "while true do local _ = ('a'):rep(3000):gsub('.-.-.-.-b', '') end"},
  {"gmatch backtracks", STOPS, "while true do for _ in ('a'):rep(3000):gmatch('a*a*a*a*b') do end end"},
  {"match through optional items", STOPS,
   "while true do local _ = ('a'):rep(40):match(('a?'):rep(40) .. ('a'):rep(41)) end"},
  {"balance from each place", STOPS, "local s = ('('):rep(200000) while true do local _ = s:find('%b()') end"},
  {"back references", STOPS, "local s = ('a'):rep(4000) while true do local _ = s:find('(.-)(.-)%1%2b') end"},

  /* loops in C over what is claimed */
  {"plain find of 1 MB in 2 MB", STOPS,
   "local s, t = ('a'):rep(2^21), ('a'):rep(2^20) .. 'b' while true do local _ = s:find(t, 1, true) end"},
  {"plain find without special characters", STOPS,
   "local s, t = ('ab'):rep(2^20), ('ab'):rep(2^18) .. 'c' while true do local _ = s:find(t) end"},
  {"plain find whose last byte differs, over and over", STOPS,
   "local s, t = ('\\0'):rep(2^19), ('\\0'):rep(2^18) .. '\\1' for i = 1, math.huge do local _ = s:find(t, i % 9,"
   " true) end"},
  {"plain find of a long text in a short one", STOPS,
   "local t = ('a'):rep(2^21) while true do local _ = ('x'):find(t) end"},
  {"plain find of candidates without end", STOPS,
   "local s = ('ab'):rep(2^20) while true do local _ = s:find('aa', 1, true) end"},
  {"rep of nothing", ENDS, "assert(('').rep('', 10^18 // 1 | 0) == '')"},
  {"rep of nothing with nothing between", ENDS, "assert((''):rep(math.maxinteger, '') == '')"},
  {"rep of a byte", ENDS, "assert(not pcall(string.rep, 'x', math.maxinteger))"},
  {"rep of a gap", ENDS, "assert(not pcall(string.rep, '', 1 << 62, 'x'))"},
  {"table.move over 2^53", IN_TIME, "table.move({}, 1, 2^53 | 0, 2)"},
  {"table.move into another", IN_TIME, "table.move({}, 1, 9999999, 2, {})"},
  {"table.move downward", IN_TIME, "table.move(setmetatable({}, {__index = math.abs}), -(2^53) | 0, 5, -(2^60) | 0)"},
  {"insert with a huge length", IN_TIME,
   "table.insert(setmetatable({}, {__len = function() return 2^53 | 0 end}), 1, 1)"},
  {"insert where the length is the greatest integer", ENDS,
   "local t = setmetatable({}, {__len = function() return math.maxinteger end}) table.insert(t, 1, 'x')"
   " assert(rawget(t, 1) == 'x')"},
  {"remove with a huge length", IN_TIME,
   "table.remove(setmetatable({}, {__len = function() return 2^53 | 0 end}), 1)"},
  {"unpack with a huge length", IN_TIME,
   "local _ = table.unpack(setmetatable({}, {__len = function() return 2^53 | 0 end}))"},
  {"sort with a huge length", IN_TIME, "table.sort(setmetatable({}, {__len = function() return 2^40 | 0 end}))"},
  {"concat through C functions", IN_TIME,
   "table.concat(setmetatable({}, {__index = rawlen and string.char, __len = function() return 9999999 end}))"},
  {"concat in a loop", STOPS,
   "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(1000) end while true do local _ = table.concat(t) end"},
  {"sort of long equal strings", STOPS,
   "local s, t = ('\\0'):rep(2^19), {} for i = 1, 1000 do t[i] = s end while true do table.sort(t) end"},
  {"sort with a function without order", STOPS,
   "local t = {} for i = 1, 9999 do t[i] = i end while true do table.sort(t, function() return true end) end"},
  {"sort with a function that never ends", STOPS, "table.sort({1, 2, 3}, function() while true do end end)"},
  {"sort within a comparison, deeper and deeper", IN_TIME,
   "local t = {} for i = 1, 50000 do t[i] = i end local function f(a, b) table.sort(t, f) return a < b end"
   " pcall(table.sort, t, f)"},
  {"sort within a coroutine within a comparison", IN_TIME,
   "local t = {} for i = 1, 50000 do t[i] = i end local function f(a, b) coroutine.wrap(table.sort)(t, f) end"
   " pcall(table.sort, t, f)"},
  {"gsub with a long template", STOPS,
   "local s, t = ('a'):rep(2^16), ('x'):rep(2^16) while true do pcall(string.gsub, s, 'a', t) end"},
  {"gmatch by many patterns at once", STOPS,
   "local s, f = ('a'):rep(999), {} for i = 1, 99 do f[i] = s:gmatch(('a?'):rep(i % 20 + 1)) end"
   " while true do for i = 1, 99 do f[i]() end end"},
  {"gsub with a function that never ends", STOPS, "local _ = ('x'):gsub('x', function() while true do end end)"},

  /* coroutines */
  {"a coroutine made before the hook", STOPS, "while true do local ok, e = coroutine.resume(OLD) end"},
  {"a loop in a coroutine", STOPS, "coroutine.wrap(function() while true do end end)()"},
  {"many short coroutines", STOPS, "while true do coroutine.wrap(function() local _ = 1 end)() end"},
  {"a deep nest of coroutines", STOPS,
   "local function f(n) if n == 0 then while true do end end return coroutine.wrap(f)(n - 1) end f(100)"},
  {"coroutines that yield to and fro", STOPS,
   "local f = coroutine.wrap(function() while true do coroutine.yield() end end) while true do f() end"},
  {"coroutines without end", STOPS, "local t = {} while true do t[#t % 100 + 1] = coroutine.create(print) end"},

  /* swallowing the limit */
  {"pcall swallows", STOPS, "while true do pcall(function() while true do end end) end"},
  {"xpcall swallows", STOPS, "while true do xpcall(function() while true do end end, function() end) end"},
  {"resume swallows", STOPS,
   "while true do coroutine.resume(coroutine.create(function() while true do end end)) end"},
  {"wrap within pcall swallows", STOPS,
   "while true do pcall(coroutine.wrap(function() while true do end end)) end"},
  {"pcall of pcall of pcall", STOPS, "while true do pcall(pcall, pcall, function() while true do end end) end"},
  {"__close swallows", STOPS,
   "while true do pcall(function() local x <close> = setmetatable({}, {__close = function() while true do end end})"
   " while true do end end) end"},
  {"errors in tostring swallow", STOPS,
   "while true do pcall(tostring, setmetatable({}, {__tostring = function() while true do end end})) end"},
  {"load's reader swallows", STOPS, "while true do pcall(load, function() while true do end end) end"},

  /* code that runs where hooks are off */
  {"xpcall's handler loops after the limit", STOPS,
   "xpcall(function() while true do end end, function() while true do end end)"},
  {"a handler that raises", STOPS,
   "while true do xpcall(function() error(1) end, function() error(2) end) end"},
  {"a handler whose sum raises", STOPS,
   "while true do xpcall(function() error(1) end, function() local _ = nil + 1 end) end"},
  {"a handler whose text raises, but not at last", STOPS,
   "local n = 0 local function f(e) n = n + 1 if n < 180 then local _ = nil .. e end end"
   " while true do n = 0 xpcall(error, f) end"},
  {"a handler within a handler", STOPS,
   "xpcall(function() while true do end end, function() xpcall(error, function() while true do end end) end)"},
  {"a handler in a coroutine", STOPS,
   "coroutine.wrap(function() xpcall(function() while true do end end, function() while true do end end) end)()"},
  {"__gc", ENDS, "assert(not pcall(setmetatable, {}, {__gc = function() while true do end end}))"},
  {"__gc that is false", ENDS, "assert(not pcall(setmetatable, {}, {__gc = false}))"},
  {"__gc added later", ENDS,
   "local m = {} local t = setmetatable({}, m) m.__gc = function() while true do end end t = nil"
   " for i = 1, 20000 do local _ = {i} end"},
  {"__gc behind an __index", ENDS,
   "local m = setmetatable({}, {__index = {__gc = function() while true do end end}})"
   " for i = 1, 2000 do setmetatable({}, m) end"},
  {"__close of a killed coroutine", STOPS,
   "coroutine.wrap(function() local x <close> = setmetatable({}, {__close = function() while true do end end})"
   " while true do end end)()"},
  {"coroutine.close runs a loop", STOPS,
   "local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() while true do end"
   " end}) coroutine.yield() end) coroutine.resume(co) coroutine.close(co)"},
  {"close after a loop that was caught", STOPS,
   "local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() while true do end"
   " end}) while true do end end) while true do pcall(coroutine.resume, co) pcall(coroutine.close, co) end"},
  {"a hundred closes", STOPS,
   "local function f(n) local x <close> = setmetatable({}, {__close = function() while true do end end})"
   " if n == 0 then while true do end end f(n - 1) end f(100)"},

  /* memory */
  {"a bomb of strings", IN_TIME, "local s = 'x' while true do s = s .. s end"},
  {"a bomb of strings that is caught", STOPS,
   "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end"},
  {"a bomb of tables", IN_TIME, "local t = {} for i = 1, math.huge do t[i] = {{{}}} end"},
  {"a bomb of tables that is caught", STOPS,
   "while true do pcall(function() local t = {} for i = 1, math.huge do t[i] = {} end end) end"},
  {"rep to the limit, caught", STOPS, "while true do pcall(string.rep, 'x', 2^22 | 0) end"},
  {"format to the limit", STOPS,
   "local s = ('x'):rep(10^6) while true do pcall(string.format, '%s%s%s%s%s', s, s, s, s, s) end"},
  {"concat to the limit", STOPS,
   "local t = {} for i = 1, 5000 do t[i] = ('x'):rep(1000) end while true do pcall(table.concat, t) end"},
  {"a closure for each step", IN_TIME, "local f = print while true do local g = f f = function() return g end end"},
  {"strings kept in a table", STOPS,
   "while true do pcall(function() local t = {} for i = 1, math.huge do t[i] = ('x'):rep(1000) .. i end end) end"},
  {"a table that grows by one part", IN_TIME, "local t = {} for i = 1, math.huge do t[i] = i end"},

  /* cheap instructions, dear work */
  {"concatenation in a loop", STOPS, "local s = ('x'):rep(10^6) while true do local _ = s .. 'y' end"},
  {"rep in a loop", STOPS, "while true do local _ = ('x'):rep(10^6) end"},
  {"upper in a loop", STOPS, "local s = ('x'):rep(10^6) while true do local _ = s:upper() end"},
  {"reverse in a loop", STOPS, "local s = ('x'):rep(10^6) while true do local _ = s:reverse() end"},
  {"sub in a loop", STOPS, "local s = ('x'):rep(10^6) while true do local _ = s:sub(2) end"},
  {"byte in a loop", STOPS, "local s = ('x'):rep(90000) while true do local _ = s:byte(1, -1) end"},
  {"format %q in a loop", STOPS, "local s = ('\\0'):rep(3 * 10^5) while true do pcall(string.format, '%q', s) end"},
  {"%q of a long text is what Lua writes", ENDS,
   "local t = {} for i = 0, 255 do t[#t + 1] = string.char(i, 48 + i % 10, i, 255 - i) end"
   " local short = table.concat(t) local long = short:rep(3)"
   " assert(('%5d%%%q %q|%s'):format(7, long, 1, long) == '    7%' .. '\"' .."
   " ('%q'):format(short):sub(2, -2):rep(3) .. '\" 1|' .. long) assert(load('return ' .. ('%q'):format(long))() == long)"},
  {"utf8.len in a loop", STOPS, "local s = ('x'):rep(10^6) while true do local _ = utf8.len(s) end"},
  {"a step of utf8.codes over bytes that are none", STOPS,
   "local s = 'x' .. ('\\x80'):rep(4 * 10^6) local f = utf8.codes(s) while true do pcall(f, s, 1) end"},
  {"utf8.codepoint in a loop", STOPS, "local s = ('x'):rep(90000) while true do local _ = utf8.codepoint(s, 1, -1)"
    " end"},
  {"utf8.offset in a loop", STOPS, "local s = ('x'):rep(10^6) while true do local _ = utf8.offset(s, 999999) end"},
  {"unpack in a loop", STOPS, "local t = table.pack(('x'):rep(90000):byte(1, -1)) while true do local _ ="
    " table.unpack(t) end"},
  {"pack in a loop", STOPS, "while true do pcall(string.pack, 'c500000', '') end"},
  {"unpack of many", STOPS, "local f = ('b'):rep(9000) local s = ('x'):rep(9000) while true do local _ = f:unpack(s)"
    " end"},
  {"varargs in a loop", STOPS,
   "local function f(...) while true do local _ = select('#', ...) end end f(('x'):rep(30000):byte(1, -1))"},
  {"select in a loop", STOPS,
   "local function f(...) while true do local _ = select(2, ...) end end f(('x'):rep(30000):byte(1, -1))"},

  {"format of 99 digits", STOPS, "while true do local _ = ('%.99f'):format(1e308) end"},
  {"closures of many variables", STOPS,
   "local names, uses = 'local a', 'a' for i = 1, 180 do names = names .. ',a' .. i uses = uses .. ',a' .. i end"
   " load(names .. ' while true do local f = function() return ' .. uses .. ' end end')()"},

  /* comparisons that nothing charges */
  {"== on equal long strings", STOPS,
   "local a, b = ('x'):rep(4 * 10^6), ('x'):rep(4 * 10^6) while true do local _ = a == b end"},
  {"< on equal long strings", STOPS,
   "local a, b = ('x'):rep(4 * 10^6), ('x'):rep(4 * 10^6) while true do local _ = a < b end"},
  {"< on long strings of zeros", STOPS,
   "local a, b = ('\\0'):rep(2^19), ('\\0'):rep(2^19) while true do local _ = a < b end"},
  {"< on long strings with as many zeros as may be", STOPS,
   "local a = ('\\0xxxxxx'):rep(2^19) local b = a .. 'x' while true do local _ = a < b end"},
  {"texts with more zeros are refused, whatever operator or function makes them", ENDS,
   "local made, s = 0, ('\\0'):rep(2^19)"
   " local function refused(f, ...) local ok, why = pcall(function(...) local r = f(...) made = made + 1 return r end, ...)"
   " assert(not ok and why:find '^script:1: a text has more than 524288 NUL bytes', why) end"
   " refused(function() return s .. '\\0' end) refused(string.rep, 'x\\0', 2^19 + 1 | 0) refused(string.pack, 'c600000', '')"
   " refused(table.concat, {s, '\\0'}) refused(string.gsub, s .. 'x', 'x', '\\0') assert(made == 0)"},
  {"texts with more zeros are refused, wherever they are made", ENDS,
   "local made, s = 0, ('\\0'):rep(2^19)"
   " local function refused(f, ...) local ok, why = pcall(function(...) local r = f(...) made = made + 1 return r end, ...)"
   " assert(not ok and why:find '^script:1: a text has more than 524288 NUL bytes', why) end"
   " refused(coroutine.wrap(string.rep), '\\0', 600000) refused(pcall, string.rep, '\\0', 600000)"
   " refused(function() for x in string.rep, '\\0', 600000 do made = made + 1 end end)"
   " refused(function() local x x = s .. s made = x end) assert(made == 0)"},
  {"long texts with fewer zeros are made", ENDS,
   "local s = ('\\0'):rep(2^19) local x = s .. 'x' assert(#(('x'):rep(10^6) .. s:sub(9)) > 15 * 10^5)"},
  {"< on many strings of zeros of middle length", STOPS,
   "local a, b = ('\\0'):rep(10^5), ('\\0'):rep(10^5) while true do local _ = a < b end"},
  {"bits of long strings", IN_TIME, "local s = ('0'):rep(4 * 10^6) while true do pcall(function() local _ = s | 0"
    " end) end"},
  {"sums of long strings", STOPS, "local s = ('0'):rep(4 * 10^6) while true do local _ = s + 0 end"},
  {"keys of long strings", STOPS,
   "local t = {} while true do local s = ('x'):rep(10^6) .. #t t[s] = nil local _ = t[s] end"},
  {"rawequal on long strings", STOPS,
   "local a, b = ('x'):rep(4 * 10^6), ('x'):rep(4 * 10^6) while true do local _ = rawequal(a, b) end"},
  {"tonumber on long strings", STOPS, "local s = (' '):rep(4 * 10^6) while true do local _ = tonumber(s, 36) end"},
  {"integer keys in one chain", IN_TIME,
   "local t, m = {}, (1 << 17) - 1 for i = 1, 70000 do t[i * m] = true end"},
  {"float keys in one chain", IN_TIME,
   "local t, m = {}, (1 << 17) - 1 for i = 1, 70000 do t[i * m + 0.0] = true t[i * 2.0^70] = true end"},
  {"integer keys in one chain, smaller", IN_TIME,
   "while true do local t, m = {}, (1 << 14) - 1 for i = 1, 16000 do t[i * m] = true end end"},
  {"a walk along a chain of keys", STOPS,
   "local t, m = {}, (1 << 13) - 1 for i = 1, 8000 do t[i * m] = true end while true do local _ = t[-m] end"},
  {"a chain of __index", STOPS,
   "local t = {} for i = 1, 1900 do t = setmetatable({}, {__index = t}) end while true do local _ = t.x end"},
  {"next over an emptied table", STOPS,
   "local t = {} for i = 1, 200000 do t[i] = i end for i = 1, 200000 do t[i] = nil end"
   " while true do local _ = next(t) end"},
  {"pairs over a big table", STOPS,
   "local t = {} for i = 1, 8000 do t['k' .. i] = i end while true do for _ in pairs(t) do break end end"},

  /* the collector */
  {"collectgarbage in a loop", ENDS, "for _, what in ipairs { 'collect', 'step', 'stop', 'generational', 'setpause'"
    " } do"
   " assert(not pcall(collectgarbage, what)) end assert(not pcall(collectgarbage))"},
  {"collectgarbage counts", ENDS, "assert(collectgarbage 'count' > 1)"},
  {"garbage with much alive", STOPS,
   "local t = {} for i = 1, 100000 do t[i] = {i} end while true do local _ = {} end"},
  {"weak tables", STOPS,
   "local all = {} while true do local e = setmetatable({}, {__mode = 'v'}) local k = {} e[k] = {e, k}"
   " all[#all % 20000 + 1] = e end"},
  {"weak keys", ENDS,
   "for _, mode in ipairs { 'k', 'kv', 'xk' } do local ok, why = pcall(setmetatable, {}, {__mode = mode})"
   " assert(not ok and why:find 'weak keys') end assert(not pcall(setmetatable, {}, {__mode = 'v', __gc = 1}))"},
  {"weak keys by a mode set later", ENDS,
   "local m = {} local t = setmetatable({}, m) m.__mode = 'k' t[{}] = 1 for i = 1, 20000 do local _ = {} end"
   " assert(next(t)) assert(not pcall(setmetatable, {}, m))"},
  {"weak keys by rawset, over weak values", ENDS,
   "local m = {__mode = 'v'} local t = setmetatable({}, m) rawset(m, '__mode', 'k') t[{}] = 1"
   " for i = 1, 20000 do local _ = {} end assert(next(t))"},
  {"weak keys by a metatable that is its own", ENDS,
   "local m = {} m.__index = m setmetatable(m, m) setmetatable(m, m) m['__' .. 'mode'] = 'k' m[{}] = 1"
   " for i = 1, 20000 do local _ = {} end local n = 0 for k in pairs(m) do n = n + 1 end assert(n == 3)"},
  {"weak values go", ENDS,
   "local t = setmetatable({}, {__mode = 'v'}) t[1], t[2], t.x = {}, 'text', {} for i = 1, 40000 do local _ = {} end"
   " assert(t[1] == nil and t[2] == 'text' and t.x == nil)"},
  {"a mode that was taken away", ENDS,
   "local m = {__mode = 'v'} local t = setmetatable({}, m) m.__mode = nil setmetatable(t, m) t[1] = {}"
   " for i = 1, 20000 do local _ = {} end assert(t[1])"},
  {"the collector's word for modes is hidden", ENDS,
   "local m = {__mode = 'v', __index = m} local t, n, k = setmetatable({}, m), 0"
   " for k in pairs(m) do assert(k == '__mode' or k == '__index') end"
   " repeat k = next(m, k) n = n + 1 assert(k == nil or k == '__mode') until k == nil assert(n == 2)"
   " for i = 0, 99 do assert(rawget(m, ('_m_%03d'):format(i)) == nil) end"},

  /* the parser, bytecode */
  {"bytecode", ENDS, "assert(not load('\\27Lua')) assert(not load('\\27Lua', 'x', 'b')) assert(not load('x = 1',"
    " 'x', 'b'))"},
  {"bytecode from a reader", ENDS,
   "local n = 0 assert(not load(function() n = n + 1 return n == 1 and '\\27' or n == 2 and 'Lua' or nil end))"},
  {"no string.dump", ENDS, "assert(string.dump == nil and (''). dump == nil)"},
  {"bytecode by require", ENDS, "assert(not pcall(require, 'bytecode'))"},
  {"load in a loop", STOPS, "local s = ('x = 1 '):rep(10000) while true do local _ = load(s) end"},
  {"a long source", ENDS, "assert(not load(('x = 1 '):rep(300000)))"},
  {"labels and gotos", IN_TIME,
   "local t = {} for i = 1, 30000 do t[i] = 'goto a' .. i end for i = 1, 30000 do t[#t + 1] = '::a' .. i .. '::' end"
   " load(table.concat(t, ' '))"},
  {"labels between statements", STOPS,
   "local t = {} for i = 1, 32000 do t[i] = '::a' .. i .. ':: x = 1' end local s = table.concat(t, ' ')"
   " while true do load(s) end"},
  {"names sought through nested functions", IN_TIME,
   "local names = 'local a' for i = 1, 180 do names = names .. ',a' .. i end"
   " local s = ('local function f() ' .. names .. ' '):rep(150) .. ('x = x '):rep(50000) .. ('end '):rep(150)"
   " load(s) load('--[[' .. s .. ']]' .. s)"},
  {"names sought behind strings and comments", IN_TIME,
   "local names = '' for i = 1, 180 do names = names .. ',a' .. i end"
   " local s = ('local function f() local a' .. names .. ' = [==[ end ]] ]==], \\'end\\\\\\'end\\' --end\\n'):rep(150)"
   " load(s .. ('x = x '):rep(50000) .. ('end '):rep(150))"},
  {"names sought among borrowed ones", IN_TIME,
   "local names, uses = 'local a', '' for i = 1, 180 do names = names .. ',a' .. i uses = uses .. 'a' .. i .. ' = 1 '"
   " end"
   " load(names .. ' ' .. ('local function f() ' .. uses):rep(150) .. ('x = x '):rep(50000) .. ('end '):rep(150))"},
  {"breaks", IN_TIME, "load('while x do ' .. ('if y then break end '):rep(30000) .. 'end')"},
  {"elseif chains", IN_TIME, "load('if x then ' .. ('elseif x then '):rep(60000) .. 'end')"},
  {"chains of and", IN_TIME, "load('return ' .. ('x and '):rep(100000) .. 'x')"},
  {"chains of or behind comments", IN_TIME, "load('return ' .. ('x or--[[local]]\\n'):rep(50000) .. 'x')"},
  {"chains of comparisons", IN_TIME, "load('if ' .. ('a==b or '):rep(60000) .. 'x then end')"},
  {"handlers of handlers, with a long text at the last level of C calls", ENDS,
   "xpcall(error, function() return ('a'):rep(5000):rep(math.maxinteger) end)"},
  {"a handler of load that loops", STOPS,
   "local s = ('x = x + 1 '):rep(60000) while true do xpcall(load, function() while true do end end, s) end"},
  {"a handler that loops where C calls are too deep for load", STOPS,
   "local function f(n) if n > 0 then return (('x'):gsub('x', function() f(n - 1) end)) end"
   " xpcall(load, function() while true do end end, 'return ' .. ('('):rep(150)) end"
   " for n = 1, 199 do pcall(f, n) end while true do end"},
  {"many chains, each allowed", STOPS, "local s = 'return ' .. ('x and '):rep(4900) .. 'x' while true do load(s) end"},
  {"deep nesting", IN_TIME, "load(('('):rep(100000)) load(('{'):rep(100000)) load(('do '):rep(100000))"},

  /* metatables, what is shared */
  {"the metatable of strings", ENDS, "assert(getmetatable '' == false) assert(not pcall(setmetatable, '', {}))"},
  {"the library of strings", ENDS, "string.rep = nil assert((''):rep(1) == '')"},
  {"string methods without globals", ENDS, "local _ENV = {} local _ = ('x').rep"},
  {"arithmetic on strings", ENDS, "assert('10' + 1 == 11 and -'2' == -2 and '3' * '4' == 12 and '7' // 2 == 3)"},
  {"a locked metatable", ENDS, "local t = setmetatable({}, {__metatable = 1}) assert(not pcall(setmetatable, t, {}))"},

  /* depth */
  {"nested coroutine.close", IN_TIME,
   "local function f(n) local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function()"
   " if n > 0 then f(n - 1) end end}) coroutine.yield() end) coroutine.resume(co) coroutine.close(co) end f(100000)"},
  {"a row of coroutines, each closes the one before", IN_TIME,
   "local t = {} for i = 1, 20000 do t[i] = coroutine.create(function() local x <close> = setmetatable({}, {__close ="
   " function() if t[i - 1] then coroutine.close(t[i - 1]) end end}) coroutine.yield() end) coroutine.resume(t[i]) end"
   " coroutine.close(t[#t])"},
  {"nested close by wrap's errors", IN_TIME,
   "local function f(n) coroutine.wrap(function() local x <close> = setmetatable({}, {__close = function()"
   " if n > 0 then f(n - 1) end end}) error 'x' end)() end f(100000)"},
  {"recursion", IN_TIME, "local function f() return 1 + f() end f()"},
  {"recursion through metamethods", IN_TIME,
   "local m = {} m.__index = function(t, k) return t[k .. 'x'] end local _ = setmetatable({}, m).x"},
  {"recursion through gsub", IN_TIME, "local function f() return (('x'):gsub('x', f)) end f()"},
  {"recursion through sort", IN_TIME, "local function f() table.sort({1, 2}, f) end f()"},
  {"recursion through tostring", IN_TIME,
   "local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) tostring(t)"},
  {"recursion through coroutines", IN_TIME, "local function f() return coroutine.wrap(f)() end f()"},

  /* what is not there */
  {"no io, os, debug, package", ENDS,
   "for _, name in ipairs { 'io', 'os', 'debug', 'package', 'dofile', 'loadfile', 'loadstring', 'ffi', 'lpeg' } do"
   " assert(_G[name] == nil) assert(not pcall(require, name)) end"},
  {"no paths in require", ENDS,
   "for _, name in ipairs { '../x', '/etc/passwd', 'a..b', '.a', 'a.', 'a/b', 'a\\0b', '', ('x'):rep(1000) } do"
   " assert(not pcall(require, name)) end"},
  {"a module of the host", ENDS, "assert(require('answer') == 42 and require 'answer' == 42)"},
  {"a module that requires itself", ENDS, "assert(not pcall(require, 'circle'))"},
  {"no addresses", ENDS,
   "for _, v in ipairs { {}, print, coroutine.create(print) } do assert(not tostring(v):find '0x') end"
   " assert(not pcall(string.format, '%p', {})) assert(not string.format('%s', {}):find '0x')"},
  {"__name cannot make a value that is not text a text", ENDS, "assert(tostring(setmetatable({}, {__name = 'A'})):find '^A:"
    " %d+$')"},
  {"__tostring must answer a text", ENDS, "assert(not pcall(tostring, setmetatable({}, {__tostring = function()"
    " return {} end})))"},
  {"no time, no chance without a seed", ENDS, "assert(not pcall(math.randomseed)) math.randomseed(1) math.random()"},
  {"pairs in order", ENDS,
   "local s = '' for k in pairs { z = 1, [3] = 1, [true] = 1, a = 1, [1.5] = 1, [-2] = 1, b = 1, [false] = 1 } do"
   " s = s .. tostring(k) .. ' ' end assert(s == 'false true -2 1.5 3 a b z ', s)"},
  {"next in order", ENDS,
   "local t, s, k = { z = 1, [3] = 1, [true] = 1, a = 1 }, '' repeat k = next(t, k) s = s .. tostring(k) .. ' ' until"
   " k == nil assert(s == 'true 3 a z nil ', s)"},
  {"references in order of their creation", ENDS,
   "local list, t, n = {print, math.floor, math.random, ipairs, (coroutine.running())}, {}, 0"
   " for i = 1, 9 do list[#list + 1] = {} list[#list + 1] = function() return i end"
   " list[#list + 1] = coroutine.create(print) end for i = #list, 6, -1 do t[list[i]] = i end"
   " for _, i in pairs(t) do n = n + 1 assert(i == n + 5) end local k repeat k = next(t, k) n = n + 1"
   " assert(k == list[n - 22]) until k == nil"},
  {"references behind all else", ENDS,
   "local a, b, s = {}, {}, '' for k, v in pairs { [b] = 'b', [a] = 'a', z = 'z', [1] = '1', [true] = 't' } do"
   " s = s .. v end assert(s == 't1zab', s)"},
  {"scripts cannot resume the main thread", ENDS,
   "local main = coroutine.running() assert(not coroutine.resume(main))"
   " coroutine.wrap(function() assert(not coroutine.resume(main)) assert(not pcall(coroutine.close, main)) end)()"},
  {"a coroutine that resumes itself", ENDS,
   "local co co = coroutine.create(function() return coroutine.resume(co) end) local a, b = coroutine.resume(co)"
   " assert(a and not b)"},
  {"the iterator of pairs on no table", ENDS, "local f = pairs {} assert(not pcall(f, 1)) assert(not pcall(f))"},
};

#endif
