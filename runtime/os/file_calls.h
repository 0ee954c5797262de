/*
** File calls: system calls on files that both readers and writers make. They continue
** where a signal interrupts them.
*/
#ifndef EBB_OS_FILE_CALLS_H
#define EBB_OS_FILE_CALLS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/status.h"
#include "os/file.h"

/* True if a failed call may be repeated. Waits for a descriptor that is non-blocking,
   until it is ready for `events` of poll. */
bool   file_try_again(int descriptor, short events);
/* open, with O_CLOEXEC; -1 with errno. */
int    file_open_call(const char *path, int flags, mode_t mode);
void   file_close_quietly(int descriptor);     /* keeps errno */
FileIdentity file_identity_of(const struct stat *info);
Status file_status_of_open(void);              /* by errno, of a failed open, stat or realpath */

#endif
