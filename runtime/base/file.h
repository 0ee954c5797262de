/*
** Files: read whole, written whole or not at all.
**
** Errors: STATUS_ABSENT (cannot be opened), STATUS_LIMIT (over the cap),
** STATUS_IO, STATUS_MEMORY; errno says more for ABSENT and IO.
*/
#ifndef EBB_BASE_FILE_H
#define EBB_BASE_FILE_H

#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"

/* Reads all of `path` ("-": standard input) into a new block of `*capacity`
   bytes, of which `*size` are the file's; the caller frees it with the
   capacity. Where the file says its size, the cap is checked before anything
   is allocated. An empty file gives *bytes = NULL. Interrupted and short reads
   go on. */
Status file_read(const Memory *memory, const char *path, size_t cap, char **bytes, size_t *size, size_t *capacity);

/* A file being written. `path` "-" is standard output; any other appears under
   its name only when file_commit succeeds. */
typedef struct FileWriter {
  int descriptor;
  char *path;           /* NULL: standard output */
  char *temporary;
  Memory memory;
} FileWriter;

Status file_create(FileWriter *writer, const Memory *memory, const char *path);
Status file_write(FileWriter *writer, const void *bytes, size_t size);   /* all of it */
Status file_commit(FileWriter *writer);     /* flushes to disk and renames; ends the writer either way */
void   file_abandon(FileWriter *writer);    /* removes the temporary; ends the writer */

#endif
