/*
** File lock: one writer at a time. A lock belongs to an open file; the system releases it
** when the file is closed or the process ends, also by a signal.
*/
#ifndef EBB_OS_FILE_LOCK_H
#define EBB_OS_FILE_LOCK_H

typedef enum FileLock {
  FILE_LOCKED,         /* until the descriptor and its copies are closed */
  FILE_LOCK_TAKEN,     /* another open file has the lock */
  FILE_LOCK_NONE       /* the file system has no locks, or none for this descriptor */
} FileLock;

/* Tries to lock an open file; never waits. The descriptor must be open for writing. */
FileLock file_lock(int descriptor);

/* Locks a file, which is created where it is missing, for the time until file_lock_end. Returns a number for that, or
   -1: another open file has the lock, or it cannot be had. */
int  file_lock_begin(const char *path);
void file_lock_end(int lock);

#endif
