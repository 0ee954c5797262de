/*
** Confine: takes from this process what an isolated script has no use for.
**
**     limits        time, memory, size of files, number of open files
**     descriptors   all but standard input, output and error, and one more
**     environment   all but language, time zone, terminal, home and vocabularies
**     Landlock      files outside of some folders; signals and abstract sockets outward
**     seccomp       system calls that are not on the list of confine_calls.c
**
** What a process has lost it never gets back. It stays in the session of its parent, so that Ctrl-C, Ctrl-Z
** and reading from the terminal work as for any program; it may not put input into the terminal.
*/
#ifndef EBB_HOST_CONFINE_H
#define EBB_HOST_CONFINE_H

#include <stdint.h>
#include <sys/types.h>

#define CONFINE_OPEN_FILES 64

/* The first descriptor after standard error: the one that stays open beside these. */
#define CONFINE_KEPT 3

typedef struct Confinement {
  pid_t parent;              /* its end ends this process */
  int kept;                  /* stays open, as CONFINE_KEPT */
  uint64_t milliseconds;     /* of processor time, rounded up to seconds */
  uint64_t memory;           /* bytes of address space */
  uint64_t file_size;        /* bytes of a file that is written */
  const char *const *read;   /* files and folders, up to NULL; absent ones are left out */
  const char *const *write;
} Confinement;

/* Confines the calling process, which must have one thread. NULL, or a static description of what this kernel
   cannot hold: the process must end then, some of its rights are gone. */
const char *confine(const Confinement *confinement);

/* Two of its steps alone: files, signals and abstract sockets (Landlock), and system calls (seccomp). Both need
   PR_SET_NO_NEW_PRIVS or root. */
const char *confine_files(const char *const *read, const char *const *write);
const char *confine_calls(void);

#endif
