/*
** A library to preload: the k-th call of one kind fails, for tests/faults/io.sh and ends.sh.
**
**     SHIM_CALL    read, write, open, fsync, rename, close or wait
**     SHIM_AT      which one, from 1
**     SHIM_FAULT   a name of ERRORS: it fails so; an ENOSPC write is short first.
**                  SHORT: at most one byte is moved. VANISH, SHRINK, GROW: the
**                  file SHIM_FILE is removed, cut in half, lengthened before it.
**                  SIGINT, SIGTERM, SIGHUP, SIGKILL: the process gets it before the call
**     SHIM_STICKY  all calls of that kind after it fail too
**     SHIM_HIT     a file that is made when the fault has struck
**
** Calls on the system's own files, and on standard error, do not count. All
** real work goes by system calls, so that nothing here comes back to itself.
*/
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int shim_open(const char *path, int flags, ...) __asm__("open");
int shim_rename(const char *from, const char *to) __asm__("rename");

static const struct {
  const char *name;
  int error;
} ERRORS[] = {
  {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR}, {"EACCES", EACCES}, {"EDQUOT", EDQUOT}, {"ECHILD", ECHILD}};

static const struct {
  const char *name;
  int number;
} SIGNALS[] = {{"SIGINT", SIGINT}, {"SIGTERM", SIGTERM}, {"SIGHUP", SIGHUP}, {"SIGKILL", SIGKILL}};

enum { DESCRIPTORS = 64 };

static bool system_file[DESCRIPTORS];     /* descriptors of files that do not count */
static long calls;                        /* of the kind that fails, so far */

static bool is_fault(const char *name) {
  const char *fault = getenv("SHIM_FAULT");
  return fault != NULL && strcmp(fault, name) == 0;
}

static int error_of_fault(void) {
  for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) {
    if (is_fault(ERRORS[i].name)) return ERRORS[i].error;
  }
  return 0;
}

static bool is_system_path(const char *path) {
  static const char *const starts[] = {"/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    if (strncmp(path, starts[i], strlen(starts[i])) == 0) return true;
  }
  return false;
}

static bool counts(int descriptor) {
  return descriptor >= 0 && descriptor != STDERR_FILENO && (descriptor >= DESCRIPTORS || !system_file[descriptor]);
}

static void tell(void) {
  const char *path = getenv("SHIM_HIT");
  if (path == NULL) return;
  long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600);
  if (file >= 0) syscall(SYS_close, (int)file);
}

/* What happens to the file behind the program's back. */
static void change_file(void) {
  const char *path = getenv("SHIM_FILE");
  struct stat info;
  if (path == NULL || stat(path, &info) != 0) return;
  if (is_fault("VANISH")) unlink(path);
  if (is_fault("SHRINK") && truncate(path, info.st_size / 2) != 0) return;
  if (is_fault("GROW") && truncate(path, info.st_size + 1000) != 0) return;
}

static void get_signal(void) {
  for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++) {
    if (is_fault(SIGNALS[i].name)) raise(SIGNALS[i].number);
  }
}

/* Counts a call of this kind; true: it is the one. */
static bool strikes(const char *kind) {
  const char *wanted = getenv("SHIM_CALL"), *at = getenv("SHIM_AT");
  if (wanted == NULL || at == NULL || strcmp(wanted, kind) != 0) return false;
  long number = strtol(at, NULL, 10);
  calls++;
  if (getenv("SHIM_STICKY") != NULL ? calls < number : calls != number) return false;
  tell();
  change_file();
  get_signal();
  return true;
}

/* true: the call is to answer -1, with errno set. */
static bool fails(const char *kind) {
  if (!strikes(kind)) return false;
  int error = error_of_fault();
  if (error == 0) return false;
  errno = error;
  return true;
}

/* ---- what is put before the library's own ---- */

int shim_open(const char *path, int flags, ...) {
  bool is_system = is_system_path(path);
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  if (!is_system && fails("open")) return -1;
  int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (descriptor >= 0 && descriptor < DESCRIPTORS) system_file[descriptor] = is_system;
  return descriptor;
}

ssize_t read(int descriptor, void *bytes, size_t size) {
  if (counts(descriptor) && strikes("read")) {
    if (error_of_fault() != 0) {
      errno = error_of_fault();
      return -1;
    }
    if (is_fault("SHORT") && size > 1) size = 1;
  }
  return syscall(SYS_read, descriptor, bytes, size);
}

/* A full disk takes what still fits; only the next write learns of it. */
ssize_t write(int descriptor, const void *bytes, size_t size) {
  static bool full;
  if (counts(descriptor) && full) {
    errno = ENOSPC;
    full = getenv("SHIM_STICKY") != NULL;
    return -1;
  }
  if (counts(descriptor) && strikes("write")) {
    if (is_fault("ENOSPC") && size > 1) {
      full = true;
      size /= 2;
    } else if (is_fault("SHORT") && size > 1) {
      size = 1;
    } else if (error_of_fault() != 0) {
      errno = error_of_fault();
      return -1;
    }
  }
  return syscall(SYS_write, descriptor, bytes, size);
}

int fsync(int descriptor) {
  if (counts(descriptor) && fails("fsync")) return -1;
  return (int)syscall(SYS_fsync, descriptor);
}

int shim_rename(const char *from, const char *to) {
  if (fails("rename")) return -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* As on Linux: the descriptor is closed whatever the answer. */
int close(int descriptor) {
  bool failed = counts(descriptor) && fails("close");
  int error = errno;
  int result = (int)syscall(SYS_close, descriptor);
  if (!failed) return result;
  errno = error;
  return -1;
}

pid_t waitpid(pid_t child, int *status, int options) {
  if (fails("wait")) return -1;
  return (pid_t)syscall(SYS_wait4, child, status, options, NULL);
}
