/*
** Status: the codes that users see.
*/
#include "base/status.h"

const char *status_code(Status status) {
  switch (status) {
    case STATUS_OK: return "ok";
    case STATUS_MEMORY: return "memory";
    case STATUS_RANGE: return "out_of_range";
    case STATUS_ARGUMENT: return "argument";
    case STATUS_LIMIT: return "limit";
    case STATUS_SYNTAX: return "syntax";
    case STATUS_ENCODING: return "encoding";
    case STATUS_SHAPE: return "shape";
    case STATUS_ROLE: return "role";
    case STATUS_DUPLICATE: return "duplicate";
    case STATUS_GUARDED: return "guarded";
    case STATUS_ABSENT: return "absent";
    case STATUS_IO: return "io";
    case STATUS_FORBIDDEN: return "forbidden";
    case STATUS_CONFLICT: return "conflict";
    case STATUS_HOST: return "host";
  }
  return "unknown";   /* not a Status; no default above, so that compilers report a missing case */
}
