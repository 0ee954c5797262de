/*
** ContainedDir: files of one folder, by names that somebody else has chosen.
**
** Whatever the name says, nothing is read but a regular file below that folder:
** no `..`, no absolute path, no link anywhere on the way, no device, FIFO or
** socket; none of these is even opened, so nothing blocks and nobody notices.
** The folder itself is the host's choice and may be reached through links.
*/
#ifndef EBB_OS_CONTAINED_DIR_H
#define EBB_OS_CONTAINED_DIR_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/text.h"

typedef struct ContainedDir {
  int folder;           /* stays the same folder, whatever becomes of its name; -1: closed */
  bool walks;           /* the kernel has no openat2: names are walked one by one */
} ContainedDir;

/* Opens the folder. STATUS_ABSENT, STATUS_IO (no folder; errno says more): *beneath is closed. */
Status contained_dir_open(ContainedDir *beneath, const char *path);

/* Adds the bytes of a file. `path` is plain, relative to the folder, and may hold
   any bytes. On failure *out is as it was and *why says in static words what is
   the matter with the file:
     STATUS_FORBIDDEN   the path leads elsewhere, or to what is no regular file
     STATUS_ABSENT      there is none, or it may not be read
     STATUS_LIMIT       more than `cap` bytes; none was read
     STATUS_IO          reading failed, or the file changed while it was read
     STATUS_MEMORY */
Status contained_dir_read(ContainedDir *beneath, Text path, size_t cap, Buffer *out, const char **why);

void contained_dir_close(ContainedDir *beneath);       /* a closed one is allowed */

#endif
