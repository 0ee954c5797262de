/*
** The operations of the model test: each is drawn, done by a conversation, and
** done once more on plain arrays. What is drawn is asked of `below`, so that
** chance may decide or a fuzzer's bytes.
*/
#ifndef EBB_TESTS_MODEL_STEPS_H
#define EBB_TESTS_MODEL_STEPS_H

#include "model_compare.h"

#define FULL (LONGEST - 64)
#define ADDED 2500           /* messages at most in one operation */

/* A list shorter than `small` grows faster than it shrinks, one beyond `large`
   the other way; it begins in between. */
typedef struct Plan {
  uint32_t steps, small, large;
} Plan;

typedef enum Kind {
  APPEND, APPEND_AFTER_ROLLBACK, INSERT, REPLACE, TRUNCATE, TRUNCATE_ROLE, TRUNCATE_UNITS, CLEAR, FILTER,
  FILTER_UNITS, ROLLBACK_BACK, ROLLBACK_FORWARD, ROLLBACK_SAME, ROLLBACK_LENGTH, FORK, CHECKPOINT, MARK, UNMARK, KINDS
} Kind;

static struct {
  Plan plan;
  Fail fail;
  Side sides[SIDES];
  uint32_t side_count;
  int64_t time;              /* of new messages, nearly */
} run;

/* ---- adding ---- */

typedef struct Draw {
  PlainMessage list[ADDED];
  uint32_t count, at;
} Draw;

static void draw(Draw *drawn, const Template *of) {
  assert_true(drawn->count < ADDED);
  PlainMessage message = {.of = of, .timed = one_in(2)};
  if (message.timed) message.time = (run.time += below(20)) + below(3000) - (one_in(50) ? 100000 : 0);
  drawn->list[drawn->count++] = message;
}

static Status next_drawn(void *user, bool *more, Text *raw, MessageShape *shape) {
  Draw *drawn = user;
  *more = drawn->at < drawn->count;
  if (!*more) return STATUS_OK;
  const PlainMessage *message = &drawn->list[drawn->at++];
  *raw = message->of->raw;
  *shape = message->of->shape;
  shape->has_timestamp = message->timed;
  shape->timestamp = message->time;
  return STATUS_OK;
}

/* A new message that will stand at `position` of that list. */
static MessageId plain_store(const PlainBatch *batch, uint32_t position, PlainMessage message) {
  MessageId id = ++messages->count;
  assert_true(id < MESSAGES);
  message.origin = id;
  message.inserted = position < batch->count;
  messages->list[id] = message;
  for (uint32_t i = 0; has_results(id) && ids_of(id)[i] != '\0'; i++) {
    messages->list[id].links[i] = plain_link(batch->ids, batch->count, position, ids_of(id)[i]);
  }
  return id;
}

static Kind do_add(Side *side, bool insert, uint32_t some) {
  static Draw drawn;
  MessageSource source = {.next = next_drawn, .user = &drawn};
  drawn.count = drawn.at = 0;
  uint32_t position = current(side)->count;
  if (insert) position = one_in(8) ? 0 : below(position + 1);
  for (uint32_t i = 0; i < some; i++) draw(&drawn, &templates[below(TEMPLATES)]);
  Status status = insert ? operation_insert(side->chat, position, &source, (Text){0})
                         : operation_append(side->chat, &source);
  assert_int_equal(status, STATUS_OK);
  PlainBatch *batch = insert ? new_batch(side, BATCH_INSERT) : current(side);
  for (uint32_t i = 0; i < some; i++) plain_put(batch, position + i, plain_store(batch, position + i, drawn.list[i]));
  if (insert) batch->born = batch->count;
  return insert ? INSERT : side->rolled_back ? APPEND_AFTER_ROLLBACK : APPEND;
}

/* Like for like, where there are calls or results: links go over. */
static const Template *some_replacement(MessageId old) {
  uint32_t row = (uint32_t)(messages->list[old].of - templates) / VARIANTS;
  while (ids_of(old)[0] == '\0') {
    row = below(WORD_COUNT);
    if (templates[row * VARIANTS].word.ids[0] == '\0') break;
  }
  return &templates[row * VARIANTS + below(VARIANTS)];
}

static Kind do_replace(Side *side) {
  static Draw drawn;
  MessageSource source = {.next = next_drawn, .user = &drawn};
  drawn.count = drawn.at = 0;
  uint32_t at = below(current(side)->count);
  MessageId old = current(side)->ids[at];
  draw(&drawn, some_replacement(old));
  assert_int_equal(operation_replace(side->chat, at, &source, (Text){0}), STATUS_OK);
  MessageId id = ++messages->count;
  messages->list[id] = drawn.list[0];
  messages->list[id].origin = messages->list[old].origin;
  memcpy(messages->list[id].links, messages->list[old].links, sizeof messages->list[id].links);
  new_batch(side, BATCH_REPLACE)->ids[at] = id;
  return REPLACE;
}

/* ---- keeping some ---- */

static void keep_plain(Side *side, BatchKind kind, const bool *keep) {
  PlainBatch *batch = new_batch(side, kind);
  uint32_t count = 0;
  for (uint32_t i = 0; i < batch->count; i++) {
    if (keep[i]) batch->ids[count++] = batch->ids[i];
  }
  batch->count = batch->born = count;
}

/* Takes little away, so that lists stay long; sometimes, and when they are too
   long, much more. */
static Truncate some_cuts(uint32_t count) {
  Truncate cut = {.has_role = one_in(3), .role = below(ROLE_COUNT), .whole_units = one_in(3)};
  uint32_t most = count > run.plan.large ? count / 4 : one_in(20) ? count : 5;
  cut.keep_others = cut.has_role && !one_in(30);
  cut.has_keep_first = one_in(5);
  cut.has_keep_last = one_in(5);
  cut.has_remove_first = one_in(3);
  cut.has_remove_last = one_in(5);
  cut.has_range = one_in(5);
  if (!cut.has_keep_first && !cut.has_keep_last && !cut.has_remove_last) cut.has_remove_first = true;
  if (cut.has_role) count /= 2;
  cut.keep_first = count - below(most + 1) % (count + 1);
  cut.keep_last = count - below(most + 1) % (count + 1);
  cut.remove_first = below(most + 1);
  cut.remove_last = below(most + 1);
  cut.start = below(most + 1);
  cut.end = one_in(4) ? UINT32_MAX : cut.start + count - below(most + 1) % (count + 1);
  return cut;
}

static Kind do_truncate(Side *side) {
  uint32_t among[LONGEST], n = 0;
  bool keep[LONGEST];
  Truncate cut = some_cuts(current(side)->count);
  assert_int_equal(operation_truncate(side->chat, &cut), STATUS_OK);
  for (uint32_t i = 0; i < current(side)->count; i++) {
    bool of_role = !cut.has_role || messages->list[current(side)->ids[i]].of->role == cut.role;
    keep[i] = !of_role && cut.keep_others;
    if (of_role) among[n++] = i;
  }
  n = cut_plain(&cut, among, n);
  for (uint32_t i = 0; i < n; i++) keep[among[i]] = true;
  if (cut.whole_units) plain_widen(current(side), keep);
  keep_plain(side, BATCH_TRUNCATE, keep);
  return cut.whole_units ? TRUNCATE_UNITS : cut.has_role ? TRUNCATE_ROLE : TRUNCATE;
}

static Kind do_clear(Side *side) {
  bool keep[LONGEST], keep_system = !one_in(4);
  for (uint32_t i = 0; i < current(side)->count; i++) {
    keep[i] = keep_system && messages->list[current(side)->ids[i]].of->role == ROLE_SYSTEM;
  }
  assert_int_equal(operation_clear(side->chat, keep_system, (Text){0}), STATUS_OK);
  keep_plain(side, BATCH_CLEAR, keep);
  return CLEAR;
}

#define THINNING 40

static Status keep_most(void *user, uint32_t position, MessageId id, bool *keep) {
  (void)position;
  *keep = id % THINNING != *(const uint32_t *)user;
  return STATUS_OK;
}

/* Does it call tool_x, or answer such a call? */
static bool of_tool_x(MessageId id) {
  if (has_calls(id)) return strchr(ids_of(id), 'x') != NULL;
  for (uint32_t i = 0; has_results(id) && ids_of(id)[i] != '\0'; i++) {
    if (messages->list[id].links[i].message != 0 && ids_of(id)[i] == 'x') return true;
  }
  return false;
}

static bool passes_plain(const Filter *filter, MessageId id) {
  const Template *of = messages->list[id].of;
  if (filter->roles != 0 && !(filter->roles >> of->role & 1)) return false;
  if (is_item(id)) {        /* has no text, and calls nothing */
    if (filter->contains.count > 0) return false;
    return filter->where == NULL || id % THINNING != *(const uint32_t *)filter->user;
  }
  if (filter->contains.count > 0 && of->word.size > 0 && of->word.fill == 'r') return false;
  if (filter->contains.count > 0 && of->word.size == 0) return false;
  if (filter->excludes.count > 0 && of->word.size > 0 && of->word.fill == 'q') return false;
  if (filter->exclude_calls && of->word.ids[0] != '\0') return false;
  if (filter->exclude_calls_of.count > 0 && of_tool_x(id)) return false;
  return filter->where == NULL || id % THINNING != *(const uint32_t *)filter->user;
}

static Kind do_filter(Side *side) {
  const Text p_or_q[] = {text_of("p"), text_of("q")}, q = text_of("q"), tool = text_of("tool_x");
  uint32_t rest = below(THINNING), what = below(20);
  Filter filter = {.user = &rest, .whole_units = one_in(3)};
  if (what < 3) filter.roles = 15u & ~(1u << below(ROLE_COUNT));
  else if (what == 3) filter.contains = (TextList){p_or_q, 2};
  else if (what == 4) filter.excludes = (TextList){&q, 1};
  else if (what == 5) filter.exclude_calls = true;
  else if (what < 8) filter.exclude_calls_of = (TextList){&tool, 1};
  if (what >= 8 || one_in(4)) filter.where = keep_most;
  bool keep[LONGEST];
  for (uint32_t i = 0; i < current(side)->count; i++) keep[i] = passes_plain(&filter, current(side)->ids[i]);
  if (filter.whole_units) plain_widen(current(side), keep);
  assert_int_equal(operation_filter(side->chat, &filter), STATUS_OK);
  keep_plain(side, BATCH_FILTER, keep);
  return filter.whole_units ? FILTER_UNITS : FILTER;
}

/* ---- going elsewhere ---- */

static Kind roll_back(Side *side, uint32_t batch, bool has_length, uint32_t length) {
  Kind kind = batch < side->current ? ROLLBACK_BACK : batch > side->current ? ROLLBACK_FORWARD : ROLLBACK_SAME;
  assert_int_equal(operation_rollback(side->chat, batch, has_length, length), STATUS_OK);
  side->current = batch;
  if (!has_length || length == current(side)->count) return kind;
  PlainBatch *made = new_batch(side, BATCH_ROLLBACK);
  made->count = made->born = made->parent_length = length;
  return ROLLBACK_LENGTH;
}

static Kind do_rollback(Side *side) {
  const PlainCheckpoint *checkpoint = &side->checkpoints[below(CHECKPOINTS)];
  if (one_in(8) && checkpoint->age > 0) return roll_back(side, checkpoint->batch, true, checkpoint->length);
  uint32_t batch = below(side->count), near = side->count < 20 ? side->count : 20;
  if (one_in(2)) batch = side->count - 1 - below(near);
  uint32_t later = side->count - 1 - side->current;
  if (later > 0 && !one_in(4)) batch = side->current + 1 + below(later);
  for (uint32_t tries = 0; tries < 8 && side->batches[batch].count < run.plan.small; tries++) {
    batch = below(side->count);
  }
  return roll_back(side, batch, one_in(2), some_length(&side->batches[batch]));
}

/* Once there are as many forks as there is room for, one makes way. */
static Kind do_fork(const Side *side) {
  Side *made = &run.sides[run.side_count];
  if (run.side_count < SIDES) {
    run.side_count++;
  } else {
    do made = &run.sides[below(SIDES)]; while (made == side);
    side_free(made);
  }
  side_fork(made, side);
  return FORK;
}

static Kind do_checkpoint(Side *side) {
  uint32_t i = below(CHECKPOINTS);
  assert_int_equal(history_name(conversation_history(side->chat), text_of(CHECKPOINT_NAMES[i])), STATUS_OK);
  side->checkpoints[i] = (PlainCheckpoint){side->current, current(side)->count, ++side->checkpoint_age};
  return CHECKPOINT;
}

static Kind do_mark(Side *side) {
  MessageId origin = messages->list[current(side)->ids[below(current(side)->count)]].origin;
  uint32_t i = below(MARKS);
  bool marked = side->marks[origin] >> i & 1;
  if (marked) assert_int_equal(conversation_unmark(side->chat, text_of(MARK_NAMES[i]), origin), STATUS_OK);
  else assert_int_equal(conversation_mark(side->chat, text_of(MARK_NAMES[i]), origin), STATUS_OK);
  side->marks[origin] ^= (uint8_t)(1u << i);
  side->mark_sizes[i] += marked ? -1u : 1u;
  return marked ? UNMARK : MARK;
}

/* ---- steps ---- */

static Kind draw_operation(Side *side) {
  uint32_t count = current(side)->count, what = below(1000);
  if (count > FULL) return do_truncate(side);
  if (count == 0 || (count < run.plan.small && one_in(3))) return do_add(side, one_in(3), 1 + below(12));
  if (what < 330) return do_add(side, false, 1 + below(3));
  if (what < 480) return do_add(side, true, 1 + below(2));
  if (what < 620) return do_replace(side);
  if (what < 760) return do_truncate(side);
  if (what < 785) return do_filter(side);
  if (what < 789) return do_clear(side);
  if (what < 910) return do_rollback(side);
  if (what < 912) return do_fork(side);
  if (what < 930) return do_checkpoint(side);
  return do_mark(side);
}

static Kind do_something(Side *side) {
  side_look(side);
  Kind kind = draw_operation(side);
  if (kind >= ROLLBACK_BACK && kind <= ROLLBACK_LENGTH) side->rolled_back = true;
  else if (kind < ROLLBACK_BACK) side->rolled_back = false;
  return kind;
}

#endif
