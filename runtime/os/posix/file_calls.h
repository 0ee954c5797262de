/*
** What the files of this folder share: system calls on files, and the temporary file of a writer.
*/
#ifndef EBB_OS_POSIX_FILE_CALLS_H
#define EBB_OS_POSIX_FILE_CALLS_H

#include <sys/stat.h>
#include <sys/types.h>

#include "os/os.h"

/* ---- file.c: calls that continue where a signal interrupts them ---- */

/* True if a failed call may be repeated. Waits for a descriptor that is non-blocking,
   until it is ready for `events` of poll. */
bool   file_try_again(int descriptor, short events);
/* open, with O_CLOEXEC; -1 with errno. */
int    file_open_call(const char *path, int flags, mode_t mode);
/* Opens the folder of `path`; -1 if it may be written but not read: it cannot be flushed then. */
int    file_open_folder(const char *path);
void   file_close_quietly(int descriptor);     /* keeps errno */
FileIdentity file_identity_of(const struct stat *info);
Status file_status_of_open(void);              /* by errno, of a failed open, stat or realpath */

/* ---- file_temporary.c: the file that grows beside a target until it takes its name ----
**
** Its writer holds a lock on it. Who can lock a temporary file therefore knows that its
** writer is dead, killed for instance, and removes it. */

/* Makes `.notes.json.ebb-3f9c0a1b2c3d4e5f` beside notes.json, after removing those that dead
   processes left there. *name: to be freed; *descriptor: open for writing; *listed: the program's hooks know it.
   STATUS_ABSENT, STATUS_IO (errno has details), STATUS_MEMORY. */
Status file_temporary_open(const Memory *memory, const char *path, mode_t mode, char **name, int *descriptor,
                           TemporaryFile *listed);
/* Removes it; keeps errno. */
void   file_temporary_remove(const char *name, TemporaryFile *listed);

/* Gives the new file owner, group, mode and extended attributes of the old one, at `path`.
   The bits of what is lost, or -1 with errno if the mode cannot be set. */
int    file_attributes_copy(int new_file, const char *path, const struct stat *old);

/* The program's hooks; a library has none, and these do nothing. */
void   file_hold_signals(void);
void   file_release_signals(void);
bool   file_is_interrupted(void);
void   file_unlist(TemporaryFile *file);       /* while signals wait */
void   file_tell_replaced(void);               /* while signals wait */

#endif
