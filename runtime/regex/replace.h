/*
** Replaces matches as JavaScript does; PCRE2's own substitution differs in most of the
** finer points.
**
** A replacement may contain:
**
**     $&  ${0}                the match                 $$         a dollar sign
**     $1 .. $99, ${1}         a group's capture         $`  $'     the text before, behind the match
**     $<name>  ${name}        a named group's capture
**
** An unset group expands to nothing. References to groups that the pattern lacks stay
** as they are written, except `$<name>` in patterns with named groups, which expands to
** nothing.
*/
#ifndef EBB_REGEX_REPLACE_H
#define EBB_REGEX_REPLACE_H

#include "base/buffer.h"
#include "regex/pattern.h"
#include "regex/regex.h"
#include "base/text.h"

enum { REGEX_TEXT_MAX = 16 * 1024 * 1024, REGEX_TRIMS_MAX = 64 };

typedef struct RegexTemplate RegexTemplate;

/* Compiles a replacement. All texts are plain, not NULL, and copied. `trims` (at most
   REGEX_TRIMS_MAX) are removed from the match and from captures before they are
   inserted; with trims, references to unset groups stay as they are written, which AIO
   Hub's rules depend on. STATUS_LIMIT, STATUS_ENCODING, STATUS_MEMORY. */
Status regex_template_new(const Regex *regex, Text replacement, const Text *trims, unsigned trim_count,
                          RegexTemplate **template);
void   regex_template_free(RegexTemplate *template);     /* NULL is allowed */

/* Replaces the first match, or all with REGEX_GLOBAL. *count: number of replacements;
   *out gets the result if there are any, else it is unchanged. `text` is valid UTF-8 and
   not part of *out. `pairs` has those of `text`, and gets those of *out too; NULL is
   allowed. STATUS_LIMIT: abandoned, see regex_engine_reason; the contents of *out are
   undefined then. */
Status regex_replace(Regex *regex, const RegexTemplate *template, Text text, RegexPairs *pairs, Buffer *out,
                     uint32_t *count);

#endif
