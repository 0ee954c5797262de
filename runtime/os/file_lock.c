#define _GNU_SOURCE 1   /* F_OFD_SETLK */
#include "os/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/file_calls.h"

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
