/*
** Text form: what some vocabularies make of a text before it is cut.
**
**     TEXT_NFC      Unicode's form NFC: "e" and U+0301 become one character
**     TEXT_SPACES   U+2581, by which SentencePiece writes a space, becomes one: tokens of
**                   such a vocabulary have spaces here
**     TEXT_PREFIX   a space is put in front of a text that is not empty
**
** Nearly all texts are in the first two forms, which is checked without a copy.
*/
#ifndef EBB_TOKENS_TEXT_FORM_H
#define EBB_TOKENS_TEXT_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

enum { TEXT_NFC = 1, TEXT_SPACES = 2, TEXT_PREFIX = 4, TEXT_FORMS = 7 };

#define TEXT_SPACE "\xE2\x96\x81"    /* U+2581 */

/* True if a text stays as it is; false also for some that do. */
bool   text_form_has(unsigned forms, const char *bytes, size_t size);
/* Appends a text in these forms to `out`. STATUS_MEMORY: a part may have been appended. */
Status text_form_write(unsigned forms, const char *bytes, size_t size, Buffer *out);

#endif
