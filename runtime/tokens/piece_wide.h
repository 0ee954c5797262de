/*
** Cutting 64 bytes at a time, on processors that can (wide.h): the same pieces as
** piece_rules.h, found several times faster.
*/
#ifndef EBB_TOKENS_PIECE_WIDE_H
#define EBB_TOKENS_PIECE_WIDE_H

#include "tokens/piece.h"

/* As pieces_next, but it may stop earlier. */
uint32_t pieces_wide(Pieces *pieces, size_t starts[PIECE_BATCH], size_t ends[PIECE_BATCH]);

#endif
