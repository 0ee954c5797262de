/*
** Estimates how long Lua's parser takes for a text, so that hostile sources are refused.
** The parser cannot be interrupted, and parts of it are quadratic:
**
**   jumps   each `and`, `or` and `elseif` walks through the jumps of its chain,
**           each break and goto through those that wait, each label through all
**           labels of its function: 100,000 took Lua 14 s.
**   names   each use of a name that is no local one is sought through the locals
**           and upvalues of all functions around it, up to 455 in each of 190: a
**           source of 400 KB took 4 s.
**
** No person writes thousands of the one; of the other, what they write costs
** little. Both are counted before parsing, in one walk over the tokens, in which
** names are bounded from above:
**
**      function f(a)          f, a are counted as f's: 2
**        local b, c           4
**        return x + b         each word looks at 4 locals, at most as many upvalues
**      end                    as there are words in f or names around, and at all
**                             names and upvalues of the functions around
**
** Words count as jumps wherever they stand, in strings and comments too.
*/
#include <string.h>

#include "base/minmax.h"
#include "sandbox/sandbox_state.h"

#define DEPTH_MAX   200      /* Lua allows fewer levels of syntax */
#define LOCALS_MAX  200      /* of one function, as in Lua */
#define UPVALUES_MAX 255

/* A function, or a block in one; the main chunk is the first. */
typedef struct Block {
  int function;              /* the innermost function: itself, or one around */
  uint32_t names, words;     /* of a function: declared so far, passed so far */
  uint32_t around;           /* names that it could borrow */
  uint64_t outside;          /* looks at the functions around */
} Block;

typedef struct Walk {
  const char *at, *end;
  Block blocks[DEPTH_MAX + 1];
  int depth;                 /* of the innermost block */
  bool declaring;            /* between `local`, `function` or `for` and what ends the names */
  ParseCost cost;
} Walk;

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* ---- jumps ---- */

static bool is_among(const char *const *words, size_t count, const char *word, size_t size) {
  for (size_t i = 0; i < count; i++) {
    if (*words[i] == *word && strlen(words[i]) == size && memcmp(words[i], word, size) == 0) return true;
  }
  return false;
}

static uint64_t count_jumps(const char *at, const char *end) {
  static const char *const words[] = {"and", "or", "elseif", "break", "goto"};
  uint64_t count = 0;
  while (at < end) {
    const char *word = at;
    while (at < end && is_word(*at)) at++;
    size_t size = (size_t)(at - word);
    if (size > 0) {
      count += is_among(words, sizeof words / sizeof *words, word, size);
    } else if (end - at > 1 && at[0] == ':' && at[1] == ':') {
      count++;               /* twice for each label */
      at += 2;
    } else {
      at++;
    }
  }
  return count;
}

/* ---- strings and comments ---- */

/* Behind the long bracket that begins at `at`; NULL if none does. */
static const char *skip_long(const char *at, const char *end) {
  const char *open = at + 1;
  while (open < end && *open == '=') open++;
  if (open >= end || *open != '[') return NULL;
  size_t level = (size_t)(open - at) - 1;
  for (const char *s = open + 1; (s = memchr(s, ']', (size_t)(end - s))) != NULL;) {
    const char *close = ++s;
    while (close < end && *close == '=') close++;
    if (close >= end) return end;
    if (*close == ']' && (size_t)(close - s) == level) return close + 1;
    s = close;
  }
  return end;
}

static const char *skip_comment(const char *at, const char *end) {
  at += 2;
  const char *behind = at < end && *at == '[' ? skip_long(at, end) : NULL;
  if (behind != NULL) return behind;
  while (at < end && *at != '\n' && *at != '\r') at++;
  return at;
}

static const char *skip_string(const char *at, const char *end) {
  char quote = *at++;
  while (at < end && *at != quote) at += *at == '\\' ? 2 : 1;
  return at < end ? at + 1 : end;
}

/* ---- names ---- */

static Block *function_of(Walk *walk) {
  return &walk->blocks[walk->blocks[walk->depth].function];
}

static void open_block(Walk *walk, bool is_function) {
  if (walk->depth == DEPTH_MAX) return;      /* the parser will refuse it */
  Block *outer = function_of(walk), *block = &walk->blocks[++walk->depth];
  *block = (Block){.function = is_function ? walk->depth : walk->blocks[walk->depth - 1].function};
  if (!is_function) return;
  uint32_t locals = min_u32(outer->names, LOCALS_MAX);
  block->around = outer->around + locals;
  block->outside = outer->outside + locals + min_u32(outer->around, UPVALUES_MAX);
}

/* What a function has borrowed for one within, it has borrowed itself. */
static void close_block(Walk *walk) {
  if (walk->depth == 0) return;
  const Block *block = &walk->blocks[walk->depth--];
  if (block->function == walk->depth + 1) function_of(walk)->words += block->words;
}

static void pass_keyword(Walk *walk, const char *word, size_t size) {
  static const char *const openers[] = {"do", "if", "repeat"}, *const closers[] = {"end", "until"};
  static const char *const declarers[] = {"local", "for"};
  walk->declaring = is_among(declarers, 2, word, size);
  if (size == 8 && memcmp(word, "function", 8) == 0) {
    open_block(walk, true);
    walk->declaring = true;
  } else if (is_among(openers, 3, word, size)) {
    open_block(walk, false);
  } else if (is_among(closers, 2, word, size)) {
    close_block(walk);
  }
}

static void pass_word(Walk *walk, const char *word, size_t size) {
  static const char *const keywords[] = {
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil",
    "not", "or", "repeat", "return", "then", "true", "until", "while"};
  if (is_among(keywords, sizeof keywords / sizeof *keywords, word, size)) {
    pass_keyword(walk, word, size);
    return;
  }
  if (*word >= '0' && *word <= '9') return;
  Block *function = function_of(walk);
  function->words++;
  if (walk->declaring) function->names++;
  walk->cost.looks += function->outside + min_u32(function->names, LOCALS_MAX) +
                      min_u32(min_u32(function->words, UPVALUES_MAX), function->around);
}

static void pass(Walk *walk) {
  const char *at = walk->at, *end = walk->end, *behind = NULL;
  if (is_word(*at)) {
    while (walk->at < end && is_word(*walk->at)) walk->at++;
    pass_word(walk, at, (size_t)(walk->at - at));
    return;
  }
  if (*at == '-' && end - at > 1 && at[1] == '-') behind = skip_comment(at, end);
  else if (*at == '"' || *at == '\'') behind = skip_string(at, end);
  else if (*at == '[') behind = skip_long(at, end);
  else if (*at == '=' || *at == ';' || *at == ')') walk->declaring = false;
  walk->at = behind == NULL ? at + 1 : behind < end ? behind : end;
}

ParseCost parse_cost(const char *text, size_t size) {
  Walk walk = {.at = text, .end = text + size, .blocks = {{.around = 1}}};   /* _ENV */
  walk.cost.jumps = count_jumps(text, text + size);
  while (walk.at < walk.end && walk.cost.looks <= PARSE_LOOKS_MAX) pass(&walk);
  return walk.cost;
}
