/*
** Policies that are compiled once: what they do in other runtimes is what their text
** does there; what is refused; memory that runs out on the way.
*/
#include "api_kit.h"

static const char MINE[] = "local tools = require 'my.tools'\n"
                           "return { options = { keep = { type = 'integer', default = 1 } },\n"
                           "  trim = function(draft, budget, options)\n"
                           "    draft.memory.runs = (draft.memory.runs or 0) + tools.limit()\n"
                           "    draft:drop_oldest { to = budget, keep = options.keep }\n"
                           "  end }";

static ebb_status compile(ebb_runtime *runtime, const char *name, const char *source, ebb_policy **policy) {
  return ebb_policy_new(runtime, name, source, strlen(source), policy);
}

/* A chat that the policy "mine" has trimmed. */
static void trimmed(ebb_runtime *runtime, char digest[65]) {
  ebb_chat *chat;
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  talk(runtime, chat, 5);
  must(trim(chat, "mine", "{\"budget\":100,\"options\":{\"keep\":2}}", NULL));
  must(ebb_chat_digest(chat, digest));
  ebb_chat_free(chat);
}

static void does_what_its_text_does(void **state) {
  (void)state;
  Host first, hosts[4];
  ebb_runtime *runtime;
  ebb_policy *policy;
  char wanted[65], got[65];
  host_open(&first, &runtime);
  first.still = true;
  must(load_policy(runtime, "mine", MINE));
  trimmed(runtime, wanted);
  must(compile(runtime, "mine", MINE, &policy));
  ebb_runtime_free(runtime);                 /* the handle outlives it */
  assert_in_range(first.heap.in_use, sizeof MINE, 10 * sizeof MINE);
  for (int i = 0; i < 4; i++) {
    host_open(&hosts[i], &runtime);
    hosts[i].still = true;
    must(ebb_policy_add(runtime, policy));
    if (i == 3) ebb_policy_free(policy);     /* the runtime keeps nothing of it */
    trimmed(runtime, got);
    assert_string_equal(got, wanted);
    host_close(&hosts[i], runtime);
  }
  assert_int_equal(first.heap.in_use, 0);
}

static void compiling_changes_nothing_and_adding_swaps(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_policy *good, *bad;
  ebb_text report;
  open_talk(&host, &runtime, &chat, 5);
  must(compile(runtime, "mine", "return function(draft, budget) draft:note 'why' draft:drop_oldest { to = budget } end",
               &good));
  must(compile(runtime, "mine", "local n = 1\nreturn function(draft)\n  error 'not today'\nend", &bad));
  refused(trim(chat, "mine", "{\"budget\":100}", NULL), EBB_UNKNOWN_NAME, "mine");
  must(ebb_policy_add(runtime, bad));
  refused(trim(chat, "mine", "{\"budget\":100}", NULL), EBB_POLICY, "mine:3: not today");
  must(ebb_policy_add(runtime, good));
  must(trim(chat, "mine", "{\"budget\":100}", &report));
  assert_non_null(strstr(report.bytes, "\"by\":\"mine\""));
  assert_non_null(strstr(report.bytes, "\"notes\":[{\"by\":\"mine\",\"text\":\"why\"}]"));
  ebb_policy_free(bad);
  ebb_policy_free(good);
  host_close(&host, runtime);
}

static ebb_status tell(void *user, const char *arguments, size_t size, ebb_sink *result) {
  (void)user;
  return ebb_sink_add(result, arguments, size);
}

/* What the text finds when it runs is the runtime's to which it is added. */
static void it_runs_anew_in_each_runtime(void **state) {
  (void)state;
  static const char source[] = "if tell then error 'refused here' end\n"
                               "count = (count or 0) + 1\n"
                               "assert(count == 1)\n"
                               "return function() end";
  Host host, other;
  ebb_runtime *runtime, *second;
  ebb_policy *policy;
  host_open(&host, &runtime);
  host_open(&other, &second);
  must(compile(runtime, "counts", source, &policy));
  must(ebb_policy_add(runtime, policy));
  must(ebb_policy_add(runtime, policy));     /* with other globals each time */
  ebb_runtime *first = runtime;
  runtime = second;
  must(load_policy(runtime, "counts", "return function(draft, budget) draft:drop_oldest { to = budget } end"));
  must(ebb_register(runtime, "tell", tell, NULL, 0));
  refused(ebb_policy_add(runtime, policy), EBB_SCRIPT, "counts:1: refused here");
  ebb_chat *chat;
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  talk(runtime, chat, 5);
  must(trim(chat, "counts", "{\"budget\":100}", NULL));                         /* the old one stays */
  ebb_policy_free(policy);
  host_close(&other, second);
  host_close(&host, first);
}

static void what_is_no_policy_is_refused(void **state) {
  (void)state;
  static const struct { const char *name, *source; ebb_status status; const char *says; } cases[] = {
    {"mine", "return function(", EBB_SYNTAX, "mine:1:"},
    {"mine", "\033Lua", EBB_SYNTAX, "binary chunk"},
    {"mine", "return 5", EBB_SHAPE, "number"},
    {"mine", "return { trim = function() end, sumary = 'x' }", EBB_SHAPE, "sumary"},
    {"mine", "error 'no'", EBB_SCRIPT, "mine:1: no"},
    {"mine", "local ebb = require 'ebb'\nebb.load 'x'", EBB_UNKNOWN_NAME, "mine:2: ebb.load is not available"},
    {"mine", "while true do end", EBB_FUEL, "fuel"},
    {"keep_recent", "return function() end", EBB_ARGUMENT, "built-in"},
    {"no/path", "return function() end", EBB_ARGUMENT, "no/path"},
    {"", "return function() end", EBB_ARGUMENT, "name"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_policy *policy = NULL;
  host_open(&host, &runtime);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    refused(compile(runtime, cases[i].name, cases[i].source, &policy), cases[i].status, cases[i].says);
    assert_null(policy);
  }
  refused(ebb_policy_new(runtime, NULL, "", 0, &policy), EBB_ARGUMENT, "NULL");
  refused(ebb_policy_new(runtime, "mine", NULL, 1, &policy), EBB_ARGUMENT, "NULL");
  refused(ebb_policy_new(runtime, "mine", "", 0, NULL), EBB_ARGUMENT, "NULL");
  refused(ebb_policy_add(runtime, NULL), EBB_ARGUMENT, "NULL");
  assert_int_equal(ebb_policy_new(NULL, "mine", "", 0, &policy), EBB_ARGUMENT);
  must(compile(runtime, "mine", "return function() end", &policy));
  assert_int_equal(ebb_policy_add(NULL, policy), EBB_ARGUMENT);
  ebb_policy_free(policy);
  ebb_policy_free(NULL);
  host_close(&host, runtime);
}

/* ---- memory ---- */

static bool sweep_step(size_t k, bool once, bool adding) {
  Host host;
  ebb_runtime *runtime;
  ebb_policy *policy = NULL;
  char digest[65];
  host_open(&host, &runtime);
  if (adding) must(compile(runtime, "mine", MINE, &policy));
  else must(load_policy(runtime, "other", MINE));          /* what loading loads is there */
  host.heap.once = once;
  host.heap.fail_at = k;
  host.heap.calls = 0;
  ebb_status status = adding ? ebb_policy_add(runtime, policy) : compile(runtime, "mine", MINE, &policy);
  host.heap.fail_at = 0;
  if (status != EBB_OK) {
    if (status != EBB_MEMORY) fail_msg("allocation %zu: %s", k, ebb_last_error(runtime)->message);
    if (!adding) assert_null(policy);
    if (adding) must(ebb_policy_add(runtime, policy));
    else must(compile(runtime, "mine", MINE, &policy));
  }
  if (!adding) must(ebb_policy_add(runtime, policy));
  trimmed(runtime, digest);
  ebb_policy_free(policy);
  bool hit = host.heap.failed > 0;
  host_close(&host, runtime);
  return hit;
}

/* SAMPLE=n makes every n-th allocation fail. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    size_t count = 0, stride = test_stride(1);
    for (size_t k = test_start(stride); sweep_step(k, way % 2 == 1, way >= 2); k += stride) count++;
    print_message("swept: policy_%s, %zu allocations %s\n", way >= 2 ? "add" : "new", count,
                  way % 2 == 1 ? "once" : "for good");
    assert_true(count >= 100 / stride);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(does_what_its_text_does), cmocka_unit_test(compiling_changes_nothing_and_adding_swaps),
    cmocka_unit_test(it_runs_anew_in_each_runtime), cmocka_unit_test(what_is_no_policy_is_refused),
    cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
