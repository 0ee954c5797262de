#define _DEFAULT_SOURCE 1
#include "os/file_map.h"

#ifndef EBB_MINIMAL

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file_calls.h"

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
