/*
** Programs against a sandbox. The bytes choose among the rules of a small grammar of Lua: coroutines, weak tables,
** metatables with every metamethod, callbacks in gsub, sort and load; or among fragments that are strung together;
** some are the bytes themselves. Each runs whole and as a task in slices, under little fuel: it must come back near
** its fuel, and its sandbox must be as whole as before. Some that use all their fuel run once more under a deadline,
** and must be gone after twice that. No more memory is held than the limit, and a little around it.
*/
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandbox/sandbox_state.h"

#define FUEL        200000
#define DEADLINE    100000             /* microseconds */
#define SLICE       1000
#define TRIES       5                  /* of which none ended in time: what a script does is alike in each, and what a
                                          busy machine does is not */
#define MEMORY      ((size_t)8 << 20)
#define AROUND      ((size_t)16 << 20) /* bytes that may be held beside those of the limit */
#define PROGRAM_MAX 8192
#define DEPTH_MAX   12                 /* of rules within rules */

static const char *const FRAGMENTS[] = {
  "local a = {} ", "a = ", "return ", "do ", "end ", "while true do ", "for i = 1, 9 do ",
  "for k, v in pairs(a or {}) do ", "function f(...) ", "local function g(x) ", "if a then ", "else ", "f(a) ",
  "g(g) ", "pcall(", "xpcall(",
  "coroutine.wrap(",
  "coroutine.create(", "coroutine.resume(", "coroutine.close(", "coroutine.yield(", "coroutine.running()", "request(",
  "setmetatable(", "getmetatable(", "string.rep(", "string.find(", "string.gsub(", "string.format(", "string.pack(",
  "string.unpack(", "string.gmatch(", "table.concat(", "table.insert(", "table.remove(", "table.move(", "table.sort(",
  "table.unpack(", "utf8.char(", "utf8.codepoint(", "utf8.offset(", "utf8.len(", "tostring(", "tonumber(", "load(",
  "require(", "next(", "select(", "rawset(", "rawget(", "rawlen(", "error(", "assert(", "math.random(", "print(",
  "function() ", "function(...) return ... end ", ")", ") ", ", ", "{", "}", "'x'", "'%s%q%d'", "'(a*)(.-)%1'",
  "'%bxy'",
  "'\\0\\255'", "('ab'):rep(99)", "a", "f", "g", "1", "-1", "0", "1e9", "math.maxinteger", "math.mininteger", "0/0",
  "nil",
  "true", "print", "_G", "_ENV", "...", "#", "..", "+", "==", "<", "|", "//", "a[1]", "a.x ", "= ", "; ", "and ", "or ",
  "local c <close> = ", "{__index = ", "{__close = ", "{__gc = ", "{__pairs = ", "{__tostring = ", "{__len = ",
  "{__lt = ",
  "{__metatable = ", "{__mode = 'k'}", "break ", "goto x ", "::x:: ", "repeat ", "until ", "'t'", "'b'",
  "'\\27Lua'", "i", "k"};

/* ---- a grammar ----
**
** $s statement, $b block, $e expression, $f function, $m metatable, $k a metamethod's name, $n number, $t text,
** $p pattern, $o operator. The first alternative of each is what stands there when the bytes end, or too deep. */

#define ALTERNATIVES_MAX 48

typedef struct Rule {
  char name;
  const char *alternatives[ALTERNATIVES_MAX];
} Rule;

static const Rule RULES[] = {
  {'s', {"a = 1 ", "a = $e ", "a[$e] = $e ", "a.x = $e ", "rawset(a, $e, $e) ", "if $e then $b else $b end ",
         "for i = 1, $n do $b end ", "while $e do $b end ", "repeat $b until $e ", "for k, v in pairs($e) do $b end ",
         "for k in next, a do a[k] = $e $b end ", "do local c <close> = setmetatable({}, $m) $b end ", "do $b end ",
         "g = $f ", "pcall($f, $e, $e) ", "xpcall($f, $f) ", "co = coroutine.create($f) ",
         "coroutine.resume(co, $e) ", "coroutine.close(co) ", "coroutine.wrap($f)($e) ",
         "if coroutine.isyieldable() then coroutine.yield($e) end ", "setmetatable(a, $m) ", "a = setmetatable({}, $m) ",
         "m = getmetatable(a) if m then m.$k = $e end ", "m = getmetatable(a) if m then m.__mode = 'k' end ",
         "w = setmetatable(w or {}, {__mode = 'v'}) w[$e or 1] = $e ", "a = {a, w, co} ", "table.sort($e, $f) ",
         "a = ($t):gsub($p, $f) ", "a = ($t):gsub($p, $e) ", "for x, y in ($t):gmatch($p) do $b end ",
         "local h = load($f) if h then h($e) end ", "local h = load('return ' .. tostring($e)) if h then a = h() end ",
         "print($e) ", "error($e) ", "do return $e end ", "local _ = g and g($e) "}},
  {'b', {"", "$s", "$s$s", "$s$s$s"}},
  {'e', {"a", "1", "nil", "{}", "true", "$n", "$t", "w", "g", "co", "{$e, $e}", "{[$e] = $e}", "$f", "#$t", "#a",
         "-($e)", "~($e)", "not $e", "($e) $o ($e)", "($e)[$e]", "(pcall($f))", "setmetatable({}, $m)",
         "getmetatable($e)", "coroutine.wrap($f)", "coroutine.create($f)", "coroutine.running()",
         "coroutine.status(co)", "select('#', pcall($f))", "($t):rep($n)", "($t):find($p)", "($t):gsub($p, $t)",
         "string.format($t, $e)", "table.concat({$e, $e}, $t)", "table.unpack({$e, $e}, 1, $n)", "tostring($e)",
         "tonumber($e)", "rawlen(a)", "rawequal($e, $e)", "next(a)", "collectgarbage 'count'", "math.random($n)",
         "utf8.char($n)", "string.pack('s', $t)", "request($e)"}},
  {'f', {"print", "function() $b end", "function(...) $b return ... end", "function(x, y) return x $o y end",
         "function(x) $b return x end", "function() return a end", "function() coroutine.yield($e) $b end",
         "coroutine.wrap(function(...) while true do $b coroutine.yield(...) end end)", "coroutine.yield", "pcall",
         "setmetatable({}, {__call = $f})"}},
  {'m', {"{}", "{$k = $f}", "{$k = $f, $k = $f}", "{__mode = 'v', $k = $f}", "{__mode = $t}", "{__index = a, $k = $f}",
         "setmetatable({$k = $f}, $m)", "a", "nil"}},
  {'k', {"__index", "__newindex", "__call", "__concat", "__len", "__eq", "__lt", "__le", "__add", "__sub", "__mul",
         "__div", "__mod", "__pow", "__idiv", "__unm", "__band", "__bor", "__bxor", "__shl", "__shr", "__bnot",
         "__close", "__gc", "__mode", "__tostring", "__name", "__pairs", "__metatable"}},
  {'n', {"3", "0", "-1", "1.5", "9", "100", "5000", "1e9", "math.maxinteger", "math.mininteger", "0/0", "1/0"}},
  {'t', {"'x'", "''", "'k'", "'v'", "'%s%d'", "'return 1'", "('ab'):rep(99)", "('a'):rep(5000)", "'\\0\\255'", "'12'"}},
  {'p', {"'.'", "'%a+'", "'(a*)(.-)%1'", "'.-.-.-.-b'", "'%bxy'", "'%f[%a]'", "'()'", "'[^a]*\\36'", "('a?'):rep(30)"}},
  {'o', {"+", "..", "==", "<", "<=", "~=", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ">>", "and", "or"}},
};

typedef struct Writer {
  const uint8_t *bytes;      /* that choose */
  size_t size, at;
  char *out;
  size_t used;
} Writer;

static void put(Writer *writer, const char *text, int depth);

static void put_rule(Writer *writer, char name, int depth) {
  const Rule *rule = RULES;
  size_t count = 0;
  while (rule->name != name) rule++;
  while (count < ALTERNATIVES_MAX && rule->alternatives[count] != NULL) count++;
  bool ends = writer->at == writer->size || depth > DEPTH_MAX || writer->used > PROGRAM_MAX / 2;
  put(writer, rule->alternatives[ends ? 0 : writer->bytes[writer->at++] % count], depth + 1);
}

static void put(Writer *writer, const char *text, int depth) {
  for (; *text != '\0'; text++) {
    if (*text == '$') put_rule(writer, *++text, depth);
    else if (writer->used < PROGRAM_MAX) writer->out[writer->used++] = *text;
  }
}

static size_t write_by_grammar(const uint8_t *bytes, size_t size, char *out) {
  Writer writer = {.bytes = bytes, .size = size, .out = out};
  put(&writer, "local g, co, w, m a = {} ", 0);
  while (writer.at < size && writer.used <= PROGRAM_MAX / 2) put(&writer, "pcall(function(...) $s end) ", 0);
  return writer.used;
}

static size_t string_together(const uint8_t *bytes, size_t size, char *out) {
  size_t used = 0;
  for (size_t i = 0; i < size; i++) {
    const char *fragment = FRAGMENTS[bytes[i] % (sizeof FRAGMENTS / sizeof *FRAGMENTS)];
    size_t length = strlen(fragment);
    if (used + length > PROGRAM_MAX) break;
    memcpy(out + used, fragment, length);
    used += length;
  }
  return used;
}

/* The first byte chooses the kind of program. */
static size_t program_of(const uint8_t *bytes, size_t size, char *out) {
  if (size == 0) return 0;
  if (bytes[0] != 255) return (bytes[0] % 4 == 0 ? string_together : write_by_grammar)(bytes + 1, size - 1, out);
  size_t used = size - 1 < PROGRAM_MAX ? size - 1 : PROGRAM_MAX;
  memcpy(out, bytes + 1, used);
  return used;
}

/* ---- memory, counted from outside ---- */

static size_t held, most;    /* bytes, now and at most */

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  if (new_size == 0) {
    free(block);
    held -= old_size;
    return NULL;
  }
  void *result = realloc(block, new_size);
  if (result == NULL) return NULL;
  held = held - old_size + new_size;
  if (held > most) most = held;
  return result;
}

/* ---- runs ---- */

static void must(bool holds, const char *what, const Sandbox *sandbox) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, sandbox_message(sandbox));
  abort();
}

static void check_whole(Sandbox *sandbox) {
  static const char script[] = "local s = ('x'):rep(3) return s .. ''";
  must(sandbox_load(sandbox, script, sizeof script - 1, "=whole") == SANDBOX_OK, "load", sandbox);
  must(sandbox_call(sandbox, 0, 1, NULL) == SANDBOX_OK, "call", sandbox);
  must(strcmp(lua_tostring(sandbox_state(sandbox), -1), "xxx") == 0, "strings", sandbox);
  lua_pop(sandbox_state(sandbox), 1);
}

/* As a task, in slices of so many microseconds or so much fuel. */
static void run_in_slices(Sandbox *sandbox, uint64_t microseconds, uint64_t fuel) {
  Task *task;
  int results, steps = 0;
  if (task_start(sandbox, 0, NULL, &task) != SANDBOX_OK) return;
  TaskState now;
  while ((now = task_step(task, microseconds, fuel, &results)) == TASK_READY || now == TASK_REQUEST) {
    must(++steps < FUEL, "a task without end", sandbox);
    if (now == TASK_REQUEST) task_refuse(task, "fuzz", "no");
  }
  lua_pop(sandbox_state(sandbox), results);
  task_free(task);
}

/* Time of the processor: a machine that does something else says nothing about us. */
static int64_t now(void *user) {
  struct timespec time;
  (void)user;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static Sandbox *new_sandbox(SandboxLimits limits) {
  SandboxConfig config = {.memory = {.allocate = allocate}, .memory_limit = MEMORY, .limits = limits, .now = now};
  held = most = 0;
  Sandbox *sandbox = sandbox_new(&config);
  if (sandbox == NULL) abort();
  return sandbox;
}

static void free_sandbox(Sandbox *sandbox) {
  must(most <= MEMORY + AROUND, "too much memory", sandbox);
  sandbox_limit_memory(sandbox, 2 * MEMORY);     /* the program's globals may have filled it */
  check_whole(sandbox);
  sandbox_free(sandbox);
  if (held != 0) abort();
}

/* True if the program used up its fuel. */
static bool run_by_fuel(const char *program, size_t length) {
  Sandbox *sandbox = new_sandbox((SandboxLimits){FUEL, 10000000});
  bool out = false;
  for (int sliced = 0; sliced < 2; sliced++) {
    if (sandbox_load(sandbox, program, length, "=fuzz") != SANDBOX_OK) break;
    if (sliced) run_in_slices(sandbox, 0, 3000);
    else out = sandbox_call(sandbox, 0, 0, NULL) == SANDBOX_FUEL_OUT;
    must(sandbox_used(sandbox).microseconds < 9000000, "too late", sandbox);
    must(lua_gettop(sandbox_state(sandbox)) == 0, "left on the stack", sandbox);
  }
  free_sandbox(sandbox);
  return out;
}

/* False if it took longer than twice the deadline. */
static bool run_by_deadline(const char *program, size_t length, bool sliced) {
  Sandbox *sandbox = new_sandbox((SandboxLimits){UINT64_C(1) << 60, DEADLINE});
  int64_t before = now(NULL);
  if (sandbox_load(sandbox, program, length, "=fuzz") != SANDBOX_OK) abort();
  if (sliced) run_in_slices(sandbox, SLICE, 0);
  else sandbox_call(sandbox, 0, 0, NULL);
  bool in_time = now(NULL) - before <= 2 * DEADLINE;
  free_sandbox(sandbox);
  return in_time;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char program[PROGRAM_MAX];
  size_t length = program_of(bytes, size, program);
  if (getenv("SHOW") != NULL) printf("%.*s\n", (int)length, program);
  bool loops = run_by_fuel(program, length), sliced = size > 0 && bytes[0] / 4 % 2 != 0;
  if (!loops || bytes[0] / 8 % 8 != 0) return 0;       /* one in eight: it takes as long as hundreds of others */
  for (int tries = 0; tries < TRIES; tries++) {
    if (run_by_deadline(program, length, sliced)) return 0;
  }
  fprintf(stderr, "longer than twice its deadline:\n%.*s\n", (int)length, program);
  abort();
}
