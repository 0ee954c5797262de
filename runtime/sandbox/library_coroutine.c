/*
** coroutine: every thread gets the hook when it is entered, and what passes
** outward passes.
**
**      task ---- resume ---> A ---- resume ---> B
**                                               hook: the slice is over, B yields
**                            resume in A sees a pass, not B's own yield: A yields too
**      task_step <-- yield --+
**      next step: task goes on in resume's continuation, which resumes A, and so on
**
** While the pass lasts A and B are held: they count as running, and nobody else
** can resume them.
*/
#include <assert.h>

#include "sandbox/sandbox_state.h"

#define RESUME_UNITS 20

typedef enum Life { SUSPENDED, RUNNING, NORMAL, DEAD } Life;

static const char *const LIFE_NAMES[] = {"suspended", "running", "normal", "dead"};

static Life life_of(lua_State *L, lua_State *co) {
  lua_Debug ar;
  if (L == co) return RUNNING;
  if (THREAD_FLAGS(co) != 0) return NORMAL;      /* a host's thread, or held */
  switch (lua_status(co)) {
    case LUA_YIELD: return SUSPENDED;
    case LUA_OK:
      if (lua_getstack(co, 0, &ar)) return NORMAL;
      return lua_gettop(co) == 0 ? DEAD : SUSPENDED;
    default: return DEAD;
  }
}

static lua_State *check_thread(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  return co;
}

/* ---- running one ---- */

/* Runs co until it yields by its own will, ends, or passes something outward.
   *answers: how many values it left; -1 for an error, whose value is on top of
   co. true: a pass, the caller must yield too. */
static bool run(lua_State *L, lua_State *co, int arguments, int *answers) {
  Sandbox *sandbox = sandbox_of(L);
  int barrier = lua_isyieldable(L) ? 0 : 1;  /* a function of sort's, of __close: what passes ends here */
  THREAD_FLAGS(co) = 0;
  guard_charge(L, RESUME_UNITS);
  guard_enter(sandbox, co);
  sandbox->barred += barrier;
  int status = lua_resume(co, L, arguments, answers);
  sandbox->barred -= barrier;
  guard_enter(sandbox, L);
  if (status != LUA_OK && status != LUA_YIELD) {
    *answers = -1;
    return false;
  }
  if (status == LUA_OK || sandbox->passing == PASS_NONE) return false;
  assert(barrier == 0);
  THREAD_FLAGS(co) = THREAD_HELD;
  return true;
}

/* Moves what co left over to L; false when there is no room. */
static bool take_answers(lua_State *L, lua_State *co, int count) {
  if (!lua_checkstack(L, count + 1)) {
    lua_pop(co, count);
    return false;
  }
  lua_xmove(co, L, count);
  return true;
}

/* ---- resume ---- */

static int go_on_resume(lua_State *L, int status, lua_KContext context);

static int finish_resume(lua_State *L, lua_State *co, int arguments) {
  int count;
  if (run(L, co, arguments, &count)) return lua_yieldk(L, 0, 0, go_on_resume);
  if (count >= 0 && take_answers(L, co, count)) {
    lua_pushboolean(L, 1);
    lua_insert(L, -(count + 1));
    return count + 1;
  }
  lua_pushboolean(L, 0);
  if (count < 0) lua_xmove(co, L, 1);
  else lua_pushliteral(L, "too many results to resume");
  return 2;
}

static int go_on_resume(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return finish_resume(L, lua_tothread(L, 1), 0);
}

/* Moves the arguments over; false, with a message pushed, if co cannot go on. */
static bool give_arguments(lua_State *L, lua_State *co, int count) {
  Life life = life_of(L, co);
  if (life != SUSPENDED) {
    lua_pushfstring(L, "cannot resume %s coroutine", life == DEAD ? "dead" : "non-suspended");
    return false;
  }
  if (!lua_checkstack(co, count)) {
    lua_pushliteral(L, "too many arguments to resume");
    return false;
  }
  lua_xmove(L, co, count);
  return true;
}

static int l_resume(lua_State *L) {
  lua_State *co = check_thread(L);
  int arguments = lua_gettop(L) - 1;
  if (!give_arguments(L, co, arguments)) {
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
  }
  return finish_resume(L, co, arguments);
}

/* ---- closing ---- */

/* Closes co; its status. Functions of __close run in it, with its hook. */
static int close(lua_State *L, lua_State *co) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox->closing >= CLOSE_DEPTH && holds(sandbox, GUARD_DEPTH)) {
    return luaL_error(L, "coroutines are closed within each other too deeply");
  }
  guard_charge(L, RESUME_UNITS);
  sandbox->closing++;
  guard_enter(sandbox, co);
  int status = lua_resetthread(co);
  guard_enter(sandbox, L);
  sandbox->closing--;
  return status;
}

static int l_close(lua_State *L) {
  lua_State *co = check_thread(L);
  Life life = life_of(L, co);
  if (life != SUSPENDED && life != DEAD) return luaL_error(L, "cannot close a %s coroutine", LIFE_NAMES[life]);
  if (close(L, co) == LUA_OK) {
    lua_pushboolean(L, 1);
    return 1;
  }
  lua_pushboolean(L, 0);
  lua_xmove(co, L, 1);
  return 2;
}

/* ---- wrap ---- */

static int go_on_wrap(lua_State *L, int status, lua_KContext context);

/* Raises what co raised, or the message on top of L; with the place if it is a text. */
static int raise_from(lua_State *L) {
  if (lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int finish_wrap(lua_State *L, lua_State *co, int arguments) {
  int count;
  if (run(L, co, arguments, &count)) return lua_yieldk(L, 0, 0, go_on_wrap);
  if (count >= 0) {
    if (take_answers(L, co, count)) return count;
    lua_pushliteral(L, "too many results to resume");
    return raise_from(L);
  }
  if (lua_status(co) != LUA_OK && lua_status(co) != LUA_YIELD) close(L, co);
  lua_xmove(co, L, 1);
  return raise_from(L);
}

static int go_on_wrap(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return finish_wrap(L, lua_tothread(L, lua_upvalueindex(1)), 0);
}

static int call_wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int arguments = lua_gettop(L);
  if (!give_arguments(L, co, arguments)) return raise_from(L);
  return finish_wrap(L, co, arguments);
}

/* ---- the rest ---- */

static int l_create(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  guard_charge(L, RESUME_UNITS);
  lua_State *co = lua_newthread(L);
  thread_begin(co, 0);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  return 1;
}

static int l_wrap(lua_State *L) {
  l_create(L);
  lua_pushcclosure(L, call_wrapped, 1);
  return 1;
}

static int l_yield(lua_State *L) {
  if (THREAD_FLAGS(L) & THREAD_HOST) return luaL_error(L, "attempt to yield from outside a coroutine");
  return lua_yield(L, lua_gettop(L));
}

static int l_status(lua_State *L) {
  lua_pushstring(L, LIFE_NAMES[life_of(L, check_thread(L))]);
  return 1;
}

static int l_isyieldable(lua_State *L) {
  lua_State *co = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
  lua_pushboolean(L, !(THREAD_FLAGS(co) & THREAD_HOST) && lua_isyieldable(co));
  return 1;
}

static int l_running(lua_State *L) {
  lua_pushthread(L);
  lua_pushboolean(L, (THREAD_FLAGS(L) & THREAD_HOST) != 0);
  return 2;
}

void library_coroutine(lua_State *L) {
  static const LibraryFunction functions[] = {
    {"close", l_close}, {"create", l_create}, {"isyieldable", l_isyieldable}, {"resume", l_resume},
    {"running", l_running}, {"status", l_status}, {"wrap", l_wrap}, {"yield", l_yield}, {NULL, NULL}};
  library_set(L, functions);
}
