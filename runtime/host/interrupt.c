/*
** Interrupt: Ctrl-C ends a script as an error would, so that nothing is left
** half done, and the process answers 130.
**
** A signal handler may touch little of a lua_State; setting a hook is allowed.
** The hook then raises at the next instruction. It stays set: a script that
** catches the error is stopped again at once.
*/
#include <signal.h>

#include "host/host.h"

#include "lauxlib.h"

static lua_State *watched;
static volatile sig_atomic_t interrupted;

static void raise_interrupt(lua_State *L, lua_Debug *where) {
  (void)where;
  luaL_error(L, "interrupted");
}

static void on_interrupt(int signal_number) {
  signal(signal_number, SIG_DFL);   /* C code that takes too long is ended by the second one */
  interrupted = 1;
  lua_sethook(watched, raise_interrupt, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

void host_watch_interrupt(lua_State *L) {
  watched = L;
  signal(SIGINT, on_interrupt);
}

int host_interrupted(void) { return interrupted; }
