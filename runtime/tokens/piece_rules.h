/*
** The patterns as rules, one piece at a time: what every text can be cut with,
** and what the wide path (piece_wide.h) must agree with.
*/
#ifndef EBB_TOKENS_PIECE_RULES_H
#define EBB_TOKENS_PIECE_RULES_H

#include "tokens/piece.h"

/* End of the piece that starts at `at`. at < end. */
const char *piece_end(PiecePattern pattern, const char *at, const char *end);

/* Bytes of the contraction ('s 't 'd 'm 'll 've 're) at an apostrophe, or 0;
   whatever the case of its letters, U+017F being an s, unless `small`. */
size_t piece_contraction(const char *at, const char *end, bool small);

#endif
