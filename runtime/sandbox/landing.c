/*
** Landing: where a stopped script comes down.
**
**     host -> landing_resume -> lua_resume -> script -> pcall -> gsub -> script
**                  ^                                                       |
**                  +------------------------ jump -------------------------+
**
** An error would unwind the script level by level: each pcall would catch it and be stopped
** again, and each time Lua walks over the whole stack, so 35,000 nested pcalls took 10 s. So
** nothing is unwound. All threads of the script stay as they are, count as running for ever and
** belong to the collector: none of their functions runs again, __close and handlers neither.
*/
#include <assert.h>

#include "sandbox/sandbox_state.h"

/* lua_resume with a place to jump to: `landing` outlives the call. */
static int resume(Landing *landing, lua_State *thread, lua_State *from, int arguments, int *results) {
  if (setjmp(landing->place) != 0) return LANDING_STOPPED;
  return lua_resume(thread, from, arguments, results);
}

int landing_resume(Sandbox *sandbox, lua_State *thread, lua_State *from, int arguments, int *results) {
  Landing landing = {.outer = sandbox->landing, .barred = sandbox->barred};
  assert(sandbox->current != NULL && sandbox->barred >= 0);
  sandbox->landing = &landing;
  int status = resume(&landing, thread, from, arguments, results);
  sandbox->landing = landing.outer;
  sandbox->barred = landing.barred;
  assert(status != LANDING_STOPPED || sandbox->killed != SANDBOX_OK);
  return status;
}

/* ---- calls apart ----
**
** C functions that must clean up after a script's function call it in a thread
** of its own, with a landing of its own. A script that is stopped comes down there, in one
** step; the C function cleans up and raises, and the script is stopped at its next instruction. */

/* (function, arguments ...) -> results: calls it where Lua cannot yield. */
static int call(lua_State *L) {
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* The same in a thread of its own. Raises what that raises; when the script is stopped, a value without a meaning. */
static int call_apart(lua_State *L) {
  int count, arguments = lua_gettop(L);
  Sandbox *sandbox = sandbox_of(L);
  lua_State *thread = lua_newthread(L);
  thread_begin(thread, THREAD_HOST);
  lua_insert(L, 1);
  guard_check_stack(thread, arguments + 1, NULL);
  lua_pushcfunction(thread, call);
  lua_xmove(L, thread, arguments);
  sandbox->barred++;
  guard_enter(sandbox, thread);
  int status = landing_resume(sandbox, thread, L, arguments, &count);
  sandbox->barred--;
  guard_enter(sandbox, L);
  if (status == LANDING_STOPPED) return guard_fall(L);
  guard_check_stack(L, count + 1, NULL);
  lua_xmove(thread, L, status == LUA_OK ? count : 1);
  return status == LUA_OK ? count : lua_error(L);
}

int guard_pcall(lua_State *L, int arguments, int results) {
  Sandbox *sandbox = sandbox_of(L);
  if (sandbox != NULL && sandbox->current != NULL) {
    lua_pushcfunction(L, call_apart);
    lua_insert(L, -arguments - 2);
    arguments++;
  }
  return lua_pcall(L, arguments, results, 0);
}
