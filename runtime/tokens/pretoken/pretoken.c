/*
** Cuts a text: 64 bytes at a time if the processor can (wide.h), several times faster, else pretoken by pretoken
** (pretoken_rules.h). Both ways give the same pretokens.
*/
#include "tokens/pretoken/pretoken.h"

#include <assert.h>

#include "base/names.h"
#include "tokens/pretoken/pretoken_rules.h"
#include "tokens/pretoken/wide.h"

/* ---- 64 bytes at a time ----
**
** A window always starts at a pretoken, so no state passes from one to the next. The
** starts of its pretokens follow from its sets by the rules of pretoken_rules.c, turned
** around: which characters start a pretoken. The next window starts at the last start,
** because that pretoken may continue beyond the window; if it is the only one, the rules
** cut it.
**
** Set arithmetic: `set << 1` is "follows a member", `set >> 1` "is followed by a member".
** The character after the window is unknown; starts that depend on it are left out.
**
**     text     if (a)\n   return 'x'
**     starts   ^ ^ ^^  ^ ^      ^ ^^ */

#ifdef WIDE_CODE

#include "tokens/pretoken/pretoken_window.h"

/* The least first byte of a character of three or four bytes. A window of such characters has
   few pretokens, and the rules are faster. */
#define THREE_BYTES 0xE0

/* Members without a member before them. */
WIDE_INLINE Set heads(Set set) {
  return set & ~(set << 1);
}

/* Starts within numbers: every third one from the first of each run. */
WIDE_INLINE Set starts_of_numbers(Set number) {
  Set starts = 0, third = number & number << 1 & number << 2;
  for (Set at = heads(number); at != 0; at = at << 3 & third) starts |= at;
  return starts;
}

/* Starts within white space: its first character, its last one unless that is a newline, and
   the one after its last newline. `swallowed` newlines belong to the pretoken before them. */
WIDE_INLINE Set starts_of_spaces(const Window *w, Set swallowed) {
  Set all = w->space | w->newline;
  Set starts = heads(all & ~swallowed) | (w->space & ~(all >> 1));
  Set first = heads(w->space), end = (w->space + first) & ~w->space;   /* end: after the runs between newlines */
  Set indents = first & w->newline << 1;
  if ((end & w->newline) == 0) return starts | indents;
  for (; indents != 0; indents &= indents - 1) {   /* not before a later newline */
    Set next = end & ~set_below(set_first(indents));
    if ((next & -next & w->newline) == 0) starts |= indents & -indents;
  }
  return starts;
}

/* Keeps only the first start of white space at the end of the window, because it may continue
   after it. */
WIDE_INLINE Set drop_unknown(const Window *w, Set starts, Set swallowed) {
  Set spaces = (w->space | w->newline) & ~swallowed;
  if ((spaces >> (w->count - 1)) == 0) return starts;
  return starts & set_below(set_last(heads(spaces)) + 1);
}

/* Characters of the contraction at the apostrophe with number n; 0 if it is not one. */
WIDE_INLINE unsigned contraction_at(const Window *w, unsigned n, bool small) {
  const char *at = w->bytes + set_first(window_spread(w, (Set)1 << n));
  size_t size = pretoken_contraction(at, w->bytes + WINDOW_READS, small);
  return size == 3 && at[1] == '\xC5' ? 2 : (unsigned)size;
}

/* The set of n, empty if n is beyond the window. */
WIDE_INLINE Set set_one(unsigned n) {
  return n < 64 ? (Set)1 << n : 0;
}

/* Starts that both newer patterns share: a word takes a single other or space before it, others
   take a blank. `swallowed` characters start no white space. */
WIDE_INLINE Set starts_of_runs(const Window *w, Set words, Set others, Set swallowed, Set *single) {
  Set free = heads(others) & ~(w->blank << 1);
  *single = free & words >> 1;
  return 1 | (heads(words) & ~((*single | w->space) << 1)) | free | starts_of_numbers(w->number) |
         starts_of_spaces(w, swallowed);
}

WIDE_INLINE Set starts_cl100k(const Window *w) {
  Set words = w->upper | w->lower | w->letter, others = w->other | w->mark, single;
  Set swallowed = set_flood(w->newline, w->newline & others << 1);
  Set starts = starts_of_runs(w, words, others, swallowed, &single);
  for (Set quotes = w->quote & single; quotes != 0; quotes &= quotes - 1) {
    unsigned n = set_first(quotes), size = contraction_at(w, n, false);
    if (size > 0) starts |= set_one(n + size);
  }
  return drop_unknown(w, starts, swallowed);
}

/* Newlines and slashes after others, from the first newline on. */
WIDE_INLINE Set swallowed_o200k(const Window *w) {
  Set seeds = w->newline & w->other << 1;
  if ((w->slash & w->newline << 1) == 0) return set_flood(w->newline, seeds);
  Set swallowed = 0;
  while (seeds != 0) {   /* a swallowed slash does not swallow again */
    swallowed |= set_flood(w->newline | w->slash, seeds & -seeds);
    seeds &= ~swallowed;
  }
  return swallowed;
}

/* Starts within words: upper case letters after others. A run of upper case and caseless letters
   is cut before its last upper case letters unless a lower case letter follows; at the end of
   the window that start is unknown. */
WIDE_INLINE Set starts_of_capitals(const Window *w) {
  Set after_small = set_flood(w->letter, w->letter & w->lower << 1);
  Set starts = w->upper & (w->lower | after_small) << 1;
  Set ends = set_below(w->count) & ~(w->upper | w->lower | w->letter);
  for (Set left = w->upper & (w->letter & ~after_small) << 1; left != 0; left &= left - 1) {
    Set first = left & -left;
    if (((w->upper + first) & ends) != 0) starts |= first;
  }
  return starts;
}

/* Moves the start after a word to the end of its trailing contraction. Letters after a
   contraction are a word that the sets do not describe: only starts up to there are certain. */
WIDE_INLINE Set trail_contractions(const Window *w, Set words, Set starts, Set *certain) {
  unsigned last = 0;   /* end of the last contraction */
  for (Set quotes = w->quote & words << 1; quotes != 0; quotes &= quotes - 1) {
    unsigned n = set_first(quotes), size = n == last ? 0 : contraction_at(w, n, false);
    if (size == 0) continue;
    last = n + size;
    starts = (starts & ~(set_below(size) << n)) | set_one(last);
    if ((words & set_one(last)) != 0) {
      *certain &= set_below(last + 1);
      break;
    }
  }
  return starts;
}

/* Removes the characters from the first mark on, which belong to several sets: the rules cut them. */
WIDE_INLINE void hide_marks(Window *w) {
  unsigned n = set_first(w->mark);
  Set before = set_below(n);
  w->count = n;
  w->upper &= before, w->lower &= before, w->letter &= before, w->number &= before;
  w->space &= before, w->newline &= before, w->other &= before;
  w->blank &= before, w->quote &= before, w->slash &= before;
}

WIDE_INLINE Set starts_o200k(Window *w) {
  if (w->mark != 0) {
    hide_marks(w);
    if (w->count == 0) return 1;
  }
  Set words = w->upper | w->lower | w->letter, single, certain = set_below(w->count);
  Set swallowed = swallowed_o200k(w);
  Set starts = starts_of_runs(w, words, w->other & ~swallowed, swallowed, &single);
  starts |= starts_of_capitals(w);
  starts = trail_contractions(w, words, starts, &certain);
  return drop_unknown(w, starts, swallowed) & certain;
}

WIDE_INLINE Set starts_gpt2(const Window *w) {
  Set words = w->upper | w->lower | w->letter, others = w->other | w->mark, spaces = w->space | w->newline;
  Set runs = heads(words) | heads(w->number) | heads(others);
  Set starts = 1 | (runs & ~(w->blank << 1)) | heads(spaces) | (spaces & ~(spaces >> 1));
  for (Set quotes = w->quote & starts & words >> 1; quotes != 0; quotes &= quotes - 1) {
    unsigned n = set_first(quotes), size = contraction_at(w, n, true);
    if (size > 0) starts = (starts & ~(set_below(size - 1) << (n + 1))) | set_one(n + size);
  }
  return drop_unknown(w, starts, 0);
}

/* Writes the members of two sets of equal size, plus `base`, and returns their number. Writes four at a time, which is
   faster, so up to 3 places after them change too. */
WIDE_INLINE uint32_t write_members(Set starts, Set ends, size_t base, size_t *to_starts, size_t *to_ends) {
  uint32_t count = (uint32_t)_mm_popcnt_u64(starts);
  for (uint32_t i = 0; i < count; i += 4) {
    for (uint32_t k = 0; k < 4; k++, starts &= starts - 1) to_starts[i + k] = base + set_first(starts);
    for (uint32_t k = 0; k < 4; k++, ends &= ends - 1) to_ends[i + k] = base + set_first(ends);
  }
  return count;
}

/* Offsets from `at` of the certain starts in the window there, without the first. */
WIDE_INLINE Set starts_within(PretokenPattern pattern, const char *at, const char *end) {
  char room[WINDOW_READS];
  Window window = window_read(at, end, room);
  Set starts = pattern == PRETOKEN_CL100K ? starts_cl100k(&window)
             : pattern == PRETOKEN_O200K ? starts_o200k(&window) : starts_gpt2(&window);
  return window_spread(&window, starts & set_below(window.count)) & ~(Set)1;
}

WIDE_INLINE uint32_t cut(PretokenPattern pattern, PretokenScanner *scanner, size_t *starts, size_t *ends) {
  const char *bytes = scanner->bytes, *end = bytes + scanner->size;
  size_t at = scanner->at;
  uint32_t count = 0, singles = 0;
  while (at < scanner->size && count <= PRETOKEN_BATCH - WINDOW_BYTES && singles < PRETOKEN_BATCH) {
    Set later = (unsigned char)bytes[at] < THREE_BYTES ? starts_within(pattern, bytes + at, end) : 0;
    if (later != 0) {
      Set last = (Set)1 << set_last(later), all = (later | 1) & ~last;   /* starts of pretokens that end here */
      uint32_t listed = write_members(all & ~(later >> 1), later & ~(all << 1), at, starts + count, ends + count);
      singles += (uint32_t)_mm_popcnt_u64(all) - listed;
      count += listed;
      at += set_last(later);
    } else {
      starts[count] = at;
      at = ends[count] = (size_t)(pretoken_end(pattern, bytes + at, end) - bytes);
      bool single = at - starts[count] == 1;
      singles += single;
      count += !single;
    }
  }
  assert(at <= scanner->size && count <= PRETOKEN_BATCH);
  scanner->at = at;
  scanner->singles = singles;
  return count;
}

WIDE static uint32_t cut_cl100k(PretokenScanner *scanner, size_t *starts, size_t *ends) {
  return cut(PRETOKEN_CL100K, scanner, starts, ends);
}
WIDE static uint32_t cut_o200k(PretokenScanner *scanner, size_t *starts, size_t *ends) {
  return cut(PRETOKEN_O200K, scanner, starts, ends);
}
WIDE static uint32_t cut_gpt2(PretokenScanner *scanner, size_t *starts, size_t *ends) {
  return cut(PRETOKEN_GPT2, scanner, starts, ends);
}

/* As pretoken_next, but a batch may be shorter. */
static uint32_t next_wide(PretokenScanner *scanner, size_t starts[PRETOKEN_BATCH], size_t ends[PRETOKEN_BATCH]) {
  switch (scanner->pattern) {
    case PRETOKEN_CL100K: return cut_cl100k(scanner, starts, ends);
    case PRETOKEN_O200K: return cut_o200k(scanner, starts, ends);
    case PRETOKEN_GPT2: case PRETOKEN_REGEX: case PRETOKEN_BORDERS: break;
  }
  return cut_gpt2(scanner, starts, ends);
}

#endif

/* ---- the way of cutting ---- */

static const char *const names[] = {"cl100k", "o200k", "gpt2", "regex", "borders"};

const char *pretoken_pattern_name(PretokenPattern pattern) {
  assert(pattern <= PRETOKEN_BORDERS);
  return names[pattern];
}

bool pretoken_pattern_parse(const char *name, PretokenPattern *pattern) {
  size_t index = names_find(names, PRETOKEN_REGEX, text_of(name));
  if (index == PRETOKEN_REGEX) return false;
  *pattern = (PretokenPattern)index;
  return true;
}

PretokenScanner pretoken_start(PretokenPattern pattern, const char *bytes, size_t size) {
  assert(pattern != PRETOKEN_REGEX);
  return (PretokenScanner){.bytes = bytes, .size = size, .pattern = pattern};
}

uint32_t pretoken_next(PretokenScanner *scanner, size_t starts[PRETOKEN_BATCH], size_t ends[PRETOKEN_BATCH]) {
  assert(scanner->at <= scanner->size);
#ifdef WIDE_CODE
  if (!scanner->portable && wide_works()) return next_wide(scanner, starts, ends);
#endif
  const char *end = scanner->bytes + scanner->size;
  uint32_t count = 0, singles = 0;
  while (count < PRETOKEN_BATCH && singles < PRETOKEN_BATCH && scanner->at < scanner->size) {
    size_t start = scanner->at;
    scanner->at = (size_t)(pretoken_end(scanner->pattern, scanner->bytes + start, end) - scanner->bytes);
    bool single = scanner->at - start == 1;
    assert(scanner->at > start && scanner->at <= scanner->size);
    starts[count] = start;
    ends[count] = scanner->at;
    singles += single;
    count += !single;
  }
  scanner->singles = singles;
  return count;
}
