/*
** Calls within limits of functions that the caller gave: contents of windows, and
** what their actions run. In a sandbox its guard holds all of them. Elsewhere the
** function runs in the caller's own state, and two things of that stand in its way:
**
**     hook        counts instructions: stops Lua code, in coroutines made by it too
**     allocator   counts what is held, and refuses what is beyond: stops string.rep,
**                 table.concat, reading without end; large blocks cost instructions, too
**
** So nothing stops a C function that neither ends nor takes memory, such as
** string.find with a pattern that goes back and forth.
*/
#include <string.h>

#include "base/minmax.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

#define HOOK_EVERY    1000   /* instructions */
#define CHARGED_BYTES 64     /* that are taken cost an instruction: about as long as to fill them */
#define REFUSAL_COST  50000  /* instructions: Lua has collected all its garbage in vain */
#define LARGE_BLOCK   65536  /* bytes: none is given once no instructions are left, for the hook of a coroutine may
                                be long in coming */

/* Where the one call that runs stands: the registry names it under this address. */
static const char CALL;

typedef struct Limited {
  lua_State *L;
  lua_Hook hook;             /* hook and allocator before the call, for its end */
  int mask, count;
  lua_Alloc allocate;
  void *user;
  lua_Integer left;          /* instructions */
  size_t used, memory;       /* bytes allocated minus bytes freed, and their limit */
  bool refused;              /* the last failed allocation was refused by this limit */
} Limited;

/* ---- instructions ---- */

static void on_count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &CALL);
  Limited *call = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (call == NULL) return;
  call->left -= HOOK_EVERY;
  if (call->left > 0) return;
  lua_sethook(L, on_count, LUA_MASKCOUNT, 1);      /* whatever catches this goes no further either */
  luaL_where(L, 0);                                /* a hook has no frame: 0 is the function that it stops */
  lua_pushliteral(L, "it takes too long");
  lua_concat(L, 2);
  lua_error(L);
}

/* Takes instructions for what the hook does not see; it fires at the next one if none are left. */
static void charge(Limited *call, size_t instructions) {
  bool more = call->left > 0;
  call->left -= (lua_Integer)instructions;
  if (more && call->left <= 0) lua_sethook(call->L, on_count, LUA_MASKCOUNT, 1);
}

/* ---- memory ---- */

/* The state's allocator while a call runs. Blocks are the ones of the allocator
   beneath, which goes on with them afterwards. */
static void *allocate_counted(void *user, void *block, size_t old_size, size_t new_size) {
  Limited *call = user;
  size_t old_bytes = block == NULL ? 0 : old_size;     /* for a new block Lua says its type there */
  if (new_size > old_bytes) {
    size_t more = new_size - old_bytes;
    bool full = call->used >= call->memory || more > call->memory - call->used;
    if (!full) charge(call, more / CHARGED_BYTES);
    if (full || (call->left <= 0 && new_size >= LARGE_BLOCK)) {
      charge(call, REFUSAL_COST);
      call->refused = true;
      return NULL;
    }
  }
  void *answer = call->allocate(call->user, block, old_size, new_size);
  if (answer == NULL && new_size > 0) {
    call->refused = false;
    return NULL;
  }
  if (new_size > old_bytes) call->used += new_size - old_bytes;
  else call->used -= min_size(call->used, old_bytes - new_size);   /* a block from before the call may be freed, too */
  return answer;
}

/* Did the call, with its error on top, fail for want of what the allocator refused? */
static bool is_refusal(lua_State *L, const Limited *call, int status) {
  if (!call->refused || status == LUA_OK) return false;
  if (status == LUA_ERRMEM) return true;
  if (!bind_is_error(L, -1)) return false;
  bind_get_field(L, -1, "code");
  bool is = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), status_code(STATUS_MEMORY)) == 0;
  lua_pop(L, 1);
  return is;
}

/* ---- calls ---- */

/* Calls f(argument), which stand at 1 and 3, under both; the Limited lies on top. */
static int call_counted(lua_State *L, Limited *call) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &CALL);      /* f limit argument memory call outer */
  lua_pushvalue(L, 5);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &CALL);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_sethook(L, on_count, LUA_MASKCOUNT, call->left < HOOK_EVERY ? 1 : HOOK_EVERY);
  call->allocate = lua_getallocf(L, &call->user);
  lua_setallocf(L, allocate_counted, call);
  int status = lua_pcall(L, 1, 1, 0);
  lua_setallocf(L, call->allocate, call->user);
  /* One that came meanwhile (Ctrl-C) stays. */
  if (lua_gethook(L) == on_count) lua_sethook(L, call->hook, call->mask, call->count);
  lua_pushvalue(L, 6);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &CALL);
  if (!is_refusal(L, call, status)) return status;
  bind_push_error(L, "limit", call->left > 0 ? "it takes too much memory" : "it takes too long", NULL);
  return status;
}

/* The same in a sandbox, whose guard also stops C functions and has a limit of memory of its own. */
static int call_guarded(lua_State *L, Limited *call) {
  bool over;
  GuardPart part = guard_part_begin(L, call->left < 0 ? 0 : (uint64_t)call->left);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  int status = guard_pcall(L, 1, 1);
  call->left = (lua_Integer)guard_part_end(L, part, &over);
  bool full = status == LUA_ERRMEM && sandbox_reached_memory(sandbox_of(L));
  if (over) lua_pushliteral(L, "it takes too long");
  else if (full) lua_pushliteral(L, "it takes too much memory");
  return over ? LUA_ERRRUN : status;
}

int bind_limited_call(lua_State *L) {
  lua_settop(L, 4);
  bind_expect(L, 1, NULL, LUA_TFUNCTION);
  lua_Integer limit = bind_integer(L, 2, "limit", INT64_MIN, INT64_MAX);
  size_t memory = (size_t)bind_integer(L, 4, "memory", 0, PTRDIFF_MAX);
  Limited *call = lua_newuserdatauv(L, sizeof *call, 0);
  *call = (Limited){.L = L, .hook = lua_gethook(L), .mask = lua_gethookmask(L), .count = lua_gethookcount(L),
                    .left = limit, .memory = memory};
  int status = sandbox_of(L) == NULL ? call_counted(L, call) : call_guarded(L, call);
  lua_pushboolean(L, status == LUA_OK);
  lua_insert(L, -2);
  lua_pushinteger(L, call->left < 0 ? 0 : call->left);
  return 3;
}
