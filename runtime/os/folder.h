/*
** Folders: the names in one, and making one.
*/
#ifndef EBB_OS_FOLDER_H
#define EBB_OS_FOLDER_H

#include "base/status.h"

/* An open folder; NULL: closed. */
typedef struct Folder {
  void *entries;
} Folder;

/* STATUS_ABSENT, with errno. */
Status      folder_open(Folder *folder, const char *path);
/* The next name, without "." and "..", in no particular order, valid until the next call;
   NULL at the end. */
const char *folder_next(Folder *folder);
void        folder_close(Folder *folder);      /* a closed one is allowed */

/* Makes a folder and those above it, unless they exist. `path` is overwritten during the
   call; on failure it ends with the folder that could not be made. STATUS_IO, with errno. */
Status      folder_make(char *path);

#endif
