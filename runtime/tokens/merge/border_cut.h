/*
** Border cut: cuts the texts of a vocabulary without a pattern, whose makers merge each
** text as a whole.
**
** A text of a million bytes must not be merged at once, and need not: between many two
** bytes no token of the vocabulary merges, so that a cut there changes nothing. Such
** borders are those before most spaces, since tokens of words start with their space:
**
**     "the lazy  dog\n"  ->  "the" " lazy" "  dog" "\n"
**
** Characters that the vocabulary lacks are bytes that never merge; each is a pretoken, and
** so is each byte that is not UTF-8. Atoms are pretokens, too.
*/
#ifndef EBB_TOKENS_BORDER_CUT_H
#define EBB_TOKENS_BORDER_CUT_H

#include "tokens/pretoken/pretoken.h"
#include "tokens/vocab/vocab_image.h"

/* As pretoken_next, for a vocabulary with PRETOKEN_BORDERS. Atoms are not listed, but counted in scanner->singles.
   `atoms`: recognize them. */
uint32_t border_cut_next(const Vocab *vocab, PretokenScanner *scanner, bool atoms, size_t starts[PRETOKEN_BATCH],
                         size_t ends[PRETOKEN_BATCH]);

#endif
