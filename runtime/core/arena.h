/*
** Arena: bytes that live as long as their last owner, cut from growing blocks.
**
**     arena   blocks -> [ used | free ] -> [ a file, adopted whole ] -> [ used ]
**                  newest                                              oldest
**       |
**      base   the arena of the store that this one's store was forked from
**
** A fork keeps its base alive and cuts from blocks of its own. What was cut before
** an arena was shared stays where it is; only what came later can be taken back.
*/
#ifndef EBB_CORE_ARENA_H
#define EBB_CORE_ARENA_H

#include "base/memory.h"
#include "base/status.h"

typedef struct Arena Arena;

/* An empty arena with one owner. Takes over the caller's share of `base`, which may
   be NULL, on success. STATUS_MEMORY. */
Status arena_new(const Memory *memory, Arena *base, Arena **arena);
/* A second owner, for what was cut so far. */
Arena *arena_share(Arena *arena);
void   arena_release(Arena *arena);    /* NULL is allowed */

/* `size` bytes, aligned to 8; NULL when there is no memory. */
void  *arena_cut(Arena *arena, size_t size);
/* Takes over a block of `capacity` bytes on success. STATUS_MEMORY. */
Status arena_adopt(Arena *arena, char *bytes, size_t capacity);

/* What was cut so far stays to the arena's end, whatever is rewound. */
void   arena_keep(Arena *arena);

/* A place to go back to. */
typedef struct ArenaMark {
  struct ArenaBlock *block;
  size_t used, position;     /* of the block; of all that was ever cut */
} ArenaMark;

ArenaMark arena_mark(const Arena *arena);
/* Frees what was cut after the mark, after the last arena_keep and, while there are
   other owners, after the last arena_share. */
void   arena_rewind(Arena *arena, ArenaMark mark);

#endif
