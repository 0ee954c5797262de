/*
** The sequence against plain arrays: the same random edits on both, every query
** compared after each, with many versions held at a time. SEED=n repeats a run,
** STEPS=n sets its length. Best built with small nodes (SEQUENCE_FANOUT=4,
** SEQUENCE_LEAF=4), so that few messages make a high tree.
*/
#include <string.h>

#include "check.h"
#include "core/list/sequence.h"

static Fail heap;
static const Memory counted = {fail_allocate, &heap};

/* Makes the next allocation but `after` fail, and all later ones if `sticky`; none if after < 0. */
static void heap_fail(long after, bool sticky) {
  heap.fail_at = after < 0 ? 0 : heap.calls + (size_t)after + 1;
  heap.once = !sticky;
  heap.failed = 0;
}

/* ---- messages, and what the model knows of them ---- */

#define MESSAGES 3000

typedef struct Weight {
  Role role;
  uint32_t tokens;
  bool timed;
  int64_t time;
} Weight;

static Store *store;
static Weight weights[MESSAGES + 16];   /* by id */

static MessageId add_message(Weight weight) {
  char raw[64];
  int size = snprintf(raw, sizeof raw, "{\"role\":\"%s\",\"content\":\"x\"}", role_name(weight.role));
  MessageShape shape = {.role = weight.role,
                        .role_text = {.at = sizeof "{\"role\":\"" - 1, .size = strlen(role_name(weight.role)) & 0xff},
                        .content_kind = CONTENT_STRING,
                        .content = {.at = (uint32_t)size - 3, .size = 1},
                        .timestamp = weight.time,
                        .has_timestamp = weight.timed};
  MessageId id = 0;
  assert_int_equal(store_add(store, text_of(raw), false, &shape, &id), STATUS_OK);
  store_weigh(store, id, weight.tokens);
  assert_in_range(id, 1, MESSAGES + 15);
  weights[id] = weight;
  return id;
}

static int make_store(void **state) {
  (void)state;
  Memory memory = memory_system();
  assert_int_equal(store_new(&memory, (HashKey){0}, &store), STATUS_OK);
  for (int i = 0; i < MESSAGES; i++) {
    add_message((Weight){.role = below(ROLE_COUNT), .tokens = below(4) ? below(100) : 0,
                         .timed = below(5) == 0, .time = (int64_t)below(1000000) - 1000});
  }
  return 0;
}

static int drop_store(void **state) {
  (void)state;
  store_release(store);
  return 0;
}

static MessageId any_message(void) { return 1 + below(MESSAGES); }

/* ---- the model: a plain array ---- */

#define LONGEST 8000

typedef struct Model {
  uint32_t count;
  MessageId ids[LONGEST];
} Model;

static void model_insert(Model *m, uint32_t at, MessageId id) {
  memmove(m->ids + at + 1, m->ids + at, (m->count - at) * sizeof *m->ids);
  m->ids[at] = id;
  m->count++;
}

static void model_remove(Model *m, uint32_t first, uint32_t end) {
  memmove(m->ids + first, m->ids + end, (m->count - end) * sizeof *m->ids);
  m->count -= end - first;
}

static void model_copy(Model *to, const Model *from) {
  to->count = from->count;
  memcpy(to->ids, from->ids, from->count * sizeof *from->ids);
}

static void model_add(Sum *sum, MessageId id) {
  const Weight *weight = &weights[id];
  sum->count[weight->role]++;
  sum->tokens[weight->role] += weight->tokens;
  sum->turns += weight->role == ROLE_USER;
  if (weight->timed && weight->time < sum->earliest) sum->earliest = weight->time;
  if (weight->timed && weight->time > sum->latest) sum->latest = weight->time;
}

static uint64_t model_measure(MessageId id, Measure measure) {
  Sum sum = SUM_ZERO;
  model_add(&sum, id);
  return sum_measure(&sum, measure);
}

/* ---- comparing ---- */

static void same_sum(Sum a, Sum b) {
  assert_memory_equal(a.count, b.count, sizeof a.count);
  assert_memory_equal(a.tokens, b.tokens, sizeof a.tokens);
  assert_int_equal(a.turns, b.turns);
  assert_true(a.earliest == b.earliest && a.latest == b.latest);
}

static void same_ids(const Sequence *s, const Model *m) {
  sequence_check(s);
  assert_int_equal(sequence_count(s), m->count);
  for (uint32_t i = 0; i < m->count; i++) assert_true(sequence_at(s, i) == m->ids[i]);
  Sum sum = SUM_ZERO;
  for (uint32_t i = 0; i < m->count; i++) model_add(&sum, m->ids[i]);
  same_sum(sequence_sum(s), sum);
}

static void same_prefixes(const Sequence *s, const Model *m, uint32_t every) {
  Sum sum = SUM_ZERO;
  for (uint32_t i = 0; i <= m->count; i++) {
    if (i % every == 0 || i == m->count) same_sum(sequence_prefix(s, i), sum);
    if (i < m->count) model_add(&sum, m->ids[i]);
  }
}

/* Asks for just what stands before each message, and for one less: so also at
   the edges of all leaves. */
static void same_finds(const Sequence *s, const Model *m, Measure measure, uint32_t every) {
  static uint64_t before[LONGEST + 1];
  for (uint32_t i = 0; i < m->count; i++) before[i + 1] = before[i] + model_measure(m->ids[i], measure);
  for (uint32_t i = 0; i <= m->count; i += every) {
    uint32_t found = i;
    while (found < m->count && before[found + 1] == before[i]) found++;
    assert_int_equal(sequence_find(s, measure, before[i]), found);
    if (before[i] == 0) continue;
    for (found = i - 1; before[found] == before[i];) found--;
    assert_int_equal(sequence_find(s, measure, before[i] - 1), found);
  }
  assert_int_equal(sequence_find(s, measure, UINT64_MAX), m->count);
}

static void same_walk(const Sequence *s, const Model *m) {
  uint32_t first = below(m->count + 1), end = first + below(m->count - first + 1);
  if (below(2)) first = 0, end = m->count;
  SequenceWalk walk = sequence_walk(s, first, end);
  while (sequence_walk_next(&walk)) {
    assert_true(walk.index == first && walk.count > 0 && walk.count <= end - first);
    assert_memory_equal(walk.ids, m->ids + first, walk.count * sizeof *walk.ids);
    first += walk.count;
  }
  assert_int_equal(first, end);
  assert_false(sequence_walk_next(&walk));
}

static void same_index_of(const Sequence *s, const Model *m) {
  MessageId id = m->count > 0 && below(8) ? m->ids[below(m->count)] : any_message();
  uint32_t first = 0;
  while (first < m->count && m->ids[first] != id) first++;
  assert_int_equal(sequence_index_of(s, id, UINT32_MAX), first);
  assert_int_equal(sequence_index_of(s, id, first), first);
  uint32_t hint = below(m->count + 1);
  bool hit = hint < m->count && m->ids[hint] == id;
  assert_int_equal(sequence_index_of(s, id, hint), hit ? hint : first);
}

static void same(const Sequence *s, const Model *m) {
  uint32_t every = below(16) ? 1 + m->count / 8 : 1;
  same_ids(s, m);
  same_prefixes(s, m, every);
  same_finds(s, m, below(MEASURE_ROLE_TOKENS + ROLE_COUNT), every);
  same_walk(s, m);
  same_index_of(s, m);
}

/* ---- edits, on both ---- */

typedef enum Kind { APPEND, INSERT, REPLACE, SLICE, REMOVE, KEEP_MOST, KEEP_HALF, KINDS } Kind;

typedef struct Edit {
  Kind kind;
  uint32_t first, end;
  MessageId id;
  uint64_t keep[LONGEST / 64];
} Edit;

static void choose_range(uint32_t count, uint32_t *first, uint32_t *end) {
  uint32_t size = below(8) ? below(count < 12 ? count + 1 : 12) : below(count + 1);
  *first = below(4) ? below(count - size + 1) : below(2) ? 0 : count - size;
  *end = *first + size;
}

static void choose_bits(Edit *edit, uint32_t count) {
  bool kept = below(2);
  for (uint32_t i = 0; i < count; i++) {
    if (below(edit->kind == KEEP_MOST ? 1 + count / 4 : 4) == 0) kept = edit->kind == KEEP_HALF && !kept;
    else if (edit->kind == KEEP_MOST) kept = kept || below(4) == 0;
    uint64_t bit = (uint64_t)1 << i % 64;
    edit->keep[i / 64] = kept ? edit->keep[i / 64] | bit : edit->keep[i / 64] & ~bit;
  }
}

static void choose_edit(Edit *edit, Kind kind, uint32_t count) {
  edit->kind = kind;
  edit->id = any_message();
  edit->first = kind == REPLACE ? below(count) : below(8) ? below(count + 1) : 0;
  if (kind == SLICE || kind == REMOVE) choose_range(count, &edit->first, &edit->end);
  if (kind == SLICE && below(8)) {   /* the few go, the others stay */
    bool front = below(2);
    edit->end = front ? count : count - (edit->end - edit->first);
    edit->first = front ? below(count < 12 ? count + 1 : 12) : 0;
  }
  if (kind == KEEP_MOST || kind == KEEP_HALF) choose_bits(edit, count);
}

static Status edit_sequence(const Edit *edit, Sequence **s) {
  switch (edit->kind) {
  case APPEND: return sequence_append(s, edit->id);
  case INSERT: return sequence_insert(s, edit->first, edit->id);
  case REPLACE: return sequence_replace(s, edit->first, edit->id);
  case SLICE: return sequence_slice(s, edit->first, edit->end);
  case REMOVE: return sequence_remove(s, edit->first, edit->end);
  default: return sequence_keep(s, edit->keep);
  }
}

static void edit_model(const Edit *edit, Model *m) {
  uint32_t count = 0;
  switch (edit->kind) {
  case APPEND: model_insert(m, m->count, edit->id); break;
  case INSERT: model_insert(m, edit->first, edit->id); break;
  case REPLACE: m->ids[edit->first] = edit->id; break;
  case REMOVE: model_remove(m, edit->first, edit->end); break;
  case SLICE:
    model_remove(m, edit->end, m->count);
    model_remove(m, 0, edit->first);
    break;
  default:
    for (uint32_t i = 0; i < m->count; i++) {
      if (edit->keep[i / 64] >> i % 64 & 1) m->ids[count++] = m->ids[i];
    }
    m->count = count;
  }
}

/* ---- versions ---- */

typedef struct Version {
  Sequence *s;     /* NULL: none */
  Model model;
} Version;

static void version_new(Version *v) {
  v->model.count = 0;
  assert_int_equal(sequence_new(&counted, store, &v->s), STATUS_OK);
}

static void version_share(Version *to, const Version *from) {
  assert_int_equal(sequence_share(from->s, &to->s), STATUS_OK);
  model_copy(&to->model, &from->model);
}

static void version_release(Version *v) {
  sequence_release(v->s);
  v->s = NULL;
}

static void version_grow(Version *v, uint32_t count) {
  while (v->model.count < count) {
    uint32_t at = below(3) ? v->model.count : below(v->model.count + 1);
    for (uint32_t run = 1 + below(10); run > 0; run--, at++) {
      MessageId id = any_message();
      assert_int_equal(sequence_insert(&v->s, at, id), STATUS_OK);
      model_insert(&v->model, at, id);
    }
  }
}

/* ---- the tests ---- */

#define VERSIONS 12

static Kind choose_kind(uint32_t count, uint32_t wanted) {
  static const Kind often[] = {APPEND, APPEND, INSERT, INSERT, REPLACE, REPLACE, REMOVE, SLICE};
  if (count == 0) return below(2) ? APPEND : INSERT;
  if (count > wanted + 200 && below(3) == 0) return below(2) ? REMOVE : SLICE;
  return below(16) ? often[below(8)] : below(KINDS);
}

static void random_edits_agree_with_arrays(void **state) {
  (void)state;
  static Version versions[VERSIONS];
  static Edit edit;
  uint64_t steps = test_steps(8000);
  uint32_t wanted = 250;
  version_new(&versions[0]);
  for (uint64_t step = 0; step < steps; step++) {
    if (step % 500 == 0) wanted = below(10) ? 200 + below(300) : 1500;
    Version *v = &versions[below(VERSIONS)], *other = &versions[below(VERSIONS)];
    if (v->s == NULL) continue;
    if (below(10) == 0 && other != v) {   /* `other` held still till now, and becomes a version of `v` */
      if (other->s != NULL) same(other->s, &other->model);
      version_release(other);
      version_share(other, v);
    }
    if (v->model.count < wanted && below(20) == 0) version_grow(v, wanted + below(50));
    choose_edit(&edit, choose_kind(v->model.count, wanted), v->model.count);
    assert_int_equal(edit_sequence(&edit, &v->s), STATUS_OK);
    edit_model(&edit, &v->model);
    same(v->s, &v->model);
  }
  for (int i = 0; i < VERSIONS; i++) {
    if (versions[i].s != NULL) same(versions[i].s, &versions[i].model);
    version_release(&versions[i]);
  }
  assert_int_equal(heap.in_use, 0);
}

/* Also with the odd trees that appending makes: 4^k + 1 messages leave a right
   edge of nodes with one slot each. */
static void every_range_can_go_and_stay(void **state) {
  (void)state;
  static const uint32_t counts[] = {1, 5, 17, 64, 65, 70};
  static Version whole, part;
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    version_new(&whole);
    for (Edit edit = {.kind = APPEND}; whole.model.count < counts[i];) {
      edit.id = any_message();
      assert_int_equal(edit_sequence(&edit, &whole.s), STATUS_OK);
      edit_model(&edit, &whole.model);
    }
    for (Edit edit = {.first = 0}; edit.first <= counts[i]; edit.first++) {
      for (edit.end = edit.first; edit.end <= counts[i]; edit.end++) {
        for (edit.kind = SLICE; edit.kind <= REMOVE; edit.kind++) {
          version_share(&part, &whole);
          assert_int_equal(edit_sequence(&edit, &part.s), STATUS_OK);
          edit_model(&edit, &part.model);
          same_ids(part.s, &part.model);
          version_release(&part);
        }
      }
    }
    same(whole.s, &whole.model);
    version_release(&whole);
  }
  assert_int_equal(heap.in_use, 0);
}

/* Fails every allocation of one edit in turn, and at last lets it succeed. */
static void sweep_edit(Version *v, const Edit *edit, bool sticky) {
  size_t bytes = heap.in_use;
  for (long k = 0;; k++) {
    heap_fail(k, sticky);
    Sequence *same_handle = v->s;
    Status status = edit_sequence(edit, &v->s);
    bool failed = status == STATUS_MEMORY;
    if (!failed) assert_int_equal(status, STATUS_OK);
    assert_int_equal(failed, heap.failed > 0);
    heap_fail(-1, false);
    if (!failed) break;
    assert_ptr_equal(v->s, same_handle);
    assert_int_equal(heap.in_use, bytes);
    same_ids(v->s, &v->model);
  }
  edit_model(edit, &v->model);
  same(v->s, &v->model);
}

static void failed_allocations_change_nothing(void **state) {
  (void)state;
  static Version v, held;
  static Edit edit;
  for (int round = 0; round < 30; round++) {
    for (int kind = 0; kind < KINDS; kind++) {
      for (int way = 0; way < 4; way++) {
        bool shared = way & 1, sticky = way & 2;
        version_new(&v);
        version_grow(&v, round == 0 ? 1 : 200 + below(200));
        if (shared) version_share(&held, &v);
        choose_edit(&edit, (Kind)kind, v.model.count);
        if (kind == SLICE && round % 2 == 1) choose_range(v.model.count, &edit.first, &edit.end);
        sweep_edit(&v, &edit, sticky);
        if (shared) same(held.s, &held.model);
        version_release(&v);
        version_release(&held);
        assert_int_equal(heap.in_use, 0);
      }
    }
  }
}

static void failed_handles_leave_nothing(void **state) {
  (void)state;
  Sequence *s = NULL, *shared = NULL;
  heap_fail(0, false);
  assert_int_equal(sequence_new(&counted, store, &s), STATUS_MEMORY);
  assert_int_equal(sequence_new(&counted, store, &s), STATUS_OK);
  heap_fail(0, false);
  assert_int_equal(sequence_append(&s, 1), STATUS_MEMORY);
  assert_int_equal(sequence_append(&s, 1), STATUS_OK);
  heap_fail(0, false);
  assert_int_equal(sequence_share(s, &shared), STATUS_MEMORY);
  assert_null(shared);
  sequence_release(s);
  sequence_release(NULL);
  assert_int_equal(heap.in_use, 0);
}

static void sums_are_of_their_messages(void **state) {
  (void)state;
  Sum all = SUM_ZERO, expected = SUM_ZERO;
  for (MessageId id = 1; id <= MESSAGES; id++) {
    Sequence *s;
    Sum one = SUM_ZERO;
    assert_int_equal(sequence_new(&counted, store, &s), STATUS_OK);
    assert_int_equal(sequence_append(&s, id), STATUS_OK);
    Sum sum = sequence_sum(s);
    model_add(&one, id);
    same_sum(sum, one);
    sum_add(&all, &sum);
    model_add(&expected, id);
    sequence_release(s);
  }
  same_sum(all, expected);
  assert_int_equal(sum_measure(&all, MEASURE_COUNT), MESSAGES);
}

static void every_part_of_a_sum_reaches_its_limit(void **state) {
  (void)state;
  for (int part = 0; part < 2 * ROLE_COUNT + 1; part++) {
    Sum sum = SUM_ZERO, more = SUM_ZERO;
    uint32_t *parts[] = {&sum.turns, &more.turns};
    if (part > 0) parts[0] = part <= ROLE_COUNT ? &sum.count[part - 1] : &sum.tokens[part - 1 - ROLE_COUNT];
    if (part > 0) parts[1] = part <= ROLE_COUNT ? &more.count[part - 1] : &more.tokens[part - 1 - ROLE_COUNT];
    more.earliest = more.latest = 5;
    *parts[0] = UINT32_MAX - 1;
    *parts[1] = 1;
    sum_add(&sum, &more);
    assert_true(*parts[0] == UINT32_MAX && sum.earliest == 5 && sum.latest == 5);
  }
}

/* Sixteen of the heaviest messages leave room for 15 tokens of their role. */
static void sums_that_overflow_are_refused(void **state) {
  (void)state;
  static Version v;
  static Model expected;
  MessageId most = add_message((Weight){.role = ROLE_USER, .tokens = MESSAGE_TOKENS_MAX});
  MessageId ten = add_message((Weight){.role = ROLE_USER, .tokens = 10});
  MessageId sixteen = add_message((Weight){.role = ROLE_USER, .tokens = 16});
  MessageId other = add_message((Weight){.role = ROLE_TOOL, .tokens = MESSAGE_TOKENS_MAX});
  version_new(&v);
  expected.ids[expected.count++] = ten;
  for (int i = 0; i < 16; i++) {
    assert_int_equal(sequence_append(&v.s, most), STATUS_OK);
    expected.ids[expected.count++] = most;
  }
  assert_int_equal(sequence_append(&v.s, sixteen), STATUS_LIMIT);
  assert_int_equal(sequence_insert(&v.s, 0, sixteen), STATUS_LIMIT);
  assert_int_equal(sequence_append(&v.s, other), STATUS_OK);
  expected.ids[expected.count++] = other;
  assert_int_equal(sequence_insert(&v.s, 0, ten), STATUS_OK);
  assert_int_equal(sequence_replace(&v.s, 0, sixteen), STATUS_LIMIT);
  assert_int_equal(sequence_replace(&v.s, 17, ten), STATUS_LIMIT);
  same(v.s, &expected);
  assert_int_equal(sequence_find(v.s, MEASURE_TOKENS, (uint64_t)UINT32_MAX + 1), 17);

  assert_int_equal(sequence_replace(&v.s, 1, sixteen), STATUS_OK);   /* what goes makes room */
  expected.ids[1] = sixteen;
  same(v.s, &expected);
  version_release(&v);
}

/* Appended in order, cut anywhere: ranks still rise, and searching them finds each. */
static void a_ranked_sequence_is_searched(void **state) {
  (void)state;
  static Version v;
  static Model expected;
  version_new(&v);
  for (MessageId id = 2; id < MESSAGES; id += 1 + (id % 3)) {
    assert_int_equal(sequence_append(&v.s, id), STATUS_OK);
    expected.ids[expected.count++] = id;
  }
  assert_int_equal(sequence_remove(&v.s, 3, 40), STATUS_OK);
  memmove(expected.ids + 3, expected.ids + 40, (expected.count - 40) * sizeof *expected.ids);
  expected.count -= 37;
  assert_true(sequence_is_ranked(v.s));
  for (MessageId id = 1; id <= MESSAGES; id++) {
    uint32_t at = 0;
    while (at < expected.count && expected.ids[at] != id) at++;
    assert_int_equal(sequence_index_of(v.s, id, UINT32_MAX), at);
  }
  assert_int_equal(sequence_replace(&v.s, 3, expected.ids[3] - 1), STATUS_OK);   /* still between its neighbours */
  assert_true(sequence_is_ranked(v.s));
  assert_int_equal(sequence_insert(&v.s, 5, expected.ids[4]), STATUS_OK);     /* no longer rising */
  assert_false(sequence_is_ranked(v.s));
  assert_int_equal(sequence_index_of(v.s, expected.ids[4], UINT32_MAX), 4);
  version_release(&v);
}

static void what_is_out_of_range_is_refused(void **state) {
  (void)state;
  static Version v;
  MessageId unknown = store_count(store) + 1;
  version_new(&v);
  assert_int_equal(sequence_replace(&v.s, 0, 1), STATUS_RANGE);
  assert_int_equal(sequence_slice(&v.s, 0, 0), STATUS_OK);
  assert_int_equal(sequence_remove(&v.s, 0, 0), STATUS_OK);
  assert_int_equal(sequence_keep(&v.s, NULL), STATUS_OK);
  assert_int_equal(sequence_find(v.s, MEASURE_TOKENS, 0), 0);
  assert_int_equal(sequence_index_of(v.s, 0, UINT32_MAX), 0);
  version_grow(&v, 50);
  assert_int_equal(sequence_index_of(v.s, 0, UINT32_MAX), v.model.count);
  uint32_t count = v.model.count;
  assert_int_equal(sequence_append(&v.s, 0), STATUS_RANGE);
  assert_int_equal(sequence_append(&v.s, unknown), STATUS_RANGE);
  assert_int_equal(sequence_insert(&v.s, count + 1, 1), STATUS_RANGE);
  assert_int_equal(sequence_insert(&v.s, 0, unknown), STATUS_RANGE);
  assert_int_equal(sequence_replace(&v.s, count, 1), STATUS_RANGE);
  assert_int_equal(sequence_replace(&v.s, 0, 0), STATUS_RANGE);
  assert_int_equal(sequence_slice(&v.s, 3, 2), STATUS_RANGE);
  assert_int_equal(sequence_slice(&v.s, 0, count + 1), STATUS_RANGE);
  assert_int_equal(sequence_remove(&v.s, 3, 2), STATUS_RANGE);
  assert_int_equal(sequence_remove(&v.s, count, count + 1), STATUS_RANGE);
  same(v.s, &v.model);
  version_release(&v);
}

/* However a tree was cut down, it is not much larger than one built anew. */
static void thin_nodes_do_not_pile_up(void **state) {
  (void)state;
  static Version v;
  for (int way = 0; way < 3; way++) {
    version_new(&v);
    version_grow(&v, 7000);
    while (v.model.count > 700) {
      uint32_t end = v.model.count, size = 1 + below(12), first = below(end - size);
      bool remove = way == 0 || (way == 1 && below(2));
      Edit edit = {.kind = remove ? REMOVE : SLICE, .first = first, .end = first + size};
      if (!remove) edit.first = way == 1 && below(2) ? 0 : size, edit.end = edit.first == 0 ? end - size : end;
      assert_int_equal(edit_sequence(&edit, &v.s), STATUS_OK);
      edit_model(&edit, &v.model);
    }
    same(v.s, &v.model);
    size_t cut = heap.in_use;
    Sequence *fresh;
    assert_int_equal(sequence_new(&counted, store, &fresh), STATUS_OK);
    for (uint32_t i = 0; i < v.model.count; i++) assert_int_equal(sequence_append(&fresh, v.model.ids[i]), STATUS_OK);
    assert_true(cut <= 3 * (heap.in_use - cut));
    sequence_release(fresh);
    version_release(&v);
  }
  assert_int_equal(heap.in_use, 0);
}

int main(void) {
  chance = test_seed();
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_edits_agree_with_arrays),
    cmocka_unit_test(every_range_can_go_and_stay),
    cmocka_unit_test(failed_allocations_change_nothing),
    cmocka_unit_test(failed_handles_leave_nothing),
    cmocka_unit_test(sums_are_of_their_messages),
    cmocka_unit_test(every_part_of_a_sum_reaches_its_limit),
    cmocka_unit_test(sums_that_overflow_are_refused),
    cmocka_unit_test(a_ranked_sequence_is_searched),
    cmocka_unit_test(what_is_out_of_range_is_refused),
    cmocka_unit_test(thin_nodes_do_not_pile_up),
  };
  return cmocka_run_group_tests(tests, make_store, drop_store);
}
