#include "os/descriptor.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

int descriptor_wait(int descriptor, bool writes, int64_t ms) {
  struct pollfd one = {.fd = descriptor, .events = (short)(writes ? POLLIN | POLLOUT : POLLIN)};
  int count = poll(&one, 1, ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms);
  if (count < 0) return errno == EINTR || errno == EAGAIN ? 0 : -1;
  return count;
}
