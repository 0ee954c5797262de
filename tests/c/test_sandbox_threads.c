/*
** Cancelling from another thread: whatever the script is at, it stops, and the
** sandbox is whole. Built with ThreadSanitizer too (MODE=threads).
*/
#define _DEFAULT_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "sandbox/sandbox.h"
#include "thread_jumps.h"

#define DELAY 20000          /* microseconds until the other thread cancels */

/* None would end by itself. */
static const char *const LOOPS[] = {
  "while true do end",
  "while true do pcall(function() while true do end end) end",
  "while true do coroutine.wrap(function() while true do end end)() end",
  "while true do xpcall(error, function() while true do end end) end",
  "local s = ('a'):rep(20000) while true do pcall(s.find, s, '.-.-.-.-b') end",
  "local t = {} while true do pcall(function() t[#t + 1] = ('x'):rep(100000) .. #t end) end",
  "local t = setmetatable({}, { __close = function() while true do end end }) while true do local c <close> = t end",
};

typedef struct Canceller {
  pthread_t thread;
  Sandbox *sandbox;
} Canceller;

static void *cancel(void *user) {
  Canceller *canceller = user;
  usleep(DELAY);
  sandbox_cancel(canceller->sandbox);
  return NULL;
}

static void start(Canceller *canceller, Sandbox *sandbox) {
  canceller->sandbox = sandbox;
  assert_int_equal(pthread_create(&canceller->thread, NULL, cancel, canceller), 0);
}

static Sandbox *unlimited(void) {
  SandboxConfig config = {.limits = {UINT64_MAX / 2, UINT64_C(60000000)}};
  Sandbox *sandbox = sandbox_new(&config);
  assert_non_null(sandbox);
  return sandbox;
}

static void load(Sandbox *sandbox, const char *script) {
  if (sandbox_load(sandbox, script, strlen(script), "=s") != SANDBOX_OK) fail_msg("%s", sandbox_message(sandbox));
}

/* It stays cancelled until it is told otherwise; then it runs as ever. */
static void check_whole(Sandbox *sandbox) {
  load(sandbox, "return 1");
  assert_int_equal(sandbox_call(sandbox, 0, 1, NULL), SANDBOX_CANCELLED);
  sandbox_uncancel(sandbox);
  load(sandbox, "local t = {} for i = 1, 100 do t[i] = i end return #t");
  assert_int_equal(sandbox_call(sandbox, 0, 1, NULL), SANDBOX_OK);
  assert_int_equal(lua_tointeger(sandbox_state(sandbox), -1), 100);
  lua_pop(sandbox_state(sandbox), 1);
}

static void calls_are_cancelled(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof LOOPS / sizeof *LOOPS; i++) {
    Canceller canceller;
    Sandbox *sandbox = unlimited();
    load(sandbox, LOOPS[i]);
    start(&canceller, sandbox);
    SandboxEnd end = sandbox_call(sandbox, 0, 0, NULL);
    if (end != SANDBOX_CANCELLED) fail_msg("%s: %s", LOOPS[i], sandbox_message(sandbox));
    assert_string_equal(sandbox_code(sandbox), "cancelled");
    pthread_join(canceller.thread, NULL);
    check_whole(sandbox);
    sandbox_free(sandbox);
  }
}

static void tasks_are_cancelled_in_any_slice(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof LOOPS / sizeof *LOOPS; i++) {
    Canceller canceller;
    Task *task = NULL;
    Sandbox *sandbox = unlimited();
    load(sandbox, LOOPS[i]);
    assert_int_equal(task_start(sandbox, 0, NULL, &task), SANDBOX_OK);
    start(&canceller, sandbox);
    while (task_step(task, 0, 200000, NULL) == TASK_READY) continue;      /* by time some would be stopped before */
    if (task_end(task) != SANDBOX_CANCELLED) fail_msg("%s: %s", LOOPS[i], sandbox_message(sandbox));
    pthread_join(canceller.thread, NULL);
    check_whole(sandbox);
    sandbox_free(sandbox);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_cancelled),
                                     cmocka_unit_test(tasks_are_cancelled_in_any_slice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
