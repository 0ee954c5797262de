/*
** Checkpoints and a plain list of them, after the same random namings and forks; with and
** without memory. SEED=n repeats a run, STEPS=n makes it longer.
*/
#include <string.h>

#include "check.h"
#include "core/history/checkpoint.h"

enum { SIDES = 3, NAMES = 12, BATCHES = 4 };

static const char *const WORDS[NAMES] = {"", "a", "b", "c", "ab", "ba", "a\"b", "\xc3\xa4", "1", "2", "12", "a name"};

typedef struct Naming {
  uint32_t batch, length;
  uint64_t naming;           /* 0: the name is free */
} Naming;

/* Checkpoints and their model: what each name is. */
typedef struct Side {
  Checkpoints *checkpoints;
  Naming namings[NAMES];
} Side;

static const HashKey KEY = {{1, 2}};

static bool is_at(const Checkpoint *checkpoint, const Naming *naming) {
  return checkpoint->batch == naming->batch && checkpoint->length == naming->length &&
         checkpoint->naming == naming->naming;
}

static void compare(const Side *side) {
  const Checkpoint *each;
  uint32_t count = 0;
  uint64_t newest[BATCHES] = {0};
  for (int i = 0; i < NAMES; i++) {
    const Naming *naming = &side->namings[i];
    each = checkpoints_find(side->checkpoints, text_of(WORDS[i]));
    assert_int_equal(each != NULL, naming->naming > 0);
    if (each == NULL) continue;
    count++;
    assert_true(is_at(each, naming) && text_is(each->name, WORDS[i]));
    if (naming->naming > newest[naming->batch]) newest[naming->batch] = naming->naming;
  }
  assert_int_equal(checkpoints_count(side->checkpoints), count);
  for (uint32_t batch = 0; batch < BATCHES; batch++) {
    each = checkpoints_newest(side->checkpoints, batch);
    assert_int_equal(each == NULL ? 0 : each->naming, newest[batch]);
  }
  uint64_t before = 0;
  for (uint32_t at = 0; (each = checkpoints_next(side->checkpoints, &at)) != NULL; before = each->naming, count--) {
    assert_true(each->naming > before);
  }
  assert_int_equal(count, 0);
  checkpoints_check(side->checkpoints);
}

/* Names a state; without memory nothing changes. */
static Status name_state(Side *side, const Memory *memory, uint32_t word, uint64_t naming) {
  Naming added = {.batch = below(BATCHES), .length = below(9), .naming = naming};
  Checkpoint checkpoint = {.name = text_of(WORDS[word]), .batch = added.batch, .length = added.length,
                           .naming = naming};
  Status status = checkpoints_put(memory, &KEY, &side->checkpoints, &checkpoint);
  if (status == STATUS_OK) side->namings[word] = added;
  return status;
}

static void fork_side(Side *from, Side *to) {
  if (from == to) return;
  checkpoints_release(to->checkpoints);
  *to = *from;
  to->checkpoints = checkpoints_share(from->checkpoints);
}

/* Every third naming meets a memory that fails at its k-th allocation, once or for ever. */
static void step(Side sides[SIDES], Fail *fail, uint64_t naming) {
  Memory memory = fail_memory(fail);
  Side *side = &sides[below(SIDES)];
  if (one_in(8)) fork_side(&sides[below(SIDES)], side);
  uint32_t word = below(NAMES);
  fail->once = one_in(2);
  if (one_in(3)) fail->fail_at = fail->calls + 1 + below(6);
  Status status = name_state(side, &memory, word, naming);
  fail->fail_at = 0;
  assert_true(status == STATUS_OK || status == STATUS_MEMORY);
  for (int i = 0; i < SIDES; i++) compare(&sides[i]);
}

static void namings_agree_with_a_plain_list(void **state) {
  (void)state;
  chance = test_seed();
  uint64_t steps = test_steps(4000);
  Fail fail = {0};
  Side sides[SIDES] = {0};
  for (uint64_t i = 1; i <= steps; i++) step(sides, &fail, i);
  assert_true(fail.failed > 0);
  for (int i = 0; i < SIDES; i++) checkpoints_release(sides[i].checkpoints);
  assert_int_equal(fail.in_use, 0);
}

/* A name that moves again and again leaves no slots behind for ever. */
static void a_name_that_moves_takes_no_more_memory(void **state) {
  (void)state;
  Fail fail = {0};
  Side side = {0};
  Memory memory = fail_memory(&fail);
  size_t most = 0;
  for (uint64_t i = 1; i <= 1000; i++) {
    assert_int_equal(name_state(&side, &memory, i <= NAMES ? (uint32_t)i - 1 : 3, i), STATUS_OK);
    if (i == 100) most = fail.in_use;
    assert_true(i < 100 || fail.in_use <= 2 * most);
  }
  compare(&side);
  checkpoints_release(side.checkpoints);
  assert_int_equal(fail.in_use, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(namings_agree_with_a_plain_list),
    cmocka_unit_test(a_name_that_moves_takes_no_more_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
