/*
** Descriptor: waiting for a socket of a library.
*/
#ifndef EBB_OS_DESCRIPTOR_H
#define EBB_OS_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Waits until the descriptor can be read, or written if `writes`, for at most so many milliseconds. 1: it can be, or
   has an error that reading will tell; 0: the time is over, or a signal came; -1: the system refuses. */
int descriptor_wait(int descriptor, bool writes, int64_t ms);

#endif
