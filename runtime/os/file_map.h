/*
** File map: a regular file in memory, read-only, whose pages are read on first use.
** Not part of builds with EBB_MINIMAL.
*/
#ifndef EBB_OS_FILE_MAP_H
#define EBB_OS_FILE_MAP_H

#include <stddef.h>

#include "base/status.h"
#include "os/file.h"

typedef struct FileMap {
  const void *bytes;
  size_t size;
  FileIdentity identity;     /* when it was mapped */
} FileMap;

/* Maps a file. Never blocks on a FIFO or a device. STATUS_ABSENT, STATUS_IO (errno has
   details), STATUS_MEMORY; STATUS_SHAPE: empty, or not a regular file; STATUS_LIMIT: more than
   `cap` bytes. Where the file is cut short later, reading the missing pages raises SIGBUS. */
Status file_map(const char *path, size_t cap, FileMap *map);
void   file_unmap(const void *bytes, size_t size);

#endif
