/*
** Calls into a sandbox: what a call borrows from the program, and how it begins and ends.
**
** A draft that goes into the sandbox is borrowed: a userdata of the sandbox's state
** over the same Draft. When the call ends, borrowed draft and callbacks end too:
** handles that a script has kept say so.
**
**     program:  registry[sandbox] = { [0] = draft, callback, callback ... }
**     sandbox:  registry[sandbox] = the borrowed draft
**
** An edit of a borrowed draft may need the program: a counter or clock of its own.
** They are called there, protected, and what they raise is raised in the sandbox.
*/
#include <assert.h>

#include "bind/error.h"
#include "bind/handle.h"
#include "bind/key_order.h"
#include "bind/marshal.h"
#include "bind/type.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

/* ---- edits of a borrowed draft that need the program ---- */

/* (conversation) */
static int l_ask_clock(lua_State *L) {
  ConversationHandle *handle = lua_touserdata(L, 1);
  bind_ask_clock(L, 1, handle->callbacks);
  return 0;
}

/* As bind_enter: the callbacks run in the program's state. */
static ConversationHandle *enter_borrowed(lua_State *L, ConversationHandle *handle) {
  SandboxCall *call = (SandboxCall *)handle->borrowing;
  lua_State *program = call->program;
  lua_settop(program, call->base);
  handle->callbacks->L = program;
  handle->callbacks->self = call->conversation;
  if (!handle->callbacks->has_clock) return handle;
  lua_pushcfunction(program, l_ask_clock);
  lua_pushvalue(program, call->conversation);
  if (lua_pcall(program, 1, 0, 0) != LUA_OK) bind_raise_from(L, program);
  handle->callbacks->L = program;            /* the clock may have edited something itself */
  handle->callbacks->self = call->conversation;
  return handle;
}

static int raise_borrowed(lua_State *L, ConversationHandle *handle) {
  lua_State *program = ((SandboxCall *)handle->borrowing)->program;
  lua_settop(program, handle->callbacks->failed);
  return bind_raise_from(L, program);
}

static const Borrowing BORROWING = {.enter = enter_borrowed, .raise = raise_borrowed};

/* ---- calls ---- */

/* What the arguments of a call hold: places in the stack, and how deep the tables around an entry are. */
typedef struct Listing {
  SandboxCall *call;
  int list, depth;
} Listing;

static void list_entry(lua_State *L, void *user);

/* Lists the functions and the draft in the value at `index`, in the order in which marshalling reaches them. */
static void list_arguments(lua_State *L, SandboxCall *call, int index, int list, int depth) {
  int kind = lua_type(L, index);
  if (kind == LUA_TFUNCTION && !bind_is_proxy(L, index)) {
    lua_pushvalue(L, index);
    lua_rawseti(L, list, ++call->callbacks);
  } else if (kind == LUA_TUSERDATA && call->draft == NULL && bind_test(L, index, &BIND_DRAFT) != NULL) {
    call->draft = lua_touserdata(L, index);
    lua_pushvalue(L, index);
    lua_rawseti(L, list, PLACE_DRAFT);
  } else if (kind == LUA_TTABLE && depth < MARSHAL_DEPTH_MAX) {
    Listing listing = {.call = call, .list = list, .depth = depth + 1};
    bool has_room = key_order_walk(L, index, list_entry, &listing);
    if (!has_room) luaL_error(L, "not enough memory for values that enter a sandbox");
  }
}

static void list_entry(lua_State *L, void *user) {
  const Listing *listing = user;
  guard_check_stack(L, 4, "values that enter a sandbox");
  list_arguments(L, listing->call, lua_gettop(L), listing->list, listing->depth);
}

void bind_begin_call(lua_State *L, SandboxCall *call, SandboxHandle *sandbox, int first) {
  int last = lua_gettop(L);
  guard_check_stack(L, 30, "a call into a sandbox");
  *call = (SandboxCall){.borrowing = BORROWING, .program = L, .number = ++sandbox->calls};
  lua_createtable(L, 4, 0);
  int list = last + 1;
  lua_getiuservalue(L, 1, 1);
  lua_rawseti(L, list, PLACE_HOST);
  lua_pushvalue(L, 1);
  lua_rawseti(L, list, PLACE_BOX);
  for (int i = first; i <= last; i++) list_arguments(L, call, i, list, 0);
  call->callbacks = 0;
  if (call->draft != NULL) {
    lua_rawgeti(L, list, PLACE_DRAFT);
    lua_getiuservalue(L, -1, 1);
    call->conversation = lua_gettop(L);
  }
  lua_pushvalue(L, list);
  lua_rawsetp(L, LUA_REGISTRYINDEX, sandbox);
  call->base = lua_gettop(L);
  assert(sandbox->call == NULL);
  sandbox->call = call;
}

/* Hands what edits of the borrowed draft were refused to the program's draft. */
static void hand_back_refusals(lua_State *L, const SandboxHandle *sandbox) {
  const SandboxCall *call = sandbox->call;
  lua_State *other = sandbox_state(sandbox->sandbox);
  const DraftHandle *borrowed = call->borrowed_draft;
  if (borrowed == NULL || borrowed->refused == 0 || !lua_checkstack(other, 4)) return;
  if (call->draft->refused == 0) {
    Marshal marshal = {.from = other, .to = L, .sandbox = (SandboxHandle *)sandbox, .bytes_max = SIZE_MAX};
    lua_rawgetp(L, LUA_REGISTRYINDEX, sandbox);
    lua_rawgeti(L, -1, PLACE_DRAFT);
    lua_rawgetp(other, LUA_REGISTRYINDEX, sandbox);
    lua_getiuservalue(other, -1, DRAFT_REFUSAL);
    bind_marshal(&marshal, -1);
    lua_setiuservalue(L, -2, DRAFT_REFUSAL);
    lua_pop(L, 2);
    lua_pop(other, 2);
  }
  call->draft->refused += borrowed->refused;
}

/* (sandbox, results) -> copies of the values on the sandbox's stack */
static int l_collect_results(lua_State *L) {
  SandboxHandle *sandbox = lua_touserdata(L, 1);
  int results = (int)lua_tointeger(L, 2);
  Marshal marshal = {.from = sandbox_state(sandbox->sandbox), .to = L, .sandbox = sandbox};
  lua_settop(L, 0);
  hand_back_refusals(L, sandbox);
  bind_marshal_open(&marshal);
  for (int i = 1; i <= results; i++) bind_marshal(&marshal, i);
  return results;
}

static void clear_registry(lua_State *L, const void *key) {
  if (!lua_checkstack(L, 2)) return;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) != LUA_TNIL) {
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
  }
  lua_pop(L, 1);
}

int bind_end_call(lua_State *L, SandboxHandle *sandbox, int results) {
  SandboxCall *call = sandbox->call;
  lua_State *other = sandbox_state(sandbox->sandbox);
  assert(call != NULL && call->program == L);
  lua_settop(L, call->base);
  lua_pushcfunction(L, l_collect_results);
  lua_pushlightuserdata(L, sandbox);
  lua_pushinteger(L, results);
  int status = lua_pcall(L, 2, LUA_MULTRET, 0);
  sandbox_count_time(sandbox->sandbox);
  if (call->borrowed_draft != NULL) {
    call->borrowed_draft->draft = NULL;
    call->borrowed_conversation->conversation = NULL;
  }
  sandbox->call = NULL;
  lua_settop(other, 0);
  clear_registry(other, sandbox);
  clear_registry(L, sandbox);
  return status;
}
