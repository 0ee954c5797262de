/*
** Program: the file that this code is loaded from.
*/
#ifndef EBB_OS_PROGRAM_H
#define EBB_OS_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Writes the path of the program, or of the shared module (*.so) that has this code, and
   returns its size; 0 if it is unknown or does not fit. No NUL follows. */
size_t program_path(char *path, size_t room);

/* The number of this process; after fork the child has another one. */
int64_t program_process(void);

#endif
