#define _DEFAULT_SOURCE 1
#include "os/file_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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
