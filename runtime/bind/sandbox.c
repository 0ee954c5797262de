/*
** Sandboxes that a program's Lua makes, for untrusted scripts.
**
**     box = core.sandbox.new(host)               host(what, word) answers requests of the sandbox
**     core.sandbox.limit(box, fuel, microseconds, memory)
**     ... = core.sandbox.enter(box, entry, ...)  calls an entry of the library inside, such as its loader
**     ... = proxy(...)                           calls a function of the script
**
** Beside the script stands Ebb's library (lua/ebb/sandbox/entry.lua and what
** it requires) in globals of its own (sandbox/trusted_library.h): it calls the
** script's functions, says where in them something failed, and gives drafts their
** methods that are Lua. What it asks of the program goes through `host`.
*/
#include <string.h>

#include <lauxlib.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/marshal.h"
#include "bind/open.h"
#include "bind/type.h"
#include "os/os.h"
#include "sandbox/guard.h"
#include "sandbox/trusted_library.h"

static void end_sandbox(void *block) {
  SandboxHandle *sandbox = block;
  sandbox_free(sandbox->sandbox);
  sandbox->sandbox = NULL;
}

const BindType BIND_SANDBOX = {.name = "Sandbox", .end = end_sandbox};

/* Its address is a key of the sandbox's registry: the library's entries. */
static const char ENTRIES;
/* Its address is a key of the program's registry. */
static const char OPEN_CORE;

/* ---- the library beside the script ---- */

/* find(name) -> chunk; modules come as bytecode, from the host only. Its upvalue is `host`. */
static int l_find(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushliteral(L, "library");
  lua_pushvalue(L, 1);
  lua_call(L, 2, 1);
  Text code = bind_text(L, -1);
  if (luaL_loadbufferx(L, code.bytes, code.size, lua_tostring(L, 1), "b") != LUA_OK) return lua_error(L);
  return 1;
}

/* (handle): before anything of the script is there */
static int open_inside(lua_State *L) {
  SandboxHandle *sandbox = lua_touserdata(L, 1);
  bind_push_host(L, sandbox);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, l_find, 1);
  trusted_library_open(L);
  trusted_library_push_globals(L);           /* host globals */
  lua_insert(L, -2);
  lua_setfield(L, -2, "host");
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &BIND_SCRIPT_FUNCTIONS);
  lua_setfield(L, -2, "functions");
  trusted_library_push_modules(L);
  lua_pushcfunction(L, sandbox->open_core);
  lua_call(L, 0, 1);
  lua_setfield(L, -2, "ebb.core");
  trusted_library_require(L, "ebb.sandbox.entry");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ENTRIES);
  return 0;
}

/* ---- calls ---- */

typedef struct Entry {
  SandboxHandle *sandbox;
  lua_State *from;
  int first, last;           /* arguments there: the entry's name or a proxy, and what it gets */
} Entry;

/* (entry) -> what the function answers; in the sandbox, within its limits */
static int run_entry(lua_State *L) {
  Entry *entry = lua_touserdata(L, 1);
  Marshal marshal = {.from = entry->from, .to = L, .sandbox = entry->sandbox, .inward = true, .arguments = true};
  lua_settop(L, 0);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ENTRIES);
  if (lua_type(entry->from, entry->first) == LUA_TSTRING) {
    bind_marshal(&marshal, entry->first);
    lua_rawget(L, 1);
  } else {
    lua_getfield(L, 1, "call");
    bind_marshal(&marshal, entry->first);
  }
  for (int i = entry->first + 1; i <= entry->last; i++) bind_marshal(&marshal, i);
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

/* set_hint(text) */
static int l_set_hint(lua_State *L) {
  bind_expect(L, 1, NULL, LUA_TSTRING);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &BIND_LIMIT_HINT);
  return 0;
}

static int raise_memory(lua_State *L, const SandboxHandle *sandbox) {
  char text[96];
  if (!sandbox_reached_memory(sandbox->sandbox)) {
    lua_pushliteral(L, "not enough memory");
    return lua_error(L);
  }
  sandbox_describe_memory(sandbox->sandbox, text, sizeof text);
  return bind_raise(L, "limit", bind_push_limit_hint(L), "stopped: %s", text);
}

static int raise_end(lua_State *L, const SandboxHandle *sandbox, SandboxEnd end) {
  const char *message = sandbox_message(sandbox->sandbox);
  switch (end) {
    case SANDBOX_MEMORY_OUT: return raise_memory(L, sandbox);
    case SANDBOX_FUEL_OUT:
    case SANDBOX_DEADLINE_OVER: return bind_raise(L, "limit", bind_push_limit_hint(L), "%s", message);
    case SANDBOX_CANCELLED: return bind_raise(L, "cancelled", NULL, "%s", message);
    default: return bind_raise(L, sandbox_code(sandbox->sandbox), NULL, "%s", message);
  }
}

/* What an entry answered: true and its results, or false, message, code. */
static int finish(lua_State *L, const SandboxHandle *sandbox, int first) {
  if (lua_toboolean(L, first)) return lua_gettop(L) - first;
  lua_settop(L, first + 2);
  const char *code = lua_tostring(L, first + 2);
  if (code != NULL && strcmp(code, "memory") == 0) return raise_memory(L, sandbox);
  if (code != NULL) return bind_raise(L, code, NULL, "%s", bind_string(L, first + 1, "message"));
  lua_pop(L, 1);
  return lua_error(L);
}

/* The sandbox stands at 1, the entry and its arguments behind it. */
static int enter(lua_State *L, SandboxHandle *sandbox) {
  SandboxCall call;
  Entry entry = {.sandbox = sandbox, .from = L, .first = 2, .last = lua_gettop(L)};
  if (sandbox->call != NULL) return bind_raise(L, "busy", NULL, "a script of this sandbox is running");
  bind_begin_call(L, &call, sandbox, 2);
  lua_State *within = sandbox_state(sandbox->sandbox);
  int room = lua_checkstack(within, 20);
  SandboxEnd end = SANDBOX_MEMORY_OUT;
  sandbox->program_hook = lua_gethook(L);
  if (room) {
    lua_pushcfunction(within, run_entry);
    lua_pushlightuserdata(within, &entry);
    if (sandbox->goes_on) end = sandbox_go_on(sandbox->sandbox, 1, LUA_MULTRET, &sandbox->limits);
    else end = sandbox_call(sandbox->sandbox, 1, LUA_MULTRET, &sandbox->limits);
  }
  sandbox->goes_on = true;
  int status = bind_end_call(L, sandbox, end == SANDBOX_OK ? lua_gettop(within) : 0);
  sandbox_uncancel(sandbox->sandbox);
  if (status != LUA_OK) return lua_error(L);
  if (end != SANDBOX_OK) return raise_end(L, sandbox, end);
  return finish(L, sandbox, call.base + 1);
}

/* ---- for the library: core.sandbox ---- */

/* A hook that was set on the waiting state since the call began wants to end it. */
static int64_t now(void *user) {
  const SandboxHandle *sandbox = user;
  if (sandbox->call != NULL && lua_gethook(sandbox->call->program) != sandbox->program_hook) {
    sandbox_cancel(sandbox->sandbox);
  }
  return clock_monotonic_us();
}

/* new(host) -> Sandbox */
static int l_new(lua_State *L) {
  SandboxCall call;
  bind_expect(L, 1, NULL, LUA_TFUNCTION);
  lua_settop(L, 1);
  SandboxHandle *sandbox = bind_new(L, &BIND_SANDBOX, sizeof *sandbox, 1);
  lua_insert(L, 1);
  lua_setiuservalue(L, 1, 1);
  sandbox->enter = enter;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &OPEN_CORE);
  sandbox->open_core = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  SandboxConfig config = {.memory = bind_memory(L), .user = sandbox, .now = now};
  sandbox->sandbox = sandbox_new(&config);
  if (sandbox->sandbox == NULL) return bind_raise_status(L, STATUS_MEMORY, "sandbox");
  sandbox->limits = (SandboxLimits){.fuel = SANDBOX_FUEL, .microseconds = SANDBOX_DEADLINE};
  bind_begin_call(L, &call, sandbox, 2);
  SandboxEnd end = sandbox_run(sandbox->sandbox, open_inside, sandbox);
  int status = bind_end_call(L, sandbox, 0);
  if (status != LUA_OK) return lua_error(L);
  if (end != SANDBOX_OK) return raise_end(L, sandbox, end);
  lua_settop(L, 1);
  lua_gc(L, LUA_GCSTEP, (int)(sandbox_memory_used(sandbox->sandbox) / 1024));   /* it knows nothing of that memory */
  return 1;
}

static SandboxHandle *check(lua_State *L) { return bind_check(L, 1, &BIND_SANDBOX); }

/* limit(box, fuel, microseconds, memory): for all calls until the next limit; 0: none, of memory 64 MiB */
static int l_limit(lua_State *L) {
  SandboxHandle *sandbox = check(L);
  sandbox->limits.fuel = (uint64_t)bind_integer(L, 2, "fuel", 0, INT64_MAX);
  sandbox->limits.microseconds = (uint64_t)bind_integer(L, 3, "deadline", 0, INT64_MAX);
  sandbox_limit_memory(sandbox->sandbox, (size_t)bind_integer(L, 4, "memory", 0, INT64_MAX));
  sandbox->goes_on = false;
  return 0;
}

/* enter(box, entry, ...) -> ...; `entry` is a name or a proxy */
static int l_enter(lua_State *L) {
  return enter(L, check(L));
}

/* box_of(proxy) -> Sandbox | nil */
static int l_box_of(lua_State *L) {
  if (!bind_is_proxy(L, 1)) lua_pushnil(L);
  else lua_getupvalue(L, 1, 1);
  return 1;
}

void bind_open_sandbox(lua_State *L, lua_CFunction open_core) {
  static const BindMethod functions[] = {
    {"new", l_new, "host", CHARGE_NEVER},
    {"limit", l_limit, "box fuel microseconds memory", CHARGE_NEVER},
    {"set_hint", l_set_hint, "text", CHARGE_NEVER},
    {"enter", l_enter, "box entry ...", CHARGE_NEVER},
    {"box_of", l_box_of, "proxy", CHARGE_NEVER},
    BIND_END,
  };
  bind_type(L, &BIND_SANDBOX, NULL, NULL);
  lua_pushcfunction(L, open_core);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &OPEN_CORE);
  lua_newtable(L);
  bind_functions(L, "core.sandbox", functions);
}
