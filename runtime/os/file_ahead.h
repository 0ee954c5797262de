/*
** Reading ahead: a thread reads a large file into its block while the caller uses
** the bytes that are already there.
**
**     block    [ in use | read | being read | not read yet ]
**                               ^ available
**
** Half of the time that a large file takes is spent by the system, which makes pages
** and copies into them; reading ahead overlaps it with the caller's work. The thread
** touches only the block, the descriptor and the FileAhead, and allocates nothing.
**
** Ownership: the block belongs to the reader. It may be used up to `available` and
** freed after file_ahead_end. A FileAhead is used by one thread.
*/
#ifndef EBB_OS_FILE_AHEAD_H
#define EBB_OS_FILE_AHEAD_H

#include "os/file.h"

typedef struct FileAhead FileAhead;

/* Starts to read the rest of a file of known size; bytes added meanwhile are not read.
   NULL, and nothing has changed, if it would not pay (a small file, one processor) or
   there is no memory or no thread. */
FileAhead *file_ahead_start(FileReader *reader);

/* Waits until more than *available bytes are read, or all. *available: bytes read so
   far; *size: bytes in the end, fewer than before if the file has shrunk. STATUS_IO,
   with errno. */
Status     file_ahead_wait(FileAhead *ahead, size_t *available, size_t *size);

/* Stops the thread; the reader's `size` is then the number of bytes read. NULL is allowed. */
void       file_ahead_end(FileAhead *ahead);

#endif
