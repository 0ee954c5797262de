/*
** Regex cut: cuts pretokens by the regular expressions of a vocabulary without a known
** pattern (pretoken.h). Uses PCRE2, many times slower than a scanner.
**
** A vocabulary may have several expressions, the stages. The first cuts the text at the
** start and the end of each match; the next one cuts each result by itself, and so on.
**
** Memory comes from the caller, except machine code and its stack (regex/regex.h).
*/
#ifndef EBB_TOKENS_REGEX_CUT_H
#define EBB_TOKENS_REGEX_CUT_H

#include <stdint.h>

#include "base/buffer.h"
#include "regex/regex.h"
#include "tokens/pretoken/pretoken.h"

enum { REGEX_STAGES_MAX = 8 };

typedef struct RegexCut RegexCut;

typedef struct RegexCutError {
  unsigned stage;            /* from 0 */
  RegexError regex;
} RegexCutError;

/* Compiles the stages: expressions, each ended by NUL, the last by two; borrowed for the
   call. STATUS_ARGUMENT for an invalid expression, with *error; STATUS_LIMIT beyond
   REGEX_STAGES_MAX; STATUS_MEMORY. */
Status regex_cut_new(const Memory *memory, const char *stages, RegexCut **cut, RegexCutError *error);
void   regex_cut_free(RegexCut *cut);      /* NULL is allowed */

/* Cuts `bytes`; *ends gets the exclusive ends of its pretokens, borrowed until the next call.
   STATUS_LIMIT if an expression takes too many steps; STATUS_MEMORY. */
Status regex_cut_text(RegexCut *cut, const char *bytes, size_t size, const size_t **ends, size_t *count);

#endif
