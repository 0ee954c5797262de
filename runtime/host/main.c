/*
** ebb: the command. It makes a lua_State and lets lua/ebb/cli decide the rest.
**
** Exit codes are listed in docs/reference/errors.md; these are for what Lua cannot
** answer itself: an error that left it, no memory, and Ctrl-C.
*/
#define _DEFAULT_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/ending.h"
#include "host/host.h"

#include "lauxlib.h"
#include "lualib.h"

/* KB of Lua that are allocated before the collector's first cycle: what the start makes stays in use, and most
   commands end before. */
#define START_KB (16 * 1024)

enum { EXIT_SCRIPT = 5, EXIT_IO = 7, EXIT_INTERRUPTED = 130, EXIT_PIPE = 141 };

typedef struct Run {
  int argc;
  char **argv;
  int exit_code;
} Run;

static int with_traceback(lua_State *L) {
  if (host_interrupted()) return 1;
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

static void push_arguments(lua_State *L, const Run *run) {
  lua_createtable(L, run->argc, 1);
  for (int i = 0; i < run->argc; i++) {
    lua_pushstring(L, run->argv[i]);
    lua_seti(L, -2, i);
  }
}

/* Runs protected: even opening the libraries may find no memory. */
static int l_run(lua_State *L) {
  Run *run = lua_touserdata(L, 1);
  lua_gc(L, LUA_GCSTEP, -START_KB);   /* as if that had been freed */
  luaL_openlibs(L);
  host_open(L);
  host_open_coroutines(L);
  host_watch_interrupt(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "ebb.cli");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "main");
  push_arguments(L, run);
  lua_call(L, 1, 1);
  run->exit_code = (int)lua_tointeger(L, -1);
  return 0;
}

static int run_protected(lua_State *L, Run *run) {
  lua_pushcfunction(L, with_traceback);
  lua_pushcfunction(L, l_run);
  lua_pushlightuserdata(L, run);
  int status = lua_pcall(L, 1, 0, 1);
  if (host_interrupted()) return EXIT_INTERRUPTED;
  if (status == LUA_OK) return run->exit_code;
  fprintf(stderr, "ebb: %s\n", lua_tostring(L, -1));
  return status == LUA_ERRMEM ? EXIT_IO : EXIT_SCRIPT;
}

/* Reports writes of a script's `print` that failed in stdio. A reader that has read
   enough, such as `head`, is no failure to report: the exit code is a shell's for SIGPIPE. */
static int flush_output(int exit_code) {
  errno = 0;
  if ((fflush(stdout) == 0 && !ferror(stdout)) || exit_code != EXIT_SUCCESS) return exit_code;
  if (host_reader_is_gone(STDOUT_FILENO)) return EXIT_PIPE;
  fprintf(stderr, "ebb: standard output: %s\n", errno != 0 ? strerror(errno) : "a write failed");
  return EXIT_IO;
}

/* Ends the process where a mapped file, such as a vocabulary, was cut short by another process: behind its
   new end nothing can be read, and the script cannot go on without it. */
static void on_bus_error(int number, siginfo_t *info, void *context) {
  static const char message[] = "ebb: a vocabulary, or ebb itself, was cut short while it was in use\n"
                                "hint: `ebb vocab verify` names damaged vocabularies; replace files instead of "
                                "writing into them\n";
  (void)context;
  if (info->si_code != BUS_ADRERR) {      /* a signal that was sent, or another error */
    ending_by(number);
    return;
  }
  ending_clean();
  ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  (void)written;
  _exit(EXIT_IO);
}

/* Sets the signals that a parent may have set otherwise: exec keeps what is ignored. */
static void set_signals(void) {
  struct sigaction bus_error = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &bus_error, NULL);
  signal(SIGPIPE, SIG_IGN);   /* a closed pipe and a full quota are failed writes, reported like any other */
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGCHLD, SIG_DFL);   /* while it is ignored, waitpid learns no exit status */
}

/* Occupies standard streams that the parent closed, so that no file or pipe gets
   their numbers. Reading and writing them still fails: /dev/null is opened the wrong
   way round. False, with errno: it cannot be opened. */
static bool occupy_standard_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  set_signals();
  if (!occupy_standard_streams()) {
    fprintf(stderr, "ebb: /dev/null: %s\n", strerror(errno));
    return EXIT_IO;
  }
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fputs("ebb: not enough memory\n", stderr);
    return EXIT_IO;
  }
  Run run = {.argc = argc, .argv = argv, .exit_code = EXIT_SCRIPT};
  atexit(ending_clean);   /* a script may call os.exit */
  int exit_code = flush_output(run_protected(L, &run));
#ifdef EBB_CLOSE_STATE
  lua_close(L);   /* so that leaks show; elsewhere the system frees faster */
#endif
  return exit_code;
}
