/*
** Child: runs a command of the user's with text on its standard input, and reads
** what it says, within a time limit; once (`converse`), or line by line (`dialogue`).
**
** The command gets a process group of its own, so that all of it can be ended,
** and of descriptors only its pipes. It shares our standard error and
** environment, unless the caller names the variables that it may have, and
** listens to its standard error. What the shell has written when it ends is the
** answer, though others hold the pipe and live on.
**
** Whatever ends the call before (the limit, Ctrl-C, no memory), the collector or
** the return ends the group and closes the pipes; and whatever ends ebb ends the
** group (host/ending.h). SIGKILL cannot be handled: then the system sends the shell
** SIGTERM, which does not reach what it started.
*/
#define _DEFAULT_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bind/argument.h"
#include "host/ending.h"
#include "host/host.h"
#include "os/os.h"

#define CHUNK           65536
#define DESCRIPTORS_MAX 65536   /* that are closed one by one, where the system closes no range */

extern char **environ;

typedef struct Child {
  EndingProcess process;     /* not listed: none, or waited for */
  int in, out, err;          /* our ends; -1: closed, or none */
} Child;

static void close_end(int *end) {
  if (*end >= 0) close(*end);
  *end = -1;
}

static void end_child(Child *child) {
  close_end(&child->in);
  close_end(&child->out);
  close_end(&child->err);
  ending_end_process(&child->process);
}

static int l_collect(lua_State *L) {
  end_child(lua_touserdata(L, 1));
  return 0;
}

static Child *push_child(lua_State *L) {
  Child *child = lua_newuserdatauv(L, sizeof *child, 0);
  *child = (Child){.in = -1, .out = -1, .err = -1};
  if (luaL_newmetatable(L, "ebb.host.child")) {
    lua_pushcfunction(L, l_collect);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return child;
}

/* ---- what a command gets ---- */

/* True for an entry NAME=value whose name is in the list at `list`; a name there that ends with * stands for those
   that begin so. */
static bool is_named(lua_State *L, int list, const char *entry) {
  size_t length = strcspn(entry, "="), size;
  bool found = false;
  for (lua_Integer i = 1; !found && lua_geti(L, list, i) == LUA_TSTRING; i++) {
    const char *name = lua_tolstring(L, -1, &size);
    bool begins = size > 0 && name[size - 1] == '*';
    found = begins ? length >= size - 1 && memcmp(name, entry, size - 1) == 0
                   : length == size && memcmp(name, entry, size) == 0;
    lua_pop(L, 1);
  }
  if (!found) lua_pop(L, 1);   /* what ended the list */
  return found;
}

/* The environment of a command: the variables that the options at `options` name, or all. Pushes what holds them. */
static char **variables_of(lua_State *L, int options) {
  if (!lua_istable(L, options) || lua_getfield(L, options, "variables") == LUA_TNIL) {
    lua_pushnil(L);
    return environ;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  size_t count = 0, kept = 0;
  while (environ[count] != NULL) count++;
  char **variables = lua_newuserdatauv(L, (count + 1) * sizeof *variables, 0);
  int list = lua_absindex(L, -2);
  for (size_t i = 0; i < count; i++) {
    if (is_named(L, list, environ[i])) variables[kept++] = environ[i];
  }
  variables[kept] = NULL;
  return variables;
}

/* Pushes the function that hears standard error, or nil. */
static bool push_listener(lua_State *L, int options) {
  if (lua_istable(L, options)) return lua_getfield(L, options, "hear") == LUA_TFUNCTION;
  lua_pushnil(L);
  return false;
}

static void close_others(void) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) == 0) return;
#endif
  long most = sysconf(_SC_OPEN_MAX);
  if (most < 0 || most > DESCRIPTORS_MAX) most = DESCRIPTORS_MAX;
  for (int i = STDERR_FILENO + 1; i < most; i++) close(i);
}

/* The ends of the pipes of a command; of `err` both are -1 where its standard error is ours. */
typedef struct Pipes { int in[2], out[2], err[2]; } Pipes;

static void close_pipes(const Pipes *pipes) {
  const int *ends = pipes->in;
  for (size_t i = 0; i < sizeof *pipes / sizeof *ends; i++) {
    if (ends[i] >= 0) close(ends[i]);
  }
}

/* False with errno, and all closed. */
static bool open_pipes(Pipes *pipes, bool with_err) {
  *pipes = (Pipes){{-1, -1}, {-1, -1}, {-1, -1}};
  if (pipe(pipes->in) == 0 && pipe(pipes->out) == 0 && (!with_err || pipe(pipes->err) == 0)) return true;
  int error = errno;
  close_pipes(pipes);
  errno = error;
  return false;
}

/* In the child, while signals wait. */
static _Noreturn void become(const char *command, char **variables, const Pipes *pipes, pid_t parent) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(127);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  ending_release();
  bool has_err = pipes->err[1] < 0 || dup2(pipes->err[1], STDERR_FILENO) >= 0;
  if (has_err && dup2(pipes->in[0], STDIN_FILENO) >= 0 && dup2(pipes->out[1], STDOUT_FILENO) >= 0) {
    close_others();
    execle("/bin/sh", "sh", "-c", command, (char *)NULL, variables);
  }
  _exit(127);
}

/* Starts a command in a process group of its own, with pipes for its input and output, and what the options at
   `options` say; false with errno. */
static bool start(lua_State *L, Child *child, const char *command, int options) {
  Pipes pipes;
  char **variables = variables_of(L, options);
  bool listens = push_listener(L, options);
  lua_pop(L, 1);
  if (!open_pipes(&pipes, listens)) return false;
  child->in = pipes.in[1];
  child->out = pipes.out[0];
  child->err = pipes.err[0];
  pid_t parent = getpid();
  ending_hold();   /* a signal comes before the command exists, or after it is listed */
  pid_t pid = fork();
  if (pid == 0) become(command, variables, &pipes, parent);
  int error = errno;
  if (pid > 0) {
    setpgid(pid, pid);      /* parent and child both call it: either may run first */
    ending_add_process(&child->process, pid, true);
  }
  ending_release();
  close(pipes.in[0]), close(pipes.out[1]);
  if (listens) close(pipes.err[1]);
  errno = error;
  if (pid < 0) return false;
  fcntl(child->in, F_SETFL, O_NONBLOCK);
  fcntl(child->in, F_SETFD, FD_CLOEXEC);        /* other children do not keep them open */
  fcntl(child->out, F_SETFD, FD_CLOEXEC);
  if (listens) fcntl(child->err, F_SETFD, FD_CLOEXEC);
  return true;
}

/* ---- talking ---- */

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

/* Hands a piece of the child's standard error to the listener at `listener`. */
static void listen_to(lua_State *L, Child *child, int listener) {
  static char chunk[CHUNK];
  ssize_t n = read(child->err, chunk, sizeof chunk);
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) close_end(&child->err);
  if (n <= 0) return;
  lua_pushvalue(L, listener);
  lua_pushlstring(L, chunk, (size_t)n);
  lua_call(L, 1, 0);
}

/* Bytes that can be read from a pipe without waiting. */
static int available(int end) {
  int size = 0;
  return end >= 0 && ioctl(end, FIONREAD, &size) == 0 ? size : 0;
}

/* True if the shell has ended, or cannot be asked; it is still to be waited for. */
static bool has_ended(const Child *child) {
  siginfo_t info = {0};
  int asked = waitid(P_PID, (id_t)child->process.pid, &info, WEXITED | WNOHANG | WNOWAIT);
  return asked != 0 ? errno != EINTR : info.si_pid != 0;
}

/* Reads what an ended child has left in its pipes, and no more: others may write to them for ever. */
static const char *drain_rest(lua_State *L, Child *child, Buffer *answer, int listener) {
  const char *problem = NULL;
  for (size_t end = answer->size + (size_t)available(child->out); answer->size < end && problem == NULL;) {
    problem = drain(child, answer);
  }
  if (available(child->err) > 0) listen_to(L, child, listener);
  return problem;
}

/* Talks with the child until it ends; NULL, or why not. */
static const char *talk(lua_State *L, Child *child, Text input, int64_t deadline, Buffer *answer, int listener) {
  size_t written = 0;
  if (input.size == 0) close_end(&child->in);
  while (!has_ended(child)) {
    int64_t left = deadline - clock_monotonic_ms(), wait = child->out < 0 ? 1 : 20;   /* it is about to end, or not */
    if (host_interrupted()) return "interrupted";
    if (left <= 0) return "it took too long";
    struct pollfd ends[3] = {{.fd = child->out, .events = POLLIN}, {.fd = child->in, .events = POLLOUT},
                             {.fd = child->err, .events = POLLIN}};
    if (poll(ends, 3, (int)(left < wait ? left : wait)) <= 0) continue;               /* also after a signal */
    if (ends[1].revents != 0) feed(child, input.bytes, input.size, &written);
    if (ends[2].revents != 0) listen_to(L, child, listener);
    const char *problem = ends[0].revents != 0 ? drain(child, answer) : NULL;
    if (problem != NULL) return problem;
  }
  return drain_rest(L, child, answer, listener);
}

/* As waitpid without waiting; a process that has ended is not listed any more. */
static pid_t ask(Child *child, int *status) {
  ending_hold();
  pid_t ended = waitpid(child->process.pid, status, WNOHANG);
  if (ended > 0) ending_remove_process(&child->process);
  ending_release();
  return ended;
}

/* Waits for a command that has ended. NULL: it succeeded; else what went wrong, pushed. */
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
  enum { OPTIONS = 4 };
  size_t size;
  const char *command = luaL_checkstring(L, 1), *input = luaL_checklstring(L, 2, &size);
  int64_t deadline = clock_monotonic_ms() + (int64_t)(luaL_checknumber(L, 3) * 1000);
  lua_settop(L, OPTIONS);
  push_listener(L, OPTIONS);
  Child *child = push_child(L);
  Buffer *answer = bind_buffer(L);
  const char *problem = start(L, child, command, OPTIONS)
    ? talk(L, child, text_plain(input, size), deadline, answer, OPTIONS + 1) : strerror(errno);
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

enum { CHILD_VALUE = 1, UNREAD_VALUE, LISTENER_VALUE, USER_VALUES = LISTENER_VALUE, PATIENCE_MS = 500 };

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
  enum { LISTENER = 5 };
  Dialogue *dialogue = check_dialogue(L);
  Child *child = dialogue->child;
  size_t size, written = 0, searched = 0;
  const char *text = luaL_checklstring(L, 2, &size);
  int64_t deadline = clock_monotonic_ms() + (int64_t)(luaL_checknumber(L, 3) * 1000);
  bool wants_line = lua_toboolean(L, 4);
  lua_settop(L, LISTENER - 1);
  lua_getiuservalue(L, 1, LISTENER_VALUE);
  for (const char *problem = NULL;;) {
    if (written == size && !wants_line) return lua_pushboolean(L, 1), 1;
    if (written == size && push_line(L, dialogue->unread, searched)) return 1;
    searched = dialogue->unread->size;
    int64_t left = deadline - clock_monotonic_ms();
    if (host_interrupted()) host_raise_interrupt(L);
    if (left <= 0) problem = "it took too long";
    if (child->out < 0 || (written < size && child->in < 0)) problem = "it has ended";
    if (problem != NULL) return lua_pushnil(L), lua_pushstring(L, problem), 2;
    struct pollfd ends[3] = {{.fd = child->out, .events = POLLIN},
                             {.fd = written < size ? child->in : -1, .events = POLLOUT},
                             {.fd = child->err, .events = POLLIN}};
    if (poll(ends, 3, left > 20 ? 20 : (int)left) <= 0) continue;
    if (ends[2].revents != 0) listen_to(L, child, LISTENER);
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
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, LISTENER_VALUE);
  bool runs = child->process.pid > 0;
  while (runs && !has_ended(child) && clock_monotonic_ms() < deadline && !host_interrupted()) {
    struct pollfd end = {.fd = child->err, .events = POLLIN};
    if (poll(&end, 1, 2) > 0) listen_to(L, child, 2);
  }
  if (available(child->err) > 0) listen_to(L, child, 2);
  end_child(child);
  return 0;
}

int host_dialogue(lua_State *L) {
  static const luaL_Reg methods[] = {{"say", l_say}, {"close", l_close}, {NULL, NULL}};
  enum { OPTIONS = 2 };
  const char *command = luaL_checkstring(L, 1);
  lua_settop(L, OPTIONS);
  Dialogue *dialogue = lua_newuserdatauv(L, sizeof *dialogue, USER_VALUES);
  dialogue->child = push_child(L);
  lua_setiuservalue(L, -2, CHILD_VALUE);
  dialogue->unread = bind_buffer(L);
  lua_setiuservalue(L, -2, UNREAD_VALUE);
  push_listener(L, OPTIONS);
  lua_setiuservalue(L, -2, LISTENER_VALUE);
  if (luaL_newmetatable(L, "ebb.host.dialogue")) {
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
  bool started = start(L, dialogue->child, command, OPTIONS);
  lua_settop(L, OPTIONS + 1);
  if (started) return 1;
  lua_pushnil(L);
  lua_pushstring(L, strerror(errno));
  return 2;
}

int host_close_on_exec(lua_State *L) {
  luaL_Stream *file = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  luaL_argcheck(L, file->closef != NULL, 1, "it is closed");
  fcntl(fileno(file->f), F_SETFD, FD_CLOEXEC);
  return 0;
}

int host_sleep(lua_State *L) {
  int64_t end = clock_monotonic_ms() + (int64_t)(luaL_checknumber(L, 1) * 1000);
  for (int64_t left; (left = end - clock_monotonic_ms()) > 0;) {
    if (host_interrupted()) host_raise_interrupt(L);
    poll(NULL, 0, left > 20 ? 20 : (int)left);
  }
  return 0;
}
