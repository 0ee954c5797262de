/*
** The patterns as rules, one pretoken at a time: what every text can be cut with,
** and what the wide path (pretoken_wide.h) must agree with.
*/
#ifndef EBB_TOKENS_PRETOKEN_RULES_H
#define EBB_TOKENS_PRETOKEN_RULES_H

#include "tokens/pretoken.h"

/* End of the pretoken that starts at `at`. at < end. */
const char *pretoken_end(PretokenPattern pattern, const char *at, const char *end);

/* Bytes of the contraction ('s 't 'd 'm 'll 've 're) at an apostrophe, or 0;
   whatever the case of its letters, U+017F being an s, unless `small`. */
size_t pretoken_contraction(const char *at, const char *end, bool small);

#endif
