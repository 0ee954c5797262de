#define _GNU_SOURCE 1   /* F_OFD_SETLK */
#include "os/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
