/*
** Cutting 64 bytes at a time, on processors that can: the same pieces as
** piece_rules.h, found several times faster.
*/
#ifndef EBB_TOKENS_PIECE_WIDE_H
#define EBB_TOKENS_PIECE_WIDE_H

#include "tokens/piece.h"

/* May pieces_wide be called on this machine? */
bool     pieces_wide_works(void);
/* As pieces_next, but it may stop earlier. */
uint32_t pieces_wide(Pieces *pieces, size_t ends[PIECE_BATCH]);

#endif
