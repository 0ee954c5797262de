/*
** Folders, and reading files below one, by openat2 or without it.
**
** A name is opened twice. The first time with O_PATH, which has no effect on the
** file: a plain open of a FIFO would release its writer, and that of a device may move
** a tape. Only a regular file is then opened for reading, and must still be the same:
**
**     name ---O_PATH---> place ---regular?---> name ---O_RDONLY---> file
**                          \_______________ the same? _______________/
**
** A link anywhere on the path is refused: by a flag of openat2, or by a walk that opens
** each folder of the path by itself without following links. The walk refuses `..`, so
** it can leave the tree only together with a folder that is moved away.
*/
#define _GNU_SOURCE 1
#include "os/os.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef SYS_openat2
#include <linux/openat2.h>
#endif

#include "os/posix/file_calls.h"

Status folder_open(Folder *folder, const char *path) {
  folder->entries = opendir(path);
  return folder->entries != NULL ? STATUS_OK : STATUS_ABSENT;
}

const char *folder_next(Folder *folder) {
  assert(folder->entries != NULL);
  struct dirent *entry;
  do entry = readdir(folder->entries);
  while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
  return entry == NULL ? NULL : entry->d_name;
}

void folder_close(Folder *folder) {
  if (folder->entries != NULL) closedir(folder->entries);
  folder->entries = NULL;
}

Status folder_make(char *path) {
  for (char *at = path + 1; path[0] != '\0'; at++) {
    char end = *at;
    if (end != '/' && end != '\0') continue;
    *at = '\0';
    if (mkdir(path, 0777) != 0 && errno != EEXIST) return STATUS_IO;
    *at = end;
    if (end == '\0') break;
  }
  return STATUS_OK;
}

/* ---- contained folders ---- */

static Status refuse(const char **why, Status status, const char *words) {
  *why = words;
  return status;
}

/* The status of a failed open. */
static Status refuse_open(const char **why) {
  switch (errno) {
    case ENOENT: return refuse(why, STATUS_ABSENT, "there is no such file");
    case ENOTDIR: return refuse(why, STATUS_ABSENT, "a part of its path is not a folder");
    case EACCES: case EPERM: return refuse(why, STATUS_ABSENT, "it may not be read");
    case ENAMETOOLONG: return refuse(why, STATUS_ABSENT, "its name is too long");
    case ELOOP: return refuse(why, STATUS_FORBIDDEN, "a symbolic link is not followed");
    case EXDEV: return refuse(why, STATUS_FORBIDDEN, "it leads out of the allowed folder");
    default: return refuse(why, STATUS_IO, "it cannot be opened");
  }
}

/* -- names -- */

/* The parts of a path are separated by slashes; "" and "." mean the same folder. */
static Status check_path(Text path, char copy[PATH_MAX], const char **why) {
  if (path.size == 0) return refuse(why, STATUS_FORBIDDEN, "a path is expected");
  if (memchr(path.bytes, '\0', path.size) != NULL) {
    return refuse(why, STATUS_FORBIDDEN, "a path may not hold a NUL byte");
  }
  if (path.bytes[0] == '/') return refuse(why, STATUS_FORBIDDEN, "an absolute path is not allowed");
  if (path.size >= PATH_MAX) return refuse(why, STATUS_ABSENT, "its name is too long");
  memcpy(copy, path.bytes, path.size);
  copy[path.size] = '\0';
  for (const char *at = copy; *at != '\0';) {
    size_t size = strcspn(at, "/");
    if (size == 2 && at[0] == '.' && at[1] == '.') return refuse(why, STATUS_FORBIDDEN, "a path may not hold '..'");
    at += at[size] == '/' ? size + 1 : size;
  }
  return STATUS_OK;
}

/* -- opening; flags are O_PATH or O_RDONLY -- */

static int open_again(int folder, const char *name, int flags) {
  int file;
  do file = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  while (file < 0 && errno == EINTR);
  return file;
}

/* Opens a folder of the path, one step down; links and other files have different errors. */
static int step_down(int folder, const char *name) {
  int next = open_again(folder, name, O_PATH);
  struct stat info;
  if (next < 0) return next;
  if (fstat(next, &info) == 0) {
    if (S_ISDIR(info.st_mode)) return next;
    errno = S_ISLNK(info.st_mode) ? ELOOP : ENOTDIR;
  }
  file_close_quietly(next);
  return -1;
}

/* `path` is a copy: its slashes are overwritten during the walk. */
static int open_walking(int root, char *path, int flags) {
  int folder = root;
  char *at = path, *slash;
  while (folder >= 0 && (slash = strchr(at, '/')) != NULL) {
    *slash = '\0';
    int next = *at == '\0' ? folder : step_down(folder, at);
    *slash = '/';
    if (folder != root && next != folder) file_close_quietly(folder);
    folder = next;
    at = slash + 1;
  }
  if (folder < 0) return -1;
  int file = open_again(folder, *at == '\0' ? "." : at, flags);
  if (folder != root) file_close_quietly(folder);
  return file;
}

#ifdef SYS_openat2
static int open_resolving(int folder, const char *path, int flags) {
  struct open_how how = {
    .flags = (unsigned)(flags | O_NOFOLLOW | O_CLOEXEC | (flags == O_PATH ? 0 : O_NONBLOCK | O_NOCTTY)),
    .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  long file;
  do file = syscall(SYS_openat2, folder, path, &how, sizeof how);
  while (file < 0 && errno == EINTR);
  return (int)file;
}
#endif

/* Kernels before 5.6 lack openat2, and some containers forbid it with EPERM, an error
   that it never gives for a regular file that may not be read. */
static int open_below(ContainedDir *dir, char *path, int flags) {
#ifdef SYS_openat2
  if (!dir->walks) {
    int file = open_resolving(dir->folder, path, flags);
    if (file >= 0 || (errno != ENOSYS && errno != EPERM)) return file;
    dir->walks = true;
  }
#endif
  return open_walking(dir->folder, path, flags);
}

static Status check_kind(mode_t mode, const char **why) {
  if (S_ISREG(mode)) return STATUS_OK;
  if (S_ISLNK(mode)) return refuse(why, STATUS_FORBIDDEN, "a symbolic link is not followed");
  if (S_ISDIR(mode)) return refuse(why, STATUS_FORBIDDEN, "it is a folder");
  if (S_ISFIFO(mode)) return refuse(why, STATUS_FORBIDDEN, "it is a FIFO");
  if (S_ISSOCK(mode)) return refuse(why, STATUS_FORBIDDEN, "it is a socket");
  return refuse(why, STATUS_FORBIDDEN, "it is a device");
}

/* Opens the regular file at `path` and fills *info. */
static Status open_regular(ContainedDir *dir, char *path, int *file, struct stat *info, const char **why) {
  struct stat place;
  *file = open_below(dir, path, O_PATH);
  if (*file < 0) return refuse_open(why);
  bool statted = fstat(*file, &place) == 0;
  file_close_quietly(*file);
  if (!statted) return refuse(why, STATUS_IO, "it cannot be opened");
  Status status = check_kind(place.st_mode, why);
  if (status != STATUS_OK) return status;

  *file = open_below(dir, path, O_RDONLY);
  if (*file < 0) return refuse_open(why);
  if (fstat(*file, info) != 0) status = refuse(why, STATUS_IO, "it cannot be opened");
  else if (info->st_dev != place.st_dev || info->st_ino != place.st_ino || !S_ISREG(info->st_mode)) {
    status = refuse(why, STATUS_IO, "it was replaced while it was opened");
  }
  if (status != STATUS_OK) file_close_quietly(*file);
  return status;
}

/* -- reading -- */

/* Reads up to `size` bytes, fewer only at the end of the file; -1 on failure. */
static ssize_t read_all(int file, char *bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    size_t step = size - done < INT_MAX ? size - done : INT_MAX;
    ssize_t got = read(file, bytes + done, step);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

static bool is_unchanged(int file, const struct stat *before) {
  struct stat after;
  return fstat(file, &after) == 0 && after.st_size == before->st_size &&
         after.st_mtim.tv_sec == before->st_mtim.tv_sec && after.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Reads all of an open file, whose size must not change meanwhile. */
static Status read_whole(int file, const struct stat *info, size_t cap, Buffer *out, const char **why) {
  if ((uintmax_t)info->st_size > cap) return refuse(why, STATUS_LIMIT, "it is too large");
  size_t size = (size_t)info->st_size;
  Status status = size < SIZE_MAX ? buffer_reserve(out, size + 1) : STATUS_MEMORY;   /* one more, to see the end */
  if (status != STATUS_OK) return refuse(why, status, "not enough memory");
  ssize_t got = read_all(file, out->bytes + out->size, size + 1);
  if (got < 0) return refuse(why, STATUS_IO, "reading it failed");
  if ((size_t)got != size || !is_unchanged(file, info)) {
    return refuse(why, STATUS_IO, "it changed while it was read");
  }
  out->size += size;
  return STATUS_OK;
}

Status contained_dir_read(ContainedDir *dir, Text path, size_t cap, Buffer *out, const char **why) {
  assert(dir->folder >= 0 && !path.escaped);
  char copy[PATH_MAX];
  struct stat info;
  int file;
  Status status = check_path(path, copy, why);
  if (status == STATUS_OK) status = open_regular(dir, copy, &file, &info, why);
  if (status != STATUS_OK) return status;
  status = read_whole(file, &info, cap, out, why);
  file_close_quietly(file);
  return status;
}

/* -- the folder -- */

Status contained_dir_open(ContainedDir *dir, const char *path) {
  *dir = (ContainedDir){.folder = -1};
  do dir->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  while (dir->folder < 0 && errno == EINTR);
  if (dir->folder >= 0) return STATUS_OK;
  return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP || errno == ENAMETOOLONG
           ? STATUS_ABSENT : STATUS_IO;
}

void contained_dir_close(ContainedDir *dir) {
  if (dir->folder >= 0) file_close_quietly(dir->folder);
  dir->folder = -1;
}
