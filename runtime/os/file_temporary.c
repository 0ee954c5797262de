#define _DEFAULT_SOURCE 1
#include "os/file_temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/entropy.h"
#include "os/file_calls.h"
#include "os/file_lock.h"
#include "os/folder.h"

enum {
  NAME_KEPT = 128,          /* bytes of the target's name in the temporary name, which must not be too long */
  NAME_TRIES = 100,
  NUMBER_SIZE = 16          /* hexadecimal digits at the end of the name */
};

/* The parts of a temporary name: the folder with its slash, and what all of one target begin with. */
typedef struct Pattern {
  int folder_size;
  const char *folder;
  char prefix[NAME_KEPT + sizeof "..ebb-"];
} Pattern;

static Pattern pattern_of(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path;
  Pattern pattern = {.folder = path, .folder_size = (int)(name - path)};
  snprintf(pattern.prefix, sizeof pattern.prefix, ".%.*s.ebb-", (int)NAME_KEPT, name);
  return pattern;
}

/* True for the prefix and the number, nothing else: no file of a user's is called so. */
static bool is_temporary(const Pattern *pattern, const char *name) {
  size_t prefix = strlen(pattern->prefix);
  return strncmp(name, pattern->prefix, prefix) == 0 && strlen(name) == prefix + NUMBER_SIZE
         && strspn(name + prefix, "0123456789abcdef") == NUMBER_SIZE;
}

/* Removes a temporary file of this user, if its writer is dead. */
static void remove_if_dead(const char *path) {
  struct stat info;
  int file = file_open_call(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (file < 0) return;
  bool own = fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid();
  if (own && file_lock(file) == FILE_LOCKED) unlink(path);
  close(file);
}

/* Failures do not matter: the next writer tries again. */
static void sweep(const Pattern *pattern) {
  Folder entries;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.*s", pattern->folder_size, pattern->folder);
  if (folder_open(&entries, pattern->folder_size > 0 ? path : ".") != STATUS_OK) return;
  for (const char *name; (name = folder_next(&entries)) != NULL;) {
    if (!is_temporary(pattern, name)) continue;
    int size = snprintf(path, sizeof path, "%.*s%s", pattern->folder_size, pattern->folder, name);
    if (size > 0 && (size_t)size < sizeof path) remove_if_dead(path);
  }
  folder_close(&entries);
}

/* Locks the new file. False if a sweep was faster than the lock: it removes the file, or has done so. */
static bool claim(int file) {
  struct stat info;
  FileLock lock = file_lock(file);
  return lock == FILE_LOCK_NONE || (lock == FILE_LOCKED && fstat(file, &info) == 0 && info.st_nlink > 0);
}

/* Opens a file of this name; -1 with errno. mkstemp would make it 0600; widening that needs
   the umask, which cannot be read without changing it for all threads. */
static int open_new(const char *name, mode_t mode, EndingFile *ending) {
  ending_hold();   /* a signal comes before the file exists, or after it is listed */
  int file = file_open_call(name, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (file >= 0) ending_add(ending, name);
  ending_release();
  if (file < 0 || claim(file)) return file;
  close(file);
  file_temporary_remove(name, ending);
  errno = EEXIST;
  return -1;
}

Status file_temporary_open(const Memory *memory, const char *path, mode_t mode, char **name, int *descriptor,
                           EndingFile *ending) {
  Pattern pattern = pattern_of(path);
  size_t size = (size_t)pattern.folder_size + strlen(pattern.prefix) + NUMBER_SIZE + 1;
  *name = memory_new(memory, size);
  if (*name == NULL) return STATUS_MEMORY;
  sweep(&pattern);
  *descriptor = -1;
  for (int i = 0; i < NAME_TRIES; i++) {
    snprintf(*name, size, "%.*s%s%016" PRIx64, pattern.folder_size, path, pattern.prefix, entropy_hash_key().words[0]);
    *descriptor = open_new(*name, mode, ending);
    if (*descriptor >= 0) return STATUS_OK;
    if (errno != EEXIST) break;
  }
  int error = errno;
  Status status = file_status_of_open();
  memory_free_string(memory, *name);
  *name = NULL;
  errno = error;
  return status;
}

void file_temporary_remove(const char *name, EndingFile *ending) {
  int error = errno;
  ending_hold();
  unlink(name);
  ending_remove(ending);
  ending_release();
  errno = error;
}
