/*
** The reserve: no object goes without its finalizer because memory fails. And room on the stack, likewise.
*/
#include "check.h"

#include "sandbox/sandbox_state.h"

enum { OBJECTS = 20 };

static int alive;

static int l_release(lua_State *L) {
  (void)L;
  alive--;
  return 0;
}

/* Objects whose finalizer counts, as garbage, beneath `depth` values on the stack. */
static int l_litter(lua_State *L) {
  luaL_newmetatable(L, "counted");
  lua_pushcfunction(L, l_release);
  lua_setfield(L, -2, "__gc");
  lua_gc(L, LUA_GCCOLLECT);
  for (int i = 0; i < OBJECTS; i++) {
    lua_newuserdatauv(L, 8, 0);
    luaL_setmetatable(L, "counted");
    alive++;
    lua_pop(L, 1);
  }
  return 0;
}

static void finalizers_run_although_memory_fails(void **state) {
  (void)state;
  for (int depth = 0; depth < 150; depth++) {
    Fail fail = {0};
    SandboxConfig config = {.memory = fail_memory(&fail)};
    Sandbox *sandbox = sandbox_new(&config);
    assert_non_null(sandbox);
    lua_State *L = sandbox_state(sandbox);
    assert_true(lua_checkstack(L, depth));
    lua_settop(L, depth);
    alive = 0;
    lua_pushcfunction(L, l_litter);
    assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_OK);
    assert_true(alive > 0);

    fail.fail_at = fail.calls + 1;
    lua_gc(L, LUA_GCCOLLECT);
    fail.fail_at = 0;

    if (alive != 0) fail_msg("%d objects were never released, with %d values on the stack", alive, depth);
    sandbox_free(sandbox);
    assert_int_equal(fail.in_use, 0);
  }
}

/* Blocks are aligned, end with the reserve, and are free again together. */
static void blocks_come_back(void **state) {
  (void)state;
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  Reserve reserve;
  assert_true(reserve_open(&reserve, &memory));
  char *first = reserve_take(&reserve, 62), *second = reserve_take(&reserve, RESERVE_BYTES - 64);
  assert_non_null(first);
  assert_non_null(second);
  assert_ptr_equal(second, first + 64);
  assert_null(reserve_take(&reserve, 1));
  assert_true(reserve_owns(&reserve, first) && reserve_owns(&reserve, second + RESERVE_BYTES - 65));
  assert_false(reserve_owns(&reserve, &reserve) || reserve_owns(&reserve, NULL));
  reserve_give_back(&reserve, first);
  assert_null(reserve_take(&reserve, 16));
  reserve_give_back(&reserve, second);
  assert_ptr_equal(reserve_take(&reserve, RESERVE_BYTES), first);
  assert_null(reserve_take(&reserve, SIZE_MAX));
  reserve_give_back(&reserve, first);
  reserve_close(&reserve, &memory);
  assert_int_equal(fail.in_use, 0);
}

/* (room): makes it. */
static int l_make_room(lua_State *L) {
  guard_check_stack(L, (int)lua_tointeger(L, 1), "values");
  return 0;
}

/* Where one allocation fails, all of them, or none, and whether the stack would be too long. */
static void missing_memory_is_no_stack_overflow(void **state) {
  (void)state;
  static const struct {
    int room;
    bool fails, once;
    const char *error;
  } rows[] = {
    {5000, false, false, NULL},
    {5000, true, true, NULL},
    {5000, true, false, "not enough memory"},
    {900000, false, false, "not enough memory"},          /* more than a block may have */
    {1000000, false, false, "stack overflow (values)"},
    {INT32_MAX, false, false, "stack overflow (values)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Fail fail = {0};
    SandboxConfig config = {.memory = fail_memory(&fail), .memory_limit = (size_t)256 << 20};
    Sandbox *sandbox = sandbox_new(&config);
    assert_non_null(sandbox);
    lua_State *L = sandbox_state(sandbox);
    lua_pushcfunction(L, l_make_room);
    lua_pushinteger(L, rows[i].room);
    if (rows[i].fails) fail.fail_at = fail.calls + 1;
    fail.once = rows[i].once;
    int status = lua_pcall(L, 1, 0, 0);
    fail.fail_at = 0;
    if (rows[i].error == NULL) assert_int_equal(status, LUA_OK);
    else assert_string_equal(lua_tostring(L, -1), rows[i].error);
    sandbox_free(sandbox);
    assert_int_equal(fail.in_use, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(finalizers_run_although_memory_fails),
    cmocka_unit_test(blocks_come_back), cmocka_unit_test(missing_memory_is_no_stack_overflow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
