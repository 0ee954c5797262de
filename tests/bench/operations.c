/*
** One operation at a time, on conversations of several sizes: by Ebb and by a plain array of ids.
**
**     operations [--timestamps] SIZE...   ->   lines "SIZE ROW COLUMN NUMBER"
**
** The number is nanoseconds per operation, the median of several rounds; bytes in rows that start with "bytes".
** Columns:
**
**     ebb      the operation as a whole, on a conversation: message stored, counted, linked; batch made, old ones kept
**     tree     only what it does to the sequence; the version before is kept where the row says so
**     array    an array of ids in C, copied whole where the version before is kept; roles and tokens are looked up in
**              arrays by id
**
** A round starts from the same conversation each time, and what it kept is freed at its end: so all columns work in
** memory that was used before, whatever malloc would have asked the system for. Allocations are counted all the while.
*/
#define _POSIX_C_SOURCE 199309L   /* clock_gettime */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/draft.h"
#include "core/operation.h"
#include "format/reader.h"

#define ROUNDS_MIN 5
#define ROUNDS_MAX 501
#define CASE_NS 80000000u          /* after so long no further round is begun */
#define OPS_MAX 1000
#define COPIED_MAX (128u << 20)    /* ids that an array's round may keep: 512 MB */

static void must(Status status, const char *what) {
  if (status == STATUS_OK) return;
  fprintf(stderr, "operations: %s: %s\n", what, status_code(status));
  exit(1);
}

static void *must_have(void *block) {
  if (block == NULL) must(STATUS_MEMORY, "the benchmark itself");
  return block;
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t draw(uint32_t limit) {
  static uint64_t state = 0x9E3779B97F4A7C15u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 11) % limit);
}

/* What is computed only to be measured goes here. */
static volatile uint64_t sink;

static size_t in_use;

static void *counted(void *user, void *block, size_t old_size, size_t new_size) {
  (void)user;
  void *made = NULL;
  if (new_size > 0) made = realloc(block, new_size);
  else free(block);
  if (made != NULL || new_size == 0) in_use += new_size - old_size;
  return made;
}

static const Memory MEMORY = {.allocate = counted};

/* ---- messages ---- */

typedef enum Kind { KIND_SYSTEM, KIND_USER, KIND_ANSWER, KIND_CALL, KIND_RESULT } Kind;
#define KIND_COUNT 5

static const Role ROLE_OF[KIND_COUNT] = {ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_ASSISTANT, ROLE_TOOL};

/* Of each kind one message is read; all others differ from it in the number of their call and in their time, which have
   the same width everywhere. */
#define NUMBER_DIGITS "00000000"
#define TIME_DIGITS "1700000000000"
static const char *const JSON_OF[KIND_COUNT] = {
  "{\"role\":\"system\",\"content\":\"Be brief.\"%s}",
  "{\"role\":\"user\",\"content\":\"What is in the log?\"%s}",
  "{\"role\":\"assistant\",\"content\":\"Nothing new.\"%s}",
  "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_" NUMBER_DIGITS "\",\"type\":\"function\","
  "\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]%s}",
  "{\"role\":\"tool\",\"tool_call_id\":\"call_" NUMBER_DIGITS "\",\"content\":\"42\"%s}",
};

typedef struct Pattern {
  char json[256];
  char *number, *time;       /* in json; NULL: it has none */
  Text raw;
  Reader reader;             /* owns the lists of the shape */
  MessageShape shape;
} Pattern;

static Pattern patterns[KIND_COUNT];
static int64_t clock_ms;

static void patterns_make(bool timestamps) {
  for (int kind = 0; kind < KIND_COUNT; kind++) {
    Pattern *pattern = &patterns[kind];
    Json json;
    snprintf(pattern->json, sizeof pattern->json, JSON_OF[kind], timestamps ? ",\"timestamp\":" TIME_DIGITS : "");
    pattern->number = strstr(pattern->json, NUMBER_DIGITS);
    pattern->time = timestamps ? strstr(pattern->json, TIME_DIGITS) : NULL;
    reader_init(&pattern->reader, memory_system());
    json_open(&json, pattern->json, strlen(pattern->json));
    if (!reader_message(&pattern->reader, &json, &pattern->raw, &pattern->shape)) must(STATUS_SHAPE, pattern->json);
  }
}

static void put_digits(char *at, size_t width, uint64_t number) {
  for (; width-- > 0; number /= 10) at[width] = (char)('0' + number % 10);
}

typedef struct Made {
  uint8_t kind;
  uint32_t number;           /* of its call */
} Made;

static void write_message(Made made, Text *raw, MessageShape *shape) {
  Pattern *pattern = &patterns[made.kind];
  if (pattern->number != NULL) put_digits(pattern->number, sizeof NUMBER_DIGITS - 1, made.number);
  if (pattern->time != NULL) {
    pattern->shape.timestamp = 1700000000000 + ++clock_ms;
    put_digits(pattern->time, sizeof TIME_DIGITS - 1, (uint64_t)pattern->shape.timestamp);
  }
  *raw = pattern->raw;
  *shape = pattern->shape;
}

/* A source of messages that are listed. */
typedef struct Feed {
  const Made *next;
  uint32_t left;
} Feed;

static Status feed_next(void *user, bool *more, Text *raw, MessageShape *shape) {
  Feed *feed = user;
  *more = feed->left > 0;
  if (!*more) return STATUS_OK;
  feed->left--;
  write_message(*feed->next++, raw, shape);
  return STATUS_OK;
}

/* The mix of generate.lua. A call without room for its result becomes an answer. */
static void mix(Made *made, uint32_t count) {
  uint32_t calls = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t unit = draw(731);
    if (i == 0 || unit < 1) made[i] = (Made){.kind = KIND_SYSTEM};
    else if (unit < 231) made[i] = (Made){.kind = KIND_USER};
    else if (unit < 461 || i + 1 == count) made[i] = (Made){.kind = KIND_ANSWER};
    else {
      made[i] = (Made){.kind = KIND_CALL, .number = ++calls};
      made[++i] = (Made){.kind = KIND_RESULT, .number = calls};
    }
  }
}

static Status random_tokens(void *user, MessageId id, uint32_t *tokens) {
  (void)user, (void)id;
  *tokens = 20 + draw(181);
  return STATUS_OK;
}

static int64_t no_clock(void *user) {
  (void)user;
  return 1700000000000;
}

/* ---- what is measured ---- */

typedef struct Array {
  MessageId *ids;
  uint32_t count;
} Array;

typedef struct Bench {
  uint32_t n;
  uint64_t half;             /* of the tokens */
  Made *made;                /* by position; what ids 1 to n are */
  Conversation *base;        /* never edited: rounds edit forks of it */
  StoreMark mark;
  Sequence *tree;            /* never edited: rounds edit shares of it */
  Array array;
  uint8_t *roles;            /* by id, for the array */
  uint32_t *tokens;
  uint64_t *bits;            /* users and assistants, for the tree's filter */

  /* of a round */
  uint32_t ops;
  uint32_t at[OPS_MAX];      /* random positions */
  Conversation *chat;
  Sequence *s, *kept[OPS_MAX];
  Array current, copies[OPS_MAX];
} Bench;

typedef struct Case {
  const char *row, *column;
  uint32_t (*ops)(uint32_t n);       /* per round; 0: not measured at this size */
  void (*start)(Bench *);
  void (*run)(Bench *);              /* alone is timed */
  void (*end)(Bench *);
} Case;

/* Few enough that the size stays what it is. */
static uint32_t ops_some(uint32_t n) { return n < 100 ? 10 : n < 10 * OPS_MAX ? n / 10 : OPS_MAX; }
static uint32_t ops_walk(uint32_t n) { return n < 100000 ? 100000 / n < OPS_MAX ? 100000 / n : OPS_MAX : 1; }
static uint32_t ops_many(uint32_t n) { return n > 0 ? OPS_MAX : 0; }
static uint32_t ops_few(uint32_t n) { return n <= 10000 ? 10 : 1; }
static uint32_t ops_copies(uint32_t n) {
  uint32_t most = (COPIED_MAX / 8) / n + 1, some = ops_some(n);
  return some < most ? some : most;
}
static uint32_t ops_copies_1000(uint32_t n) { return n <= COPIED_MAX / OPS_MAX ? OPS_MAX : 0; }

/* ---- conversations ---- */

static void chat_start(Bench *b) { must(conversation_fork(b->base, &b->chat), "fork"); }

static void chat_end(Bench *b) {
  conversation_free(b->chat);
  store_rewind(conversation_store(b->base), b->mark);
}

static Feed feed_one;
static MessageSource one(const Made *made) {
  feed_one = (Feed){.next = made, .left = 1};
  return (MessageSource){.next = feed_next, .user = &feed_one};
}

static const Made USER = {.kind = KIND_USER};

static void chat_append(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    MessageSource source = one(&USER);
    must(operation_append(b->chat, &source), "append");
  }
}

static void chat_insert(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    MessageSource source = one(&USER);
    must(operation_insert(b->chat, b->at[i], &source), "insert");
  }
}

/* A result of a call that is answered already. */
static void chat_insert_result(Bench *b) {
  static const Made RESULT = {.kind = KIND_RESULT, .number = 1};
  for (uint32_t i = 0; i < b->ops; i++) {
    MessageSource source = one(&RESULT);
    must(operation_insert(b->chat, b->at[i], &source), "insert");
  }
}

/* By a message of the same kind, with the same call. */
static void chat_replace(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    MessageSource source = one(&b->made[b->at[i]]);
    must(operation_replace(b->chat, b->at[i], &source), "replace");
  }
}

/* What shortens the list is followed by a rollback, so that the next one finds it as long. */
static void chat_truncate(Bench *b) {
  Truncate truncate = {.has_keep_last = true, .keep_last = b->n / 2};
  for (uint32_t i = 0; i < b->ops; i++) {
    must(operation_truncate(b->chat, &truncate), "truncate");
    must(operation_rollback(b->chat, 0, false, 0), "rollback");
  }
}

static void chat_start_truncated(Bench *b) {
  Truncate truncate = {.has_keep_last = true, .keep_last = b->n / 2};
  chat_start(b);
  must(operation_truncate(b->chat, &truncate), "truncate");
}

static void chat_rollback(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) must(operation_rollback(b->chat, i & 1, false, 0), "rollback");
}

/* The first message of the longest suffix that has at most `budget` tokens. */
static uint32_t suffix_start(const Sequence *s, uint64_t budget) {
  Sum sum = sequence_sum(s);
  uint64_t tokens = sum_measure(&sum, MEASURE_TOKENS);
  return tokens <= budget ? 0 : sequence_find(s, MEASURE_TOKENS, tokens - budget - 1) + 1;
}

static void chat_trim(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint32_t start = suffix_start(conversation_list(b->chat), b->half);
    Truncate truncate = {.has_remove_first = true, .remove_first = start};
    must(operation_truncate(b->chat, &truncate), "truncate");
    must(operation_rollback(b->chat, 0, false, 0), "rollback");
  }
}

static void chat_keep_recent(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    Draft *draft;
    uint32_t dropped, batch;
    uint64_t freed;
    must(draft_new(b->chat, true, &draft), "draft");
    must(draft_drop_oldest(draft, b->half, 4, text_of("oldest"), &dropped, &freed), "drop");
    must(draft_commit(draft, BATCH_TRIM, text_of("trim"), &batch), "commit");
    draft_free(draft);
    must(operation_rollback(b->chat, 0, false, 0), "rollback");
  }
}

static void chat_filter(Bench *b) {
  Filter filter = {.roles = 1u << ROLE_USER | 1u << ROLE_ASSISTANT};
  for (uint32_t i = 0; i < b->ops; i++) {
    must(operation_filter(b->chat, &filter), "filter");
    must(operation_rollback(b->chat, 0, false, 0), "rollback");
  }
}

/* ---- queries: those of a conversation are its sequence's ---- */

static void nothing(Bench *b) { (void)b; }

static void tree_recent(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    Sum sum = sequence_sum(b->tree);
    uint32_t users = sum.count[ROLE_USER];
    for (uint32_t k = users < 3 ? 0 : users - 3; k < users; k++) {
      sink += sequence_at(b->tree, sequence_find(b->tree, MEASURE_ROLE_COUNT + ROLE_USER, k));
    }
  }
}

static void tree_suffix(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) sink += suffix_start(b->tree, b->half);
}

static uint32_t touch(const Bench *b, MessageId id) { return message_tokens(conversation_message(b->base, id)); }

static void tree_list(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint64_t sum = 0;
    SequenceWalk walk = sequence_walk(b->tree, 0, b->n);
    while (sequence_walk_next(&walk)) {
      for (uint32_t k = 0; k < walk.count; k++) sum += touch(b, walk.ids[k]);
    }
    sink += sum;
  }
}

/* ---- the tree alone ---- */

static Sequence *shared(const Sequence *s) {
  Sequence *share;
  must(sequence_share(s, &share), "share");
  return share;
}

static void tree_start(Bench *b) { b->s = shared(b->tree); }

static void tree_end(Bench *b) {
  sequence_release(b->s);
  b->s = NULL;
  for (uint32_t i = 0; i < b->ops; i++) {
    sequence_release(b->kept[i]);
    b->kept[i] = NULL;
  }
}

/* Its own right edge, with room in the leaf. */
static void tree_start_appended(Bench *b) {
  tree_start(b);
  must(sequence_append(&b->s, b->n), "append");
}

static void tree_append(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) must(sequence_append(&b->s, b->n), "append");
}

static void tree_append_first(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->kept[i] = shared(b->tree);
    must(sequence_append(&b->kept[i], b->n), "append");
  }
}

static void tree_insert(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->kept[i] = shared(b->s);
    must(sequence_insert(&b->s, b->at[i], b->n), "insert");
  }
}

static void tree_replace(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->kept[i] = shared(b->s);
    must(sequence_replace(&b->s, b->at[i], b->n), "replace");
  }
}

static void tree_slice(Bench *b, uint32_t i, uint32_t first) {
  b->kept[i] = shared(b->tree);
  must(sequence_slice(&b->kept[i], first, b->n), "slice");
}

static void tree_truncate(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) tree_slice(b, i, b->n - b->n / 2);
}

static void tree_trim(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) tree_slice(b, i, suffix_start(b->tree, b->half));
}

static void tree_filter(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->kept[i] = shared(b->tree);
    must(sequence_keep(&b->kept[i], b->bits), "keep");
  }
}

/* ---- the array ---- */

static Array array_new(uint32_t room) {
  return (Array){.ids = must_have(malloc((size_t)room * sizeof(MessageId))), .count = 0};
}

static void array_add(Array *array, const MessageId *ids, uint32_t count) {
  if (count > 0) memcpy(array->ids + array->count, ids, count * sizeof *ids);
  array->count += count;
}

static Array array_copy(const Array *from, uint32_t first, uint32_t room) {
  Array copy = array_new(room);
  array_add(&copy, from->ids + first, from->count - first);
  return copy;
}

static void array_start(Bench *b) { b->current = array_copy(&b->array, 0, b->n + OPS_MAX); }

static void array_end(Bench *b) {
  free(b->current.ids);
  b->current = (Array){0};
  for (uint32_t i = 0; i < b->ops; i++) {
    free(b->copies[i].ids);
    b->copies[i] = (Array){0};
  }
}

/* There is room, as nearly always. */
static void array_append(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) ((volatile MessageId *)b->current.ids)[b->current.count++] = b->n;
}

static void array_append_first(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->copies[i] = array_copy(&b->array, 0, b->n + 1);
    b->copies[i].ids[b->copies[i].count++] = b->n;
  }
}

static void array_insert(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    const Array *old = &b->array;
    Array new = array_new(old->count + 1);
    array_add(&new, old->ids, b->at[i]);
    array_add(&new, &b->n, 1);
    array_add(&new, old->ids + b->at[i], old->count - b->at[i]);
    b->copies[i] = new;
  }
}

static void array_replace(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    b->copies[i] = array_copy(&b->array, 0, b->n);
    b->copies[i].ids[b->at[i]] = b->n;
  }
}

static void array_truncate(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) b->copies[i] = array_copy(&b->array, b->n - b->n / 2, b->n / 2);
}

/* What was kept stays as it is, while the current array is appended to: so it is copied. */
static void array_rollback(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) b->copies[i] = array_copy(&b->array, 0, b->n);
}

static void array_recent(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint32_t found = 0;
    for (uint32_t at = b->n; at-- > 0 && found < 3;) {
      if (b->roles[b->array.ids[at]] != ROLE_USER) continue;
      sink += b->array.ids[at];
      found++;
    }
  }
}

static uint32_t array_suffix_start(const Bench *b) {
  uint64_t sum = 0;
  uint32_t at = b->n;
  while (at > 0 && (sum += b->tokens[b->array.ids[at - 1]]) <= b->half) at--;
  return at;
}

static void array_suffix(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) sink += array_suffix_start(b);
}

static void array_trim(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint32_t start = array_suffix_start(b);
    b->copies[i] = array_copy(&b->array, start, b->n - start);
  }
}

/* The oldest units go, system messages aside; a call and the results behind it are a unit. */
static void array_keep_recent(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    Array new = array_new(b->n);
    uint64_t left = 2 * b->half;
    uint32_t at = 0;
    while (at < b->n && left > b->half) {
      MessageId id = b->array.ids[at++];
      if (b->roles[id] == ROLE_SYSTEM) {
        new.ids[new.count++] = id;
        continue;
      }
      left -= b->tokens[id];
      for (; at < b->n && b->roles[b->array.ids[at]] == ROLE_TOOL; at++) left -= b->tokens[b->array.ids[at]];
    }
    array_add(&new, b->array.ids + at, b->n - at);
    b->copies[i] = new;
  }
}

static void array_filter(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    Array new = array_new(b->n);
    for (uint32_t at = 0; at < b->n; at++) {
      uint8_t role = b->roles[b->array.ids[at]];
      new.ids[new.count] = b->array.ids[at];
      new.count += role == ROLE_USER || role == ROLE_ASSISTANT;
    }
    b->copies[i] = new;
  }
}

static void array_list(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    uint64_t sum = 0;
    for (uint32_t at = 0; at < b->n; at++) sum += touch(b, b->array.ids[at]);
    sink += sum;
  }
}

/* ---- all of them ---- */

static const Case CASES[] = {
  {"append", "ebb", ops_some, chat_start, chat_append, chat_end},
  {"append", "tree", ops_some, tree_start_appended, tree_append, tree_end},
  {"append", "array", ops_some, array_start, array_append, array_end},
  {"append_first", "tree", ops_some, nothing, tree_append_first, tree_end},
  {"append_first", "array", ops_copies, nothing, array_append_first, array_end},
  {"insert", "ebb", ops_some, chat_start, chat_insert, chat_end},
  {"insert", "tree", ops_some, tree_start, tree_insert, tree_end},
  {"insert", "array", ops_copies, nothing, array_insert, array_end},
  {"insert_result", "ebb", ops_few, chat_start, chat_insert_result, chat_end},
  {"replace", "ebb", ops_some, chat_start, chat_replace, chat_end},
  {"replace", "tree", ops_some, tree_start, tree_replace, tree_end},
  {"replace", "array", ops_copies, nothing, array_replace, array_end},
  {"truncate", "ebb", ops_some, chat_start, chat_truncate, chat_end},
  {"truncate", "tree", ops_some, nothing, tree_truncate, tree_end},
  {"truncate", "array", ops_copies, nothing, array_truncate, array_end},
  {"rollback", "ebb", ops_many, chat_start_truncated, chat_rollback, chat_end},
  {"rollback", "array", ops_copies, nothing, array_rollback, array_end},
  {"recent", "tree", ops_many, nothing, tree_recent, nothing},
  {"recent", "array", ops_many, nothing, array_recent, nothing},
  {"suffix", "tree", ops_many, nothing, tree_suffix, nothing},
  {"suffix", "array", ops_walk, nothing, array_suffix, nothing},
  {"trim", "ebb", ops_some, chat_start, chat_trim, chat_end},
  {"trim", "tree", ops_some, nothing, tree_trim, tree_end},
  {"trim", "array", ops_copies, nothing, array_trim, array_end},
  {"keep_recent", "ebb", ops_few, chat_start, chat_keep_recent, chat_end},
  {"keep_recent", "array", ops_few, nothing, array_keep_recent, array_end},
  {"filter", "ebb", ops_few, chat_start, chat_filter, chat_end},
  {"filter", "tree", ops_few, nothing, tree_filter, tree_end},
  {"filter", "array", ops_few, nothing, array_filter, array_end},
  {"list", "tree", ops_walk, nothing, tree_list, nothing},
  {"list", "array", ops_walk, nothing, array_list, nothing},
  {"snapshots", "ebb", ops_many, chat_start, chat_replace, chat_end},
  {"snapshots", "tree", ops_many, tree_start, tree_replace, tree_end},
  {"snapshots", "array", ops_copies_1000, nothing, array_replace, array_end},
};

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void aim(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) b->at[i] = draw(b->n);
}

/* Nanoseconds per operation. */
static double measure(Bench *b, const Case *c) {
  double times[ROUNDS_MAX];
  size_t rounds = 0;
  uint64_t began = now_ns();
  while (rounds < ROUNDS_MIN || (rounds < ROUNDS_MAX && now_ns() - began < CASE_NS)) {
    aim(b);
    c->start(b);
    uint64_t start = now_ns();
    c->run(b);
    uint64_t end = now_ns();
    c->end(b);
    times[rounds++] = (double)(end - start) / b->ops;
  }
  qsort(times, rounds, sizeof *times, by_size);
  return times[rounds / 2];
}

static void print(const Bench *b, const char *row, const char *column, double value) {
  printf("%u %s %s %.6g\n", (unsigned)b->n, row, column, value);
  fflush(stdout);
}

/* Bytes as asked of the allocator, without its own. */
static void print_bytes(Bench *b) {
  b->ops = OPS_MAX;
  aim(b);
  size_t before = in_use;
  chat_start(b);
  chat_replace(b);
  print(b, "bytes_snapshot", "ebb", (double)(in_use - before) / b->ops);
  chat_end(b);
  before = in_use;
  tree_start(b);
  tree_replace(b);
  print(b, "bytes_snapshot", "tree", (double)(in_use - before) / b->ops);
  tree_end(b);
  print(b, "bytes_snapshot", "array", (double)b->n * sizeof(MessageId));
  print(b, "bytes_message", "array", (double)sizeof(MessageId));
}

/* ---- making and freeing ---- */

static void make_conversation(Bench *b) {
  ConversationConfig config = {.memory = MEMORY, .clock = {.now_ms = no_clock}, .counter = {.given = random_tokens}};
  b->made = must_have(malloc(b->n * sizeof *b->made));
  mix(b->made, b->n);
  Feed feed = {.next = b->made, .left = b->n};
  MessageSource source = {.next = feed_next, .user = &feed};
  must(conversation_new(&config, &b->base), "conversation");
  must(operation_append(b->base, &source), "append");
  b->mark = store_mark(conversation_store(b->base));
  b->half = conversation_tokens(b->base) / 2;
}

static void make_tree(Bench *b) {
  size_t before = in_use;
  must(sequence_new(&MEMORY, conversation_store(b->base), &b->tree), "sequence");
  for (MessageId id = 1; id <= b->n; id++) must(sequence_append(&b->tree, id), "append");
  print(b, "bytes_message", "tree", (double)(in_use - before) / b->n);
}

static void make_array(Bench *b) {
  size_t words = b->n / 64 + 1;
  b->array = array_new(b->n);
  b->roles = must_have(malloc(b->n + 1));
  b->tokens = must_have(malloc((b->n + 1) * sizeof *b->tokens));
  b->bits = must_have(calloc(words, sizeof *b->bits));
  for (MessageId id = 1; id <= b->n; id++) {
    uint32_t at = id - 1;
    Role role = ROLE_OF[b->made[at].kind];
    b->array.ids[b->array.count++] = id;
    b->roles[id] = (uint8_t)role;
    b->tokens[id] = touch(b, id);
    if (role == ROLE_USER || role == ROLE_ASSISTANT) b->bits[at / 64] |= (uint64_t)1 << at % 64;
  }
}

static void bench_free(Bench *b) {
  free(b->bits);
  free(b->tokens);
  free(b->roles);
  free(b->array.ids);
  sequence_release(b->tree);
  conversation_free(b->base);
  free(b->made);
  if (in_use != 0) must(STATUS_MEMORY, "something was not freed");
}

static void bench_size(uint32_t n, const char *only) {
  static Bench bench;
  bench = (Bench){.n = n};
  make_conversation(&bench);
  make_tree(&bench);
  make_array(&bench);
  print_bytes(&bench);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    bench.ops = CASES[i].ops(n);
    if (bench.ops == 0 || (only != NULL && strcmp(only, CASES[i].row) != 0)) continue;
    print(&bench, CASES[i].row, CASES[i].column, measure(&bench, &CASES[i]));
  }
  bench_free(&bench);
}

int main(int argc, char **argv) {
  bool timestamps = argc > 1 && strcmp(argv[1], "--timestamps") == 0;
  if (argc < 2 + timestamps) {
    fprintf(stderr, "usage: operations [--timestamps] SIZE...\n");
    return 2;
  }
  mallopt(M_TRIM_THRESHOLD, 1 << 30);      /* freed memory stays with the process */
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  patterns_make(timestamps);
  for (int i = 1 + timestamps; i < argc; i++) {
    unsigned long n = strtoul(argv[i], NULL, 10);
    if (n < 10 || n > 100000000) return fprintf(stderr, "operations: a size is a number from 10 on: %s\n", argv[i]), 2;
    bench_size((uint32_t)n, getenv("ROW"));
  }
  for (int kind = 0; kind < KIND_COUNT; kind++) reader_free(&patterns[kind].reader);
  return 0;
}
