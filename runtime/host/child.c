/*
** Child: runs a command of the user's with text on its standard input, and reads
** what it says, within a time limit; once (`converse`), or line by line (`dialogue`).
**
** The command gets a process group of its own, so that all of it can be ended;
** its standard error is ours. Whatever ends the call (the limit, Ctrl-C, no
** memory), the collector or the return ends the group and closes the pipes; and
** whatever ends ebb ends the group (os/ending.h). SIGKILL cannot be handled: then
** the system sends the shell SIGTERM, which does not reach what it started.
*/
#define _DEFAULT_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bind/argument.h"
#include "host/host.h"
#include "os/clock.h"
#include "os/ending.h"

#define CHUNK 65536

typedef struct Child {
  EndingProcess process;     /* not listed: none, or waited for */
  int in, out;               /* our ends; -1: closed */
} Child;

static void close_end(int *end) {
  if (*end >= 0) close(*end);
  *end = -1;
}

static void end_child(Child *child) {
  close_end(&child->in);
  close_end(&child->out);
  ending_end_process(&child->process);
}

static int l_collect(lua_State *L) {
  end_child(lua_touserdata(L, 1));
  return 0;
}

static Child *push_child(lua_State *L) {
  Child *child = lua_newuserdatauv(L, sizeof *child, 0);
  *child = (Child){.in = -1, .out = -1};
  if (luaL_newmetatable(L, "ebb.host.child")) {
    lua_pushcfunction(L, l_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return child;
}

/* In the child, while signals wait. */
static _Noreturn void become(const char *command, const int in[2], const int out[2], pid_t parent) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(127);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  ending_release();
  if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0) {
    close(in[0]), close(in[1]), close(out[0]), close(out[1]);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  }
  _exit(127);
}

/* Starts a command in a process group of its own, with pipes for its input and output; false with errno. */
static bool start(Child *child, const char *command) {
  int in[2], out[2];
  if (pipe(in) != 0) return false;
  if (pipe(out) != 0) {
    close(in[0]), close(in[1]);
    return false;
  }
  child->in = in[1];
  child->out = out[0];
  pid_t parent = getpid();
  ending_hold();   /* a signal comes before the command exists, or after it is listed */
  pid_t pid = fork();
  if (pid == 0) become(command, in, out, parent);
  int error = errno;
  if (pid > 0) {
    setpgid(pid, pid);      /* parent and child both call it: either may run first */
    ending_add_process(&child->process, pid, true);
  }
  ending_release();
  close(in[0]), close(out[1]);
  errno = error;
  if (pid < 0) return false;
  fcntl(child->in, F_SETFL, O_NONBLOCK);
  fcntl(child->in, F_SETFD, FD_CLOEXEC);        /* other children do not keep them open */
  fcntl(child->out, F_SETFD, FD_CLOEXEC);
  return true;
}

/* Writes what the pipe takes; a command need not read all. */
static void feed(Child *child, const char *input, size_t size, size_t *written) {
  ssize_t n = write(child->in, input + *written, size - *written);
  if (n > 0) *written += (size_t)n;
  if (*written == size || (n < 0 && errno != EAGAIN && errno != EINTR)) close_end(&child->in);
}

/* NULL, or why nothing more is read. */
static const char *drain(Child *child, Buffer *answer) {
  static char chunk[CHUNK];
  ssize_t n = read(child->out, chunk, sizeof chunk);
  if (n == 0) close_end(&child->out);
  if (n < 0 && errno != EINTR && errno != EAGAIN) return strerror(errno);
  if (n <= 0) return NULL;
  if (answer->size + (size_t)n > ANSWER_BYTES_MAX) return ANSWER_TOO_LONG;
  return buffer_add(answer, chunk, (size_t)n) == STATUS_OK ? NULL : "not enough memory";
}

/* Talks with the child until it closes its output; NULL, or why not. */
static const char *talk(Child *child, const char *input, size_t size, int64_t deadline, Buffer *answer) {
  size_t written = 0;
  if (size == 0) close_end(&child->in);
  while (child->out >= 0) {
    int64_t left = deadline - clock_monotonic_ms();
    if (host_interrupted()) return "interrupted";
    if (left <= 0) return "it took too long";
    struct pollfd ends[2] = {{.fd = child->out, .events = POLLIN}, {.fd = child->in, .events = POLLOUT}};
    if (poll(ends, 2, left > 20 ? 20 : (int)left) <= 0) continue;          /* also after a signal */
    if (ends[1].revents != 0) feed(child, input, size, &written);
    if (ends[0].revents == 0) continue;
    const char *problem = drain(child, answer);
    if (problem != NULL) return problem;
  }
  return NULL;
}

/* As waitpid without waiting; a process that has ended is not listed any more. */
static pid_t ask(Child *child, int *status) {
  ending_hold();
  pid_t ended = waitpid(child->process.pid, status, WNOHANG);
  if (ended > 0) ending_remove_process(&child->process);
  ending_release();
  return ended;
}

/* Waits until the command has ended, which is soon after it closed its output. NULL:
   it succeeded; else what went wrong, pushed. */
static const char *wait_for(lua_State *L, Child *child, int64_t deadline) {
  int status;
  for (;;) {
    pid_t ended = ask(child, &status);
    if (ended > 0) break;
    if (ended < 0 && errno != EINTR) {
      return lua_pushfstring(L, "how it ended cannot be determined: %s", strerror(errno));
    }
    if (host_interrupted()) return lua_pushliteral(L, "interrupted");
    if (clock_monotonic_ms() >= deadline) return lua_pushliteral(L, "it took too long");
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  if (!WIFEXITED(status)) return lua_pushliteral(L, "it was ended by a signal");
  return WEXITSTATUS(status) == 0 ? NULL : lua_pushfstring(L, "it failed with exit status %d", WEXITSTATUS(status));
}

int host_converse(lua_State *L) {
  size_t size;
  const char *command = luaL_checkstring(L, 1), *input = luaL_checklstring(L, 2, &size);
  int64_t deadline = clock_monotonic_ms() + (int64_t)(luaL_checknumber(L, 3) * 1000);
  lua_settop(L, 3);
  Child *child = push_child(L);
  Buffer *answer = bind_buffer(L);
  const char *problem = start(child, command) ? talk(child, input, size, deadline, answer) : strerror(errno);
  if (problem == NULL) problem = wait_for(L, child, deadline);
  if (problem == NULL) {
    lua_pushlstring(L, answer->size == 0 ? "" : answer->bytes, answer->size);
    return 1;
  }
  lua_pushstring(L, problem);
  end_child(child);
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/* ---- a command that goes on ---- */

typedef struct Dialogue {
  Child *child;
  Buffer *unread;            /* what it has written and no call has returned; both are user values */
} Dialogue;

enum { CHILD_VALUE = 1, UNREAD_VALUE, USER_VALUES = UNREAD_VALUE, PATIENCE_MS = 500 };

static Dialogue *check_dialogue(lua_State *L) {
  Dialogue *dialogue = luaL_checkudata(L, 1, "ebb.host.dialogue");
  luaL_argcheck(L, dialogue->child->process.pid > 0, 1, "the dialogue is closed");
  return dialogue;
}

/* Pushes the first whole line of what is unread, without its end; false if there is none. */
static bool push_line(lua_State *L, Buffer *unread, size_t from) {
  if (unread->size == from) return false;
  const char *end = memchr(unread->bytes + from, '\n', unread->size - from);
  if (end == NULL) return false;
  size_t size = (size_t)(end - unread->bytes);
  lua_pushlstring(L, unread->bytes, size);
  memmove(unread->bytes, end + 1, unread->size - size - 1);
  unread->size -= size + 1;
  return true;
}

/* dialogue:say(text, seconds, wants_line?) -> the next line, or true if none is wanted; nil and why not. What the
   command writes is read meanwhile, so that neither waits for the other. */
static int l_say(lua_State *L) {
  Dialogue *dialogue = check_dialogue(L);
  Child *child = dialogue->child;
  size_t size, written = 0, searched = 0;
  const char *text = luaL_checklstring(L, 2, &size);
  int64_t deadline = clock_monotonic_ms() + (int64_t)(luaL_checknumber(L, 3) * 1000);
  bool wants_line = lua_toboolean(L, 4);
  for (const char *problem = NULL;;) {
    if (written == size && !wants_line) return lua_pushboolean(L, 1), 1;
    if (written == size && push_line(L, dialogue->unread, searched)) return 1;
    searched = dialogue->unread->size;
    int64_t left = deadline - clock_monotonic_ms();
    if (host_interrupted()) host_raise_interrupt(L);
    if (left <= 0) problem = "it took too long";
    if (child->out < 0 || (written < size && child->in < 0)) problem = "it has ended";
    if (problem != NULL) return lua_pushnil(L), lua_pushstring(L, problem), 2;
    struct pollfd ends[2] = {{.fd = child->out, .events = POLLIN},
                             {.fd = written < size ? child->in : -1, .events = POLLOUT}};
    if (poll(ends, 2, left > 20 ? 20 : (int)left) <= 0) continue;
    if (ends[1].revents != 0) {
      ssize_t n = write(child->in, text + written, size - written);
      if (n > 0) written += (size_t)n;
      if (n < 0 && errno != EAGAIN && errno != EINTR) close_end(&child->in);
    }
    if (ends[0].revents != 0) problem = drain(child, dialogue->unread);
  }
}

/* dialogue:close(): closes its input, gives it a moment to end by itself, and ends it. */
static int l_close(lua_State *L) {
  Dialogue *dialogue = luaL_checkudata(L, 1, "ebb.host.dialogue");
  Child *child = dialogue->child;
  close_end(&child->in);
  int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;
  while (child->process.pid > 0 && clock_monotonic_ms() < deadline && !host_interrupted()) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)child->process.pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0) break;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  end_child(child);
  return 0;
}

int host_dialogue(lua_State *L) {
  static const luaL_Reg methods[] = {{"say", l_say}, {"close", l_close}, {NULL, NULL}};
  const char *command = luaL_checkstring(L, 1);
  Dialogue *dialogue = lua_newuserdatauv(L, sizeof *dialogue, USER_VALUES);
  dialogue->child = push_child(L);
  lua_setiuservalue(L, -2, CHILD_VALUE);
  dialogue->unread = bind_buffer(L);
  lua_setiuservalue(L, -2, UNREAD_VALUE);
  if (luaL_newmetatable(L, "ebb.host.dialogue")) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  if (start(dialogue->child, command)) return 1;
  lua_pushnil(L);
  lua_pushstring(L, strerror(errno));
  return 2;
}

int host_sleep(lua_State *L) {
  int64_t end = clock_monotonic_ms() + (int64_t)(luaL_checknumber(L, 1) * 1000);
  for (int64_t left; (left = end - clock_monotonic_ms()) > 0;) {
    if (host_interrupted()) host_raise_interrupt(L);
    poll(NULL, 0, left > 20 ? 20 : (int)left);
  }
  return 0;
}
