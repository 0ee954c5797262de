/*
** File lock: one writer at a time. A lock belongs to an open file and is gone when its
** process is, whatever ended it.
*/
#ifndef EBB_OS_FILE_LOCK_H
#define EBB_OS_FILE_LOCK_H

typedef enum FileLock {
  FILE_LOCKED,         /* until the descriptor and its copies are closed */
  FILE_LOCK_TAKEN,     /* another has it */
  FILE_LOCK_NONE       /* this file system has no locks, or not for this descriptor */
} FileLock;

/* Never waits. The descriptor must be open for writing. */
FileLock file_lock(int descriptor);

#endif
