#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex/regex.h"

#include <assert.h>
#include <pcre2.h>
#include <string.h>

#include "regex/pattern.h"
#include "regex/word.h"
#include "base/utf8.h"
#include "os/os.h"

#define MS 1000000ull
#define STACK_START (32 * 1024)
#define STACK_MAX (512 * 1024)
#define HEAP_KIB 16384               /* heap of the interpreter during a search */
#define VOCABULARY_LIMIT 10000000
#define WIDTH_MAX 8000000            /* code points in ranges of caseless patterns, which PCRE2 compiles in 25 ms */

/* Shares of REGEX_TIME_MS: fast searches, and searches under a clock; a last fast search takes the rest. */
#define FAST_NS (5 * MS)
#define WATCHED_NS ((REGEX_TIME_MS - 12) * MS)

/* Most steps of a fast search, of a nanosecond or two each. */
#define FAST_STEPS 6000000u
#define FAST_LIMIT_MIN 4             /* a lower limit is useless */
#define FAST_LIMIT_MAX 1000

/* Between two readings of the clock: items of the pattern times bytes that each may skip. */
#define LOOK_BYTES 200000u

struct RegexEngine {
  Memory memory;
  pcre2_general_context *general;
  pcre2_match_context *limits;
  pcre2_match_data *matches;
  pcre2_jit_stack *stack;
  uint32_t pairs;            /* room in `matches` */
  RegexTime time;
  RegexReason reason;
  uint64_t work;
  /* state since regex_start: */
  uint64_t fast_finds, started;      /* started: elapsed time at the first reading; 0: none yet */
  bool watched;                      /* no more fast searches */
  RegexTimer rule;                     /* its end; 0: not set yet */
  uint32_t interval, countdown;      /* callbacks between readings of the clock */
  size_t handled;                    /* bytes that the caller has handled since the last reading */
  size_t word_ends[2];               /* of the last word found */
};

struct Regex {
  RegexEngine *engine;
  unsigned flags;
  RegexWord word;            /* of size 0: none; else nothing is compiled */
  pcre2_code *plain;         /* NULL: always search under the clock */
  pcre2_code *watched;       /* with callbacks; NULL: not compiled yet */
  bool plain_jit, watched_jit;       /* has machine code */
  bool plain_tried;                  /* machine code was tried, at the first search: most rules of a set never search */
  char *pattern;             /* translated for PCRE2 */
  size_t size, source_size;
};

/* ---- memory: PCRE2 frees blocks without their size, which is stored in front ---- */

#define SIZE_ROOM 16

static void *give(size_t size, void *user) {
  if (size > SIZE_MAX - SIZE_ROOM) return NULL;
  char *block = memory_new(user, size + SIZE_ROOM);
  if (block == NULL) return NULL;
  memcpy(block, &size, sizeof size);
  return block + SIZE_ROOM;
}

static void release(void *contents, void *user) {
  if (contents == NULL) return;
  char *block = (char *)contents - SIZE_ROOM;
  size_t size;
  memcpy(&size, block, sizeof size);
  memory_free(user, block, size + SIZE_ROOM);
}

/* ---- the clock ---- */

static uint64_t system_wall(void *user) {
  (void)user;
  return clock_monotonic_ns();
}

static uint64_t system_spent(void *user) {
  (void)user;
  return clock_thread_ns();
}

static uint64_t wall(const RegexEngine *engine) { return engine->time.wall(engine->time.user); }
static uint64_t spent(const RegexEngine *engine) { return engine->time.spent(engine->time.user); }

void regex_start(RegexEngine *engine) {
  engine->fast_finds = engine->started = 0;
  engine->rule = (RegexTimer){0};
  engine->watched = false;
  engine->handled = 0;
}

/* True if there is time for another fast search. The first one is always allowed. */
static bool may_be_fast(RegexEngine *engine) {
  if (engine->watched) return false;
  if (engine->fast_finds++ == 0) return true;
  uint64_t now = wall(engine);
  if (engine->started == 0) engine->started = now;
  engine->watched = now - engine->started > FAST_NS;
  return !engine->watched;
}

RegexTimer regex_timer(const RegexEngine *engine, uint64_t ns) {
  return (RegexTimer){.wall_end = wall(engine) + ns, .spent_end = spent(engine) + ns};
}

bool regex_timer_is_over(const RegexEngine *engine, RegexTimer *timer) {
  if (timer->spent_end == 0) return false;
  uint64_t now = wall(engine);
  if (now < timer->wall_end) return false;
  uint64_t used = spent(engine);
  if (used >= timer->spent_end) return true;
  timer->wall_end = now + (timer->spent_end - used);
  return false;
}

static bool watch(RegexEngine *engine) {
  engine->watched = true;
  if (engine->rule.spent_end != 0) return !regex_timer_is_over(engine, &engine->rule);
  engine->rule = regex_timer(engine, WATCHED_NS);
  return true;
}

Status regex_engine_spend(RegexEngine *engine, size_t bytes) {
  engine->work += bytes;
  engine->handled += bytes;
  if (engine->handled < LOOK_BYTES) return STATUS_OK;
  engine->handled = 0;
  return watch(engine) ? STATUS_OK : regex_engine_limit(engine, REGEX_TIME);
}

static int call_back(pcre2_callout_block *block, void *user) {
  (void)block;
  RegexEngine *engine = user;
  if (--engine->countdown > 0) return 0;
  engine->countdown = engine->interval;
  engine->work += engine->interval;
  return regex_timer_is_over(engine, &engine->rule) ? PCRE2_ERROR_CALLOUT : 0;
}

/* ---- the engine ---- */

static Status make_contexts(RegexEngine *engine) {
  engine->general = pcre2_general_context_create(give, release, &engine->memory);
  if (engine->general == NULL) return STATUS_MEMORY;
  engine->limits = pcre2_match_context_create(engine->general);
  engine->matches = pcre2_match_data_create(engine->pairs, engine->general);
  if (engine->limits == NULL || engine->matches == NULL) return STATUS_MEMORY;
  pcre2_set_heap_limit(engine->limits, HEAP_KIB);
#ifndef EBB_NO_JIT
  engine->stack = pcre2_jit_stack_create(STACK_START, STACK_MAX, engine->general);
  if (engine->stack == NULL) return STATUS_MEMORY;
  pcre2_jit_stack_assign(engine->limits, NULL, engine->stack);
#endif
  return STATUS_OK;
}

Status regex_engine_new(const Memory *memory, RegexEngine **result) {
  RegexEngine *engine = memory_new(memory, sizeof *engine);
  if (engine == NULL) return STATUS_MEMORY;
  *engine = (RegexEngine){.memory = *memory, .pairs = 8, .time = {system_wall, system_spent, NULL}};
  Status status = make_contexts(engine);
  if (status == STATUS_OK) *result = engine;
  else regex_engine_free(engine);
  return status;
}

void regex_engine_free(RegexEngine *engine) {
  if (engine == NULL) return;
  pcre2_match_data_free(engine->matches);
  pcre2_match_context_free(engine->limits);
#ifndef EBB_NO_JIT
  pcre2_jit_stack_free(engine->stack);
#endif
  pcre2_general_context_free(engine->general);
  Memory memory = engine->memory;
  memory_free(&memory, engine, sizeof *engine);
}

void regex_engine_time(RegexEngine *engine, RegexTime time) { engine->time = time; }
Memory regex_engine_memory(const RegexEngine *engine) { return engine->memory; }
RegexReason regex_engine_reason(const RegexEngine *engine) { return engine->reason; }
uint64_t regex_engine_work(const RegexEngine *engine) { return engine->work; }

Status regex_engine_limit(RegexEngine *engine, RegexReason reason) {
  assert(reason != REGEX_NO_REASON);
  engine->reason = reason;
  return STATUS_LIMIT;
}

const char *regex_reason_words(RegexReason reason) {
  switch (reason) {
  case REGEX_NO_REASON: break;
  case REGEX_TIME: return "it took more than 50 ms";
  case REGEX_STEPS: return "it tried too many ways to match";
  case REGEX_DEPTH: return "it nested too deep";
  case REGEX_GROWTH: return "the text would have grown too large";
  }
  return "no reason";
}

/* Makes room for more groups. STATUS_MEMORY: nothing has changed. */
static Status make_room(RegexEngine *engine, uint32_t pairs) {
  if (pairs <= engine->pairs) return STATUS_OK;
  pcre2_match_data *matches = pcre2_match_data_create(pairs, engine->general);
  if (matches == NULL) return STATUS_MEMORY;
  pcre2_match_data_free(engine->matches);
  engine->matches = matches;
  engine->pairs = pairs;
  return STATUS_OK;
}

/* ---- compiling ---- */

bool regex_flags(const char *letters, size_t size, unsigned *flags, char *bad) {
  static const char all[] = "gimsuy";      /* in the order of their bits */
  *flags = 0;
  for (size_t i = 0; i < size; i++) {
    const char *flag = letters[i] == '\0' ? NULL : strchr(all, letters[i]);
    *bad = letters[i];
    if (flag == NULL || (*flags & 1u << (flag - all)) != 0) return false;
    *flags |= 1u << (flag - all);
  }
  return true;
}

static uint32_t options_of(unsigned flags, bool watched) {
  uint32_t options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY;
  if ((flags & REGEX_VOCABULARY) != 0) return options | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF;
  options |= PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALT_CIRCUMFLEX;
  if ((flags & REGEX_CASELESS) != 0) options |= PCRE2_CASELESS;
  if ((flags & REGEX_MULTILINE) != 0) options |= PCRE2_MULTILINE;
  if ((flags & REGEX_DOTALL) != 0) options |= PCRE2_DOTALL;
  if ((flags & REGEX_STICKY) != 0) options |= PCRE2_ANCHORED;
  return watched ? options | PCRE2_AUTO_CALLOUT : options;
}

/* Where a system forbids machine code, or has no memory for it, the interpreter searches. */
static bool make_machine_code(const Regex *regex, pcre2_code *code) {
#ifndef EBB_NO_JIT
  if ((regex->flags & REGEX_ONCE) == 0) return pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
#endif
  (void)regex;
  (void)code;
  return false;
}

/* Compiles the pattern; `watched`: so that searches call back at each item. STATUS_ARGUMENT with *error;
   STATUS_MEMORY. */
static Status compile(const Regex *regex, bool watched, pcre2_code **result, RegexError *error) {
  pcre2_compile_context *context = pcre2_compile_context_create(regex->engine->general);
  if (context == NULL) return STATUS_MEMORY;
  if ((regex->flags & REGEX_VOCABULARY) == 0) {
    pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);     /* a dot matches neither */
  }
  int code = 0;
  PCRE2_SIZE offset = 0;
  PCRE2_SPTR pattern = (PCRE2_SPTR)(regex->pattern != NULL ? regex->pattern : "");
  *result = pcre2_compile(pattern, regex->size, options_of(regex->flags, watched), &code, &offset, context);
  pcre2_compile_context_free(context);
  if (*result == NULL && (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED)) return STATUS_MEMORY;
  if (*result == NULL) {
    error->offset = offset;
    pcre2_get_error_message(code, (PCRE2_UCHAR *)error->message, sizeof error->message);
    return STATUS_ARGUMENT;
  }
  return STATUS_OK;
}

static Status refuse(RegexError *error, Status status, size_t offset, const char *why) {
  assert(status != STATUS_OK && strlen(why) < sizeof error->message);
  error->offset = offset;
  memcpy(error->message, why, strlen(why) + 1);
  return status;
}

/* True if the pattern, which is several times as large with callbacks, might exceed
   PCRE2's limits then. Short patterns do not, unless they repeat by numbers. */
static bool may_be_too_large(const char *pattern, size_t size) {
  return size > 500 || memchr(pattern, '{', size) != NULL;
}

static bool is_too_wide(const Regex *regex) {
  if (regex->size == 0) return false;
  bool caseless = (regex->flags & REGEX_CASELESS) != 0 || regex_pattern_is_caseless(regex->pattern, regex->size);
  return caseless && regex_pattern_width(regex->pattern, regex->size) > WIDTH_MAX;
}

static Status compile_both(Regex *regex, const char *pattern, size_t size, RegexError *error) {
  assert(regex->plain == NULL && regex->watched == NULL);
  Status status = compile(regex, false, &regex->plain, error);
  if (status != STATUS_OK || !may_be_too_large(pattern, size)) return status;
  status = compile(regex, true, &regex->watched, error);
  if (status == STATUS_OK) regex->watched_jit = make_machine_code(regex, regex->watched);
  return status;
}

/* The word that the pattern is, if its flags make no difference to one. */
static RegexWord word_of(const char *pattern, size_t size, unsigned flags) {
  return (flags & (REGEX_CASELESS | REGEX_STICKY | REGEX_VOCABULARY)) == 0 ? regex_word(pattern, size) : (RegexWord){0};
}

/* Translates and compiles the pattern. Offsets of errors are those in the original. */
static Status compile_translated(Regex *regex, const char *pattern, size_t size, RegexError *error) {
  Buffer written;
  buffer_init(&written, regex->engine->memory);
  bool as_is = (regex->flags & REGEX_VOCABULARY) != 0;
  Status status = as_is ? buffer_add(&written, pattern, size) : regex_pattern_write(pattern, size, &written);
  if (status == STATUS_OK && written.size > 0) {
    regex->pattern = memory_new(&regex->engine->memory, written.size);
    if (regex->pattern == NULL) status = STATUS_MEMORY;
    else memcpy(regex->pattern, written.bytes, regex->size = written.size);
  }
  buffer_free(&written);
  if (status != STATUS_OK) return status;
  if (as_is) return compile(regex, false, &regex->plain, error);
  if (is_too_wide(regex)) {
    return refuse(error, STATUS_LIMIT, 0, "its ranges have too many characters to be without case");
  }
  status = compile_both(regex, pattern, size, error);
  if (status == STATUS_ARGUMENT) error->offset = regex_pattern_offset(pattern, size, error->offset);
  return status;
}

Status regex_new(RegexEngine *engine, const char *pattern, size_t size, unsigned flags, Regex **result,
                 RegexError *error) {
  assert(pattern != NULL || size == 0);
  *error = (RegexError){0};
  if (size > REGEX_PATTERN_MAX) return refuse(error, STATUS_LIMIT, REGEX_PATTERN_MAX, "it is longer than 65536 bytes");
  size_t valid = utf8_check(pattern, size);
  if (valid < size) return refuse(error, STATUS_ENCODING, valid, "it is not valid UTF-8");
  Regex *regex = memory_new(&engine->memory, sizeof *regex);
  if (regex == NULL) return STATUS_MEMORY;
  *regex = (Regex){.engine = engine, .flags = flags, .source_size = size, .word = word_of(pattern, size, flags)};
  Status status = regex->word.size > 0 ? STATUS_OK : compile_translated(regex, pattern, size, error);
  if (status == STATUS_OK) status = make_room(engine, regex_groups(regex) + 1);
  if (status == STATUS_OK) *result = regex;
  else regex_free(regex);
  return status;
}

void regex_free(Regex *regex) {
  if (regex == NULL) return;
  Memory memory = regex->engine->memory;
  pcre2_code_free(regex->plain);
  pcre2_code_free(regex->watched);
  memory_free(&memory, regex->pattern, regex->size);
  memory_free(&memory, regex, sizeof *regex);
}

RegexEngine *regex_engine(const Regex *regex) { return regex->engine; }
unsigned regex_flags_of(const Regex *regex) { return regex->flags; }

static uint32_t information(const Regex *regex, uint32_t what) {
  uint32_t value = 0;
  if (regex->plain == NULL) return 0;        /* a word has neither groups nor names */
  pcre2_pattern_info(regex->plain, what, &value);
  return value;
}

static size_t code_bytes(const pcre2_code *code) {
  size_t size = 0, machine_code = 0;
  if (code == NULL) return 0;
  pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
  pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &machine_code);
  return size + machine_code;
}

size_t regex_bytes(const Regex *regex) {
  return sizeof *regex + regex->size + code_bytes(regex->plain) + code_bytes(regex->watched);
}

unsigned regex_groups(const Regex *regex) { return information(regex, PCRE2_INFO_CAPTURECOUNT); }
bool regex_has_names(const Regex *regex) { return information(regex, PCRE2_INFO_NAMECOUNT) > 0; }

unsigned regex_group(const Regex *regex, const char *name, size_t size) {
  PCRE2_SPTR table;
  uint32_t count = information(regex, PCRE2_INFO_NAMECOUNT), entry = information(regex, PCRE2_INFO_NAMEENTRYSIZE);
  pcre2_pattern_info(regex->plain, PCRE2_INFO_NAMETABLE, &table);
  for (uint32_t i = 0; i < count; i++, table += entry) {     /* two bytes for the number, then the name */
    const char *other = (const char *)table + 2;
    if (strlen(other) == size && memcmp(other, name, size) == 0) return (unsigned)(table[0] << 8 | table[1]);
  }
  return 0;
}

/* ---- searching ---- */

/* Searches once, by machine code (`jit`), or by the interpreter if machine code runs out of its stack. Returns PCRE2's
   result: the number of groups set, or an error below 0. */
static int match(Regex *regex, const pcre2_code *code, bool jit, const char *text, size_t size, size_t from) {
  assert(code != NULL && from <= size);
  RegexEngine *engine = regex->engine;
  PCRE2_SPTR bytes = (PCRE2_SPTR)(text != NULL ? text : "");
  uint32_t options = (regex->flags & REGEX_VOCABULARY) != 0 ? 0 : PCRE2_NO_UTF_CHECK;
  engine->work += size - from;
  int answer = PCRE2_ERROR_JIT_STACKLIMIT;
  if (jit) answer = pcre2_match(code, bytes, size, from, options, engine->matches, engine->limits);
  if (answer == PCRE2_ERROR_JIT_STACKLIMIT) {
    answer = pcre2_match(code, bytes, size, from, options | PCRE2_NO_JIT, engine->matches, engine->limits);
  }
  return answer;
}

static bool has_machine_code(Regex *regex) {
  if (!regex->plain_tried) regex->plain_jit = make_machine_code(regex, regex->plain);
  regex->plain_tried = true;
  return regex->plain_jit;
}

/* The match limit that keeps a fast search short for any pattern: from each of `size`
   starts, each step may skip the whole text, some of them several times. 0: too low to
   be useful. */
static uint32_t fast_limit(const Regex *regex, size_t size) {
  if (size > 4096) return 0;
  uint64_t bytes = size < 64 ? 64 : size;
  uint64_t limit = FAST_STEPS / (bytes * bytes * (1 + regex->source_size / 32));
  if (limit < FAST_LIMIT_MIN) return 0;
  return limit > FAST_LIMIT_MAX ? FAST_LIMIT_MAX : (uint32_t)limit;
}

static bool find_fast(Regex *regex, const char *text, size_t size, size_t from, int *answer) {
#ifdef EBB_NO_JIT
  (void)regex, (void)text, (void)size, (void)from, (void)answer, (void)fast_limit, (void)has_machine_code;
  (void)may_be_fast;
  return false;
#else
  uint32_t limit = fast_limit(regex, size - from);
  if (limit == 0 || !has_machine_code(regex) || !may_be_fast(regex->engine)) return false;
  pcre2_set_match_limit(regex->engine->limits, limit);
  pcre2_set_callout(regex->engine->limits, NULL, NULL);
  PCRE2_SPTR bytes = (PCRE2_SPTR)(text != NULL ? text : "");
  regex->engine->work += size - from;
  *answer = pcre2_jit_match(regex->plain, bytes, size, from, 0, regex->engine->matches, regex->engine->limits);
  return *answer >= 0 || *answer == PCRE2_ERROR_NOMATCH;
#endif
}

static Status find_watched(Regex *regex, const char *text, size_t size, size_t from, int *answer) {
  RegexEngine *engine = regex->engine;
  if (regex->watched == NULL) {
    RegexError error;
    Status status = compile(regex, true, &regex->watched, &error);
    /* The plain pattern compiled and was small enough to compile with callbacks. */
    if (status != STATUS_OK) return status == STATUS_MEMORY ? status : regex_engine_limit(engine, REGEX_STEPS);
    regex->watched_jit = make_machine_code(regex, regex->watched);
  }
  engine->interval = engine->countdown = LOOK_BYTES / ((uint32_t)(size - from) / 2 + 200) + 1;
  if (!watch(engine)) return regex_engine_limit(engine, REGEX_TIME);
  pcre2_set_match_limit(engine->limits, REGEX_MATCH_LIMIT);
  pcre2_set_callout(engine->limits, call_back, engine);
  *answer = match(regex, regex->watched, regex->watched_jit, text, size, from);
  return STATUS_OK;
}

static Status status_of(RegexEngine *engine, int answer) {
  switch (answer) {
  case PCRE2_ERROR_NOMEMORY: return STATUS_MEMORY;
  case PCRE2_ERROR_CALLOUT: return regex_engine_limit(engine, REGEX_TIME);
  case PCRE2_ERROR_HEAPLIMIT:
  case PCRE2_ERROR_DEPTHLIMIT:
  case PCRE2_ERROR_RECURSELOOP: return regex_engine_limit(engine, REGEX_DEPTH);
  default: return regex_engine_limit(engine, REGEX_STEPS);
  }
}

static const size_t *find_word(const Regex *regex, const char *text, size_t size, size_t from) {
  RegexEngine *engine = regex->engine;
  size_t at = regex_word_find(&regex->word, text, size, from);
  engine->work += (at == SIZE_MAX ? size : at) - from;
  if (at == SIZE_MAX) return NULL;
  engine->word_ends[0] = at;
  engine->word_ends[1] = at + regex->word.size;
  return engine->word_ends;
}

Status regex_find(Regex *regex, const char *text, size_t size, size_t from, const size_t **ends) {
  assert(text != NULL && from <= size);
  RegexEngine *engine = regex->engine;
  int answer = PCRE2_ERROR_NOMATCH;
  *ends = NULL;
  if (regex->word.size > 0) {
    *ends = find_word(regex, text, size, from);
    return STATUS_OK;
  }
  if ((regex->flags & REGEX_VOCABULARY) != 0) {
    pcre2_set_match_limit(engine->limits, VOCABULARY_LIMIT);
    answer = match(regex, regex->plain, has_machine_code(regex), text, size, from);
  } else if (!find_fast(regex, text, size, from, &answer)) {
    Status status = find_watched(regex, text, size, from, &answer);
    if (status != STATUS_OK) return status;
  }
  if (answer == PCRE2_ERROR_NOMATCH) return STATUS_OK;
  if (answer < 0) return status_of(engine, answer);
  _Static_assert(PCRE2_UNSET == REGEX_UNSET, "groups that took no part");
  *ends = pcre2_get_ovector_pointer(engine->matches);
  return STATUS_OK;
}
