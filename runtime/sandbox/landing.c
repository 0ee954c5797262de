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
#include <setjmp.h>

#include "sandbox/sandbox_state.h"

struct Landing {
  jmp_buf place;
  Landing *outer;
  int barred;                /* as in Sandbox, before */
};

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

void landing_jump(Sandbox *sandbox) {
  assert(sandbox->landing != NULL && sandbox->killed != SANDBOX_OK);
  longjmp(sandbox->landing->place, 1);
}
