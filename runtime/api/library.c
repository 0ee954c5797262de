/*
** The Lua library inside of a sandbox's state: trusted, with globals of its own.
**
**     _G of the state      guarded libraries, request
**     globals of a script  copies of them, and the host's functions
**     Ebb's globals        copies too (sandbox/trusted_library.h); modules are compiled in
**
** So nothing that a script changes is seen by another, or by the library.
**
** An Ebb module sees the state's guarded pcall and string as scripts do, so a
** limit that is reached in the middle of it falls through it too. What reads
** files, environment or folders is not there, or asks the host's `read`.
**
** The library is opened by the first call that needs it: opening takes ten times as long as
** making the state, and a runtime that has no chat yet is a tenth as large without it.
*/
#include <assert.h>
#include <string.h>

#include "api/api.h"
#include "api/embedded.h"
#include "sandbox/trusted_library.h"

#include "lauxlib.h"

int luaopen_lpeg(lua_State *L);   /* LPeg has no header */

/* Addresses are keys of the registry. FUNCTIONS: the runtime, until the library is open;
   from then on the table of lua/ebb/libebb. */
static const char FUNCTIONS, HELD;

static ebb_runtime *runtime_of(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

/* ---- modules ---- */

const EmbeddedModule *embedded_find(const char *name) {
  size_t low = 0, high = embedded_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(embedded_modules[middle].name, name);
    if (order == 0) return &embedded_modules[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* find(name) -> loader, for our modules only. LPeg is among them, whose grammars are known: a
   script's could take exponential time. */
static int l_find(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  if (strcmp(name, "lpeg") == 0) {
    lua_pushcfunction(L, luaopen_lpeg);
    return 1;
  }
  const EmbeddedModule *module = embedded_find(name);
  if (module == NULL) return luaL_error(L, "no module '%s' in libebb", name);
  lua_pushfstring(L, "@%s", name);
  if (luaL_loadbufferx(L, (const char *)module->bytes, module->size, lua_tostring(L, -1), "b") != LUA_OK)
    return lua_error(L);
  return 1;
}

/* ---- what stands in the place of files ---- */

ebb_status ebb_sink_add(ebb_sink *sink, const void *bytes, size_t size) {
  if (sink == NULL || (bytes == NULL && size > 0)) return EBB_ARGUMENT;
  sink->over = sink->over || size > sink->cap - sink->buffer->size;
  if (sink->over) return EBB_LIMIT;
  return buffer_add(sink->buffer, bytes, size) == STATUS_OK ? EBB_OK : EBB_MEMORY;
}

/* No path leads out of what the host calls its own. */
static bool is_relative(const char *name) {
  if (name[0] == '\0' || name[0] == '/') return false;
  for (const char *at = name; *at != '\0'; at++) {
    bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                  strchr("_-./", *at) != NULL;
    if (!letter || ((at[0] == '.' || at[0] == '/') && (at[1] == '.' || at[1] == '/'))) return false;
  }
  return name[0] != '.';
}

Status api_read(ebb_runtime *runtime, const char *name, size_t cap, Buffer *out) {
  ebb_sink sink = {.buffer = out, .cap = cap};
  if (runtime->config.read == NULL || !is_relative(name)) return STATUS_ABSENT;
  Locale inside = sandbox_begin_callback(runtime->L);
  ebb_status status = runtime->config.read(runtime->config.user, name, &sink);
  sandbox_end_callback(inside);
  if (sink.over) return STATUS_LIMIT;
  return status == EBB_OK       ? STATUS_OK
         : status == EBB_ABSENT ? STATUS_ABSENT
         : status == EBB_MEMORY ? STATUS_MEMORY
                                : STATUS_IO;
}

/* read_file(path, cap) -> text | nil, error */
static int l_read_file(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  lua_Integer cap = luaL_optinteger(L, 2, (lua_Integer)FILE_BYTES_MAX);
  Buffer *out = bind_buffer(L);
  Status status = api_read(runtime_of(L), path, (size_t)(cap < 0 ? 0 : cap), out);
  if (status != STATUS_OK)
    return bind_refuse(L, status_code(status), lua_pushfstring(L, "%s: %s", path, status_code(status)));
  lua_pushlstring(L, out->bytes == NULL ? "" : out->bytes, out->size);
  return 1;
}

/* For everything else that would reach out. */
static int l_absent(lua_State *L) { return bind_refuse(L, "absent", "libebb reads and writes no files"); }

static int l_nothing(lua_State *L) {
  (void)L;
  return 0;
}

static int l_clock(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)api_now(runtime_of(L)));
  return 1;
}

/* A warning of the library's. */
static int l_warn(lua_State *L) {
  size_t size;
  const char *line = luaL_checklstring(L, 1, &size);
  api_log(runtime_of(L), EBB_LOG_WARNING, line, size);
  return 0;
}

/* ---- opening ---- */

static void push_closure(lua_State *L, ebb_runtime *runtime, lua_CFunction function) {
  lua_pushlightuserdata(L, runtime);
  lua_pushcclosure(L, function, 1);
}

/* Pushes the core without its ways to files. */
static void push_core(lua_State *L, ebb_runtime *runtime) {
  static const char *const files[] = {"load",        "write_file",  "stage_file",  "file_identity",
                                      "target_key",  "list_folder", "make_folder", "root",
                                      NULL};
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getglobal(L, "string");                /* the core asks there for the state's own find */
  lua_setfield(L, -2, "string");
  lua_pop(L, 1);
  lua_pushcfunction(L, luaopen_ebb_core);
  lua_call(L, 0, 1);                         /* core */
  for (int i = 0; files[i] != NULL; i++) {
    lua_pushcfunction(L, l_absent);
    lua_setfield(L, -2, files[i]);
  }
  push_closure(L, runtime, l_read_file);
  lua_setfield(L, -2, "read_file");
  push_closure(L, runtime, l_clock);
  lua_setfield(L, -2, "now");
  push_closure(L, runtime, runtime->hooks->tokenizer);
  lua_setfield(L, -2, "tokenizer");
  lua_newtable(L);
  lua_pushcfunction(L, l_nothing);
  lua_setfield(L, -2, "home");
  push_closure(L, runtime, runtime->hooks->vocabularies);
  lua_setfield(L, -2, "list");
  lua_setfield(L, -2, "vocab");
  bind_push_methods(L, &BIND_CONVERSATION);
  lua_pushcfunction(L, l_absent);
  lua_setfield(L, -2, "save");
  lua_pop(L, 1);
}

/* The function that the library's own log writes to. */
static void open_log(lua_State *L, ebb_runtime *runtime) {
  trusted_library_require(L, "ebb.support.log");
  lua_getfield(L, -1, "to");
  push_closure(L, runtime, l_warn);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

/* Scripts' request() speaks JSON to the host. The functions of lua/ebb/libebb are on top. */
static void open_request(lua_State *L) {
  lua_getfield(L, -1, "requester");
  lua_getglobal(L, "request");
  lua_call(L, 1, 1);
  lua_setglobal(L, "request");
}

/* new_globals(modules) -> globals of one script, whose require knows these modules */
static int l_new_globals(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  sandbox_push_globals(L, 1);
  return 1;
}

/* (runtime): a call that fails, for want of memory, leaves nothing that the next one needs:
   that makes all of it anew. */
static int l_open(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, 1);
  lua_pushcfunction(L, l_find);
  trusted_library_open(L);
  trusted_library_push_modules(L);
  push_core(L, runtime);
  lua_setfield(L, -2, "ebb.core");
  open_log(L, runtime);
  trusted_library_require(L, "ebb.libebb");
  push_closure(L, runtime, l_clock);
  lua_setfield(L, -2, "clock");
  lua_pushcfunction(L, l_new_globals);
  lua_setfield(L, -2, "new_globals");
  for (const luaL_Reg *hook = runtime->hooks->functions; hook->name != NULL; hook++) {
    push_closure(L, runtime, hook->func);
    lua_setfield(L, -2, hook->name);
  }
  open_request(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &FUNCTIONS);   /* its place is there: needs no memory */
  return 0;
}

void api_need_library(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &FUNCTIONS) != LUA_TTABLE) {
    assert(lua_islightuserdata(L, -1));
    lua_pushcfunction(L, l_open);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 0);
  }
  lua_pop(L, 1);
}

/* What later calls set without memory, and raise nothing. */
static int l_begin(lua_State *L) {
  lua_pushlightuserdata(L, lua_touserdata(L, 1));
  lua_rawsetp(L, LUA_REGISTRYINDEX, &FUNCTIONS);
  lua_pushboolean(L, 0);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &HELD);
  return 0;
}

ebb_status api_begin_library(ebb_runtime *runtime, const LibraryHooks *hooks) {
  runtime->hooks = hooks;
  return api_run(runtime, l_begin, runtime);
}

/* ---- calling ---- */

void api_push_function(lua_State *L, const char *name) {
  api_need_library(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &FUNCTIONS);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

ebb_status api_run(ebb_runtime *runtime, lua_CFunction function, void *data) {
  return api_fail_end(runtime, sandbox_run(runtime->sandbox, function, data));
}

/* The place exists: neither this nor taking it back needs memory. */
void api_hold(lua_State *L) { lua_rawsetp(L, LUA_REGISTRYINDEX, &HELD); }

static void let_go(lua_State *L) {
  lua_pushboolean(L, 0);
  api_hold(L);
}

bool api_push_held(ebb_runtime *runtime) {
  lua_State *L = runtime->L;
  if (!lua_checkstack(L, 4)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &HELD);
  let_go(L);
  return true;
}

SandboxLimits api_limits(const ebb_runtime *runtime) {
  const ebb_config *config = &runtime->config;
  SandboxLimits limits = {.fuel = config->fuel != 0 ? config->fuel : SANDBOX_FUEL,
                          .microseconds = config->deadline_us != 0 ? config->deadline_us : SANDBOX_DEADLINE};
  if (config->deterministic) limits.microseconds = 0;
  return limits;
}

Status api_write_result(lua_State *L, Sink sink) {
  JsonOut out;
  Text text = lua_type(L, -2) == LUA_TSTRING ? bind_text(L, -2) : text_of("null");
  const Ledger *ledger = bind_test_ledger(L, -1);
  json_out_start(&out, sink);
  if (ledger != NULL) {
    json_out_open_with(&out, text);
    json_out_name(&out, "ledger");
    bind_write_ledger(L, lua_absindex(L, -1), &out);
    json_out_close(&out, '}');
  } else {
    json_out_raw(&out, text);
  }
  Status status = json_out_end(&out);
  lua_pop(L, 2);
  return status;
}

ebb_status api_call_held(ebb_runtime *runtime, uint64_t fuel, const Sink *out) {
  lua_State *L = runtime->L;
  SandboxLimits limits = api_limits(runtime);
  if (fuel < limits.fuel) limits.fuel = fuel;
  if (!api_push_held(runtime)) return api_fail_status(runtime, STATUS_MEMORY, "the call");
  SandboxEnd end = sandbox_call(runtime->sandbox, 0, 2, &limits);
  if (end != SANDBOX_OK) return api_fail_end(runtime, end);
  Status status = STATUS_OK;
  if (out != NULL) status = api_write_result(L, *out);
  else lua_pop(L, 2);
  return api_fail_status(runtime, status, "the answer");
}
