/*
** Contained folder: reads files of one folder by untrusted names.
**
** Only regular files below the folder are read: no `..`, no absolute path, no link
** anywhere on the path, no device, FIFO or socket. Such files are not even opened, so
** that reading never blocks and has no effect on them. The folder itself is chosen by
** the host and may be reached through links.
*/
#ifndef EBB_OS_CONTAINED_DIR_H
#define EBB_OS_CONTAINED_DIR_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/text.h"

typedef struct ContainedDir {
  int folder;           /* stays the same folder if its name changes; -1: closed */
  bool walks;           /* the kernel has no openat2: names are walked one by one */
} ContainedDir;

/* Opens the folder. STATUS_ABSENT, STATUS_IO (not a folder; errno has details): *dir is closed then. */
Status contained_dir_open(ContainedDir *dir, const char *path);

/* Adds the bytes of a file to *out. `path` is plain, relative to the folder, and may
   have any bytes. On failure *out is unchanged and *why is a static description:
     STATUS_FORBIDDEN   the path leads out of the folder, or to something other than a regular file
     STATUS_ABSENT      the file does not exist or may not be read
     STATUS_LIMIT       it has more than `cap` bytes; none was read
     STATUS_IO          reading failed, or the file changed meanwhile
     STATUS_MEMORY */
Status contained_dir_read(ContainedDir *dir, Text path, size_t cap, Buffer *out, const char **why);

void contained_dir_close(ContainedDir *dir);       /* a closed folder is allowed */

#endif
