#define _DEFAULT_SOURCE 1
#include "os/file_attributes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/xattr.h>

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
