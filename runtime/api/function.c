/*
** Functions of the host's for scripts, with JSON on both sides.
**
**     script   f(1, "a")                                    {gold = 3}
**     lua/ebb/libebb      "[1,\"a\"]"                  "{\"gold\":3}"
**     here                      call_host -> function
*/
#include "api/api.h"
#include "sandbox/guard.h"

static int raise_host(lua_State *L, ebb_status status, const ebb_sink *result) {
  if (status == EBB_MEMORY) return bind_raise_status(L, STATUS_MEMORY, "the host's function");
  const Buffer *said = result->buffer;
  return bind_raise(L, ebb_status_name(status), NULL, "%s",
                    said->size > 0 ? said->bytes : "the host's function failed");
}

/* (arguments) -> result, both JSON; "" is no result */
static int call_host(lua_State *L) {
  const HostFunction *host = lua_touserdata(L, lua_upvalueindex(1));
  size_t size;
  const char *arguments = luaL_checklstring(L, 1, &size);
  Buffer *out = bind_buffer(L);
  ebb_sink result = {.buffer = out, .cap = SANDBOX_BLOCK - 1};
  guard_charge(L, api_cost(host->cost) + size / 8);
  Locale inside = sandbox_begin_callback(L);
  ebb_status status = host->json(host->user, arguments, size, &result);
  sandbox_end_callback(inside);
  if (result.over) status = EBB_LIMIT;
  guard_charge(L, out->size / 8);
  if (buffer_add_byte(out, '\0') != STATUS_OK) return bind_raise_status(L, STATUS_MEMORY, "the host's function");
  out->size--;
  if (status != EBB_OK) return raise_host(L, status, &result);
  lua_pushlstring(L, out->bytes, out->size);
  return 1;
}

/* ---- registering, also for api/lua.c ---- */

/* Of what is given as 0. */
enum { COST_MIN = 20 };

uint64_t api_cost(uint64_t cost) { return cost == 0 ? COST_MIN : cost; }

void api_push_host(lua_State *L, const HostFunction *host, lua_CFunction call) {
  HostFunction *copy = lua_newuserdatauv(L, sizeof *copy, 0);
  *copy = *host;
  lua_pushcclosure(L, call, 1);
}

typedef struct Registration {
  const char *function, *name;
  const HostFunction *host;
  lua_CFunction call;
} Registration;

static int l_register(lua_State *L) {
  const Registration *registration = lua_touserdata(L, 1);
  api_push_function(L, registration->function);
  lua_pushstring(L, registration->name);
  api_push_host(L, registration->host, registration->call);
  lua_call(L, 2, 0);
  return 0;
}

ebb_status api_register(ebb_runtime *runtime, const char *function, const char *name, const HostFunction *host,
                        lua_CFunction call) {
  Registration registration = {.function = function, .name = name, .host = host, .call = call};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, api_run(runtime, l_register, &registration)) : status;
}

ebb_status ebb_register(ebb_runtime *runtime, const char *name, ebb_function function, void *user, uint64_t cost) {
  if (name == NULL || function == NULL) return api_missing(runtime);
  HostFunction host = {.json = function, .user = user, .cost = cost};
  return api_register(runtime, "register_json", name, &host, call_host);
}
