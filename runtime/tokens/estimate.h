/*
** Estimators: token counts without a vocabulary.
**
** An Estimate adds up texts run by run, so that escaped texts need no copy, and rounds
** the sum up once, at the end.
**
**   bytes4      UTF-8 bytes / 4: the rule of thumb of OpenAI's documentation
**   cjk         weighted by script and kind of character; the default
**   claude      the same with other weights: Claude up to version 4.6
**   claude_4_7  and from Opus 4.7 on, whose tokenizer is another
**   utf16_2_5   UTF-16 units / 2.5: the rule of the ContextUI project
*/
#ifndef EBB_TOKENS_ESTIMATE_H
#define EBB_TOKENS_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef enum Estimator {
  ESTIMATE_BYTES4, ESTIMATE_CJK, ESTIMATE_UTF16_2_5, ESTIMATE_CLAUDE, ESTIMATE_CLAUDE_4_7,
} Estimator;

/* "bytes4", "cjk", "utf16_2_5", "claude", "claude_4_7"; static. */
const char *estimator_name(Estimator estimator);
bool        estimator_parse(const char *name, Estimator *estimator);   /* false for another name */

typedef struct Estimate {
  Estimator estimator;
  uint64_t bytes;                       /* of all texts */
  uint64_t letters, spaces, digits;     /* ASCII characters */
  uint64_t two, three, four;            /* characters of 2, 3, 4 bytes */
  uint64_t dense;                       /* of the letters, those of base64 and its kind */
} Estimate;

Estimate estimate_start(Estimator estimator);
void     estimate_add(Estimate *estimate, Text text);
uint64_t estimate_tokens(const Estimate *estimate);

#endif
