/*
** Isolate: the rest of the program in a child process that the kernel holds.
**
**     parent                         child
**     fork ------------------------> loses its rights (confine.h)
**     waits, kills at the deadline
**     answers how it ended <-------- runs the script
*/
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bind/argument.h"
#include "host/confine.h"
#include "host/host.h"
#include "os/os.h"

#include "lualib.h"

/* ---- the parent ---- */

static bool read_capture(int capture, Buffer *out) {
  char chunk[65536];
  if (lseek(capture, 0, SEEK_SET) != 0) return false;
  for (ssize_t got; (got = read(capture, chunk, sizeof chunk)) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || buffer_add(out, chunk, (size_t)got) != STATUS_OK) return false;
  }
  return true;
}

/* Waits until the child has ended, and ends it at the deadline or on Ctrl-C: then
   *late is true. Its wait status, or -1 with errno if the system does not tell it. */
static int wait_for(pid_t child, int64_t milliseconds, bool *late) {
  int64_t end = clock_monotonic_ms() + milliseconds;
  int status;
  *late = false;
  for (pid_t ended; (ended = waitpid(child, &status, *late ? 0 : WNOHANG)) != child;) {
    if (ended < 0 && errno != EINTR) return -1;
    if (ended != 0 || *late) continue;
    *late = clock_monotonic_ms() >= end || host_interrupted();
    if (*late) kill(child, SIGKILL);
    else nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  return status;
}

/* Pushes how the child ended, a name and a number, and what it handed back. */
static int await(lua_State *L, pid_t child, int64_t milliseconds, int capture) {
  bool late;
  int status = wait_for(child, milliseconds, &late);
  if (status == -1) {
    lua_pushliteral(L, "unknown");
    lua_pushstring(L, strerror(errno));
    close(capture);
    return 2;
  }
  bool cpu = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
  lua_pushstring(L, late || cpu ? "deadline" : WIFEXITED(status) ? "exit" : "signal");
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  Buffer *out = bind_buffer(L);
  bool whole = read_capture(capture, out);
  close(capture);
  if (!whole) return luaL_error(L, "what the script gave back cannot be read: %s", strerror(errno));
  lua_pushlstring(L, out->bytes != NULL ? out->bytes : "", out->size);
  lua_remove(L, -2);
  return 3;
}

int host_capture(lua_State *L) {
  if (dup2(CONFINE_KEPT, STDOUT_FILENO) < 0) return luaL_error(L, "standard output: %s", strerror(errno));
  return 0;
}

/* ---- the child ---- */

static uint64_t check_bound(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  lua_Integer bound = luaL_checkinteger(L, -1);
  luaL_argcheck(L, bound > 0, 1, name);
  lua_pop(L, 1);
  return (uint64_t)bound;
}

/* Pushes the list in a field of the table at 1, as C has it; the table owns its strings. */
static const char *const *push_paths(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  luaL_checktype(L, -1, LUA_TTABLE);
  lua_Integer count = luaL_len(L, -1);
  const char **paths = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *paths, 0);
  for (lua_Integer i = 1; i <= count; i++) {
    luaL_argcheck(L, lua_rawgeti(L, -2, i) == LUA_TSTRING, 1, name);
    paths[i - 1] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  paths[count] = NULL;
  return paths;
}

/* Takes from the script how machine code is loaded: loadlib, and what `require` looks for behind Lua files. */
static void forget_libraries(lua_State *L) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_pushnil(L);
  lua_setfield(L, -2, "loadlib");
  lua_pushliteral(L, "");
  lua_setfield(L, -2, "cpath");
  lua_getfield(L, -1, "searchers");
  for (lua_Integer i = luaL_len(L, -1); i > HOST_LUA_SEARCHERS; i--) {
    lua_pushnil(L);
    lua_seti(L, -2, i);
  }
  lua_pop(L, 2);
}

int host_isolate(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  Confinement confinement = {
    .parent = getpid(),
    .milliseconds = check_bound(L, "milliseconds"),
    .memory = check_bound(L, "memory"),
    .file_size = check_bound(L, "file_size"),
    .read = push_paths(L, "read"),
    .write = push_paths(L, "write"),
  };
  confinement.kept = memfd_create("ebb", MFD_CLOEXEC);
  if (confinement.kept < 0) return luaL_error(L, "memory for the result: %s", strerror(errno));
  pid_t child = fork();
  if (child < 0) {
    int error = errno;
    close(confinement.kept);
    return luaL_error(L, "fork: %s", strerror(error));
  }
  if (child > 0) return await(L, child, (int64_t)confinement.milliseconds, confinement.kept);
  forget_libraries(L);
  const char *problem = confine(&confinement);
  lua_pushstring(L, problem == NULL ? "child" : "failed");
  lua_pushstring(L, problem);
  return 2;
}
