/*
** Isolate: the rest of the program in a child process that the kernel holds.
**
**     parent                         child
**     fork ------------------------> limits, no privileges, environment emptied
**     waits, kills at the deadline   Landlock: files beneath the folders allowed, no others
**                                    seccomp: no programs, processes, network, tracing
**     answers how it ended <-------- runs the script
**
** Held by Landlock are opening, making, removing and renaming files; not their names
** and sizes (stat), and not descriptors that are open already: standard input,
** output and error. A kernel without Landlock or seccomp is refused, not trusted.
*/
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bind/argument.h"
#include "host/host.h"
#include "os/clock.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

typedef struct Bounds {
  lua_Integer milliseconds, memory, file_size;
} Bounds;

/* ---- the kernel's limits ---- */

/* Lowers a limit of this process; one that is lower already stays. */
static bool limit(int resource, rlim_t value) {
  struct rlimit both = {.rlim_cur = value, .rlim_max = value};
  struct rlimit now;
  if (getrlimit(resource, &now) == 0 && now.rlim_max < value) both.rlim_cur = both.rlim_max = now.rlim_max;
  return setrlimit(resource, &both) == 0;
}

static bool set_limits(const Bounds *bounds) {
  rlim_t seconds = (rlim_t)(bounds->milliseconds + 999) / 1000;
  bool done = limit(RLIMIT_CPU, seconds) && limit(RLIMIT_FSIZE, (rlim_t)bounds->file_size) &&
              limit(RLIMIT_NOFILE, OPEN_FILES) && limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)   /* their shadows need all there is */
  done = done && limit(RLIMIT_AS, (rlim_t)bounds->memory);
#endif
  return done;
}

/* ---- files: Landlock ---- */

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define REFER    (UINT64_C(1) << 13)         /* of its second version, truncate of its third, ioctl of its fifth */
#define TRUNCATE (UINT64_C(1) << 14)
#define IOCTL    (UINT64_C(1) << 15)
#define FIRST    ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* All that this kernel's Landlock can hold. */
static uint64_t all_access(long version) {
  return FIRST | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) | (version >= 5 ? IOCTL : 0);
}

static bool allow(int rules, const char *path, uint64_t access) {
  struct stat about;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;        /* what is not there needs no rule */
  bool done = fstat(fd, &about) == 0;
  if (done && !S_ISDIR(about.st_mode)) {
    access &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE;
  }
  struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
  done = done && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  close(fd);
  return done;
}

/* The lists of paths stand in the fields "read" and "write" of the table at 1. */
static const char *confine_files(lua_State *L) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return "this kernel has no Landlock: files cannot be kept from the script";
  uint64_t all = all_access(version);
  struct landlock_ruleset_attr attributes = {.handled_access_fs = all};
  int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
  if (rules < 0) return strerror(errno);
  bool done = true;
  for (int write = 0; write <= 1; write++) {
    uint64_t access = write ? all & ~(uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | IOCTL) : READING;
    lua_getfield(L, 1, write ? "write" : "read");
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
      done = done && allow(rules, lua_tostring(L, -1), access);
      lua_pop(L, 1);
    }
    lua_pop(L, 2);
  }
  done = done && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return done ? NULL : "the folders could not be allowed";
}

/* ---- processes and network: seccomp ---- */

#ifdef ARCHITECTURE
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define DENY(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (name), 0, 1), \
                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* Installs a seccomp filter that refuses system calls which start programs, reach other processes, or open
   connections; other ones pass. Returns NULL, or what the kernel lacks. */
static const char *confine_calls(void) {
  static struct sock_filter program[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),      /* the other numbers of the same calls */
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    DENY(SYS_fork), DENY(SYS_vfork),
#endif
    DENY(SYS_execve), DENY(SYS_execveat), DENY(SYS_ptrace), DENY(SYS_process_vm_readv), DENY(SYS_process_vm_writev),
    DENY(SYS_kill), DENY(SYS_tkill), DENY(SYS_pidfd_open), DENY(SYS_pidfd_send_signal), DENY(SYS_rt_sigqueueinfo),
    DENY(SYS_socket), DENY(SYS_connect), DENY(SYS_bind), DENY(SYS_io_uring_setup), DENY(SYS_bpf), DENY(SYS_keyctl),
    DENY(SYS_add_key), DENY(SYS_request_key), DENY(SYS_perf_event_open), DENY(SYS_userfaultfd), DENY(SYS_mount),
    DENY(SYS_unshare), DENY(SYS_setns), DENY(SYS_fchmodat), DENY(SYS_fchmod),
    DENY(SYS_fchownat), DENY(SYS_fchown), DENY(SYS_shmget), DENY(SYS_msgget), DENY(SYS_semget), DENY(SYS_mq_open),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),       /* its flags stand in memory; clone is tried then */
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),        /* threads only */
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return "this kernel has no seccomp filters";
  return NULL;
}
#else
static const char *confine_calls(void) {
  return "processes and network cannot be kept from the script on this processor";
}
#endif

/* ---- the child ---- */

/* What a script may know of the environment: how to talk, and where vocabularies lie. */
static void empty_environment(void) {
  static const char *const names[] = {"LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "NO_COLOR",
                                      "HOME", "XDG_DATA_HOME", "EBB_VOCAB_PATH"};
  char *values[sizeof names / sizeof *names];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    values[i] = value != NULL ? strdup(value) : NULL;
  }
  clearenv();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (values[i] != NULL) setenv(names[i], values[i], 1);
    free(values[i]);
  }
}

/* The first after standard error: what the child hands back. */
#define CAPTURE 3

static bool keep_capture_only(int capture) {
  if (capture != CAPTURE && dup2(capture, CAPTURE) < 0) return false;
  return syscall(SYS_close_range, CAPTURE + 1, ~0u, 0) == 0;
}

/* NULL, or what could not be held. */
static const char *confine(lua_State *L, const Bounds *bounds, pid_t parent, int capture) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) return "the parent has ended";
  if (!keep_capture_only(capture)) return "files that are open cannot be closed";
  empty_environment();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "privileges cannot be dropped";
  if (prctl(PR_SET_DUMPABLE, 0) != 0 || !set_limits(bounds)) return "limits cannot be set";
  const char *problem = confine_files(L);
  return problem != NULL ? problem : confine_calls();
}

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
static int wait_for(pid_t child, const Bounds *bounds, bool *late) {
  int64_t end = clock_monotonic_ms() + bounds->milliseconds;
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
static int await(lua_State *L, pid_t child, const Bounds *bounds, int capture) {
  bool late;
  int status = wait_for(child, bounds, &late);
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
  if (dup2(CAPTURE, STDOUT_FILENO) < 0) return luaL_error(L, "standard output: %s", strerror(errno));
  return 0;
}

int host_isolate(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  Bounds bounds;
  lua_Integer *const into[] = {&bounds.milliseconds, &bounds.memory, &bounds.file_size};
  static const char *const names[] = {"milliseconds", "memory", "file_size"};
  for (int i = 0; i < 3; i++) {
    lua_getfield(L, 1, names[i]);
    *into[i] = luaL_checkinteger(L, -1);
  }
  lua_settop(L, 1);
  int capture = memfd_create("ebb", MFD_CLOEXEC);
  if (capture < 0) return luaL_error(L, "memory for the result: %s", strerror(errno));
  pid_t parent = getpid(), child = fork();
  if (child < 0) {
    close(capture);
    return luaL_error(L, "fork: %s", strerror(errno));
  }
  if (child > 0) return await(L, child, &bounds, capture);
  const char *problem = confine(L, &bounds, parent, capture);
  lua_pushstring(L, problem == NULL ? "child" : "failed");
  lua_pushstring(L, problem);
  return 2;
}
