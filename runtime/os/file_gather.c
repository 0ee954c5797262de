#include "os/file_gather.h"

#include <string.h>

void file_gather_begin(FileGather *gather, FileWriter *writer) {
  gather->writer = writer;
  gather->size = 0;
}

Status file_gather_flush(FileGather *gather) {
  size_t size = gather->size;
  gather->size = 0;
  return file_write(gather->writer, gather->bytes, size);
}

Status file_gather(FileGather *gather, const void *bytes, size_t size) {
  if (size > sizeof gather->bytes - gather->size) {
    Status status = file_gather_flush(gather);
    if (status != STATUS_OK) return status;
  }
  if (size > sizeof gather->bytes) return file_write(gather->writer, bytes, size);
  memcpy(gather->bytes + gather->size, bytes, size);
  gather->size += size;
  return STATUS_OK;
}
