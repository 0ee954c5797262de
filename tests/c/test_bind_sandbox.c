/*
** The binding within a sandbox: what scripts call there is charged, files are out
** of reach, and what they leave is whole.
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <lauxlib.h>

#include "bind/marshal.h"
#include "bind/open.h"
#include "sandbox/sandbox.h"

/* The module as the global `core`, and a chat of 300 messages as `chat`. */
static int open_core(lua_State *L) {
  luaopen_ebb_core(L);
  lua_setglobal(L, "core");
  if (luaL_loadstring(L, "local list = {} for i = 1, 300 do list[i] = { role = i % 2 == 1 and 'user' or 'assistant',"
                         " content = 'message ' .. i } end chat = core.conversation() chat:append(list)") != LUA_OK) {
    return lua_error(L);
  }
  lua_call(L, 0, 0);
  return 0;
}

static Sandbox *new_sandbox(void) {
  SandboxConfig config = {.limits = {300000, 2000000}};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  if (sandbox_run(sandbox, open_core, NULL) != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  return sandbox;
}

static SandboxEnd run(Sandbox *sandbox, const char *script) {
  SandboxEnd end = sandbox_load(sandbox, script, strlen(script), "=s");
  return end != SANDBOX_OK ? end : sandbox_call(sandbox, 0, 0, NULL);
}

static const char *const LOOPS[] = {
  "while true do local _ = chat:tokens() end",
  "while true do local _ = chat:where { role = 'user' } end",
  "while true do local _ = chat:recent('user', 3) end",
  "local d = chat:draft() while true do pcall(d.drop_oldest, d, { to = 0 }) end",
  "local d = chat:draft() while true do for m in d:messages {} do local _ = m.content end end",
  "while true do local _ = core.json.decode('[1,2,3]') end",
  "local all = {} while true do all[#all % 5 + 1] = chat:fork() end",
  "while true do local _ = chat:json() end",
};

static void loops_of_calls_stop(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof LOOPS / sizeof *LOOPS; i++) {
    Sandbox *sandbox = new_sandbox();
    SandboxEnd end = run(sandbox, LOOPS[i]);
    if (end != SANDBOX_FUEL_OUT) fail_msg("%s: %s", LOOPS[i], sandbox_message(sandbox));
    assert_int_equal(run(sandbox, "assert(chat:count() == 300 and chat[300].content == 'message 300')"), SANDBOX_OK);
    sandbox_free(sandbox);
  }
}

static void a_walk_over_a_list_costs_its_length(void **state) {
  (void)state;
  Sandbox *sandbox = new_sandbox();
  assert_int_equal(run(sandbox, "local _ = chat:where { role = 'tool' }"), SANDBOX_OK);
  assert_true(sandbox_used(sandbox).fuel > 3000);
  assert_int_equal(run(sandbox, "local _ = chat:count()"), SANDBOX_OK);
  assert_true(sandbox_used(sandbox).fuel < 1000);
  sandbox_free(sandbox);
}

static void files_are_out_of_reach(void **state) {
  (void)state;
  static const char *const calls[] = {
    "core.read_file('README.md', 9)", "core.write_file('x', 'y')", "core.load('x')", "core.list_folder('.')",
    "core.make_folder('x')", "chat:save('x')", "core.tokenizer('x')", "core.vocab.home()",
    "core.root('.')"};
  Sandbox *sandbox = new_sandbox();
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    assert_int_equal(run(sandbox, calls[i]), SANDBOX_ERROR);
    assert_string_equal(sandbox_code(sandbox), "sandbox");
  }
  assert_int_equal(run(sandbox, "assert(getmetatable(chat) == false)"), SANDBOX_OK);
  sandbox_free(sandbox);
}

/* ---- texts that leave ---- */

static int64_t looks;

static int64_t count_looks(void *user) {
  (void)user;
  return ++looks;
}

typedef struct Leaving {
  SandboxHandle handle;
  lua_State *program;        /* has the copy on top */
  int64_t looks;             /* at the clock, while it was copied */
  int status;
} Leaving;

/* (marshal) -> the copy of the value at 1 */
static int copy_out(lua_State *L) {
  Marshal *marshal = lua_touserdata(L, 1);
  lua_settop(L, 0);
  bind_marshal_open(marshal);
  bind_marshal(marshal, 1);
  return 1;
}

static Leaving leave(const char *script, size_t memory) {
  SandboxConfig config = {.limits = {.microseconds = UINT64_C(1) << 50}, .memory_limit = memory, .now = count_looks};
  Leaving leaving = {.handle.sandbox = sandbox_new(&config), .program = luaL_newstate()};
  Sandbox *sandbox = leaving.handle.sandbox;
  assert_non_null(sandbox);
  assert_non_null(leaving.program);
  assert_int_equal(sandbox_load(sandbox, script, strlen(script), "=s"), SANDBOX_OK);
  if (sandbox_call(sandbox, 0, 1, NULL) != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
  Marshal marshal = {.from = sandbox_state(sandbox), .to = leaving.program, .sandbox = &leaving.handle};
  int64_t before = looks;
  lua_pushcfunction(leaving.program, copy_out);
  lua_pushlightuserdata(leaving.program, &marshal);
  leaving.status = lua_pcall(leaving.program, 1, 1, 0);
  leaving.looks = looks - before;
  return leaving;
}

static void end_leaving(Leaving *leaving) {
  lua_close(leaving->program);
  sandbox_free(leaving->handle.sandbox);
}

static void the_clock_is_read_before_each_long_text_that_leaves(void **state) {
  (void)state;
  Leaving leaving = leave("local t = {} for i = 1, 16 do t[i] = ('x'):rep(1000000) .. i end return t", 0);
  assert_int_equal(leaving.status, LUA_OK);
  assert_in_range(leaving.looks, 16, 32);
  end_leaving(&leaving);
}

static void a_long_text_that_leaves_often_is_one_copy(void **state) {
  (void)state;
  Leaving leaving = leave("local s = ('x'):rep(1000000) return { s, s, { s, ('x'):rep(1000000) } }", 0);
  lua_State *L = leaving.program;
  assert_int_equal(leaving.status, LUA_OK);
  lua_rawgeti(L, -1, 1);
  const char *text = lua_tostring(L, -1);
  assert_int_equal(lua_rawlen(L, -1), 1000000);
  lua_rawgeti(L, -2, 2);
  assert_ptr_equal(lua_tostring(L, -1), text);
  lua_rawgeti(L, -3, 3);
  lua_rawgeti(L, -1, 1);
  assert_ptr_equal(lua_tostring(L, -1), text);
  lua_rawgeti(L, -2, 2);
  assert_string_equal(lua_tostring(L, -1), text);
  assert_ptr_not_equal(lua_tostring(L, -1), text);
  end_leaving(&leaving);
}

/* What leaves needs the memory of garbage, but 300,000 tables live: collecting them takes long. */
static void the_clock_is_read_while_the_script_s_garbage_is_collected(void **state) {
  (void)state;
  Leaving leaving = leave("ALL = {} for i = 1, 30 do ALL[i] = {} for j = 1, 10000 do ALL[i][j] = {} end end"
                          " local t, s = {}, ('x'):rep(3000000) for i = 1, 14 do t[i] = s end return t", 40 << 20);
  assert_int_not_equal(leaving.status, LUA_OK);
  assert_true(leaving.looks > 50);
  end_leaving(&leaving);
}

static size_t held;          /* bytes of the host's memory */

static void *count_bytes(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  held += new_size - (block != NULL ? old_size : 0);
  if (new_size != 0) return realloc(block, new_size);
  free(block);
  return NULL;
}

static int find_finalizer(lua_State *L) {
  lua_getglobal(L, "chat");
  assert_true(lua_getmetatable(L, -1));
  lua_pushliteral(L, "__gc");
  assert_int_equal(LUA_TNIL, lua_rawget(L, -2));
  return 0;
}

/* With finalizers the collector walks along all that live, in one stretch of each cycle: 1.6 ms for 20,000 chats. */
static void what_objects_own_goes_without_finalizers(void **state) {
  (void)state;
  held = 0;
  SandboxConfig config = {.limits = {1 << 30, 60000000}, .memory = {.allocate = count_bytes}};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  assert_int_equal(SANDBOX_OK, sandbox_run(sandbox, open_core, NULL));
  assert_int_equal(SANDBOX_OK, sandbox_run(sandbox, find_finalizer, NULL));
  static const char edits[] = "for i = 1, 50 do local fork = chat:fork() for j = 1, 20 do"
                              " fork:append { { role = 'user', content = ('x'):rep(1000) .. i } } end end";
  size_t before = SIZE_MAX;
  for (int i = 0; i < 10; i++) {
    if (run(sandbox, edits) != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
    while (!sandbox_collect(sandbox, 1000000)) continue;
    if (i == 1) before = held;
  }
  assert_true(held < before + (500 << 10));      /* a run makes 1 MB */
  sandbox_free(sandbox);
  assert_int_equal(0, held);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(loops_of_calls_stop),
                                     cmocka_unit_test(a_walk_over_a_list_costs_its_length),
                                     cmocka_unit_test(files_are_out_of_reach),
                                     cmocka_unit_test(what_objects_own_goes_without_finalizers),
                                     cmocka_unit_test(the_clock_is_read_before_each_long_text_that_leaves),
                                     cmocka_unit_test(a_long_text_that_leaves_often_is_one_copy),
                                     cmocka_unit_test(the_clock_is_read_while_the_script_s_garbage_is_collected)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
