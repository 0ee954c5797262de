/*
** Limits, descriptors, environment and files of an isolated process. Its system calls: confine_calls.c.
**
** Held by Landlock are opening, making, removing and renaming files; not their names
** and sizes (stat), and not descriptors that are open already: standard input,
** output and error. A kernel without Landlock or seccomp is refused, not trusted.
*/
#define _GNU_SOURCE 1
#include "host/confine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the kernel's limits ---- */

/* Lowers a limit of this process; one that is lower already stays. */
static bool limit(int resource, rlim_t value) {
  struct rlimit both = {.rlim_cur = value, .rlim_max = value};
  struct rlimit now;
  if (getrlimit(resource, &now) == 0 && now.rlim_max < value) both.rlim_cur = both.rlim_max = now.rlim_max;
  return setrlimit(resource, &both) == 0;
}

static bool set_limits(const Confinement *confinement) {
  rlim_t seconds = (rlim_t)(confinement->milliseconds + 999) / 1000;
  bool done = limit(RLIMIT_CPU, seconds) && limit(RLIMIT_FSIZE, (rlim_t)confinement->file_size) &&
              limit(RLIMIT_NOFILE, CONFINE_OPEN_FILES) && limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)   /* their shadows need all there is */
  done = done && limit(RLIMIT_AS, (rlim_t)confinement->memory);
#endif
  return done;
}

/* ---- files: Landlock ---- */

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define REFER    (UINT64_C(1) << 13)         /* of its second version, truncate of its third, ioctl of its fifth */
#define TRUNCATE (UINT64_C(1) << 14)
#define IOCTL    (UINT64_C(1) << 15)
#define FIRST    ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define TCP      UINT64_C(3)                 /* bind and connect: of its fourth version */
#define SCOPES   UINT64_C(3)                 /* abstract sockets and signals: of its sixth version */

/* What is forbidden. The system's header may know fewer fields than the kernel does. */
typedef struct Ruleset {
  uint64_t files, network, scopes;
} Ruleset;

/* All that this kernel's Landlock can hold. */
static Ruleset all_of(long version) {
  return (Ruleset){
    .files = FIRST | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0) | (version >= 5 ? IOCTL : 0),
    .network = version >= 4 ? TCP : 0,
    .scopes = version >= 6 ? SCOPES : 0,
  };
}

/* Kernels refuse a larger ruleset than they know, unless all the rest is 0. */
static size_t size_of(long version) {
  return version >= 6 ? sizeof(Ruleset) : version >= 4 ? offsetof(Ruleset, scopes) : offsetof(Ruleset, network);
}

static bool allow_path(int rules, const char *path, uint64_t access) {
  struct stat about;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;        /* an absent file needs no rule */
  bool done = fstat(fd, &about) == 0;
  if (done && !S_ISDIR(about.st_mode)) {
    access &= LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE;
  }
  struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
  done = done && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
  close(fd);
  return done;
}

const char *confine_files(const char *const *read, const char *const *write) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return "this kernel has no Landlock: files cannot be kept from the script";
  Ruleset all = all_of(version);
  int rules = (int)syscall(SYS_landlock_create_ruleset, &all, size_of(version), 0);
  if (rules < 0) return strerror(errno);
  uint64_t writing = all.files & ~(uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | IOCTL);
  bool done = true;
  for (; done && *read != NULL; read++) done = allow_path(rules, *read, READING);
  for (; done && *write != NULL; write++) done = allow_path(rules, *write, writing);
  done = done && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return done ? NULL : "the folders could not be allowed";
}

/* ---- environment and descriptors ---- */

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

static bool keep_only(int kept) {
  if (kept != CONFINE_KEPT && dup2(kept, CONFINE_KEPT) < 0) return false;
  return syscall(SYS_close_range, CONFINE_KEPT + 1, ~0u, 0) == 0;
}

/* ---- all ---- */

const char *confine(const Confinement *confinement) {
  assert(confinement->kept > STDERR_FILENO && confinement->read != NULL && confinement->write != NULL);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != confinement->parent) return "the parent has ended";
  if (!keep_only(confinement->kept)) return "files that are open cannot be closed";
  empty_environment();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "privileges cannot be dropped";
  if (prctl(PR_SET_DUMPABLE, 0) != 0 || !set_limits(confinement)) return "limits cannot be set";
  const char *problem = confine_files(confinement->read, confinement->write);
  return problem != NULL ? problem : confine_calls();
}
