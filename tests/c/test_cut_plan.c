/*
** Plans of cuts, worked out by hand; tests/lua/replay_optimum_spec.lua holds them against all plans of
** small conversations.
*/
#include "check.h"

#include "core/draft/cut_plan.h"

static CutPlan best(const CutProblem *problem, double weight) {
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  CutPlan plan;
  assert_int_equal(cut_plan_best(problem, weight, &memory, &plan), STATUS_OK);
  assert_int_equal(fail.in_use, 0);
  fail = (Fail){.fail_at = 1};
  CutPlan untouched = {7, 7};
  assert_int_equal(cut_plan_best(problem, weight, &memory, &untouched), STATUS_MEMORY);
  assert_int_equal(untouched.shared, 7);
  assert_int_equal(fail.in_use, 0);
  return plan;
}

static void expect(CutPlan plan, uint64_t shared, uint64_t total) {
  assert_int_equal(plan.shared, shared);
  assert_int_equal(plan.total, total);
}

/* Units of 10; the third request no longer fits. To cut two units then leaves 10 tokens, which the fourth request
   shares; to cut one by one fills both requests and shares nothing. */
static void deep_cuts_share_more_and_send_less(void **state) {
  (void)state;
  CutUnit units[] = {{0, 0, 0}, {10, 0, 0}, {20, 0, 0}, {30, 0, 0}, {40, 0, 0}};
  CutRequest requests[] = {{10, 1, 0}, {20, 2, 0}, {30, 3, 0}, {40, 4, 0}};
  CutProblem problem = {units, requests, 4, 4, 0, 25};
  expect(best(&problem, 0), 10 + 0 + 10, 10 + 20 + 10 + 20);
  expect(best(&problem, 2), 10, 10 + 20 + 20 + 20);
}

/* A user message of 5 before units of 10: a cut that passes it keeps it, and it is shared. */
static void the_last_user_message_stays(void **state) {
  (void)state;
  CutUnit units[] = {{0, 0, 0}, {5, 0, 1}, {15, 0, 1}, {25, 0, 1}};
  CutRequest requests[] = {{15, 2, 1}, {25, 3, 1}};
  CutProblem problem = {units, requests, 3, 2, 0, 16};
  expect(best(&problem, 0.1), 5, 15 + 15);
}

/* 3 tokens of tools are in each request and not shared, 4 of a system message are; 100 tokens never fit. */
static void a_request_that_never_fits_is_not_sent(void **state) {
  (void)state;
  CutUnit units[] = {{0, 4, 0}, {10, 4, 0}, {20, 4, 0}};
  CutRequest requests[] = {{17, 1, 0}, {127, 1, 0}, {27, 2, 0}};
  CutProblem problem = {units, requests, 2, 3, 3, 17};
  expect(best(&problem, 1), 4, 17 + 17);
  problem.request_count = 0;
  expect(best(&problem, 1), 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(deep_cuts_share_more_and_send_less),
    cmocka_unit_test(the_last_user_message_stays),
    cmocka_unit_test(a_request_that_never_fits_is_not_sent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
