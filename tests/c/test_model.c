/*
** The model test: a long run of random accepted operations on forks of one
** conversation, done once by the conversation and once on plain arrays, and
** compared after every step: the visible list, the searches that the tree
** answers by its sums, batches, states long past, differences.
**
** STEPS=n sets the number of operations, SEED=n repeats a run. Now and then a
** new conversation begins, so that memory stays bounded: a long one, whose tree
** is high with nodes of any size, and one of usual length, by turns.
**
** Refusals, small conversations and the legacy forms of calls are in
** test_operation.c; this test looks for what only many versions of long lists
** show.
*/
#define _GNU_SOURCE /* open_memstream */
#include "model_steps.h"

static const Plan PLANS[] = {{500, 2000, 2600}, {20000, 240, 420}};

static const char *const KIND_NAMES[KINDS] = {
  "append", "append after rollback", "insert", "replace", "truncate", "truncate a role", "truncate whole units",
  "clear", "filter", "filter whole units", "rollback back", "rollback forward", "rollback to current",
  "rollback with length", "fork", "checkpoint", "mark", "unmark"
};

static struct {
  uint64_t kinds[KINDS];
  uint64_t lengths[LONGEST + 1];   /* steps by the length of the list they left */
} seen;

static void step(Side *side) {
  Kind kind = do_something(side);
  seen.kinds[kind]++;
  seen.lengths[current(side)->count]++;
  same_side(side, &run.sides[below(run.side_count)]);
}

/* The operations of one conversation, at most `steps`; answers how many there were. */
static uint32_t converse(Plan plan, uint32_t steps) {
  uint32_t done = 1, first = plan.small + (plan.large - plan.small) / 4;
  run.plan = plan;
  run.side_count = 1;
  side_new(&run.sides[0], &run.fail);
  seen.kinds[do_add(&run.sides[0], false, first)]++;
  seen.lengths[first]++;
  for (; done < steps && done < plan.steps && messages->count < MESSAGES - ADDED; done++) {
    step(&run.sides[below(run.side_count)]);
  }
  for (uint32_t i = 0; i < run.side_count; i++) same_history(&run.sides[i]);
  for (uint32_t i = 0; i < run.side_count; i++) side_free(&run.sides[i]);
  assert_int_equal(run.fail.in_use, 0);
  return done;
}

static uint32_t median_length(uint64_t steps) {
  uint64_t before = 0;
  uint32_t length = 0;
  while ((before += seen.lengths[length]) * 2 < steps) length++;
  return length;
}

static void long_conversations_agree_with_plain_arrays(void **state) {
  (void)state;
  uint32_t steps = test_steps(8000), done = 0, conversations = 0;
  templates_make();
  for (; done < steps; conversations++) done += converse(PLANS[conversations % 2], steps - done);
  templates_free();
  uint32_t median = median_length(done);
  printf("model: %u operations on %u conversations, median list %u messages\nmodel:", (unsigned)done,
         (unsigned)conversations, (unsigned)median);
  for (int kind = 0; kind < KINDS; kind++) {
    printf("%s %s %llu", kind > 0 ? "," : "", KIND_NAMES[kind], (unsigned long long)seen.kinds[kind]);
    if (steps >= 100000) assert_true(seen.kinds[kind] > 0);
  }
  printf("\n");
  if (steps >= 100000) assert_true(median >= 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(long_conversations_agree_with_plain_arrays),
  };
  chance = test_seed();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
