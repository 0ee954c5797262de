/*
** Reading ahead: a thread reads a large file into its block while what is there
** already is being used.
**
**     block    [ in use | there | being read | not yet there ]
**                                ^ available
**
** Half of the time that a large file takes is the system's, which makes pages and
** copies into them; this is how it overlaps with ours. The thread touches nothing
** but the block, the descriptor and what is in FileAhead; it allocates nothing.
**
** Ownership: the block is the reader's, as ever; it may be used up to what is
** available, and freed after file_ahead_end. One thread uses a FileAhead.
*/
#ifndef EBB_OS_FILE_AHEAD_H
#define EBB_OS_FILE_AHEAD_H

#include "os/file.h"

typedef struct FileAhead FileAhead;

/* Starts to read the rest of a file that said its size; what it grows by
   meanwhile is not read. NULL, and nothing has changed, where that does not pay
   (a small file, one processor), or there is no memory or no thread. */
FileAhead *file_ahead_start(FileReader *reader);

/* Waits until more than *available bytes of the block are there, or no more
   come: *available gets how many there are, *size how many there will be, fewer
   than before if the file has shrunk. STATUS_IO, with errno. */
Status     file_ahead_wait(FileAhead *ahead, size_t *available, size_t *size);

/* Ends the thread, wherever it is; the reader's `size` says what was read. NULL is allowed. */
void       file_ahead_end(FileAhead *ahead);

#endif
