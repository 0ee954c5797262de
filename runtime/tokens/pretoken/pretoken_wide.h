/*
** Wide pretokens: cuts 64 bytes at a time, on processors that can (wide.h). Gives the same
** pretokens as pretoken_rules.h, several times faster.
*/
#ifndef EBB_TOKENS_PRETOKEN_WIDE_H
#define EBB_TOKENS_PRETOKEN_WIDE_H

#include "tokens/pretoken/pretoken.h"

/* As pretoken_next, but a batch may be shorter. */
uint32_t pretoken_next_wide(PretokenScanner *scanner, size_t starts[PRETOKEN_BATCH], size_t ends[PRETOKEN_BATCH]);

#endif
