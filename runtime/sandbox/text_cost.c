/*
** Texts that take Lua longer than their bytes tell: sources with many jumps and names, and texts with many NULs.
*/
#include <assert.h>
#include <string.h>

#include "base/minmax.h"
#include "sandbox/sandbox_state.h"

/* ---- sources ----
**
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
** Words count as jumps wherever they stand, in strings and comments too. */

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

/* ---- texts with many NULs, which scripts may not have ----
**
** Lua compares texts with strcoll, piece by piece between NULs: 5 ns for each NUL, and 0.02 ns for each other byte.
** A comparison is one instruction, which no hook interrupts: `a < b` on two texts of 4 MiB of NULs took 12 to 33 ms.
** The allocator does not know what a text will hold. So it notes each new text that is long enough, and the script's
** next instruction, before which no script can keep the text, counts its NULs and raises an error. */

void dense_note(Sandbox *sandbox, BlockHead *head, size_t size) {
  assert(size > SANDBOX_NULS);
  head->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
  head->next = sandbox->uncounted;
  sandbox->uncounted = head;
}

void dense_forget(Sandbox *sandbox, const BlockHead *head) {
  for (BlockHead **link = &sandbox->uncounted; *link != NULL; link = &(*link)->next) {
    if (*link != head) continue;
    *link = head->next;
    return;
  }
}

/* Eight bytes at a time: the sum of a lane is below 256 after 255 of them. */
static size_t count_nuls(const char *bytes, size_t size) {
  const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), ones = UINT64_C(0x0101010101010101);
  const uint64_t even = UINT64_C(0x00ff00ff00ff00ff), pairs = UINT64_C(0x0001000100010001);
  size_t count = 0, i = 0;
  while (size - i >= sizeof low) {
    uint64_t lanes = 0, word;
    for (int n = 0; n < 255 && size - i >= sizeof word; n++, i += sizeof word) {
      memcpy(&word, bytes + i, sizeof word);
      lanes += ~(((word & low) + low) | word) >> 7 & ones;
    }
    count += ((lanes & even) + (lanes >> 8 & even)) * pairs >> 48;
  }
  for (; i < size; i++) count += bytes[i] == '\0';
  return count;
}

void dense_refuse(Sandbox *sandbox, lua_State *L) {
  bool dense = false;
  for (const BlockHead *head = sandbox->uncounted; head != NULL && !dense; head = head->next) {
    const char *text = (const char *)head + sizeof *head + STRING_HEADER;
    sandbox->credit -= head->size / 64;
    dense = count_nuls(text, head->size - STRING_HEADER - 1) > SANDBOX_NULS;   /* without the one that ends it */
  }
  sandbox->uncounted = NULL;
  if (!dense || !holds(sandbox, GUARD_DENSE)) return;
  luaL_where(L, 0);
  lua_pushfstring(L, "a text has more than %d NUL bytes: comparing it would take too long", (int)SANDBOX_NULS);
  lua_concat(L, 2);
  lua_error(L);
}
