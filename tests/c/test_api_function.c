/*
** Functions of the host's: by JSON (ebb_register) and on Lua's stack (ebb_lua.h);
** what they get and answer, what they are charged, how they fail, and objects.
*/
#include "api_kit.h"
#include "include/ebb_lua.h"

/* Runs a script; its result as JSON, or "CODE: message". */
static const char *run(ebb_runtime *runtime, ebb_chat *chat, const char *source) {
  static char result[2000];
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  ebb_status status = ebb_task_script(chat, "s", source, strlen(source), NULL, 0, &task);
  if (status != EBB_OK) return ebb_last_error(runtime)->message;
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  snprintf(result, sizeof result, "%s", event.json.bytes);
  ebb_task_free(task);
  return result;
}

/* ---- by JSON ---- */

/* Answers its arguments, or what they ask for. */
static ebb_status mirror(void *user, const char *arguments, size_t size, ebb_sink *result) {
  int *calls = user;
  ++*calls;
  assert_int_equal(strlen(arguments), size);
  if (strstr(arguments, "nothing") != NULL) return EBB_OK;
  if (strstr(arguments, "no value") != NULL) return ebb_sink_add(result, "null", 4);
  if (strstr(arguments, "broken") != NULL) return ebb_sink_add(result, "{", 1);
  if (strstr(arguments, "refuse") != NULL) {
    ebb_sink_add(result, "the door is shut", 16);
    return EBB_CONFLICT;
  }
  if (strstr(arguments, "silent") != NULL) return EBB_IO;
  if (strstr(arguments, "flood") != NULL) {
    static const char block[1 << 16];
    for (int i = 0; i < 100; i++) {
      if (ebb_sink_add(result, block, sizeof block) != EBB_OK) break;
    }
    return EBB_OK;
  }
  return ebb_sink_add(result, arguments, size);
}

static void json_goes_in_and_comes_out(void **state) {
  (void)state;
  static const struct { const char *source, *result; } cases[] = {
    {"return mirror()", "[]"},
    {"return mirror(1, 'a', true, nil, {2.5, 'b'}, nil)", "[1,\"a\",true,null,[2.5,\"b\"],null]"},
    {"return mirror { name = 'Ida' }", "[{\"name\":\"Ida\"}]"},
    {"return host.mirror(false)[1]", "false"},
    {"return type(mirror 'nothing')", "\"nil\""},
    {"return type(mirror 'no value')", "\"nil\""},
    {"return {pcall(mirror, print)}", "an argument that has no JSON form"},
    {"local ok, e = pcall(mirror, 'refuse') return {ok, e.code, e.message}",
     "[false,\"conflict\",\"the door is shut\"]"},
    {"local ok, e = pcall(mirror, 'silent') return {ok, e.code, e.message}",
     "[false,\"io\",\"the host's function failed\"]"},
    {"local ok, e = pcall(mirror, 'broken') return {ok, e.code}", "[false,\"syntax\"]"},
    {"local ok, e = pcall(mirror, 'flood') return {ok, e.code}", "[false,\"limit\"]"},
    {"mirror 'refuse'", "{\"code\":\"conflict\",\"message\":\"s:1: the door is shut\"}"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  int calls = 0;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_register(runtime, "mirror", mirror, &calls, 0));
  must(ebb_register(runtime, "host.mirror", mirror, &calls, 0));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *result = run(runtime, chat, cases[i].source);
    bool no_form = strncmp(cases[i].result, "an argument", 11) == 0;
    if (no_form ? strstr(result, "function") == NULL : strcmp(result, cases[i].result) != 0)
      fail_msg("%s\n  gave %s\n  not  %s", cases[i].source, result, cases[i].result);
  }
  assert_int_equal(calls, 11);               /* not the one whose argument has no JSON form */
  host_close(&host, runtime);
}

static void names_are_checked_and_may_be_given_anew(void **state) {
  (void)state;
  static const char *const bad[] = {"", "1", "a-b", "a.b.c", ".a", "a.", "end", "a.end", "print", "string.fold",
                                    "request", "_G.x", "a b"};
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  int first = 0, second = 0;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    refused(ebb_register(runtime, bad[i], mirror, &first, 0), EBB_ARGUMENT, "name");
  must(ebb_register(runtime, "dice.roll", mirror, &first, 0));
  must(ebb_register(runtime, "dice.keep", mirror, &first, 0));
  refused(ebb_register(runtime, "dice", mirror, &first, 0), EBB_ARGUMENT, "'dice'");
  must(ebb_register(runtime, "dice.roll", mirror, &second, 0));
  assert_string_equal(run(runtime, chat, "dice.roll() dice.keep() return string.fold == nil"), "true");
  assert_int_equal(first, 1);
  assert_int_equal(second, 1);
  assert_int_equal(ebb_register(runtime, NULL, mirror, NULL, 0), EBB_ARGUMENT);
  assert_int_equal(ebb_register(runtime, "x", NULL, NULL, 0), EBB_ARGUMENT);
  assert_int_equal(ebb_register(NULL, "x", mirror, NULL, 0), EBB_ARGUMENT);
  host_close(&host, runtime);
}

static int count_up(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  lua->settop(L, 0);
  ++*(int *)user;
  return 0;
}

/* Policies call them too, and what they cost is fuel. */
static void a_call_costs_what_was_said(void **state) {
  (void)state;
  Host host = {.now = 1};
  ebb_runtime *runtime;
  ebb_chat *chat;
  int calls = 0;
  ebb_config config = host_config(&host);
  config.fuel = 1000000;
  assert_int_equal(ebb_runtime_new(&config, &runtime), EBB_OK);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  talk(runtime, chat, 3);
  must(ebb_register(runtime, "cheap", mirror, &calls, 10));
  must(ebb_register(runtime, "dear", mirror, &calls, 100000));
  must(load_policy(runtime, "asks", "return function(draft, budget) for i = 1, 20 do cheap(i) end end"));
  must(trim(chat, "asks", "{\"budget\":10000}", NULL));
  assert_int_equal(calls, 20);
  must(load_policy(runtime, "asks", "return function(draft, budget) for i = 1, 20 do pcall(dear, i) end end"));
  refused(trim(chat, "asks", "{\"budget\":10000}", NULL), EBB_FUEL, "fuel");
  assert_in_range(calls, 25, 30);
  calls = 0;
  must(ebb_lua_register(runtime, "dear", count_up, &calls, 100000));
  refused(trim(chat, "asks", "{\"budget\":10000}", NULL), EBB_FUEL, "fuel");
  assert_in_range(calls, 5, 10);
  host_close(&host, runtime);
}

typedef struct Again {
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_status statuses[4];
} Again;

static ebb_status calls_back(void *user, const char *arguments, size_t size, ebb_sink *result) {
  Again *again = user;
  (void)arguments, (void)size, (void)result;
  again->statuses[0] = append(again->chat, "{\"role\":\"user\",\"content\":\"a\"}");
  again->statuses[1] = ebb_step(again->runtime, EBB_NO_LIMIT, EBB_NO_LIMIT);
  again->statuses[2] = ebb_register(again->runtime, "x", calls_back, NULL, 0);
  again->statuses[3] = ebb_lua_register(again->runtime, "x", NULL, NULL, 0);
  ebb_chat_free(again->chat);                /* does nothing */
  ebb_runtime_free(NULL);
  return EBB_OK;
}

static void the_runtime_is_not_entered_again(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  Again again = {0};
  host_open(&host, &runtime);
  again.runtime = runtime;
  must(ebb_chat_new(runtime, NULL, 0, &again.chat));
  must(ebb_register(runtime, "again", calls_back, &again, 0));
  assert_string_equal(run(runtime, again.chat, "again() return #...") , "0");
  assert_int_equal(again.statuses[0], EBB_BUSY);
  assert_int_equal(again.statuses[1], EBB_BUSY);
  assert_int_equal(again.statuses[2], EBB_BUSY);
  assert_int_equal(again.statuses[3], EBB_ARGUMENT);
  host_close(&host, runtime);
}

/* ---- on Lua's stack ---- */

/* (list of numbers, factor = 1) -> their sum times the factor, how many */
static int sum(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  double total = 0;
  int64_t factor = lua->optinteger(L, 2, 1), count = 0;
  (void)user;
  lua->checktype(L, 1, EBB_LUA_TABLE);
  lua->checkstack(L, 10, "sum");
  for (int64_t i = 1; lua->geti(L, 1, i) != EBB_LUA_NIL; i++, count++) {
    int good;
    double value = lua->tonumberx(L, -1, &good);
    if (!good) return lua->raise(L, "shape", "element %d is no number", (int)i);
    total += value;
    lua->settop(L, -2);
  }
  lua->pushnumber(L, total * (double)factor);
  lua->pushinteger(L, count);
  return 2;
}

/* (table) -> {key = type and value of it} as text; walks, looks, makes */
static int describe(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  (void)user;
  lua->settop(L, 1);
  lua->createtable(L, 0, 4);
  for (lua->pushnil(L); lua->next(L, 1) != 0; lua->settop(L, -2)) {
    char text[200];
    size_t size;
    int good;
    const char *key = lua->tolstring(L, -2, NULL);
    switch (lua->type(L, -1)) {
      case EBB_LUA_BOOLEAN: snprintf(text, sizeof text, "boolean %d", lua->toboolean(L, -1)); break;
      case EBB_LUA_NUMBER:
        snprintf(text, sizeof text, "number %d", (int)lua->tointegerx(L, -1, &good));
        if (!good) snprintf(text, sizeof text, "float");
        break;
      case EBB_LUA_STRING: snprintf(text, sizeof text, "string of %d", (int)lua->rawlen(L, -1)); break;
      default: snprintf(text, sizeof text, "other"); break;
    }
    lua->pushlstring(L, text, strlen(text));
    lua->setfield(L, 2, key);
    assert_non_null(lua->checklstring(L, -2, &size));
  }
  lua->pushboolean(L, 1);
  lua->seti(L, 2, 1);
  lua->getfield(L, 2, "a");
  lua->rotate(L, 2, 1);                      /* table, a, {..} */
  assert_int_equal(lua->gettop(L), 3);
  lua->pushvalue(L, 3);
  return 1;
}

typedef struct Bell {
  int kept;                  /* a function of a script's */
  int rung;
} Bell;

static int keep(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  Bell *bell = user;
  lua->checktype(L, 1, EBB_LUA_FUNCTION);
  lua->settop(L, 1);
  bell->kept = lua->ref(L);
  return 0;
}

static int ring(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  Bell *bell = user;
  assert_int_equal(lua->pushref(L, bell->kept), EBB_LUA_FUNCTION);
  lua->pushinteger(L, 20);
  lua->call(L, 1, 1);
  bell->rung = (int)lua->checkinteger(L, -1);
  return 0;
}

static int silence(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  lua->unref(L, ((Bell *)user)->kept);
  assert_int_equal(lua->getglobal(L, "math"), EBB_LUA_TABLE);
  assert_true(lua->checknumber(L, (lua->getfield(L, -1, "pi"), -1)) > 3);
  return 0;
}

static void the_stack_does_what_luas_does(void **state) {
  (void)state;
  static const struct { const char *source, *result; } cases[] = {
    {"return {host.sum({1, 2, 4.5}, 2)}", "[15.0,3]"},
    {"return {host.sum {}}", "[0.0,0]"},
    {"local ok, e = pcall(host.sum, {1, {}}) return {e.code, e.message}", "[\"shape\",\"element 2 is no number\"]"},
    {"return host.sum(7)", "{\"code\":\"script\",\"message\":\"s:1: bad argument #1 to 'sum' (table expected, got number)\"}"},
    {"local t = host.describe { a = true, b = 7, c = 'four', d = print, e = 1.5 } "
     "return {t.a, t.b, t.c, t.d, t.e, t[1]}",
     "[\"boolean 1\",\"number 7\",\"string of 4\",\"other\",\"float\",true]"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  Bell bell = {0};
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_lua_register(runtime, "host.sum", sum, NULL, 20));
  must(ebb_lua_register(runtime, "host.describe", describe, NULL, 0));
  must(ebb_lua_register(runtime, "on_ring", keep, &bell, 0));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *result = run(runtime, chat, cases[i].source);
    if (strcmp(result, cases[i].result) != 0) fail_msg("%s\n  gave %s", cases[i].source, result);
  }
  assert_string_equal(run(runtime, chat, "on_ring(function(n) if n == 0 then while true do end end return n + 1 end)"),
                      "null");
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  must(ebb_lua_run(runtime, ring, &bell));
  assert_int_equal(bell.rung, 21);
  run(runtime, chat, "on_ring(function() while true do pcall(function() while true do end end) end end)");
  refused(ebb_lua_run(runtime, ring, &bell), EBB_FUEL, "fuel");
  run(runtime, chat, "on_ring(function() error 'no' end)");
  refused(ebb_lua_run(runtime, ring, &bell), EBB_SCRIPT, "no");
  must(ebb_lua_run(runtime, silence, &bell));
  assert_int_equal(ebb_lua_run(runtime, NULL, NULL), EBB_ARGUMENT);
  host_close(&host, runtime);
}

/* ---- objects ---- */

typedef struct Door {
  int opened;
} Door;

static int open_door(const ebb_lua *lua, ebb_lua_state *L, void *user);

static void finish_door(void *object, void *user) {
  Door *door = object;
  *(int *)user += 1 + 100 * door->opened;
}

static int finished;
static const ebb_lua_method DOOR_METHODS[] = {{"open", open_door, 0}, {NULL, NULL, 0}};
static const ebb_lua_type DOOR = {"door", DOOR_METHODS, finish_door, &finished};
static const ebb_lua_type WINDOW = {"window", NULL, NULL, NULL};

static int open_door(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  Door *door = lua->checkobject(L, 1, &DOOR);
  assert_ptr_equal(user, &finished);
  lua->pushinteger(L, ++door->opened);
  return 1;
}

static int new_door(const ebb_lua *lua, ebb_lua_state *L, void *user) {
  Door *door = lua->newobject(L, sizeof *door, user);
  assert_int_equal((uintptr_t)door % 16, 0);
  if (user == &DOOR) assert_int_equal(door->opened, 0);
  return 1;
}

static void objects_are_known_by_their_type(void **state) {
  (void)state;
  static const struct { const char *source, *says; } cases[] = {
    {"local d = door() d:open() return d:open()", "2"},
    {"return door().open(window())", "door expected, got window"},
    {"return door().open(7)", "door expected, got number"},
    {"return door().open({})", "door expected, got table"},
    {"return door().open(...)", "door expected"},
    {"return getmetatable(door())", "false"},
    {"return door().__gc == nil", "true"},
    {"setmetatable(door(), {})", "table expected"},
    {"door().x = 1", "index"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  finished = 0;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(ebb_lua_register(runtime, "door", new_door, (void *)(uintptr_t)&DOOR, 0));
  must(ebb_lua_register(runtime, "window", new_door, (void *)(uintptr_t)&WINDOW, 0));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *result = run(runtime, chat, cases[i].source);
    if (strstr(result, cases[i].says) == NULL) fail_msg("%s\n  gave %s", cases[i].source, result);
  }
  assert_string_equal(run(runtime, chat, "return window().open == nil"), "true");
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  must(ebb_collect(runtime, EBB_NO_LIMIT, NULL));
  assert_int_equal(finished, 9 + 200);       /* one of them was opened twice */
  run(runtime, chat, "keep = door() _G.kept = keep");
  host_close(&host, runtime);
  assert_int_equal(finished, 10 + 200);      /* the runtime's end finishes what is left, once */
}

/* What one script does to its globals, libraries, modules and the host's functions,
   by whatever way, is seen neither by the next nor by the library. */
static void scripts_do_not_reach_each_other(void **state) {
  (void)state;
  static const char *const ways[] = {
    "string.format = evil string.rep = evil table.concat = evil math.floor = evil",
    "_G.string.format = evil _G.pcall = evil _G.error = evil _G.type = evil",
    "load 'string.format = function() return 666 end pcall, error, type = print, print, print' ()",
    "require('string').format = evil require('_G').pcall = evil require('table').concat = evil",
    "require('my.tools').limit = evil",
    "host.mirror = evil mirror = evil",
    "rawset(host, 'mirror', evil) rawset(_G, 'mirror', evil) rawset(_G, 'host', {})",
    "evil_global = 666",
  };
  static const char look[] = "local tools = require 'my.tools'\n"
    "return {evil_global == nil, string.format('%d', 1), ('%d'):format(2), table.concat {3}, math.floor(4.5),\n"
    "pcall(function() return 1 end), type(''), load 'return string.rep(\"x\", 3)' (), require('string') == string,\n"
    "tools.limit(), mirror(7)[1], host.mirror(8)[1]}";
  static const char expected[] = "[true,\"1\",\"2\",\"3\",4,true,\"string\",\"xxx\",true,3,7,8]";
  Host host = {.now = 1};
  int calls = 0;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_config config = host_config(&host);
  char source[1000];
  must(ebb_runtime_new(&config, &runtime));
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  talk(runtime, chat, 9);
  must(ebb_register(runtime, "mirror", mirror, &calls, 0));
  must(ebb_register(runtime, "host.mirror", mirror, &calls, 0));
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    snprintf(source, sizeof source, "local evil = function() return 666 end %s return 'done'", ways[i]);
    assert_string_equal(run(runtime, chat, source), "\"done\"");
    assert_string_equal(run(runtime, chat, look), expected);
    must(ebb_chat_trim(chat, NULL, "{\"budget\":150,\"dryRun\":true}", 28, NULL));
  }
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(json_goes_in_and_comes_out), cmocka_unit_test(names_are_checked_and_may_be_given_anew),
    cmocka_unit_test(a_call_costs_what_was_said), cmocka_unit_test(the_runtime_is_not_entered_again),
    cmocka_unit_test(the_stack_does_what_luas_does), cmocka_unit_test(objects_are_known_by_their_type),
    cmocka_unit_test(scripts_do_not_reach_each_other)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
