/*
** What operations.c measures with: chance, a clock, counted memory, and messages of which a million are made quickly.
*/
#ifndef EBB_BENCH_OPERATIONS_KIT_H
#define EBB_BENCH_OPERATIONS_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/operation.h"
#include "dialect/read/reader.h"

#define OPS_MAX 1000         /* operations in a round */

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
  uint64_t total, half;      /* tokens */
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
  Made there[OPS_MAX];       /* what stands at them */
  Conversation *chat;
  Sequence *s, *kept[OPS_MAX];
  Array current, copies[OPS_MAX];
} Bench;

static uint32_t touch(const Bench *b, MessageId id) { return message_tokens(conversation_message(b->base, id)); }

#endif
