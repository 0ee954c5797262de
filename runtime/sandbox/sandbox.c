/*
** Making sandboxes, loading into them and calling them to the end.
*/
#include "sandbox/sandbox.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "sandbox/sandbox_state.h"

/* ---- a life ---- */

static SandboxConfig with_defaults(const SandboxConfig *config) {
  SandboxConfig full = *config;
  if (full.memory.allocate == NULL) full.memory = memory_system();
  if (full.memory_limit == 0) full.memory_limit = SANDBOX_MEMORY;
  if (full.block_limit == 0) full.block_limit = SANDBOX_BLOCK;
  if (full.limits.fuel == 0) full.limits.fuel = SANDBOX_FUEL;
  if (full.limits.microseconds == 0) full.limits.microseconds = SANDBOX_DEADLINE;
  return full;
}

/* Refuses a Lua whose objects are laid out otherwise: costs and limits would be wrong without a word. */
static void check_layout(lua_State *L) {
  GuardLayout layout = guard_measure_layout(L);
  if (!guard_knows_layout(&layout)) luaL_error(L, "this Lua lays its objects out otherwise than the sandbox knows");
}

static int open_all(lua_State *L) {
  Sandbox *sandbox = lua_touserdata(L, 1);
  check_layout(L);
  mode_open(L);
  library_open(L);
  lua_createtable(L, MATCH_CACHED, 0);
  for (int i = 1; i <= MATCH_CACHED; i++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, -2, i);
  }
  sandbox->cache.table = luaL_ref(L, LUA_REGISTRYINDEX);
  owner_learn_boxes(L, sandbox);
  return 0;
}

Sandbox *sandbox_new(const SandboxConfig *config) {
  SandboxConfig full = with_defaults(config);
  Sandbox *sandbox = memory_new(&full.memory, sizeof *sandbox);
  if (sandbox == NULL) return NULL;
  memset(sandbox, 0, sizeof *sandbox);
  sandbox->config = full;
  sandbox->memory = full.memory;
  guard_limit_memory(sandbox, full.memory_limit);
  sandbox->block_limit = full.block_limit;
  sandbox->hook_strings = sandbox->hook_dear = HOOK_INSTRUCTIONS;
  atomic_init(&sandbox->cancelled, false);
  if (!reserve_open(&sandbox->reserve, &full.memory)) goto free_sandbox;
  Locale outside = sandbox_enter_locale(sandbox);
  match_open(&sandbox->sets);
  sandbox_leave_locale(sandbox, outside);
  sandbox->L = lua_newstate(guard_allocate, sandbox);
  if (sandbox->L == NULL) goto close_reserve;
  thread_begin(sandbox->L, THREAD_HOST);
  owner_open(sandbox);
  lua_gc(sandbox->L, LUA_GCSTEP, -GUARD_REST_KB);      /* as if that had been freed: no cycle while libraries open */
  if (sandbox_run(sandbox, open_all, sandbox) != SANDBOX_OK) goto close_state;
  return sandbox;
close_state:
  lua_close(sandbox->L);
close_reserve:
  reserve_close(&sandbox->reserve, &full.memory);
free_sandbox:
  memory_free(&full.memory, sandbox, sizeof *sandbox);
  return NULL;
}

void sandbox_free(Sandbox *sandbox) {
  if (sandbox == NULL) return;
  Memory memory = sandbox->memory;
  task_free_all(sandbox);
  lua_close(sandbox->L);
  reserve_close(&sandbox->reserve, &memory);
  memory_free(&memory, sandbox->cache.entries, MATCH_CACHED * sizeof *sandbox->cache.entries);
  memory_free(&memory, sandbox, sizeof *sandbox);
}

lua_State *sandbox_state(Sandbox *sandbox) {
  return sandbox->L;
}

void sandbox_cancel(Sandbox *sandbox) {
  atomic_store_explicit(&sandbox->cancelled, true, memory_order_relaxed);
}

void sandbox_uncancel(Sandbox *sandbox) {
  atomic_store_explicit(&sandbox->cancelled, false, memory_order_relaxed);
}

/* ---- callbacks ---- */

Locale sandbox_begin_callback(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  return locale_set(sandbox == NULL ? NULL : sandbox->outside);
}

void sandbox_end_callback(Locale inside) { locale_set(inside); }

/* ---- what went wrong ---- */

const char *sandbox_message(const Sandbox *sandbox) {
  return sandbox->message;
}

const char *sandbox_code(const Sandbox *sandbox) {
  return sandbox->code;
}

SandboxLimits sandbox_used(const Sandbox *sandbox) {
  return sandbox->last_used;
}

size_t sandbox_memory_used(const Sandbox *sandbox) {
  return sandbox->memory_used;
}

static SandboxEnd refuse_busy(Sandbox *sandbox) {
  return outcome_note_text(sandbox, SANDBOX_BUSY, NULL, "a script of this sandbox is running");
}

static SandboxEnd refuse_memory(Sandbox *sandbox) {
  return outcome_note_text(sandbox, SANDBOX_MEMORY_OUT, NULL, "not enough memory for the stack");
}

/* ---- loading and calling ---- */

/* Without the line that makes a file a program; its end stays, for the numbers of
   the lines behind it. */
static void skip_first_line(const char **text, size_t *size) {
  if (*size == 0 || **text != '#') return;
  const char *end = memchr(*text, '\n', *size);
  size_t skipped = end != NULL ? (size_t)(end - *text) : *size;
  *text += skipped;
  *size -= skipped;
}

typedef struct Source {
  const char *text, *name;
  size_t size;
  int status;
} Source;

/* (source) -> the chunk, or a message */
static int load_source(lua_State *L) {
  Source *source = lua_touserdata(L, 1);
  source->status = load_text(L, source->text, source->size, source->name, "t");
  return 1;
}

SandboxEnd sandbox_load(Sandbox *sandbox, const char *text, size_t size, const char *name) {
  lua_State *L = sandbox->L;
  if (sandbox->current != NULL) return refuse_busy(sandbox);
  if (!lua_checkstack(L, 4)) return refuse_memory(sandbox);
  Source source = {.text = text, .name = name, .size = size, .status = LUA_OK};
  skip_first_line(&source.text, &source.size);
  lua_pushcfunction(L, load_source);
  lua_pushlightuserdata(L, &source);
  Locale outside = sandbox_enter_locale(sandbox);
  int status = lua_pcall(L, 1, 1, 0);
  sandbox_leave_locale(sandbox, outside);
  if (status == LUA_OK) status = source.status;
  if (status == LUA_OK) return SANDBOX_OK;
  SandboxEnd end = outcome_note(sandbox, L, status);
  if (end != SANDBOX_ERROR) return end;
  utf8_copy(sandbox->code, sizeof sandbox->code, "syntax", 6);
  return SANDBOX_SYNTAX;
}

/* (sandbox): makes the thread that calls run on. Raises for want of memory. */
static int make_runner(lua_State *L) {
  Sandbox *sandbox = lua_touserdata(L, 1);
  lua_State *runner = lua_newthread(L);
  thread_begin(runner, THREAD_HOST);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox->runner);
  sandbox->runner = runner;
  return 0;
}

/* Leaves a runner whose call failed to the collector, with all that its stack holds: the next one may need the
   memory. */
static void drop_runner(Sandbox *sandbox) {
  lua_State *L = sandbox->L;
  assert(sandbox->runner == NULL);
  guard_note_garbage(sandbox);
  if (!lua_checkstack(L, 1)) return;         /* then it goes when the next one is made */
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sandbox->runner);
}

/* Takes the runner for a call, which gives it back if it ends well. NULL: no memory. */
static lua_State *take_runner(Sandbox *sandbox) {
  lua_State *L = sandbox->L;
  if (sandbox->runner == NULL) {
    if (!lua_checkstack(L, 2)) return NULL;
    lua_pushcfunction(L, make_runner);
    lua_pushlightuserdata(L, sandbox);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
      lua_pop(L, 1);
      return NULL;
    }
  }
  lua_State *runner = sandbox->runner;
  assert(lua_status(runner) == LUA_OK && lua_gettop(runner) == 0);
  sandbox->runner = NULL;
  return runner;
}

/* Moves the `count` values that a call left on its thread to the main thread, as many as `results`. */
static SandboxEnd take_results(Sandbox *sandbox, lua_State *thread, int count, int results) {
  int wanted = results == LUA_MULTRET ? count : results;
  if (wanted == 0 && count == 0) return SANDBOX_OK;
  if (!lua_checkstack(sandbox->L, wanted) || (wanted > count && !lua_checkstack(thread, wanted - count))) {
    lua_settop(thread, 0);
    return outcome_note_text(sandbox, SANDBOX_MEMORY_OUT, NULL, "not enough memory for the results");
  }
  lua_settop(thread, wanted);
  lua_xmove(thread, sandbox->L, wanted);
  return SANDBOX_OK;
}

static SandboxEnd call(Sandbox *sandbox, int arguments, int results, const SandboxLimits *limits,
                       const SandboxLimits *used) {
  lua_State *L = sandbox->L;
  if (sandbox->current != NULL) {
    lua_pop(L, arguments + 1);
    return refuse_busy(sandbox);
  }
  lua_State *runner = take_runner(sandbox);
  bool has_room = arguments < LUA_MINSTACK;  /* the runner's stack is empty */
  if (runner == NULL || (!has_room && !lua_checkstack(runner, arguments + 1))) {
    sandbox->runner = runner;
    lua_pop(L, arguments + 1);
    return refuse_memory(sandbox);
  }
  lua_xmove(L, runner, arguments + 1);
  guard_begin(sandbox, limits != NULL ? limits : &sandbox->config.limits, used);
  sandbox->current = runner;
  guard_enter(sandbox, runner);
  int count = 0;
  Locale outside = sandbox_enter_locale(sandbox);
  int status = landing_resume(sandbox, runner, L, arguments, &count);
  sandbox_leave_locale(sandbox, outside);
  assert(status != LUA_YIELD);
  SandboxEnd end = status == LUA_OK ? take_results(sandbox, runner, count, results)
                                    : outcome_note(sandbox, runner, status);
  if (status == LUA_OK) sandbox->runner = runner;
  else drop_runner(sandbox);
  guard_end(sandbox);
  return end;
}

SandboxEnd sandbox_call(Sandbox *sandbox, int arguments, int results, const SandboxLimits *limits) {
  return call(sandbox, arguments, results, limits, NULL);
}

SandboxEnd sandbox_go_on(Sandbox *sandbox, int arguments, int results, const SandboxLimits *limits) {
  SandboxLimits used = sandbox->last_used;
  return call(sandbox, arguments, results, limits, &used);
}

/* Since the begin of the running call or the last one, with the calls that it goes on from. */
static uint64_t elapsed(const Sandbox *sandbox) {
  int64_t now = guard_now(sandbox);
  return sandbox->used_before + (now > sandbox->started ? (uint64_t)(now - sandbox->started) : 0);
}

SandboxEnd sandbox_check_time(const Sandbox *sandbox) {
  uint64_t used = elapsed(sandbox), most = limits_time(&sandbox->limits);      /* the clock may cancel */
  if (atomic_load_explicit(&sandbox->cancelled, memory_order_relaxed)) return SANDBOX_CANCELLED;
  return most != 0 && used > most ? SANDBOX_DEADLINE_OVER : SANDBOX_OK;
}

void sandbox_count_time(Sandbox *sandbox) {
  assert(sandbox->current == NULL);
  sandbox->last_used.microseconds = elapsed(sandbox);
}

bool sandbox_reached_memory(const Sandbox *sandbox) {
  return sandbox->reached_memory;
}

size_t sandbox_memory_limit(const Sandbox *sandbox) {
  return sandbox->memory_limit;
}

void sandbox_limit_memory(Sandbox *sandbox, size_t bytes) {
  guard_limit_memory(sandbox, bytes != 0 ? bytes : SANDBOX_MEMORY);
}

SandboxEnd sandbox_run(Sandbox *sandbox, lua_CFunction function, void *user) {
  lua_State *L = sandbox->L;
  if (sandbox->current != NULL) return refuse_busy(sandbox);
  if (!lua_checkstack(L, 4)) return refuse_memory(sandbox);
  sandbox->turns++;
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, user);
  Locale outside = sandbox_enter_locale(sandbox);
  int status = lua_pcall(L, 1, 0, 0);
  sandbox_leave_locale(sandbox, outside);
  return status == LUA_OK ? SANDBOX_OK : outcome_note(sandbox, L, status);
}

bool sandbox_collect(Sandbox *sandbox, uint64_t microseconds) {
  int64_t start = guard_now(sandbox);
  do {
    if (lua_gc(sandbox->L, LUA_GCSTEP, 4)) return true;
  } while (guard_now(sandbox) - start < (int64_t)microseconds);
  return false;
}
