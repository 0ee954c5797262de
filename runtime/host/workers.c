/*
** Workers: one function for many numbers, in as many child processes as there are processors.
**
**     parent    fork 1, fork 2            1 ended: fork 3      ...
**     child 1   run(1) --text--> pipe     done(1, text)
**     child 2   run(2) -----text--------> pipe
**
** A child is a copy of the program, ends with its one number, and flushes nothing that the parent wrote. SIGTERM ends
** it, with the commands that it runs (host/ending.h).
*/
#define _DEFAULT_SOURCE 1
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bind/argument.h"
#include "host/ending.h"
#include "host/host.h"
#include "sandbox/guard.h"

#define CHUNK       65536
#define PROCESSES   64

typedef struct Worker {
  EndingProcess process;     /* not listed: free */
  int out;                   /* our end of its pipe */
  lua_Integer number;
  Buffer *answer;
} Worker;

typedef struct Workers {
  Worker list[PROCESSES];
  int count;
} Workers;

enum { COUNT = 1, RUN, DONE };   /* places of the stack */

static bool runs(const Worker *worker) { return worker->process.pid != 0; }

/* Ends what still runs, when the call ends in whatever way. */
static int end_workers(lua_State *L) {
  Workers *workers = lua_touserdata(L, 1);
  for (int i = 0; i < workers->count; i++) {
    Worker *worker = &workers->list[i];
    if (runs(worker)) kill(worker->process.pid, SIGTERM);   /* all first, so that they end at the same time */
  }
  for (int i = 0; i < workers->count; i++) {
    Worker *worker = &workers->list[i];
    if (runs(worker)) close(worker->out);
    ending_end_process(&worker->process);
  }
  return 0;
}

static Workers *push_workers(lua_State *L, lua_Integer jobs, lua_Integer most) {
  Workers *workers = lua_newuserdatauv(L, sizeof *workers, 0);
  long processors = most > 0 ? (long)most : sysconf(_SC_NPROCESSORS_ONLN);
  *workers = (Workers){.count = processors < 1 ? 1 : processors > PROCESSES ? PROCESSES : (int)processors};
  if (jobs < workers->count) workers->count = (int)jobs;
  if (luaL_newmetatable(L, "ebb.host.workers")) {
    lua_pushcfunction(L, end_workers);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, end_workers);
    lua_setfield(L, -2, "__close");
  }
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  for (int i = 0; i < workers->count; i++) workers->list[i].answer = bind_buffer(L);
  return workers;
}

static bool write_all(int out, const char *bytes, size_t size) {
  for (ssize_t n; size > 0; bytes += n, size -= (size_t)n) {
    n = write(out, bytes, size);
    if (n < 0 && errno != EINTR) return false;
    if (n < 0) n = 0;
  }
  return true;
}

/* The child, while signals wait: what run(number) returns goes to the pipe; exit status 1 with the error's text. It
   ends when its parent does. */
static _Noreturn void work(lua_State *L, lua_Integer number, int out, pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(1);
  ending_release();
  lua_pushvalue(L, RUN);
  lua_pushinteger(L, number);
  bool succeeded = lua_pcall(L, 1, 1, 0) == LUA_OK;
  size_t size;
  const char *text = luaL_tolstring(L, -1, &size);
  bool written = write_all(out, text, size);
  _exit(succeeded && written ? 0 : 1);
}

/* NULL, or why no process could be started. */
static const char *start(lua_State *L, Worker *worker, lua_Integer number) {
  int ends[2];
  assert(!runs(worker));
  if (pipe(ends) != 0) return strerror(errno);
  ending_hold();   /* a signal comes before the child exists, or after it is listed */
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    close(ends[0]);
    work(L, number, ends[1], parent);
  }
  int error = errno;
  if (pid > 0) ending_add_process(&worker->process, pid, false);
  ending_release();
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return strerror(error);
  }
  buffer_reset(worker->answer);
  worker->out = ends[0], worker->number = number;
  return NULL;
}

/* Calls done(number, succeeded, text) for a worker whose pipe ended, which is free then. */
static void finish(lua_State *L, Worker *worker) {
  int status = 0;
  assert(runs(worker));
  close(worker->out);
  while (waitpid(worker->process.pid, &status, 0) < 0 && errno == EINTR) continue;
  ending_hold();
  ending_remove_process(&worker->process);
  ending_release();
  lua_pushvalue(L, DONE);
  lua_pushinteger(L, worker->number);
  lua_pushboolean(L, WIFEXITED(status) && WEXITSTATUS(status) == 0);
  if (WIFSIGNALED(status)) lua_pushfstring(L, "the process was ended by signal %d", WTERMSIG(status));
  else lua_pushlstring(L, worker->answer->size > 0 ? worker->answer->bytes : "", worker->answer->size);
  lua_call(L, 3, 0);
}

/* Reads what a worker says; true at the end. */
static bool drain(lua_State *L, Worker *worker) {
  static char chunk[CHUNK];
  ssize_t n = read(worker->out, chunk, sizeof chunk);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (n <= 0) return true;
  if (buffer_add(worker->answer, chunk, (size_t)n) != STATUS_OK) luaL_error(L, "not enough memory");
  return false;
}

/* Waits for any of the workers, and finishes those that ended; the number of those that still run. */
static int wait_for_some(lua_State *L, Workers *workers) {
  struct pollfd ends[PROCESSES];
  int running = 0;
  for (int i = 0; i < workers->count; i++) {
    ends[i] = (struct pollfd){.fd = runs(&workers->list[i]) ? workers->list[i].out : -1, .events = POLLIN};
  }
  int ready = poll(ends, (nfds_t)workers->count, 100);
  if (host_interrupted()) host_raise_interrupt(L);
  for (int i = 0; i < workers->count; i++) {
    bool ended = ready > 0 && ends[i].revents != 0 && drain(L, &workers->list[i]);
    if (ended) finish(L, &workers->list[i]);
    running += runs(&workers->list[i]);
  }
  return running;
}

int host_workers(lua_State *L) {
  lua_Integer jobs = luaL_checkinteger(L, COUNT), next = 1;
  luaL_checktype(L, RUN, LUA_TFUNCTION);
  luaL_checktype(L, DONE, LUA_TFUNCTION);
  lua_Integer most = luaL_optinteger(L, DONE + 1, 0);
  lua_settop(L, DONE);
  guard_check_stack(L, PROCESSES + 8, NULL);
  Workers *workers = push_workers(L, jobs, most);
  for (int running = 0; next <= jobs || running > 0;) {
    for (int i = 0; i < workers->count && next <= jobs; i++) {
      if (runs(&workers->list[i])) continue;
      const char *problem = start(L, &workers->list[i], next);
      if (problem != NULL) return luaL_error(L, "a process for more work: %s", problem);
      next++;
    }
    running = wait_for_some(L, workers);
  }
  return 0;
}
