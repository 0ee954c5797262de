/*
** Arena: bytes that live as long as their last owner, allocated from growing blocks.
**
**     arena   blocks -> [ used | free ] -> [ a file, adopted whole ] -> [ used ]
**                  newest                                              oldest
**       |
**      base   the arena of the store that this arena's store was forked from
**
** A fork keeps its base alive and allocates from blocks of its own. Bytes from before
** a share stay where they are; arena_rewind frees only later ones.
*/
#ifndef EBB_CORE_ARENA_H
#define EBB_CORE_ARENA_H

#include "base/memory.h"
#include "base/status.h"

typedef struct Arena Arena;

/* Creates an empty arena with one owner. On success takes over the caller's share of
   `base` (NULL allowed). STATUS_MEMORY. */
Status arena_new(const Memory *memory, Arena *base, Arena **arena);
/* Adds an owner and returns the same arena. arena_rewind spares the bytes allocated so far as long as there are
   other owners. */
Arena *arena_share(Arena *arena);
void   arena_release(Arena *arena);    /* NULL is allowed */

/* Allocates `size` bytes, aligned to 8, for the arena's life; NULL if memory runs out. */
void  *arena_allocate(Arena *arena, size_t size);
/* Takes over a block of `capacity` bytes on success, so that it lives as long as the arena. STATUS_MEMORY. */
Status arena_adopt(Arena *arena, char *bytes, size_t capacity);

/* Protects all bytes allocated so far from arena_rewind. */
void   arena_keep(Arena *arena);

/* A state for arena_rewind to restore. */
typedef struct ArenaMark {
  struct ArenaBlock *block;
  size_t used, position;     /* bytes used in the block; bytes allocated in all */
} ArenaMark;

ArenaMark arena_mark(const Arena *arena);
/* Frees bytes allocated after the mark, except those from before the last arena_keep
   and, while there are other owners, those from before the last arena_share. */
void   arena_rewind(Arena *arena, ArenaMark mark);

#endif
