/*
** Marks and a plain table of bits, after the same random changes, copies and retentions; with
** and without memory. SEED=n repeats a run, STEPS=n makes it longer.
*/
#include <string.h>

#include "base/bitset.h"
#include "check.h"
#include "core/message/mark.h"

enum { NAMES = 9, ORIGINS = 5 };

static const char *const WORDS[NAMES] = {"", "a", "b", "c", "ab", "pinned", "a\"b", "\xc3\xa4", "a name"};

/* Marks and their model: rank[name] is the order of first use, 0 before it. */
typedef struct Side {
  Marks *marks;
  bool has[ORIGINS + 1][NAMES];
  uint32_t rank[NAMES], ranks;
} Side;

/* The names of an origin in order of their first use. */
static void compare_chain(const Side *side, MessageId origin) {
  uint32_t at = marks_first(side->marks, origin);
  for (uint32_t rank = 1; rank <= side->ranks; rank++) {
    for (int name = 0; name < NAMES; name++) {
      if (side->rank[name] != rank || !side->has[origin][name]) continue;
      assert_int_not_equal(at, MARK_NONE);
      assert_true(text_is(marks_name(side->marks, at), WORDS[name]));
      at = marks_after(side->marks, at, origin);
    }
  }
  assert_int_equal(at, MARK_NONE);
}

static void compare(const Side *side) {
  assert_int_equal(marks_name_count(side->marks), side->ranks);
  for (MessageId origin = 1; origin <= ORIGINS; origin++) compare_chain(side, origin);
  for (int name = 0; name < NAMES; name++) {
    uint32_t size = 0;
    for (MessageId origin = 1; origin <= ORIGINS; origin++) {
      size += side->has[origin][name];
      assert_int_equal(marks_has(side->marks, text_of(WORDS[name]), origin), side->has[origin][name]);
    }
    assert_int_equal(marks_size(side->marks, text_of(WORDS[name])), size);
  }
}

static Status add(Side *side, int name, MessageId origin) {
  Status status = marks_add(side->marks, text_of(WORDS[name]), origin);
  if (status != STATUS_OK) return status;
  side->has[origin][name] = true;
  if (side->rank[name] == 0) side->rank[name] = ++side->ranks;
  return STATUS_OK;
}

/* A copy, of some origins or of all; the original lives on and has not changed. */
static Status copy(Side *side) {
  uint64_t keep = below(4) == 0 ? below(1u << (ORIGINS + 1)) : UINT64_MAX;
  Marks *original = marks_share(side->marks);
  Status status = keep == UINT64_MAX ? marks_make_private(&side->marks) : marks_retain(&side->marks, &keep);
  if (status != STATUS_OK) compare(side);
  marks_release(original);
  for (MessageId origin = 1; status == STATUS_OK && origin <= ORIGINS; origin++) {
    if (!bitset_has(&keep, origin)) memset(side->has[origin], 0, sizeof side->has[origin]);
  }
  return status;
}

static Status step(Side *side) {
  int name = (int)below(NAMES);
  MessageId origin = 1 + below(ORIGINS);
  switch (below(16)) {
  case 0: return copy(side);
  case 1: case 2: case 3: case 4: case 5: case 6:
    assert_int_equal(marks_remove(side->marks, text_of(WORDS[name]), origin), side->has[origin][name]);
    side->has[origin][name] = false;
    return STATUS_OK;
  default: return add(side, name, origin);
  }
}

static void marks_agree_with_a_plain_table(void **state) {
  (void)state;
  chance = test_seed();
  uint64_t steps = test_steps(20000);
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  for (uint64_t i = 0; i < steps;) {
    Side side = {0};
    assert_int_equal(marks_new(&memory, &side.marks), STATUS_OK);
    for (uint32_t life = below(400); life > 0; life--, i++) {
      size_t failed = fail.failed;
      if (one_in(5)) fail.fail_at = fail.calls + 1 + below(3);
      Status status = step(&side);
      fail.fail_at = 0;
      assert_true(status == STATUS_OK || (fail.failed > failed && status == STATUS_MEMORY));
      compare(&side);
    }
    marks_release(side.marks);
    assert_int_equal(fail.in_use, 0);
  }
  assert_true(fail.failed > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(marks_agree_with_a_plain_table)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
