/*
** Cutting 64 bytes at a time, on processors that can (wide.h): the same pretokens as
** pretoken_rules.h, found several times faster.
*/
#ifndef EBB_TOKENS_PRETOKEN_WIDE_H
#define EBB_TOKENS_PRETOKEN_WIDE_H

#include "tokens/pretoken.h"

/* As pretoken_next, but it may stop earlier. */
uint32_t pretoken_next_wide(PretokenScanner *scanner, size_t starts[PRETOKEN_BATCH], size_t ends[PRETOKEN_BATCH]);

#endif
