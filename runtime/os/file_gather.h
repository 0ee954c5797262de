/*
** Small pieces of a file, gathered: a call of the system for each would take longer than to copy it.
**
**     file_create -> file_gather_begin -> file_gather ... -> file_gather_flush -> file_commit
*/
#ifndef EBB_OS_FILE_GATHER_H
#define EBB_OS_FILE_GATHER_H

#include <stddef.h>

#include "os/file.h"

/* Holds nothing that must be freed; what was gathered and not flushed is not written. */
typedef struct FileGather {
  FileWriter *writer;        /* borrowed */
  size_t size;
  char bytes[16 << 10];
} FileGather;

void file_gather_begin(FileGather *gather, FileWriter *writer);

/* Both fail as file_write does: STATUS_IO, and errno says why. The bytes of an earlier piece may be those that fail. */
Status file_gather(FileGather *gather, const void *bytes, size_t size);
Status file_gather_flush(FileGather *gather);

#endif
