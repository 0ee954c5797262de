/*
** Comparing a conversation with its plain side: all that one step can have
** changed, and something old, picked at random.
*/
#ifndef EBB_TESTS_MODEL_COMPARE_H
#define EBB_TESTS_MODEL_COMPARE_H

#include "core/list/sequence_diff.h"
#include "core/list/window.h"
#include "model_plain.h"

/* ---- lists ---- */

static void same_list(const Sequence *list, const MessageId *ids, uint32_t count) {
  uint32_t at = 0;
  assert_true(sequence_is_ranked(list));     /* whatever was inserted and replaced */
  assert_int_equal(sequence_count(list), count);
  SequenceWalk walk = sequence_walk(list, 0, count);
  while (sequence_walk_next(&walk)) {
    assert_true(walk.index == at && walk.count <= count - at);
    assert_true(memcmp(walk.ids, ids + at, walk.count * sizeof *ids) == 0);
    at += walk.count;
  }
  assert_int_equal(at, count);
}

static void same_sum(Sum sum, const MessageId *ids, uint32_t count) {
  Sum plain = SUM_ZERO;
  for (uint32_t i = 0; i < count; i++) plain_sum_add(&plain, ids[i]);
  assert_true(memcmp(sum.count, plain.count, sizeof sum.count) == 0);
  assert_true(memcmp(sum.tokens, plain.tokens, sizeof sum.tokens) == 0);
  assert_true(sum.turns == plain.turns && sum.moved == plain.moved && sum.windows == plain.windows);
  assert_true(sum.earliest == plain.earliest && sum.latest == plain.latest);
}

/* ---- searches ---- */

static uint64_t plain_measure(MessageId id, Measure measure) {
  Sum sum = SUM_ZERO;
  plain_sum_add(&sum, id);
  return sum_measure(&sum, measure);
}

static uint32_t first_above(const uint64_t *before, uint32_t count, uint64_t amount) {
  uint32_t i = 0;
  while (i < count && before[i + 1] <= amount) i++;
  return i;
}

/* Any measure: just what stands before a message and one less, so that edges of
   leaves are met; and any amount. */
static void same_finds(const Sequence *list, const MessageId *ids, uint32_t count) {
  uint64_t before[LONGEST + 1] = {0};
  Measure measure = below(MEASURE_ROLE_TOKENS + ROLE_COUNT);
  for (uint32_t i = 0; i < count; i++) before[i + 1] = before[i] + plain_measure(ids[i], measure);
  for (uint32_t tries = 0; tries < 3; tries++) {
    uint64_t amount = before[below(count + 1)];
    assert_int_equal(sequence_find(list, measure, amount), first_above(before, count, amount));
    if (amount > 0) assert_int_equal(sequence_find(list, measure, amount - 1), first_above(before, count, amount - 1));
  }
  uint64_t amount = below((uint32_t)before[count] + 2);
  assert_int_equal(sequence_find(list, measure, amount), first_above(before, count, amount));
}

/* How many of a role, the k-th of it, and where its last n begin. */
static void same_roles(const Sequence *list, const MessageId *ids, uint32_t count) {
  uint32_t places[LONGEST + 1], found = 0;
  Role role = below(ROLE_COUNT);
  for (uint32_t i = 0; i < count; i++) {
    if (messages->list[ids[i]].of->role == role) places[found++] = i;
  }
  places[found] = count;
  assert_int_equal(sequence_sum(list).count[role], found);
  uint32_t k = below(found + 1), n = below(found + 1);
  assert_int_equal(sequence_find(list, MEASURE_ROLE_COUNT + role, k), places[k]);
  assert_int_equal(sequence_find(list, MEASURE_ROLE_COUNT + role, found - n), places[found - n]);
}

/* Where the longest suffix within a budget begins, by the tree. */
static uint32_t find_suffix(const Sequence *list, uint64_t budget) {
  uint64_t total = 0;
  Sum sum = sequence_sum(list);
  for (int role = 0; role < ROLE_COUNT; role++) total += sum.tokens[role];
  return total <= budget ? 0 : sequence_find(list, MEASURE_TOKENS, total - budget - 1) + 1;
}

static void same_budgets(const Sequence *list, const MessageId *ids, uint32_t count) {
  uint64_t total = 0, used = 0;
  for (uint32_t i = 0; i < count; i++) total += messages->list[ids[i]].of->tokens;
  uint64_t budget = one_in(4) ? below((uint32_t)total + 2) : 0;
  if (budget == 0) {   /* what some suffix weighs */
    for (uint32_t i = below(count + 1); i < count; i++) budget += messages->list[ids[i]].of->tokens;
  }
  uint32_t start = count, over = 0;
  while (start > 0 && used + messages->list[ids[start - 1]].of->tokens <= budget) {
    used += messages->list[ids[--start]].of->tokens;
  }
  assert_int_equal(find_suffix(list, budget), start);
  for (used = 0; over < count && (used += messages->list[ids[over]].of->tokens) <= budget;) over++;
  assert_int_equal(sequence_find(list, MEASURE_TOKENS, budget), over);
}

/* The first message that is later than a time, by bisection over prefixes. */
static void same_times(const Sequence *list, const MessageId *ids, uint32_t count) {
  if (count == 0) return;
  int64_t time = messages->list[ids[below(count)]].time;
  uint32_t low = 0, high = count, first = 0;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    Sum sum = sequence_prefix(list, middle + 1);
    if (sum.earliest <= sum.latest && sum.latest > time) high = middle;
    else low = middle + 1;
  }
  while (first < count && !(messages->list[ids[first]].timed && messages->list[ids[first]].time > time)) first++;
  assert_int_equal(low, first);
}

/* The messages of some roles, or of a time, one after the other. */
static void same_wanted(const Sequence *list, const MessageId *ids, uint32_t count) {
  MessageFilter wanted = {.roles = 1 + below(15), .timed = one_in(2), .since = INT64_MIN, .until = INT64_MAX};
  if (one_in(2)) wanted.since = messages->list[ids[below(count)]].time;
  if (one_in(2)) wanted.until = messages->list[ids[below(count)]].time;
  uint32_t at = sequence_next(list, 0, &wanted);
  for (uint32_t i = 0; i < count; i++) {
    const PlainMessage *message = &messages->list[ids[i]];
    bool in_time = message->timed && message->time >= wanted.since && message->time <= wanted.until;
    if (!(wanted.roles >> message->of->role & 1) || (wanted.timed && !in_time)) continue;
    assert_int_equal(at, i);
    at = sequence_next(list, at + 1, &wanted);
  }
  assert_int_equal(at, count);
}

/* Where a message stands, visible or not, and what stands in its place. */
static void same_places(const Sequence *list, const MessageId *ids, uint32_t count) {
  MessageId id = count > 0 && !one_in(3) ? ids[below(count)] : 1 + below(messages->count),
            origin = messages->list[id].origin;
  uint32_t at = 0, of_origin = 0;
  while (at < count && ids[at] != id) at++;
  while (of_origin < count && messages->list[ids[of_origin]].origin != origin) of_origin++;
  assert_int_equal(sequence_index_of(list, id, below(count + 1)), at);
  assert_int_equal(sequence_index_of_origin(list, id), of_origin);
}

static void same_searches(const Sequence *list, const MessageId *ids, uint32_t count) {
  uint32_t end = below(count + 1), at = below(count + 1);
  same_sum(sequence_sum(list), ids, count);
  same_sum(sequence_prefix(list, end), ids, end);
  if (at < count) assert_int_equal(sequence_at(list, at), ids[at]);
  same_finds(list, ids, count);
  same_roles(list, ids, count);
  same_budgets(list, ids, count);
  same_times(list, ids, count);
  if (messages->count > 0) same_places(list, ids, count);
  if (count > 0) same_wanted(list, ids, count);
}

static void same_units(Conversation *chat, const PlainBatch *plain) {
  static uint32_t of[LONGEST];
  const Units *units;
  assert_int_equal(conversation_units(chat, &units), STATUS_OK);
  assert_int_equal(units->message_count, plain->count);
  assert_int_equal(units->count, plain_units(plain, of));
  if (plain->count > 0) assert_true(memcmp(units->unit_of, of, plain->count * sizeof *of) == 0);
}

/* ---- items of windows ---- */

/* There are no windows here: an item is obsolete if a later one has its name. */
static void same_items(const Conversation *chat, const PlainBatch *plain) {
  WindowItems items;
  uint32_t at = 0;
  assert_int_equal(window_items(conversation_memory(chat), conversation_windows(chat), conversation_store(chat),
                                conversation_list(chat), &items), STATUS_OK);
  for (uint32_t i = 0; i < plain->count; i++) {
    if (!is_item(plain->ids[i])) continue;
    bool later = false;
    for (uint32_t j = i + 1; j < plain->count && !later; j++) {
      later = is_item(plain->ids[j]) && strcmp(ids_of(plain->ids[i]), ids_of(plain->ids[j])) == 0;
    }
    assert_true(at < items.count && items.list[at].id == plain->ids[i] && items.list[at].position == i);
    assert_true(items.list[at].obsolete == later && items.list[at].window == WINDOW_NONE);
    at++;
  }
  assert_int_equal(at, items.count);
  if (items.list != NULL) window_items_free(&items);
}

/* ---- batches and states ---- */

static const char *plain_name(const Side *side, uint32_t batch) {
  uint32_t newest = 0;
  const char *name = "";
  for (uint32_t i = 0; i < CHECKPOINTS; i++) {
    const PlainCheckpoint *checkpoint = &side->checkpoints[i];
    if (checkpoint->batch != batch || checkpoint->age <= newest) continue;
    newest = checkpoint->age;
    name = CHECKPOINT_NAMES[i];
  }
  return name;
}

static void same_batch(const Side *side, uint32_t batch) {
  const PlainBatch *plain = &side->batches[batch];
  BatchInfo info = history_batch(conversation_history(side->chat), batch);
  assert_int_equal(info.parent, plain->parent);
  assert_int_equal(info.parent_length, plain->parent_length);
  assert_int_equal(info.born, plain->born);
  assert_int_equal(info.count, plain->count);
  assert_int_equal(info.kind, plain->kind);
  assert_true(text_equal(info.name, text_of(plain_name(side, batch))));
}

static Sequence *state_of(const Side *side, uint32_t batch, uint32_t length) {
  Sequence *list;
  assert_int_equal(history_state(conversation_history(side->chat), batch, length, &list), STATUS_OK);
  same_list(list, side->batches[batch].ids, length);
  return list;
}

static uint32_t some_length(const PlainBatch *batch) { return batch->born + below(batch->count - batch->born + 1); }

/* A state long past is still what it was, and lengths beyond it are refused. */
static void same_past(const Side *side) {
  uint32_t batch = below(side->count);
  const PlainBatch *plain = &side->batches[batch];
  uint32_t length = some_length(plain);
  same_batch(side, batch);
  Sequence *list = state_of(side, batch, length), *none;
  same_sum(sequence_sum(list), plain->ids, length);
  sequence_release(list);
  const History *history = conversation_history(side->chat);
  assert_int_equal(history_state(history, batch, plain->count + 1, &none), STATUS_RANGE);
  if (plain->born > 0) assert_int_equal(history_state(history, batch, plain->born - 1, &none), STATUS_RANGE);
}

/* ---- differences ---- */

/* What stands in `list` and not among `others`, one entry after the other. */
static void same_missing(const MessageId *ids, uint32_t count, const MessageId *others, uint32_t other_count,
                         const DiffEntry *entries, uint32_t entry_count) {
  static uint32_t seen[MESSAGES], round;
  uint32_t at = 0;
  round++;
  for (uint32_t i = 0; i < other_count; i++) seen[others[i]] = round;
  for (uint32_t i = 0; i < count; i++) {
    if (seen[ids[i]] == round) continue;
    assert_true(at < entry_count && entries[at].id == ids[i] && entries[at].index == i);
    at++;
  }
  assert_int_equal(at, entry_count);
}

/* Any two states of two forks, or a batch as it was born and its parent then. */
static void same_diff(const Side *one, const Side *other) {
  uint32_t b = below(other->count), a = other->batches[b].parent;
  uint32_t a_length = other->batches[b].parent_length, b_length = other->batches[b].born;
  if (a == BATCH_NONE || one_in(2)) {
    a = below(one->count);
    a_length = some_length(&one->batches[a]);
    b_length = some_length(&other->batches[b]);
  } else {
    one = other;
  }
  Sequence *before = state_of(one, a, a_length), *after = state_of(other, b, b_length);
  SequenceDiff diff;
  assert_int_equal(sequence_diff(before, after, &diff), STATUS_OK);
  const MessageId *before_ids = one->batches[a].ids, *after_ids = other->batches[b].ids;
  same_missing(before_ids, a_length, after_ids, b_length, diff.removed, diff.removed_count);
  same_missing(after_ids, b_length, before_ids, a_length, diff.added, diff.added_count);
  sequence_diff_free(&diff);
  sequence_release(before);
  sequence_release(after);
}

/* ---- messages, marks, checkpoints ---- */

/* Each set has the origin, and the origin's chain the name, or neither; the chain's names are in order. */
static void same_marks(const Marks *marks, MessageId origin, uint64_t plain) {
  int64_t newest = -1;
  unsigned links = 0, bits = 0;
  for (uint32_t i = 0; i < MARKS; i++) {
    assert_int_equal(marks_has(marks, text_of(MARK_NAMES[i]), origin), plain >> i & 1);
    bits += plain >> i & 1 ? 1 : 0;
  }
  for (uint32_t i = marks_first(marks, origin); i != MARK_NONE; i = marks_after(marks, i, origin), links++) {
    assert_true((int64_t)i > newest && marks_has(marks, marks_name(marks, i), origin));
    newest = i;
  }
  assert_int_equal(links, bits);
}

static void same_message(const Side *side, MessageId id) {
  const Store *store = conversation_store(side->chat);
  const PlainMessage *plain = &messages->list[id];
  const Message *message = conversation_message(side->chat, id);
  Text raw = message_raw(message);
  assert_true(raw.size == plain->of->raw.size && memcmp(raw.bytes, plain->of->raw.bytes, raw.size) == 0);
  assert_int_equal(message_tokens(message), plain->of->tokens);
  assert_int_equal(store_origin(store, id), plain->origin);
  for (uint32_t i = 0; has_results(id) && ids_of(id)[i] != '\0'; i++) {
    CallLink link = store_answers(store, id, i);
    assert_int_equal(link.message, plain->links[i].message);
    assert_int_equal(link.call, plain->links[i].call);
  }
  same_marks(conversation_marks(side->chat), plain->origin, side->marks[plain->origin]);
}

static void same_names(const Side *side) {
  uint32_t mark = below(MARKS), i = below(CHECKPOINTS), batch, length;
  assert_int_equal(marks_size(conversation_marks(side->chat), text_of(MARK_NAMES[mark])), side->mark_sizes[mark]);
  bool found = history_find(conversation_history(side->chat), text_of(CHECKPOINT_NAMES[i]), &batch, &length);
  assert_int_equal(found, side->checkpoints[i].age > 0);
  if (found) assert_true(batch == side->checkpoints[i].batch && length == side->checkpoints[i].length);
}

/* ---- all of it ---- */

/* What holds for any side at any time. */
static void same_present(const Side *side) {
  side_look(side);
  const PlainBatch *plain = &side->batches[side->current];
  assert_int_equal(history_count(conversation_history(side->chat)), side->count);
  assert_int_equal(history_current(conversation_history(side->chat)), side->current);
  assert_int_equal(store_count(conversation_store(side->chat)), messages->count);
  same_list(conversation_list(side->chat), plain->ids, plain->count);
}

static void same_side(const Side *side, const Side *other) {
  const PlainBatch *plain = &side->batches[side->current];
  const Sequence *list = conversation_list(side->chat);
  if (other != side) same_present(other);
  same_present(side);
  same_searches(list, plain->ids, plain->count);
  if (one_in(8)) same_units(side->chat, plain);
  if (one_in(8)) same_items(side->chat, plain);
  Sum sum = sequence_sum(list);
  uint64_t tokens = conversation_overhead(side->chat);
  for (int role = 0; role < ROLE_COUNT; role++) tokens += sum.tokens[role];
  assert_int_equal(conversation_tokens(side->chat), tokens);
  same_batch(side, side->current);
  if (plain->parent != BATCH_NONE) same_batch(side, plain->parent);
  same_past(side);
  same_diff(other, side);
  if (plain->count > 0) same_message(side, plain->ids[below(plain->count)]);
  same_message(side, 1 + below(messages->count));
  same_message(side, messages->count);
  same_names(side);
}

/* Every batch, at its end and as it was born. */
static void same_history(const Side *side) {
  conversation_check(side->chat);
  side_look(side);
  for (uint32_t batch = 0; batch < side->count; batch++) {
    same_batch(side, batch);
    const PlainBatch *plain = &side->batches[batch];
    same_list(history_list(conversation_history(side->chat), batch), plain->ids, plain->count);
    sequence_release(state_of(side, batch, plain->born));
  }
}

#endif
