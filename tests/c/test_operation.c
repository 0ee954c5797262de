/*
** Operations against plain arrays: random edits on up to five forks and branches of
** one conversation, branches that come back or are dropped, each compared with copies of ids: the list, the batches and
** their parents, links, marks, and states long past. SEED=n repeats a run,
** STEPS=n sets its length.
*/
#define _GNU_SOURCE /* open_memstream */
#include "conversation_kit.h"
#include "core/merge_branch.h"
#include "state/policy_memory.h"

#define LONGEST 100
#define BATCHES 160
#define SIDES 5

typedef struct PlainBatch {
  uint32_t count, born, parent, parent_length;
  BatchKind kind;
  MessageId ids[LONGEST];
} PlainBatch;

/* One conversation, and what it should be. A branch knows the side that it left, and
   what that was then. */
typedef struct Side {
  Conversation *chat;
  struct Side *left;         /* NULL: no branch, or it came back already */
  uint32_t left_count, left_current, left_length, left_stored, left_rollbacks;
  PlainStore store;
  PlainBatch batches[BATCHES];
  uint32_t count, current, rollbacks;  /* rollbacks: to other batches than the current one */
  bool pinned[PLAIN_ROOM + 1];         /* by origin */
  bool pinned_then[PLAIN_ROOM + 1];    /* of a branch: when it left */
} Side;

typedef struct Run {
  Fail fail;
  Side sides[SIDES];
  uint32_t side_count;
} Run;

static Run run;

static PlainBatch *current(Side *side) { return &side->batches[side->current]; }

/* ---- comparing ---- */

static void check_list(const Sequence *list, const PlainBatch *batch, uint32_t length) {
  assert_int_equal(sequence_count(list), length);
  for (uint32_t i = 0; i < length; i++) assert_int_equal(sequence_at(list, i), batch->ids[i]);
}

static void check_state(const Side *side, uint32_t batch, uint32_t length) {
  Sequence *list;
  Status status = history_state(conversation_history(side->chat), batch, length, &list);
  if (length < side->batches[batch].born || length > side->batches[batch].count) {
    assert_int_equal(status, STATUS_RANGE);
    return;
  }
  assert_int_equal(status, STATUS_OK);
  check_list(list, &side->batches[batch], length);
  sequence_release(list);
}

static void check_batch(const Side *side, uint32_t batch) {
  const PlainBatch *plain = &side->batches[batch];
  BatchInfo info = history_batch(conversation_history(side->chat), batch);
  assert_int_equal(info.parent, plain->parent);
  assert_int_equal(info.parent_length, plain->parent_length);
  assert_int_equal(info.born, plain->born);
  assert_int_equal(info.count, plain->count);
  assert_int_equal(info.kind, plain->kind);
}

static void check_message(const Side *side, MessageId id) {
  const Store *store = conversation_store(side->chat);
  const Plain *plain = &side->store.messages[id];
  assert_int_equal(store_origin(store, id), plain->origin);
  for (uint32_t i = 0; i < strlen(plain_results(plain)); i++) {
    CallLink link = store_answers(store, id, i);
    assert_int_equal(link.message, plain->links[i].message);
    assert_int_equal(link.call, plain->links[i].call);
  }
  bool pinned = marks_has(conversation_marks(side->chat), text_of(MARK_PINNED), plain->origin);
  assert_int_equal(pinned, side->pinned[plain->origin]);
}

static void check(Side *side) {
  uint64_t tokens = conversation_overhead(side->chat);
  assert_int_equal(store_count(conversation_store(side->chat)), side->store.count);
  assert_int_equal(history_count(conversation_history(side->chat)), side->count);
  assert_int_equal(history_current(conversation_history(side->chat)), side->current);
  check_list(conversation_list(side->chat), current(side), current(side)->count);
  for (uint32_t i = 0; i < current(side)->count; i++) {
    check_message(side, current(side)->ids[i]);
    tokens += message_tokens(conversation_message(side->chat, current(side)->ids[i]));
  }
  assert_int_equal(conversation_tokens(side->chat), tokens);
  check_batch(side, below(side->count));
  uint32_t batch = below(side->count);
  check_state(side, batch, below(side->batches[batch].count + 2));
}

static void check_all_states(const Side *side) {
  for (uint32_t batch = 0; batch < side->count; batch++) {
    check_batch(side, batch);
    for (uint32_t length = 0; length <= side->batches[batch].count + 1; length++) check_state(side, batch, length);
  }
}

/* ---- random edits, done twice ---- */

static Word random_word(void) {
  Word word = {.kind = "suuaaafftttUUg"[below(14)], .size = below(12), .fill = "pqr"[below(3)]};
  const char *shuffled = (const char *[]){"xyz", "zxy", "yxz"}[below(3)];
  uint32_t ids = word.kind == 'a' ? below(4) : word.kind == 'U' ? 1 + below(3) : strchr("ftg", word.kind) != NULL;
  memcpy(word.ids, shuffled, ids);
  if (word.kind == 'U' && one_in(3)) memset(word.ids, 'x', ids);
  return word;
}

/* Either anything without calls, or what keeps the calls that there were. */
static Word random_replacement(const Word *old) {
  Word word = random_word();
  if (word_calls(&word)) word.kind = word_calls(old) ? old->kind : 'u';
  bool same = word_calls(old) == word_calls(&word) && (word_calls(old) || one_in(2));
  if (same) memcpy(word.ids, old->ids, sizeof word.ids);
  if (strchr("Utg", word.kind) != NULL && word.ids[0] == '\0') word.kind = 'u';
  if (strchr("tg", word.kind) != NULL) word.ids[1] = '\0';
  if (strchr("su", word.kind) != NULL) word.ids[0] = '\0';
  return word;
}

static PlainBatch *new_batch(Side *side, BatchKind kind) {
  PlainBatch *parent = current(side), *batch = &side->batches[side->count];
  *batch = *parent;
  batch->parent = side->current;
  batch->parent_length = parent->count;
  batch->kind = kind;
  side->current = side->count++;
  return batch;
}

static void plain_put(Side *side, PlainBatch *batch, uint32_t position, Word word) {
  MessageId id = plain_add(&side->store, batch->ids, batch->count, position, word, 0);
  memmove(batch->ids + position + 1, batch->ids + position, (batch->count - position) * sizeof *batch->ids);
  batch->ids[position] = id;
  batch->count++;
}

static void do_add(Side *side, bool insert) {
  Words words = {0};
  uint32_t some = 1 + below(3), position = insert ? below(current(side)->count + 1) : current(side)->count;
  for (uint32_t i = 0; i < some; i++) words_add(&words, random_word());
  assert_int_equal(put_words(side->chat, insert ? WORDS_INSERT : WORDS_APPEND, position, &words), STATUS_OK);
  PlainBatch *batch = insert ? new_batch(side, BATCH_INSERT) : current(side);
  for (uint32_t i = 0; i < some; i++) plain_put(side, batch, position + i, words.list[i]);
  if (insert) batch->born = batch->count;
}

static void do_replace(Side *side) {
  if (current(side)->count == 0) return;
  Words words = {0};
  uint32_t at = below(current(side)->count);
  MessageId old = current(side)->ids[at];
  words_add(&words, random_replacement(&side->store.messages[old].word));
  assert_int_equal(put_words(side->chat, WORDS_REPLACE, at, &words), STATUS_OK);
  PlainBatch *batch = new_batch(side, BATCH_REPLACE);
  batch->ids[at] = plain_add(&side->store, batch->ids, batch->count, at, words.list[0], old);
  batch->born = batch->count;
}

static void keep_plain(Side *side, BatchKind kind, const bool *keep) {
  PlainBatch *batch = new_batch(side, kind);
  uint32_t count = batch->count;
  batch->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (keep[i]) batch->ids[batch->count++] = batch->ids[i];
  }
  batch->born = batch->count;
}

static void widen_plain(Side *side, bool *keep) {
  const Units *units;
  assert_int_equal(conversation_units(side->chat, &units), STATUS_OK);
  bool wanted[LONGEST] = {false};
  for (uint32_t i = 0; i < current(side)->count; i++) wanted[units->unit_of[i]] |= keep[i];
  for (uint32_t i = 0; i < current(side)->count; i++) keep[i] = wanted[units->unit_of[i]];
}

static uint32_t amount(bool *has) {
  *has = one_in(3);
  return one_in(9) ? UINT32_MAX - below(2) : below(one_in(2) ? 3 : 40);
}

static void do_truncate(Side *side) {
  Truncate cut = {.has_role = one_in(3), .role = below(ROLE_COUNT), .keep_others = one_in(2), .whole_units = one_in(3)};
  cut.keep_first = amount(&cut.has_keep_first);
  cut.keep_last = amount(&cut.has_keep_last);
  cut.remove_first = amount(&cut.has_remove_first);
  cut.remove_last = amount(&cut.has_remove_last);
  cut.start = amount(&cut.has_range);
  cut.end = one_in(8) ? below(5) : cut.start + (cut.start < 1000 ? below(30) : 0);
  bool any = cut.has_keep_first || cut.has_keep_last || cut.has_remove_first || cut.has_remove_last ||
             cut.has_range || cut.has_role;
  Status status = operation_truncate(side->chat, &cut);
  if (!any || (cut.has_range && cut.start > cut.end)) {
    assert_int_equal(status, STATUS_ARGUMENT);
    return;
  }
  assert_int_equal(status, STATUS_OK);
  bool keep[LONGEST];
  uint32_t among[LONGEST], n = 0;
  for (uint32_t i = 0; i < current(side)->count; i++) {
    bool of_role = !cut.has_role || word_role(&side->store.messages[current(side)->ids[i]].word) == cut.role;
    keep[i] = !of_role && cut.keep_others;
    if (of_role) among[n++] = i;
  }
  n = cut_plain(&cut, among, n);
  for (uint32_t i = 0; i < n; i++) keep[among[i]] = true;
  if (cut.whole_units) {   /* units are those before the cut */
    Conversation *after = side->chat;
    assert_int_equal(conversation_fork(after, &side->chat), STATUS_OK);
    assert_int_equal(operation_rollback(side->chat, side->current, false, 0), STATUS_OK);
    widen_plain(side, keep);
    conversation_check(side->chat);
    conversation_free(side->chat);
    side->chat = after;
  }
  keep_plain(side, BATCH_TRUNCATE, keep);
}

static void do_clear(Side *side) {
  bool keep[LONGEST], keep_system = one_in(2);
  for (uint32_t i = 0; i < current(side)->count; i++) {
    keep[i] = keep_system && side->store.messages[current(side)->ids[i]].word.kind == 's';
  }
  assert_int_equal(operation_clear(side->chat, keep_system, (Text){0}), STATUS_OK);
  keep_plain(side, BATCH_CLEAR, keep);
}

static Status keep_odd(void *user, uint32_t position, MessageId id, bool *keep) {
  (void)position;
  *keep = (id & 3) != *(const uint32_t *)user;
  return STATUS_OK;
}

/* Does it call tool_x, or answer such a call? */
static bool of_tool_x(const Side *side, const Plain *plain) {
  if (plain->word.kind == 'a') return strchr(plain->word.ids, 'x') != NULL;
  for (size_t i = 0; i < strlen(plain_results(plain)); i++) {
    CallLink link = plain->links[i];
    const Word *caller = &side->store.messages[link.message].word;
    if (link.message != 0 && caller->kind == 'a' && caller->ids[link.call] == 'x') return true;
  }
  return false;
}

static bool passes_plain(const Side *side, const Filter *filter, MessageId id) {
  const Plain *plain = &side->store.messages[id];
  const Word *word = &plain->word;
  if (filter->roles != 0 && !(filter->roles >> word_role(word) & 1)) return false;
  if (filter->contains.count > 0 && (word->size == 0 || word->fill == 'r')) return false;
  if (filter->excludes.count > 0 && word->size > 0 && word->fill == 'q') return false;
  if (filter->exclude_calls && word->ids[0] != '\0') return false;
  if (filter->exclude_calls_of.count > 0 && of_tool_x(side, plain)) return false;
  return filter->where == NULL || (id & 3) != *(const uint32_t *)filter->user;
}

static void do_filter(Side *side) {
  const Text p_or_q[] = {text_of("p"), text_of("q")}, q = text_of("q"), tool = text_of("tool_x");
  uint32_t rest = below(4);
  Filter filter = {.user = &rest};
  if (one_in(2)) filter.roles = below(16);
  if (one_in(3)) filter.contains = (TextList){p_or_q, 2};
  if (one_in(3)) filter.excludes = (TextList){&q, 1};
  if (one_in(4)) filter.exclude_calls_of = (TextList){&tool, 1};
  filter.exclude_calls = one_in(6);
  if (one_in(2)) filter.where = keep_odd;
  bool any = filter.roles != 0 || filter.contains.count + filter.excludes.count + filter.exclude_calls_of.count > 0 ||
             filter.exclude_calls || filter.where != NULL;
  bool keep[LONGEST];
  for (uint32_t i = 0; i < current(side)->count; i++) keep[i] = passes_plain(side, &filter, current(side)->ids[i]);
  filter.whole_units = one_in(3);
  if (filter.whole_units) widen_plain(side, keep);
  assert_int_equal(operation_filter(side->chat, &filter), any ? STATUS_OK : STATUS_ARGUMENT);
  if (any) keep_plain(side, BATCH_FILTER, keep);
}

static void do_rollback(Side *side) {
  uint32_t batch = below(side->count + 1), length = 0;
  bool has_length = one_in(2);
  if (batch == side->count) {
    assert_int_equal(operation_rollback(side->chat, batch, has_length, 0), STATUS_RANGE);
    return;
  }
  PlainBatch *target = &side->batches[batch];
  if (has_length) length = below(target->count + 2);
  bool refused = has_length && (length < target->born || length > target->count);
  assert_int_equal(operation_rollback(side->chat, batch, has_length, length), refused ? STATUS_RANGE : STATUS_OK);
  if (refused) return;
  side->rollbacks += side->current != batch;
  side->current = batch;
  if (!has_length || length == target->count) return;
  PlainBatch *made = new_batch(side, BATCH_ROLLBACK);
  made->parent_length = made->count = made->born = length;
}

static Side *free_side(void) {
  for (uint32_t i = 0; i < run.side_count; i++) {
    if (run.sides[i].chat == NULL) return &run.sides[i];
  }
  return run.side_count < SIDES ? &run.sides[run.side_count++] : NULL;
}

static void do_fork(const Side *side) {
  Side *made = free_side();
  if (made == NULL) return;
  *made = *side;
  made->left = NULL;
  assert_int_equal(conversation_fork(side->chat, &made->chat), STATUS_OK);
}

static void do_mark(Side *side) {
  if (current(side)->count == 0) return;
  MessageId origin = side->store.messages[current(side)->ids[below(current(side)->count)]].origin;
  if (side->pinned[origin]) assert_int_equal(conversation_unmark(side->chat, text_of(MARK_PINNED), origin), STATUS_OK);
  else assert_int_equal(conversation_mark(side->chat, text_of(MARK_PINNED), origin), STATUS_OK);
  side->pinned[origin] = !side->pinned[origin];
}

/* Several ways to be refused; nothing may show of any. */
static void do_refused(Side *side) {
  Words words = {.fail_with = STATUS_HOST};
  uint32_t count = current(side)->count, some = below(4);
  for (uint32_t i = 0; i < some; i++) words_add(&words, random_word());
  char *before = snapshot(side->chat, true);
  assert_int_equal(put_words(side->chat, WORDS_APPEND, 0, &words), STATUS_HOST);
  assert_int_equal(put_words(side->chat, WORDS_INSERT, below(count + 1), &words), STATUS_HOST);
  assert_int_equal(put_words(side->chat, WORDS_INSERT, count + 1, &words), STATUS_RANGE);
  assert_int_equal(put_words(side->chat, WORDS_REPLACE, count, &words), STATUS_RANGE);
  words = (Words){0};
  assert_int_equal(put_words(side->chat, WORDS_APPEND, 0, &words), STATUS_ARGUMENT);
  assert_int_equal(put_words(side->chat, WORDS_INSERT, 0, &words), STATUS_ARGUMENT);
  if (count > 0) assert_int_equal(put_words(side->chat, WORDS_REPLACE, 0, &words), STATUS_ARGUMENT);
  assert_snapshot(side->chat, true, before);
  free(before);
}

/* ---- branches ---- */

static void do_branch(Side *side) {
  Side *branch = free_side();
  if (branch == NULL) return;
  *branch = *side;
  branch->left = side;
  memcpy(branch->pinned_then, side->pinned, sizeof side->pinned);
  branch->left_count = side->count;
  branch->left_current = side->current;
  branch->left_length = current(side)->count;
  branch->left_stored = side->store.count;
  branch->left_rollbacks = side->rollbacks;
  assert_int_equal(conversation_fork(side->chat, &branch->chat), STATUS_OK);
  assert_int_equal(conversation_begin_branch(branch->chat, side->chat, merge_memories_by_name), STATUS_OK);
}

static MessageId joined_id(const Side *branch, MessageId id) {
  return id > branch->left_stored ? id + branch->left->store.count - branch->left_stored : id;
}

/* The branch's messages behind those of the side that it left. */
static void plain_take_messages(Side *side, const Side *branch, uint32_t stored) {
  for (MessageId id = branch->left_stored + 1; id <= branch->store.count; id++) {
    Plain *plain = &side->store.messages[++side->store.count];
    uint32_t shift = stored - branch->left_stored;
    *plain = branch->store.messages[id];
    if (plain->origin > branch->left_stored) plain->origin += shift;
    for (size_t i = 0; i < strlen(plain_results(plain)); i++) {
      if (plain->links[i].message > branch->left_stored) plain->links[i].message += shift;
    }
  }
}

static PlainBatch renumbered(const Side *branch, uint32_t batch) {
  PlainBatch plain = branch->batches[batch];
  for (uint32_t i = 0; i < plain.count; i++) plain.ids[i] = joined_id(branch, plain.ids[i]);
  return plain;
}

static void add_tail(PlainBatch *batch, const PlainBatch *ours, uint32_t from) {
  for (uint32_t i = from; i < ours->count; i++) batch->ids[batch->count++] = ours->ids[i];
}

/* True if a side added messages and rolled back since the branch left: some may be in another batch than it left. */
static bool added_elsewhere(const Side *side, const Side *branch) {
  return side->store.count != branch->left_stored && side->rollbacks != branch->left_rollbacks;
}

static bool changed_lists(const Side *branch) {
  return added_elsewhere(branch, branch) || branch->count != branch->left_count ||
         branch->current != branch->left_current ||
         branch->batches[branch->left_current].count != branch->left_length;
}

/* Adds a batch of the branch to the side's, and makes it current. */
static void plain_add_joined(Side *side, const Side *branch, uint32_t batch, const PlainBatch *ours) {
  PlainBatch made = renumbered(branch, batch);
  add_tail(&made, ours, branch->left_length);
  made.parent = side->current;
  made.parent_length = current(side)->count;
  made.born = made.count;
  if (batch < branch->left_count) made.kind = BATCH_INSERT;
  side->batches[side->count] = made;
  side->current = side->count++;
}

/* What both have as it comes out of a join of lists; the side has its own messages still. */
static void plain_join(Side *side, const Side *branch) {
  PlainBatch ours = side->batches[branch->left_current];
  bool grew = branch->batches[branch->left_current].count > branch->left_length;
  if (grew && side->store.count > branch->left_stored) {
    if (branch->current != branch->left_current) plain_add_joined(side, branch, branch->left_current, &ours);
    plain_add_joined(side, branch, branch->current, &ours);
    return;
  }
  for (uint32_t i = 0; i < branch->count; i++) {
    if (i == branch->left_current && !grew) continue;
    side->batches[i] = renumbered(branch, i);
  }
  side->count = branch->count;
  side->current = branch->current;
  if (side->current != branch->left_current) add_tail(current(side), &ours, branch->left_length);
}

static bool may_join(const Side *branch) {
  const Side *side = branch->left;
  return !changed_lists(branch) || (side->count == branch->left_count && side->current == branch->left_current &&
                                    !added_elsewhere(side, branch));
}

/* Marks that the branch added or took away. */
static void plain_join_marks(Side *side, const Side *branch, const bool *then, uint32_t stored) {
  for (MessageId id = 1; id <= branch->store.count; id++) {
    MessageId here = id > branch->left_stored ? id + stored - branch->left_stored : id;
    if (branch->pinned[id] != then[id]) side->pinned[here] = branch->pinned[id];
  }
}

static void do_join(Side *branch) {
  Side *side = branch->left;
  uint32_t stored = side->store.count;
  bool changed, room = stored + branch->store.count - branch->left_stored < PLAIN_ROOM - 20 &&
                       current(branch)->count + current(side)->count < LONGEST;
  if (!may_join(branch)) {
    char *before = snapshot(side->chat, true);
    assert_int_equal(conversation_merge_conflict(side->chat, branch->chat), MERGE_CONFLICT_LISTS);
    assert_int_equal(conversation_merge_branch(side->chat, branch->chat, &changed), STATUS_ARGUMENT);
    assert_snapshot(side->chat, true, before);
    free(before);
  } else if (room) {
    assert_int_equal(conversation_merge_branch(side->chat, branch->chat, &changed), STATUS_OK);
    assert_int_equal(changed, changed_lists(branch));
    if (changed_lists(branch)) side->rollbacks += branch->rollbacks - branch->left_rollbacks;
    if (changed_lists(branch)) plain_join(side, branch);
    if (changed_lists(branch)) plain_take_messages(side, branch, stored);
    plain_join_marks(side, branch, branch->pinned_then, stored);
  }
  conversation_free(branch->chat);
  for (uint32_t i = 0; i < run.side_count; i++) {
    if (run.sides[i].left == branch) run.sides[i].left = NULL;
  }
  memset(branch, 0, sizeof *branch);
}

static void step(Side *side) {
  uint32_t what = below(27);
  if (side->chat == NULL) return;
  if (what > 24 && side->left == NULL) do_branch(side);
  if (what > 24 && side->left != NULL && one_in(3)) {
    do_join(side);
    return;
  }
  what = below(24);
  if (current(side)->count + 8 > LONGEST || what == 0) do_truncate(side);
  else if (what < 3) do_filter(side);
  else if (what == 3) one_in(3) ? do_clear(side) : do_truncate(side);
  else if (what < 6) do_rollback(side);
  else if (what < 9) do_add(side, true);
  else if (what < 12) do_replace(side);
  else if (what == 12) do_fork(side);
  else if (what == 13) do_mark(side);
  else if (what == 14) do_refused(side);
  else do_add(side, false);
}

static void operations_agree_with_plain_arrays(void **state) {
  (void)state;
  uint32_t steps = test_steps(4000);
  while (steps > 0) {
    memset(&run, 0, sizeof run);
    run.sides[0].chat = chat_of(&run.fail, "");
    run.sides[0].batches[0] = (PlainBatch){.parent = BATCH_NONE, .kind = BATCH_CREATE};
    run.sides[0].count = run.side_count = 1;
    for (uint32_t i = 0; i < BATCHES - 10 && steps > 0; i++, steps--) {
      step(&run.sides[below(run.side_count)]);
      for (uint32_t s = 0; s < run.side_count; s++) {
        if (run.sides[s].chat != NULL) check(&run.sides[s]);
      }
    }
    for (uint32_t s = 0; s < run.side_count; s++) {
      if (run.sides[s].chat == NULL) continue;
      check_all_states(&run.sides[s]);
      conversation_check(run.sides[s].chat);
      conversation_free(run.sides[s].chat);
    }
    assert_int_equal(run.fail.in_use, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(operations_agree_with_plain_arrays),
  };
  chance = test_seed();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
