/*
** Files: read as a whole, and written completely or not at all.
**
** Errors of all functions: STATUS_ABSENT (cannot be opened), STATUS_LIMIT (over the cap),
** STATUS_IO, STATUS_MEMORY. errno has details for ABSENT and IO.
*/
#ifndef EBB_OS_FILE_H
#define EBB_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "os/ending.h"
#include "os/file_attributes.h"

/*
** Reads a file into one block, in steps, so that its first bytes may decide how many
** are allowed:
**
**     file_open     determines the size, if possible
**     file_peek     `bytes` has the first bytes
**     file_rest     `bytes` has all; STATUS_LIMIT after reading no more than the cap
**
** A known size is checked against the cap before memory is allocated. The caller may
** take `bytes` over (NULL: an empty file), set it to NULL and free it with `capacity`;
** file_close frees it otherwise.
*/
typedef struct FileReader {
  Memory memory;
  int descriptor;
  bool standard;        /* standard input, which is not closed */
  bool sized;           /* `left` is known: the bytes that the file had when it was opened */
  size_t left;
  char *bytes;
  size_t size, capacity;
} FileReader;

Status file_open(FileReader *reader, const Memory *memory, const char *path);   /* "-": standard input */
/* Reads until there are `size` bytes, or to the end of the file. */
Status file_peek(FileReader *reader, size_t size);
/* Reads all of the file; STATUS_LIMIT if it has more than `cap` bytes. */
Status file_rest(FileReader *reader, size_t cap);
/* The same in small steps, for files of known size: file_reserve makes room for
   `capacity` bytes in all, file_some reads a few megabytes; *end: the end was reached. */
Status file_reserve(FileReader *reader, size_t capacity);
Status file_some(FileReader *reader, bool *end);
void   file_close(FileReader *reader);      /* frees `bytes`, unless they are NULL */

/* Reads a file in one call. *bytes (NULL: an empty file) is the caller's, who frees it with *capacity. */
Status file_read(const Memory *memory, const char *path, size_t cap, char **bytes, size_t *size, size_t *capacity);

/* Which file a name leads to, and in which state. */
typedef struct FileIdentity {
  uint64_t device, inode, size;
  int64_t modified_s, modified_ns;
} FileIdentity;

/* STATUS_ABSENT, STATUS_IO. */
Status file_identify(const char *path, FileIdentity *identity);

typedef struct FileLook {
  bool exists, regular, writable;
  uint64_t size;
} FileLook;

/* Looks at a file without opening it. No file is no failure. STATUS_IO, with errno. */
Status file_look(const char *path, FileLook *look);

/* The file to which a name leads. All names of one file give equal targets. */
typedef struct FileTarget {
  uint64_t device, inode;   /* of the file; of its folder, while there is no file */
  const char *name;         /* NULL: the file exists. Else its name in the folder, a part of the path. */
} FileTarget;

/* False if neither the file nor its folder exists. */
bool   file_target(const char *path, FileTarget *target);

/* Writes a file. Path "-" is standard output; any other file appears under its name
   only when file_commit succeeds. The writer stays where it is until it has ended. */
typedef struct FileWriter {
  int descriptor;
  char *path;           /* NULL: standard output */
  char *temporary;
  EndingFile ending;
  bool escapes;         /* a terminal: hidden characters are written as JSON escapes (utf8_is_hidden, from DEL on) */
  char held[4];         /* the start of a character whose rest has not come, of a writer that escapes */
  size_t held_size;
  int lost;             /* of the file that is replaced: see os/file_attributes.h */
  bool guarded;         /* the caller sets both: */
  FileIdentity unchanged;   /* file_commit answers STATUS_CONFLICT for a file in another state */
  Memory memory;
} FileWriter;

Status file_create(FileWriter *writer, const Memory *memory, const char *path);
Status file_write(FileWriter *writer, const void *bytes, size_t size);   /* writes all bytes */
/* Flushes to disk and renames; ends the writer either way. */
Status file_commit(FileWriter *writer);
void   file_abandon(FileWriter *writer);    /* removes the temporary; ends the writer */

#endif
