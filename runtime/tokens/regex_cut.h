/*
** Cutting by regular expressions: for vocabularies whose pattern is none of
** those that pretoken.h knows. PCRE2 does it, many times slower than a scanner.
**
** A vocabulary may have several expressions. The first cuts the text at each
** match's start and end; the second cuts what came out, pretoken by pretoken, seeing
** nothing around it; and so on.
**
** Memory is the caller's, but for machine code and its stack (base/regex.h).
*/
#ifndef EBB_TOKENS_REGEX_CUT_H
#define EBB_TOKENS_REGEX_CUT_H

#include <stdint.h>

#include "base/buffer.h"
#include "regex/regex.h"
#include "tokens/pretoken.h"

enum { REGEX_STAGES_MAX = 8 };

typedef struct RegexCut RegexCut;

typedef struct RegexCutError {
  unsigned stage;            /* from 0 */
  RegexError regex;
} RegexCutError;

/* `stages`: expressions, each ended by NUL, the last by two; read only during the
   call. STATUS_ARGUMENT: one is no expression, *error says why; STATUS_LIMIT: too
   many; STATUS_MEMORY. */
Status regex_cut_new(const Memory *memory, const char *stages, RegexCut **cut, RegexCutError *error);
void   regex_cut_free(RegexCut *cut);      /* NULL is allowed */

/* Cuts all of `bytes`: *ends borrows the exclusive ends of its pretokens until the
   next call. STATUS_LIMIT: an expression tries too many ways; STATUS_MEMORY. */
Status regex_cut_text(RegexCut *cut, const char *bytes, size_t size, const size_t **ends, size_t *count);

#endif
