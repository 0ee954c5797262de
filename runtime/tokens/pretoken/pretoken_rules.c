/*
** L, N, M are letters, numbers, marks; U letters that are not lower case, O letters that
** are not upper case, both with marks; S is white space. The patterns:
**
**   cl100k   '(?i:[sdmt]|ll|ve|re)              o200k   P?U*O+(contraction)?
**            [^\r\n L N]?L+                             P?U+O*(contraction)?     P = [^\r\n L N]
**            N{1,3}                                     N{1,3}
**            ' '?[^S L N]+[\r\n]*                       ' '?[^S L N]+[\r\n/]*
**            S+$ | S*[\r\n] | S+(?!\S) | S              S*[\r\n]+ | S+(?!\S) | S+
**
**   gpt2     '(s|t|re|ve|m|ll|d) | ' '?L+ | ' '?N+ | ' '?[^S L N]+ | S+(?!\S) | S+
**
** A regular expression tries the alternatives in this order at each place and backtracks.
** Here the class of the first character leaves few alternatives, and the place to which
** they would backtrack is known, so every rule reads ahead once. The rest of a run may be
** read a second time but never a third time, so the time is linear for every text.
*/
#include "tokens/pretoken/pretoken_rules.h"

#include <assert.h>

#include "tokens/pretoken/class.h"

typedef uint32_t Classes;   /* a set: bit n for class n */
#define ONE(class) (1u << (class))

static const Classes LETTERS = ONE(CLASS_UPPER) | ONE(CLASS_LOWER) | ONE(CLASS_LETTER);
static const Classes NUMBERS = ONE(CLASS_NUMBER);
static const Classes SPACES = ONE(CLASS_SPACE) | ONE(CLASS_NEWLINE);
static const Classes OTHERS = ONE(CLASS_OTHER) | ONE(CLASS_MARK);
static const Classes NOT_SMALL = ONE(CLASS_UPPER) | ONE(CLASS_LETTER) | ONE(CLASS_MARK);
static const Classes NOT_CAPITAL = ONE(CLASS_LOWER) | ONE(CLASS_LETTER) | ONE(CLASS_MARK);

static bool has(Classes set, Class class) {
  return (set & ONE(class)) != 0;
}

/* True if a character of the set is at `at`. */
static bool next_is(Classes set, const char *at, const char *end) {
  size_t size;
  return at < end && has(set, class_at(at, end, &size));
}

/* End of the run of at most `most` characters of the set from `at` on. */
static const char *run_of(Classes set, const char *at, const char *end, size_t most) {
  size_t size;
  for (; most > 0 && at < end && has(set, class_at(at, end, &size)); most--) at += size;
  return at;
}

static const char *run(Classes set, const char *at, const char *end) {
  return run_of(set, at, end, SIZE_MAX);
}

size_t pretoken_contraction(const char *at, const char *end, bool small) {
  size_t room = (size_t)(end - at);
  assert(at < end && *at == '\'');
  if (room < 2) return 0;
  unsigned char fold = small ? 0 : 0x20;
  unsigned char first = (unsigned char)at[1] | fold;
  if (first == 's' || first == 't' || first == 'd' || first == 'm') return 2;
  if (room < 3) return 0;
  if (!small && at[1] == '\xC5' && at[2] == '\xBF') return 3;   /* U+017F folds to s */
  unsigned char second = (unsigned char)at[2] | fold;
  bool is_two = (first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e');
  return is_two ? 3 : 0;
}

/* End of white space: with `newlines` after its last newline; else before its last character,
   which belongs to the next word, unless it is the only one or the text ends. */
static const char *end_of_space(const char *at, const char *end, bool newlines) {
  const char *last = at, *after_newline = NULL;
  size_t size;
  const char *next = at;
  while (next < end) {
    Class class = class_at(next, end, &size);
    if (!has(SPACES, class)) break;
    last = next;
    next += size;
    if (class == CLASS_NEWLINE) after_newline = next;
  }
  if (newlines && after_newline != NULL) return after_newline;
  return next == end || last == at ? next : last;
}

/* End of ' '?[^S L N]+ and its trailing newlines or slashes; NULL if it does not match. */
static const char *end_of_others(const char *at, const char *end, bool slashes) {
  const char *start = *at == ' ' ? at + 1 : at;
  const char *next = run(OTHERS, start, end);
  if (next == start) return NULL;
  while (next < end && (*next == '\n' || *next == '\r' || (slashes && *next == '/'))) next++;
  return next;
}

static const char *end_of_cl100k(const char *at, const char *end) {
  size_t size;
  Class class = class_at(at, end, &size);
  if (has(LETTERS, class)) return run(LETTERS, at, end);
  if (class == CLASS_NUMBER) return run_of(NUMBERS, at, end, 3);
  if (*at == '\'') {
    size_t contraction = pretoken_contraction(at, end, false);
    if (contraction > 0) return at + contraction;
  }
  if (class != CLASS_NEWLINE && next_is(LETTERS, at + size, end)) return run(LETTERS, at + size, end);
  const char *others = end_of_others(at, end, false);
  return others != NULL ? others : end_of_space(at, end, true);
}

/* End of U*O+, else of U+O*, from `start`; NULL if neither matches. U* takes all it can; if O+
   then finds no character, U* gives back up to its last one that is in O too. */
static const char *end_of_word(const char *start, const char *end) {
  const char *next = start, *both = NULL;   /* both: after the last character in U and in O */
  size_t size;
  while (next < end) {
    Class class = class_at(next, end, &size);
    if (!has(NOT_SMALL, class)) {
      if (class == CLASS_LOWER) return run(NOT_CAPITAL, next, end);
      break;
    }
    next += size;
    if (class != CLASS_UPPER) both = next;
  }
  if (both != NULL) return both;
  return next > start ? next : NULL;
}

static const char *end_of_o200k(const char *at, const char *end) {
  size_t size;
  Class class = class_at(at, end, &size);
  if (class == CLASS_NUMBER) return run_of(NUMBERS, at, end, 3);
  const char *word = NULL;
  if (has(NOT_SMALL | NOT_CAPITAL, class)) {
    word = end_of_word(at, end);   /* a mark may be P too, but the word from here includes it */
  } else if (class != CLASS_NEWLINE) {
    word = end_of_word(at + size, end);
  }
  if (word != NULL) return word < end && *word == '\'' ? word + pretoken_contraction(word, end, false) : word;
  const char *others = end_of_others(at, end, true);
  return others != NULL ? others : end_of_space(at, end, true);
}

static const char *end_of_gpt2(const char *at, const char *end) {
  if (*at == '\'') {
    size_t contraction = pretoken_contraction(at, end, true);
    if (contraction > 0) return at + contraction;
  }
  const char *start = *at == ' ' ? at + 1 : at;
  const Classes sets[] = {LETTERS, NUMBERS, OTHERS};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    const char *next = run(sets[i], start, end);
    if (next > start) return next;
  }
  return end_of_space(at, end, false);
}

const char *pretoken_end(PretokenPattern pattern, const char *at, const char *end) {
  assert(at < end && pattern < PRETOKEN_REGEX);
  switch (pattern) {
    case PRETOKEN_CL100K: return end_of_cl100k(at, end);
    case PRETOKEN_O200K: return end_of_o200k(at, end);
    case PRETOKEN_GPT2: case PRETOKEN_REGEX: case PRETOKEN_BORDERS: break;
  }
  return end_of_gpt2(at, end);
}
