/*
** Replacing matches, as JavaScript does: PCRE2's own substitution differs from it
** in most of the finer points.
**
** In a replacement stand for:
**
**     $&  ${0}                the match                 $$         a dollar sign
**     $1 .. $99, ${1}         what a group captured     $`  $'     the text before, behind the match
**     $<name>  ${name}        what a named one did
**
** A group that took no part stands for nothing. What names no group of the
** pattern stays as it is written, but `$<name>` is nothing where the pattern has
** names at all.
*/
#ifndef EBB_REGEX_REPLACE_H
#define EBB_REGEX_REPLACE_H

#include "base/buffer.h"
#include "regex/regex.h"
#include "base/text.h"

enum { REGEX_TEXT_MAX = 16 * 1024 * 1024, REGEX_TRIMS_MAX = 64 };

typedef struct RegexTemplate RegexTemplate;

/* Texts here are plain, and never NULL. Both are copied. `trims`: texts that are taken out of the match and of each
   group before they are put in; at most REGEX_TRIMS_MAX. With them, a group that
   took no part stays as it is written (SillyTavern's users count on neither, AIO
   Hub's rules on this). STATUS_LIMIT, STATUS_ENCODING, STATUS_MEMORY. */
Status regex_template_new(const Regex *regex, Text replacement, const Text *trims, unsigned trim_count,
                          RegexTemplate **made);
void   regex_template_free(RegexTemplate *made);     /* NULL is allowed */

/* Replaces the first match, with REGEX_GLOBAL all. *count: how many; 0: *out was not
   touched, else it is overwritten. `text` is valid UTF-8 and none of *out. STATUS_LIMIT:
   given up, regex_engine_reason says why; the content of *out is then of no meaning. */
Status regex_replace(Regex *regex, const RegexTemplate *by, Text text, Buffer *out, uint32_t *count);

#endif
