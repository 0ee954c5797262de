/*
** File temporary: the file that grows beside a target until it takes its name.
**
** Its writer holds a lock on it. Who can lock a temporary file therefore knows that its
** writer is dead, killed for instance, and removes it.
*/
#ifndef EBB_OS_FILE_TEMPORARY_H
#define EBB_OS_FILE_TEMPORARY_H

#include <sys/types.h>

#include "base/memory.h"
#include "base/status.h"
#include "os/ending.h"

/* Makes `.notes.json.ebb-3f9c0a1b2c3d4e5f` beside notes.json, after removing those that dead
   processes left there. *name: to be freed; *descriptor: open for writing; it is listed in
   `ending`. STATUS_ABSENT, STATUS_IO (errno has details), STATUS_MEMORY. */
Status file_temporary_open(const Memory *memory, const char *path, mode_t mode, char **name, int *descriptor,
                           EndingFile *ending);
/* Removes it; keeps errno. */
void   file_temporary_remove(const char *name, EndingFile *ending);

#endif
