/*
** Program: the file that this code is loaded from.
*/
#ifndef EBB_OS_PROGRAM_H
#define EBB_OS_PROGRAM_H

#include <stddef.h>

/* Writes the path of the program, or of the shared module (*.so) that has this code, and
   returns its size; 0 if it is unknown or does not fit. No NUL follows. */
size_t program_path(char *path, size_t room);

#endif
