/*
** The file that grows beside a target until it takes its name: made, listed by the program's hooks while it exists,
** given the attributes of the old file, and removed.
*/
#define _DEFAULT_SOURCE 1
#include "os/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include <unistd.h>

#include "os/posix/file_calls.h"

/* ---- the program's hooks ---- */

static const FileHooks *hooks;   /* NULL: a library */

void file_set_hooks(const FileHooks *program) { hooks = program; }

void file_hold_signals(void) {
  if (hooks != NULL) hooks->hold();
}

void file_release_signals(void) {
  if (hooks != NULL) hooks->release();
}

bool file_is_interrupted(void) { return hooks != NULL && hooks->is_interrupted(); }

void file_unlist(TemporaryFile *file) {
  if (hooks != NULL) hooks->remove(file);
}

void file_tell_replaced(void) {
  if (hooks != NULL) hooks->replaced();
}

/* ---- temporary files ---- */

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
static int open_new(const char *name, mode_t mode, TemporaryFile *listed) {
  file_hold_signals();   /* a signal comes before the file exists, or after it is listed */
  int file = file_open_call(name, O_WRONLY | O_CREAT | O_EXCL, mode);
  if (file >= 0 && hooks != NULL) hooks->add(listed, name);
  file_release_signals();
  if (file < 0 || claim(file)) return file;
  close(file);
  file_temporary_remove(name, listed);
  errno = EEXIST;
  return -1;
}

Status file_temporary_open(const Memory *memory, const char *path, mode_t mode, char **name, int *descriptor,
                           TemporaryFile *listed) {
  Pattern pattern = pattern_of(path);
  size_t size = (size_t)pattern.folder_size + strlen(pattern.prefix) + NUMBER_SIZE + 1;
  *name = memory_new(memory, size);
  if (*name == NULL) return STATUS_MEMORY;
  sweep(&pattern);
  *descriptor = -1;
  for (int i = 0; i < NAME_TRIES; i++) {
    snprintf(*name, size, "%.*s%s%016" PRIx64, pattern.folder_size, path, pattern.prefix, entropy_hash_key().words[0]);
    *descriptor = open_new(*name, mode, listed);
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

void file_temporary_remove(const char *name, TemporaryFile *listed) {
  int error = errno;
  file_hold_signals();
  unlink(name);
  file_unlist(listed);
  file_release_signals();
  errno = error;
}

/* ---- attributes ---- */

#ifdef __linux__
enum { NAMES_MAX = 4096, VALUE_MAX = 4096 };   /* bytes; what is larger is reported as lost */

/* True if the new file has the attribute with its value. */
static bool copy_attribute(int new_file, const char *path, const char *name) {
  char value[VALUE_MAX], present[VALUE_MAX];
  ssize_t size = getxattr(path, name, value, sizeof value);
  if (size < 0) return errno == ENODATA;
  ssize_t present_size = fgetxattr(new_file, name, present, sizeof present);
  if (present_size == size && memcmp(value, present, (size_t)size) == 0) return true;
  return fsetxattr(new_file, name, value, (size_t)size, 0) == 0;
}

static bool copy_attributes(int new_file, const char *path) {
  char names[NAMES_MAX];
  ssize_t size = listxattr(path, names, sizeof names);
  if (size < 0) return errno == ENOTSUP;
  bool whole = true;
  for (const char *name = names; name < names + size; name += strlen(name) + 1) {
    whole = copy_attribute(new_file, path, name) && whole;
  }
  return whole;
}
#else
static bool copy_attributes(int new_file, const char *path) {
  (void)new_file, (void)path;
  return true;
}
#endif

/* The mode of a file whose group is another one: its members have the rights of all others. */
static mode_t mode_without_group(mode_t mode) { return (mode & 0707) | (mode & 07) << 3; }

/* The owner comes last: what precedes is for the owner alone to do. */
int file_attributes_copy(int new_file, const char *path, const struct stat *old) {
  struct stat now;
  if (fstat(new_file, &now) != 0) return -1;
  int lost = old->st_nlink > 1 ? FILE_LOST_NAMES : 0;
  bool same_group = now.st_gid == old->st_gid || fchown(new_file, (uid_t)-1, old->st_gid) == 0;
  if (!same_group) lost |= FILE_LOST_GROUP;
  mode_t mode = old->st_mode & 0777;
  if (!same_group) mode = mode_without_group(mode);
  if ((now.st_mode & 07777) != mode && fchmod(new_file, mode) != 0) return -1;   /* isolated scripts may not call it */
  if (!copy_attributes(new_file, path)) lost |= FILE_LOST_EXTENDED;
  bool same_owner = now.st_uid == old->st_uid || fchown(new_file, old->st_uid, (gid_t)-1) == 0;
  return same_owner ? lost : lost | FILE_LOST_OWNER;
}
