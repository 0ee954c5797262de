/*
** Reserve: a few KB that are kept for calling finalizers when memory fails.
**
** Lua calls a finalizer once. If there is no memory for the call itself (a frame, a
** larger stack), the object goes without it, and what the finalizer would have
** released is lost. Such blocks come from here then:
**
**     | frame | stack      |                free |
**     0                    used            RESERVE_BYTES
**
** Blocks are handed out one after the other; when the last of them has come back,
** the whole reserve is free again.
*/
#ifndef EBB_SANDBOX_RESERVE_H
#define EBB_SANDBOX_RESERVE_H

#include <stdbool.h>

#include "base/memory.h"

enum { RESERVE_BYTES = 8192 };

typedef struct Reserve {
  char *bytes;               /* RESERVE_BYTES of them; NULL: not opened */
  size_t used;               /* up to here they were handed out */
  size_t blocks;             /* that have not come back */
} Reserve;

/* False: no memory. */
bool  reserve_open(Reserve *reserve, const Memory *memory);
/* No block may be out. */
void  reserve_close(Reserve *reserve, const Memory *memory);
/* NULL: what is left is too small. Aligned as malloc's blocks are. */
void *reserve_take(Reserve *reserve, size_t size);
bool  reserve_owns(const Reserve *reserve, const void *block);
void  reserve_give_back(Reserve *reserve, const void *block);

#endif
