/*
** Files, by POSIX: what readers and writers share, which file a name leads to, locks, and files in memory.
*/
#define _GNU_SOURCE 1   /* F_OFD_SETLK */
#include "os/posix/file_calls.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#ifndef EBB_MINIMAL
#include <sys/mman.h>
#endif
#include <unistd.h>

bool file_try_again(int descriptor, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  struct pollfd wait = {.fd = descriptor, .events = events};
  return poll(&wait, 1, -1) >= 0 || errno == EINTR;
}

/* A signal may interrupt open for FIFOs and network folders. */
int file_open_call(const char *path, int flags, mode_t mode) {
  int descriptor;
  do descriptor = open(path, flags | O_CLOEXEC, mode);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

void file_close_quietly(int descriptor) {
  int error = errno;
  close(descriptor);
  errno = error;
}

Status file_status_of_open(void) {
  switch (errno) {
    case ENOENT: case ENOTDIR: case EACCES: case EPERM: case EROFS: case ELOOP: case ENAMETOOLONG: case ENXIO:
      return STATUS_ABSENT;
    default:
      return STATUS_IO;
  }
}

int file_open_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return file_open_call(".", O_RDONLY | O_DIRECTORY, 0);
  size_t size = slash == path ? 1 : (size_t)(slash - path);   /* shorter than PATH_MAX: resolve has checked it */
  memcpy(folder, path, size);
  folder[size] = '\0';
  return file_open_call(folder, O_RDONLY | O_DIRECTORY, 0);
}

/* ---- which file a name leads to ---- */

FileIdentity file_identity_of(const struct stat *info) {
  return (FileIdentity){.device = info->st_dev, .inode = info->st_ino, .size = (uint64_t)info->st_size,
                        .modified_s = info->st_mtim.tv_sec, .modified_ns = info->st_mtim.tv_nsec};
}

Status file_look(const char *path, FileLook *look) {
  struct stat info;
  *look = (FileLook){0};
  if (stat(path, &info) != 0) return errno == ENOENT ? STATUS_OK : STATUS_IO;
  *look = (FileLook){.exists = true, .regular = S_ISREG(info.st_mode), .writable = access(path, W_OK) == 0,
                     .size = (uint64_t)info.st_size};
  return STATUS_OK;
}

Status file_identify(const char *path, FileIdentity *identity) {
  struct stat info;
  if (stat(path, &info) != 0) return file_status_of_open();
  *identity = file_identity_of(&info);
  return STATUS_OK;
}

bool file_target(const char *path, FileTarget *target) {
  struct stat info;
  *target = (FileTarget){0};
  if (stat(path, &info) != 0) {
    const char *slash = strrchr(path, '/');
    int folder = strlen(path) < PATH_MAX ? file_open_folder(path) : -1;
    bool there = folder >= 0 && fstat(folder, &info) == 0;
    if (folder >= 0) close(folder);
    if (!there) return false;
    target->name = slash != NULL ? slash + 1 : path;
  }
  target->device = info.st_dev;
  target->inode = info.st_ino;
  return true;
}

/* ---- locks ---- */

FileLock file_lock(int descriptor) {
#ifdef F_OFD_SETLK
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int result;
  do result = fcntl(descriptor, F_OFD_SETLK, &whole);
  while (result != 0 && errno == EINTR);
  if (result == 0) return FILE_LOCKED;
  if (errno == EAGAIN || errno == EACCES) return FILE_LOCK_TAKEN;
#else
  (void)descriptor;
#endif
  return FILE_LOCK_NONE;
}

int file_lock_begin(const char *path) {
  int descriptor = file_open_call(path, O_RDWR | O_CREAT, 0666);
  if (descriptor < 0 || file_lock(descriptor) == FILE_LOCKED) return descriptor;
  close(descriptor);
  return -1;
}

void file_lock_end(int lock) { close(lock); }

#ifndef EBB_MINIMAL

/* ---- files in memory ---- */

static Status map_open(int file, size_t cap, FileMap *map) {
  struct stat info;
  if (fstat(file, &info) != 0) return STATUS_IO;
  if (!S_ISREG(info.st_mode) || info.st_size == 0) return STATUS_SHAPE;
  if ((uint64_t)info.st_size > cap) return STATUS_LIMIT;
  void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) return errno == ENOMEM ? STATUS_MEMORY : STATUS_IO;
  *map = (FileMap){.bytes = bytes, .size = (size_t)info.st_size, .identity = file_identity_of(&info)};
  return STATUS_OK;
}

Status file_map(const char *path, size_t cap, FileMap *map) {
  int file;
  do file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (file < 0 && errno == EINTR);
  if (file < 0) return STATUS_ABSENT;
  Status status = map_open(file, cap, map);
  int error = errno;
  close(file);               /* the mapping stays */
  errno = error;
  return status;
}

void file_unmap(const void *bytes, size_t size) {
  assert(bytes != NULL && size > 0);
  munmap((void *)(uintptr_t)bytes, size);
}

#endif
