/*
** Programs against a sandbox. The bytes choose among fragments of Lua, nested and
** strung together, so that most programs run; some are the bytes themselves.
** Each runs whole and as a task in slices, under little fuel: it must come back
** near its fuel, and its sandbox must be as whole as before.
*/
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sandbox/sandbox_state.h"

#define FUEL        200000
#define PROGRAM_MAX 8192

static const char *const FRAGMENTS[] = {
  "local a = {} ", "a = ", "return ", "do ", "end ", "while true do ", "for i = 1, 9 do ", "for k, v in pairs(a or"
  " {}) do ",
  "function f(...) ", "local function g(x) ", "if a then ", "else ", "f(a) ", "g(g) ", "pcall(", "xpcall(",
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

static size_t program_of(const uint8_t *bytes, size_t size, char *out) {
  size_t used = 0;
  if (size > 0 && bytes[0] == 255) {
    used = size - 1 < PROGRAM_MAX ? size - 1 : PROGRAM_MAX;
    memcpy(out, bytes + 1, used);
    return used;
  }
  for (size_t i = 0; i < size; i++) {
    const char *fragment = FRAGMENTS[bytes[i] % (sizeof FRAGMENTS / sizeof *FRAGMENTS)];
    size_t length = strlen(fragment);
    if (used + length > PROGRAM_MAX) break;
    memcpy(out + used, fragment, length);
    used += length;
  }
  return used;
}

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

static void run_in_slices(Sandbox *sandbox) {
  Task *task;
  int results, steps = 0;
  if (task_start(sandbox, 0, NULL, &task) != SANDBOX_OK) return;
  TaskState now;
  while ((now = task_step(task, 0, 3000, &results)) == TASK_READY || now == TASK_REQUEST) {
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char program[PROGRAM_MAX];
  size_t length = program_of(bytes, size, program);
  SandboxConfig config = {.memory_limit = 8 << 20, .limits = {FUEL, 10000000}, .now = now};
  Sandbox *sandbox = sandbox_new(&config);
  if (sandbox == NULL) abort();
  for (int sliced = 0; sliced < 2; sliced++) {
    if (sandbox_load(sandbox, program, length, "=fuzz") != SANDBOX_OK) break;
    if (sliced) run_in_slices(sandbox);
    else sandbox_call(sandbox, 0, 0, NULL);
    must(sandbox_used(sandbox).microseconds < 9000000, "too late", sandbox);
    must(lua_gettop(sandbox_state(sandbox)) == 0, "left on the stack", sandbox);
  }
  check_whole(sandbox);
  sandbox_free(sandbox);
  return 0;
}
