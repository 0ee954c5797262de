/*
** Ending: temporary files and processes that a signal may not leave behind, and a
** status that agrees with the files.
**
** The command owns its signals and calls `ending_watch` first; libebb has no part of this, and
** leaves signals to its host. Files (FileHooks of os/os.h) and processes are listed by one
** thread, which also gets the signals.
**
**     a signal comes        temporary files      what the program was to write     status
**     before the rename     are removed          is as it was                      the signal's
**     during the rename     waits until it is over
**     after the rename      there are none       is there                          0
**
** The last line holds for the program's result (`ending_conclude`). A file that a script
** saves on its way does not end the script.
**
** A process that is ended gets SIGTERM, has a moment to clean up, and gets SIGKILL if
** it needs longer. It is waited for.
*/
#ifndef EBB_HOST_ENDING_H
#define EBB_HOST_ENDING_H

#include <stdbool.h>

/* A process that this one started, until it has been waited for. */
typedef struct EndingProcess {
  struct EndingProcess *next;
  int pid;                   /* 0: not listed */
  int parent;                /* a child does not end its parent's processes */
  bool leads_group;          /* all of its group is ended */
  bool has_ended;            /* and has been waited for; others of its group may run */
} EndingProcess;

/* From now on every signal that ends the process removes the temporary files and ends the
   listed processes first, except SIGKILL and SIGINT, which is the caller's: `interrupted`
   answers whether it has come; then no file is replaced any more. */
void ending_watch(bool (*interrupted)(void));

/* Makes signals wait, until ending_release. Not to be nested. */
void ending_hold(void);
void ending_release(void);

/* Both while signals wait. Adding a file or a process for the first time installs the handlers.
   Removing a process that is not listed is allowed. */
void ending_add_process(EndingProcess *process, int pid, bool leads_group);
void ending_remove_process(EndingProcess *process);

/* Ends a listed process and removes it; signals wait meanwhile. One that is not listed is allowed. */
void ending_end_process(EndingProcess *process);

/* The next file that is replaced is the result of the program. */
void ending_conclude(void);
bool ending_is_over(void);                 /* the result stands: signals are ignored */

/* Ends the process by a signal, without what is listed; for handlers. */
void ending_by(int signal_number);
/* Removes the files and ends the processes that are listed still: this process ends by itself. */
void ending_clean(void);

#endif
