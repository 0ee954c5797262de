/*
** Interrupt: Ctrl-C ends a script as an error would, so that nothing is left
** half done, and the process answers 130.
**
** A signal handler may touch little of a lua_State; setting a hook is allowed.
** The hook then raises at the next instruction. It stays set: a script that
** catches the error is stopped again at once. Only a call of
** `host_interruptible` takes it away again, when it is over. What other signals do is
** told in host/ending.h.
**
** C code meets no hook: a request of megabytes is read, counted and written by it. So a
** process that has not ended soon after Ctrl-C is ended by SIGINT, as a second Ctrl-C
** would end it. In `host_interruptible` it goes on: there only the second one ends it.
*/
#define _DEFAULT_SOURCE 1                   /* setitimer */
#include <signal.h>
#include <sys/time.h>

#include "host/ending.h"
#include "host/host.h"

#include "lauxlib.h"

/* How long after Ctrl-C a process may go on, in microseconds. */
enum { PATIENCE_US = 30000 };

static lua_State *volatile watched;
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t patient;      /* not ended by the timer: `host_interruptible` runs */

static void raise_interrupt(lua_State *L, lua_Debug *where) {
  (void)where;
  luaL_where(L, 0);          /* a hook has no frame: 0 is who was interrupted */
  lua_pushliteral(L, "interrupted");
  lua_concat(L, 2);
  lua_error(L);
}

static void set_hook(lua_State *L) {
  lua_sethook(L, raise_interrupt, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

static void on_interrupt(int signal_number) {
  if (ending_is_over()) return;
  if (interrupted) ending_by(signal_number);   /* C code that takes too long is ended by the second one */
  interrupted = 1;
  if (watched != NULL) set_hook(watched);
  if (!patient) setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = PATIENCE_US}, NULL);
}

/* SIGALRM comes from the timer, or from another process. */
static void on_alarm(int signal_number) {
  if (!ending_is_over()) ending_by(interrupted ? SIGINT : signal_number);
}

void host_watch_interrupt(lua_State *L) {
  watched = L;
  signal(SIGINT, on_interrupt);
  signal(SIGALRM, on_alarm);
  ending_watch(host_interrupted);
}

bool host_interrupted(void) { return interrupted != 0; }

lua_State *host_watch_coroutine(lua_State *co) {
  lua_State *before = watched;
  watched = co;
  if (interrupted) set_hook(co);   /* it came while the coroutine was being resumed, and is set on `before` */
  return before;
}

void host_raise_interrupt(lua_State *L) {
  if (!interrupted) return;
  set_hook(L);
  lua_pushliteral(L, "interrupted");
  lua_error(L);
}

int host_interruptible(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);       /* call handler true call: all but the first two are returned */
  lua_State *watched_before = watched;
  sig_atomic_t patient_before = patient;
  watched = L;
  patient = 1;
  void (*before)(int) = signal(SIGINT, on_interrupt);
  int status = lua_pcall(L, 0, LUA_MULTRET, 2);
  signal(SIGINT, before);    /* first: none may come after the hook is gone */
  watched = watched_before;
  patient = patient_before;
  if (interrupted) lua_sethook(L, NULL, 0, 0);
  interrupted = 0;
  if (status == LUA_OK) return lua_gettop(L) - 2;
  lua_pushboolean(L, 0);
  lua_replace(L, 3);
  return 2;
}

int host_conclude(lua_State *L) {
  (void)L;
  ending_conclude();
  return 0;
}
