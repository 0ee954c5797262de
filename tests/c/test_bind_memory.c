/*
** Memory that runs out, seen from Lua: each call of tests/faults/memory_calls.lua
** while the k-th allocation fails, for every k, once and from then on.
**
** The whole lua_State has one allocator, so that Lua's own allocations fail too.
** Lua collects and tries again when one fails: only the sticky mode reaches what
** happens after that. For each k the state is compared by a digest: a call that
** failed has changed nothing and succeeds when it is made again; one that went
** through all the same did all of its work. CALL=name runs one of them,
** SAMPLE=n makes every n-th allocation fail.
*/
#include <string.h>

#include "bind/open.h"
#include "check.h"
#include "sandbox/sandbox_state.h"

#include <lualib.h>

/* ---- a state whose allocations fail ---- */

typedef struct World {
  lua_State *L;
  size_t in_use;
  size_t calls, fail_at;     /* fail_at 0: never */
  bool once;
  size_t failed;             /* allocations that were refused */
} World;

/* Lua counts on it that shrinking never fails. */
static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  World *world = user;
  if (block == NULL) old_size = 0;           /* Lua says there what the block is for */
  if (new_size > old_size && world->fail_at != 0) {
    world->calls++;
    if (world->once ? world->calls == world->fail_at : world->calls >= world->fail_at) {
      world->failed++;
      return NULL;
    }
  }
  world->in_use = world->in_use - old_size + new_size;
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  return realloc(block, new_size);
}

int luaopen_lpeg(lua_State *L);              /* LPeg has no header */
int luaopen_ebb_storage(lua_State *L);

/* Leaves the module of calls at 1 and its list at 2. */
static void open_world(World *world) {
  *world = (World){0};
  lua_State *L = world->L = lua_newstate(allocate, world);
  assert_non_null(L);
  luaL_openlibs(L);
  luaL_requiref(L, "ebb.core", luaopen_ebb_core, 0);
  luaL_requiref(L, "lpeg", luaopen_lpeg, 0);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_ebb_storage);
  lua_setfield(L, -2, "ebb.storage");
  lua_pop(L, 3);
  bool loaded = luaL_dostring(L, "package.path = 'lua/?.lua;lua/?/init.lua'\n"
                                 "return dofile 'tests/faults/memory_calls.lua'") == LUA_OK;
  if (!loaded) fail_msg("%s", lua_tostring(L, -1));
  lua_getfield(L, 1, "calls");
}

static void close_world(World *world, const char *name) {
  lua_getfield(world->L, 1, "close");
  lua_call(world->L, 0, 0);
  lua_close(world->L);
  if (world->in_use != 0) fail_msg("%s, or a call after it: %zu bytes were never freed", name, world->in_use);
}

/* ---- one call ---- */

enum { MODULE = 1, CALLS, CALL, SUBJECT, BEFORE, AFTER };    /* places of the stack */

/* Calls a function that must not fail: module[name](argument) or call[name](argument). */
static void must(lua_State *L, int table, const char *name, int argument) {
  lua_getfield(L, table, name);
  if (argument != 0) lua_pushvalue(L, argument);
  if (lua_pcall(L, argument != 0, 1, 0) != LUA_OK) fail_msg("%s: %s", name, luaL_tolstring(L, -1, NULL));
}

/* Runs the call once, with failures as the world says. true: it went through. A
   failure that does not speak of memory is a failed test. */
static bool attempt(World *world, const char *name, size_t k) {
  lua_State *L = world->L;
  int top = lua_gettop(L);
  lua_getfield(L, CALL, "run");
  lua_pushvalue(L, SUBJECT);
  world->calls = world->failed = 0;
  world->fail_at = k;
  int status = lua_pcall(L, 1, 3, 0);
  world->fail_at = 0;
  bool done = status == LUA_OK && !lua_isnil(L, top + 1);
  if (!done) {
    lua_getfield(L, MODULE, "wrong_refusal");
    lua_pushvalue(L, status == LUA_OK ? top + 2 : top + 1);
    if (status == LUA_OK) lua_pushvalue(L, top + 3);
    lua_call(L, status == LUA_OK ? 2 : 1, 1);
    if (!lua_isnil(L, -1)) {
      fail_msg("%s: allocation %zu failed %s, and the call says %s", name, k, world->once ? "once" : "and all after it",
               lua_tostring(L, -1));
    }
  }
  lua_settop(L, top);
  return done;
}

static void check_digest(World *world, int expected, const char *name, size_t k, const char *when) {
  lua_State *L = world->L;
  must(L, MODULE, "digest", SUBJECT);
  if (!lua_rawequal(L, -1, expected)) {
    const char *is = lua_tostring(L, -1), *was = lua_tostring(L, expected);
    size_t at = 0;
    while (is[at] != '\0' && is[at] == was[at]) at++;
    fail_msg("%s: allocation %zu failed %s, and %s the state is\n%.200s\nand not\n%.200s", name, k,
             world->once ? "once" : "and all after it", when, is + at, was + at);
  }
  lua_pop(L, 1);
}

/* A fresh subject, and the k-th allocation fails. false: nothing was left to fail. */
static bool sweep_step(World *world, const char *name, size_t k, bool once) {
  lua_State *L = world->L;
  must(L, CALL, "make", 0);
  lua_replace(L, SUBJECT);
  world->once = once;
  bool done = attempt(world, name, k);
  bool hit = world->failed > 0;
  if (!done) {
    check_digest(world, BEFORE, name, k, "after the failure");
    if (!attempt(world, name, 0)) fail_msg("%s: fails for good after allocation %zu", name, k);
  }
  check_digest(world, AFTER, name, k, "in the end");
  return hit;
}

/* Notes the digests before and after the call when all goes well. */
static void note_digests(World *world, const char *name) {
  lua_State *L = world->L;
  lua_settop(L, CALL);
  must(L, CALL, "make", 0);
  must(L, MODULE, "digest", SUBJECT);
  if (!attempt(world, name, 0)) fail_msg("%s: fails by itself", name);
  must(L, MODULE, "digest", SUBJECT);
}

/* ---- the sweep ---- */

/* Answers how many could be made to fail. */
static size_t sweep(World *world, const char *name, bool once) {
  lua_getfield(world->L, CALL, "stride");    /* calls that allocate thousands of times are sampled */
  size_t count = 0, stride = test_stride((size_t)luaL_optinteger(world->L, -1, 1));
  lua_pop(world->L, 1);
  for (size_t k = test_start(stride); sweep_step(world, name, k, once); k += stride) count++;
  return count;
}

/* Prints in lines how many allocations of a call were made to fail. */
static void report(const char *name, size_t once, size_t sticky) {
  static int column;
  char text[128];
  snprintf(text, sizeof text, "%s %zu + %zu", name, once, sticky);
  if (column > 0 && column + strlen(text) > 110) column = 0;
  column += printf(column == 0 ? "\nswept: %s" : ", %s", text);
}

/* Sweeps the call at CALL in both modes. */
static void sweep_call(World *world, const char *name) {
  note_digests(world, name);
  size_t once = sweep(world, name, true), sticky = sweep(world, name, false);
  report(name, once, sticky);
}

/* Reads the call number i to CALL, its name to `name`; false behind the last one. */
static bool next_call(World *world, lua_Integer i, char name[64]) {
  lua_State *L = world->L;
  lua_settop(L, CALLS);
  if (lua_geti(L, CALLS, i) == LUA_TNIL) return false;
  lua_getfield(L, CALL, "name");
  snprintf(name, 64, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  return true;
}

/* Calls of one world: to open one takes as long as a short sweep. What leaks shows when it is closed. */
enum { CALLS_OF_WORLD = 8 };

static void every_call_leaves_all_or_nothing(void **state) {
  (void)state;
  const char *only = getenv("CALL");
  char name[64], first[64] = "";
  World world;
  open_world(&world);
  for (lua_Integer i = 1; next_call(&world, i, name); i++) {
    if (only == NULL || strcmp(only, name) == 0) sweep_call(&world, name);
    if (i % CALLS_OF_WORLD == 1) strcpy(first, name);
    if (i % CALLS_OF_WORLD != 0) continue;
    close_world(&world, first);
    open_world(&world);
  }
  close_world(&world, first);
  printf("\n");
}

static void the_calls_reach_every_function(void **state) {
  (void)state;
  World world;
  open_world(&world);
  lua_getfield(world.L, 1, "unreached");
  if (lua_pcall(world.L, 0, 3, 0) != LUA_OK) fail_msg("%s", luaL_tolstring(world.L, -1, NULL));
  if (lua_tostring(world.L, -3)[0] != '\0')
    fail_msg("no call of memory_calls.lua reaches %s", lua_tostring(world.L, -3));
  printf("swept: %d calls, which reach all %d functions that Lua can call\n", (int)lua_tointeger(world.L, -2),
         (int)lua_tointeger(world.L, -1));
  close_world(&world, "unreached");
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);          /* it takes minutes: one sees how far it is */
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_calls_reach_every_function),
                                     cmocka_unit_test(every_call_leaves_all_or_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
