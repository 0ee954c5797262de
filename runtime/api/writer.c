/*
** Writers: texts that go to the host in pieces, as they are made, so that a chat of any size
** is written without memory for it.
*/
#include "api/api.h"

static Status write_piece(void *user, const char *bytes, size_t size) {
  Writing *writing = user;
  if (writing->inside == NULL) {
    writing->failed = writing->write(writing->user, bytes, size);
  } else {
    Locale inside = sandbox_begin_callback(writing->inside);
    writing->failed = writing->write(writing->user, bytes, size);
    sandbox_end_callback(inside);
  }
  return writing->failed == EBB_OK ? STATUS_OK : STATUS_HOST;
}

Sink api_writer(Writing *writing) { return (Sink){.write = write_piece, .user = writing}; }

ebb_status api_end_writing(ebb_runtime *runtime, const Writing *writing, ebb_status status) {
  if (writing->failed == EBB_OK) return status;
  return api_fail(runtime, writing->failed, NULL, "the host's writer answered %s", ebb_status_name(writing->failed));
}
