/*
** One operation at a time, on conversations of several sizes: by Ebb and by a plain array of ids.
**
**     operations [--timestamps] SIZE...   ->   lines "SIZE ROW COLUMN NUMBER"
**
** With ROW=name in the environment only that row is measured, which is what a profiler wants.
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

#include "core/draft/draft.h"
#include "operations_array.h"

#define ROUNDS_MIN 5
#define ROUNDS_MAX 501
#define CASE_NS 80000000u          /* after so long no further round is begun */
#define BYTES_ROUNDS 16
#define COPIED_MAX (16u << 20)     /* ids that a round of arrays may keep: 64 MB */
#define SNAPSHOTS_MAX (128u << 20) /* and one of 1000 snapshots */

typedef struct Case {
  const char *row, *column;
  uint32_t (*ops)(uint32_t n);       /* per round; 0: not measured at this size */
  void (*start)(Bench *);
  void (*run)(Bench *);              /* alone is timed */
  void (*end)(Bench *);
} Case;

/* Few enough that the size stays what it is. */
static uint32_t ops_some(uint32_t n) { return n < 10 * OPS_MAX ? n / 10 : OPS_MAX; }
static uint32_t ops_walk(uint32_t n) { return n < 100000 ? 100000 / n < OPS_MAX ? 100000 / n : OPS_MAX : 1; }
static uint32_t ops_many(uint32_t n) { return n > 0 ? OPS_MAX : 0; }
static uint32_t ops_few(uint32_t n) { return n <= 10000 ? 10 : 1; }
static uint32_t ops_copies(uint32_t n) {
  uint32_t most = COPIED_MAX / n + 1, some = ops_some(n);
  return some < most ? some : most;
}
static uint32_t ops_copies_1000(uint32_t n) { return n <= SNAPSHOTS_MAX / OPS_MAX ? OPS_MAX : 0; }

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
    must(operation_insert(b->chat, b->at[i], &source, (Text){0}), "insert");
  }
}

/* A result of a call that is answered already. */
static void chat_insert_result(Bench *b) {
  static const Made RESULT = {.kind = KIND_RESULT, .number = 1};
  for (uint32_t i = 0; i < b->ops; i++) {
    MessageSource source = one(&RESULT);
    must(operation_insert(b->chat, b->at[i], &source, (Text){0}), "insert");
  }
}

/* By a message of the same kind, with the same call. */
static void chat_replace(Bench *b) {
  for (uint32_t i = 0; i < b->ops; i++) {
    MessageSource source = one(&b->there[i]);
    must(operation_replace(b->chat, b->at[i], &source, (Text){0}), "replace");
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

/* Trims batch `from` and goes back to it. */
static void keep_recent(Bench *b, uint32_t from) {
  for (uint32_t i = 0; i < b->ops; i++) {
    Draft *draft;
    uint32_t dropped, batch;
    uint64_t freed;
    must(draft_new(b->chat, true, &draft), "draft");
    must(draft_drop_oldest(draft, b->half, 4, text_of("oldest"), &dropped, &freed), "drop");
    must(draft_commit(draft, BATCH_TRIM, text_of("trim"), NULL, &batch), "commit");
    draft_free(draft);
    must(operation_rollback(b->chat, from, false, 0), "rollback");
  }
}

static void chat_keep_recent(Bench *b) { keep_recent(b, 0); }

/* A result in the middle was replaced. */
static void chat_start_edited(Bench *b) {
  chat_start(b);
  uint32_t at = b->n / 2;
  while (at > 0 && b->made[at].kind != KIND_RESULT) at--;
  MessageSource source = one(&b->made[at]);
  must(operation_replace(b->chat, at, &source, (Text){0}), "replace");
}

static void chat_keep_recent_edited(Bench *b) { keep_recent(b, 1); }

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

/* ---- all of them ---- */

/* keep_recent is measured before anything was edited, and again once a result was replaced: what the store learns from
   an edit it may not forget, even when the edit is taken back. */
static const Case CASES[] = {
  {"keep_recent", "ebb", ops_few, chat_start, chat_keep_recent, chat_end},
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
  {"keep_recent", "array", ops_few, nothing, array_keep_recent, array_end},
  {"keep_recent_edited", "ebb", ops_few, chat_start_edited, chat_keep_recent_edited, chat_end},
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
  for (uint32_t i = 0; i < b->ops; i++) {
    b->at[i] = draw(b->n);
    b->there[i] = b->made[b->at[i]];
  }
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

/* Bytes as asked of the allocator, without its own. A store grows by blocks and a history doubles: so many replacements
   are made in the conversation. */
static void print_bytes(Bench *b) {
  b->ops = OPS_MAX;
  size_t before = in_use;
  chat_start(b);
  for (int i = 0; i < BYTES_ROUNDS; i++) {
    aim(b);
    chat_replace(b);
  }
  print(b, "bytes_snapshot", "ebb", (double)(in_use - before) / (OPS_MAX * BYTES_ROUNDS));
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
  ConversationConfig config = {.memory = MEMORY, .clock = {.now_ms = no_clock}, .counter = {.custom = random_tokens}};
  b->made = must_have(malloc(b->n * sizeof *b->made));
  mix(b->made, b->n);
  Feed feed = {.next = b->made, .left = b->n};
  MessageSource source = {.next = feed_next, .user = &feed};
  must(conversation_new(&config, &b->base), "conversation");
  must(operation_append(b->base, &source), "append");
  b->mark = store_mark(conversation_store(b->base));
  b->total = conversation_tokens(b->base);
  b->half = b->total / 2;
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

/* What was measured is only worth comparing if it did the same. */
static void check(const char *row, uint32_t ours, uint32_t theirs) {
  if (ours == theirs) return;
  fprintf(stderr, "operations: %s: Ebb keeps %u messages, the array %u\n", row, (unsigned)ours, (unsigned)theirs);
  exit(1);
}

static uint32_t visible_after(Bench *b, uint32_t batch) {
  return sequence_count(history_list(conversation_history(b->chat), batch));
}

static void check_columns(Bench *b) {
  b->ops = 1;
  chat_start(b);
  chat_trim(b);
  array_trim(b);
  check("trim", visible_after(b, 1), b->copies[0].count);
  array_end(b);
  chat_keep_recent(b);
  array_keep_recent(b);
  check("keep_recent", visible_after(b, 2), b->copies[0].count);
  array_end(b);
  chat_filter(b);
  array_filter(b);
  check("filter", visible_after(b, 3), b->copies[0].count);
  array_end(b);
  chat_end(b);
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
  check_columns(&bench);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    bench.ops = CASES[i].ops(n);
    if (bench.ops == 0 || (only != NULL && strcmp(only, CASES[i].row) != 0)) continue;
    print(&bench, CASES[i].row, CASES[i].column, measure(&bench, &CASES[i]));
  }
  if (only == NULL) print_bytes(&bench);
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
    if (n < 100 || n > 100000000) {
      fprintf(stderr, "operations: a size is a number from 100 on: %s\n", argv[i]);
      return 2;
    }
    bench_size((uint32_t)n, getenv("ROW"));
  }
  for (int kind = 0; kind < KIND_COUNT; kind++) reader_free(&patterns[kind].reader);
  return 0;
}
