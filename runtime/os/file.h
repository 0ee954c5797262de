/*
** Files: read whole, written whole or not at all.
**
** Errors: STATUS_ABSENT (cannot be opened), STATUS_LIMIT (over the cap),
** STATUS_IO, STATUS_MEMORY; errno says more for ABSENT and IO.
*/
#ifndef EBB_OS_FILE_H
#define EBB_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"

/*
** A file being read, into one block, in two steps, so that its first bytes may
** decide how many there may be:
**
**     file_open     says its size, if it can
**     file_peek     bytes holds the first ones
**     file_rest     bytes holds all, or STATUS_LIMIT and no more than the cap was read
**
** Where a file says its size, that is held against the cap before anything is
** allocated. The caller takes `bytes` over (NULL: an empty file) and frees it
** with `capacity`, or ends the reader with file_close, which is allowed then too.
*/
typedef struct FileReader {
  Memory memory;
  int descriptor;
  bool standard;        /* not to be closed */
  bool sized;           /* left: bytes in the file when it was opened */
  size_t left;
  char *bytes;
  size_t size, capacity;
} FileReader;

Status file_open(FileReader *reader, const Memory *memory, const char *path);   /* "-": standard input */
/* Reads on until there are `size` bytes, or fewer at the file's end. */
Status file_peek(FileReader *reader, size_t size);
Status file_rest(FileReader *reader, size_t cap);
/* The same in small steps, of files that said their size: room for `capacity`
   bytes in all, then a few megabytes at a time; *end: the file has no more. */
Status file_reserve(FileReader *reader, size_t capacity);
Status file_some(FileReader *reader, bool *end);
void   file_close(FileReader *reader);      /* frees `bytes`, unless they are NULL */

/* All of that in one. Interrupted and short reads go on. */
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
