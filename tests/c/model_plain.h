/*
** The plain side of the model test: the expected state of a conversation, in arrays with
** one owner.
**
**     messages   by id: role, tokens, time, links; a table per fork
**     side       one fork: its batches, each with all its ids; marks; checkpoints
**
** A fork copies every array of its side, so that no edit of one can be seen by
** the other, whatever the conversation does.
*/
#ifndef EBB_TESTS_MODEL_PLAIN_H
#define EBB_TESTS_MODEL_PLAIN_H

#include "conversation_kit.h"

#define LONGEST 4096          /* messages in a list */
#define MESSAGES 65536        /* in one store */
#define SIDES 3
#define CHECKPOINTS 6
#define MARKS 3
#define IDS 2                 /* calls or results in a message */

/* ---- templates: every kind of message, read once ---- */

typedef struct Template {
  Word word;
  Role role;
  bool turn;
  uint32_t tokens;
  char json[JSON_ROOM];
  Reader reader;              /* owns the lists of the shape */
  Text raw;
  MessageShape shape;
} Template;

/* A word stands here as often as it shall come up. */
static const char *const WORDS[] = {
  "s", "u", "u", "u", "a", "a", "a", "a(x)", "a(xy)", "a(zx)", "t(x)", "t(y)", "U(x)", "U(zy)", "w(x)",
  "w(y)"
};
static const uint32_t SIZES[] = {0, 3, 17, 50, 120};

#define WORD_COUNT (sizeof WORDS / sizeof *WORDS)
#define SIZE_COUNT (sizeof SIZES / sizeof *SIZES)
#define FILLS 3
#define VARIANTS (SIZE_COUNT * FILLS)         /* of a word, in a row */
#define TEMPLATES (WORD_COUNT * VARIANTS)

static Template templates[TEMPLATES];

/* Four bytes of a text are a token, each message costs three more. What a call
   weighs is the counter's own matter: asked for once. */
static void templates_make(void) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "");
  for (uint32_t i = 0; i < TEMPLATES; i++) {
    Template *made = &templates[i];
    const char *text = WORDS[i / VARIANTS];
    made->word = word_parse(&text);
    made->word.size = SIZES[i % VARIANTS / FILLS];
    made->word.fill = "pqr"[i % FILLS];
    made->role = word_role(&made->word);
    made->turn = made->word.kind == 'u';
    reader_init(&made->reader, memory_system());
    made->raw = read_word(&made->reader, &made->word, made->json, &made->shape);
    Words words = {0};
    words_add(&words, made->word);
    assert_int_equal(put_words(chat, WORDS_APPEND, 0, &words), STATUS_OK);
    made->tokens = message_tokens(conversation_message(chat, i + 1));
    if (made->word.ids[0] == '\0') assert_int_equal(made->tokens, 3 + 1 + (made->word.size + 3) / 4);
  }
  conversation_free(chat);
}

static UNUSED void templates_free(void) {
  for (uint32_t i = 0; i < TEMPLATES; i++) reader_free(&templates[i].reader);
}

/* ---- messages ---- */

typedef struct PlainMessage {
  const Template *of;
  bool timed;
  int64_t time;
  MessageId origin;
  bool inserted;
  CallLink links[IDS];            /* of its results */
} PlainMessage;

typedef struct PlainMessages {
  PlainMessage list[MESSAGES];   /* by id; [0] is none */
  uint32_t count;
} PlainMessages;

static PlainMessages *messages;  /* those of the side that is looked at: side_look */

static const char *ids_of(MessageId id) { return messages->list[id].of->word.ids; }
static bool has_calls(MessageId id) { return word_calls(&messages->list[id].of->word) && ids_of(id)[0] != '\0'; }
static bool is_item(MessageId id) { return messages->list[id].of->role == ROLE_NONE; }
static bool has_results(MessageId id) {
  return !word_calls(&messages->list[id].of->word) && !is_item(id) && ids_of(id)[0] != '\0';
}

static void plain_sum_add(Sum *sum, MessageId id) {
  const PlainMessage *message = &messages->list[id];
  if (is_item(id)) {
    sum->windows++;
  } else {
    sum->count[message->of->role]++;
    sum->tokens[message->of->role] += message->of->tokens;
  }
  sum->turns += message->of->turn;
  sum->moved += messages->list[message->origin].inserted || message->origin != id;
  if (message->timed && message->time < sum->earliest) sum->earliest = message->time;
  if (message->timed && message->time > sum->latest) sum->latest = message->time;
}

/* The nearest call of `key` before `position` that no visible result answers. */
static CallLink plain_link(const MessageId *list, uint32_t count, uint32_t position, char key) {
  static uint32_t answered[MESSAGES][IDS], round;    /* by origin and call: the round that found it so */
  round++;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t r = 0; has_results(list[i]) && ids_of(list[i])[r] != '\0'; r++) {
      CallLink link = messages->list[list[i]].links[r];
      if (link.message != 0) answered[messages->list[link.message].origin][link.call] = round;
    }
  }
  while (position-- > 0) {
    if (!has_calls(list[position])) continue;
    for (uint32_t call = (uint32_t)strlen(ids_of(list[position])); call-- > 0;) {
      bool open = answered[messages->list[list[position]].origin][call] != round;
      if (open && ids_of(list[position])[call] == key) return (CallLink){list[position], call};
    }
  }
  return (CallLink){0, 0};
}

/* ---- sides ---- */

typedef struct PlainBatch {
  uint32_t born, count, room, parent, parent_length;
  BatchKind kind;
  MessageId *ids;
} PlainBatch;

typedef struct PlainCheckpoint {
  uint32_t batch, length;
  uint32_t age;               /* when it was set; 0: never */
} PlainCheckpoint;

typedef struct Side {
  Conversation *chat;
  PlainMessages *messages;
  PlainBatch *batches;
  uint32_t count, room, current;
  PlainCheckpoint checkpoints[CHECKPOINTS];
  uint32_t checkpoint_age;
  uint8_t marks[MESSAGES];    /* a bit per mark, by origin */
  uint32_t mark_sizes[MARKS];
  bool rolled_back;           /* by the last edit */
} Side;

static const char *const CHECKPOINT_NAMES[CHECKPOINTS] = {"one", "two", "three", "four", "five", "six"};
static const char *const MARK_NAMES[MARKS] = {MARK_PINNED, "kept", "old"};

static PlainBatch *current(Side *side) { return &side->batches[side->current]; }

static MessageId *ids_copy(const MessageId *ids, uint32_t count, uint32_t room) {
  MessageId *copy = malloc((room + 1) * sizeof *copy);
  assert_non_null(copy);
  if (count > 0) memcpy(copy, ids, count * sizeof *copy);
  return copy;
}

static PlainBatch *push_batch(Side *side, PlainBatch batch) {
  if (side->count == side->room) {
    side->room = side->room == 0 ? 64 : side->room * 2;
    side->batches = realloc(side->batches, side->room * sizeof *side->batches);
    assert_non_null(side->batches);
  }
  side->current = side->count;
  side->batches[side->count++] = batch;
  return &side->batches[side->current];
}

/* A child of the current batch, as long. */
static PlainBatch *new_batch(Side *side, BatchKind kind) {
  PlainBatch batch = *current(side);
  batch.parent = side->current;
  batch.parent_length = batch.born = batch.count;
  batch.kind = kind;
  batch.room = batch.count + 1;
  batch.ids = ids_copy(batch.ids, batch.count, batch.room);
  return push_batch(side, batch);
}

static void plain_put(PlainBatch *batch, uint32_t position, MessageId id) {
  if (batch->count == batch->room) {
    batch->room = batch->room * 2 + 8;
    batch->ids = realloc(batch->ids, (batch->room + 1) * sizeof *batch->ids);
    assert_non_null(batch->ids);
  }
  memmove(batch->ids + position + 1, batch->ids + position, (batch->count - position) * sizeof *batch->ids);
  batch->ids[position] = id;
  batch->count++;
  assert_true(batch->count <= LONGEST);
}

/* ---- units ---- */

static uint32_t root_of(const uint32_t *parents, uint32_t at) {
  while (parents[at] != at) at = parents[at];
  return at;
}

/* The unit of each position, numbered by their first; answers how many there are. */
static uint32_t plain_units(const PlainBatch *batch, uint32_t *units) {
  static uint32_t places[MESSAGES];               /* by origin: position + 1, if it calls */
  static uint32_t parents[LONGEST], numbers[LONGEST];
  uint32_t unit_count = 0;
  for (uint32_t i = 0; i < batch->count; i++) {
    parents[i] = i;
    if (has_calls(batch->ids[i])) places[messages->list[batch->ids[i]].origin] = i + 1;
  }
  for (uint32_t i = 0; i < batch->count; i++) {
    for (uint32_t r = 0; has_results(batch->ids[i]) && r < IDS; r++) {
      uint32_t place = places[messages->list[messages->list[batch->ids[i]].links[r].message].origin];
      if (place == 0) continue;
      uint32_t one = root_of(parents, i), other = root_of(parents, place - 1);
      parents[one < other ? other : one] = one < other ? one : other;
    }
  }
  for (uint32_t i = 0; i < batch->count; i++) {
    places[messages->list[batch->ids[i]].origin] = 0;
    uint32_t root = root_of(parents, i);
    if (root == i) numbers[i] = unit_count++;
    units[i] = numbers[root];
  }
  return unit_count;
}

/* Keeps all of every unit of which something is kept. */
static void plain_widen(const PlainBatch *batch, bool *keep) {
  static uint32_t units[LONGEST];
  bool wanted[LONGEST] = {false};
  plain_units(batch, units);
  for (uint32_t i = 0; i < batch->count; i++) wanted[units[i]] |= keep[i];
  for (uint32_t i = 0; i < batch->count; i++) keep[i] = wanted[units[i]];
}

/* ---- life of a side ---- */

static void side_look(const Side *side) { messages = side->messages; }

static void side_new(Side *side, Fail *fail) {
  memset(side, 0, sizeof *side);
  side->messages = calloc(1, sizeof *side->messages);      /* message 0 is none */
  assert_non_null(side->messages);
  side_look(side);
  assert_int_equal(chat_new(fail, &side->chat), STATUS_OK);
  push_batch(side, (PlainBatch){.parent = BATCH_NONE, .kind = BATCH_CREATE, .ids = ids_copy(NULL, 0, 0)});
}

static void side_free(Side *side) {
  conversation_free(side->chat);
  free(side->messages);
  for (uint32_t i = 0; i < side->count; i++) free(side->batches[i].ids);
  free(side->batches);
  memset(side, 0, sizeof *side);
}

static void side_fork(Side *made, const Side *side) {
  *made = *side;
  made->messages = malloc(sizeof *made->messages);
  assert_non_null(made->messages);
  made->messages->count = side->messages->count;
  memcpy(made->messages->list, side->messages->list, (side->messages->count + 1) * sizeof *made->messages->list);
  made->room = made->count;
  made->batches = malloc(made->count * sizeof *made->batches);
  assert_non_null(made->batches);
  for (uint32_t i = 0; i < made->count; i++) {
    made->batches[i] = side->batches[i];
    made->batches[i].ids = ids_copy(side->batches[i].ids, side->batches[i].count, side->batches[i].room);
  }
  assert_int_equal(conversation_fork(side->chat, &made->chat), STATUS_OK);
}

#endif
