/*
** Pretoken rules: cut any text by the patterns, one pretoken at a time. The wide path
** (pretoken.c) gives the same pretokens.
*/
#ifndef EBB_TOKENS_PRETOKEN_RULES_H
#define EBB_TOKENS_PRETOKEN_RULES_H

#include "tokens/pretoken/pretoken.h"

/* End of the pretoken that starts at `at`. at < end. */
const char *pretoken_end(PretokenPattern pattern, const char *at, const char *end);

/* Bytes of the contraction ('s 't 'd 'm 'll 've 're) at an apostrophe, or 0. Letters match in
   any case, and U+017F as s; with `small` only in lower case. */
size_t pretoken_contraction(const char *at, const char *end, bool small);

#endif
