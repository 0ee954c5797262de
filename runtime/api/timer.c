/*
** Timers: a task that asks for one sleeps until the runtime's clock has come so far.
**
**     script         request { timer = 500 }          answers the time that it is then
**     lua/ebb/libebb    "timer 500"                      no JSON, so no request of the host's
**     here           sleepers, in the order in which they wake --ebb_step--> ready
*/
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

static const char PREFIX[] = "timer ";

static ebb_task *owner(Ring *link) { return RING_OWNER(link, ebb_task, sleeping); }

/* Behind all that wake as early: mostly at the end. */
static void fall_asleep(ebb_task *task) {
  Ring *head = &task->runtime->sleepers, *before = head->before;
  while (before != head && owner(before)->wake > task->wake) before = before->before;
  ring_add(before->behind, &task->sleeping);
}

bool timer_begin(ebb_task *task) {
  const char *text = task->json.bytes;
  if (strncmp(text, PREFIX, sizeof PREFIX - 1) != 0) return false;
  task->wake = api_now(task->runtime) + strtoll(text + sizeof PREFIX - 1, NULL, 10);
  task_enter(task, PHASE_SLEEPING);
  fall_asleep(task);
  return true;
}

static void wake(ebb_task *task, int64_t now) {
  char text[24];
  int size = snprintf(text, sizeof text, "%" PRId64, now);
  ebb_status status = task_give_answer(task, text_plain(text, (size_t)size));
  if (status != EBB_OK) task_fail(task, status);
}

void timer_wake(ebb_runtime *runtime) {
  if (ring_is_alone(&runtime->sleepers)) return;
  int64_t now = api_now(runtime);
  while (!ring_is_alone(&runtime->sleepers)) {
    ebb_task *first = owner(runtime->sleepers.behind);
    if (first->wake > now) return;
    wake(first, now);
  }
}

ebb_status ebb_next_timer(ebb_runtime *runtime, int64_t *at_ms) {
  if (at_ms == NULL) return api_missing(runtime);
  ebb_status status = api_enter_read(runtime);
  if (status != EBB_OK) return status;
  bool sleeps = !ring_is_alone(&runtime->sleepers);
  if (sleeps) *at_ms = owner(runtime->sleepers.behind)->wake;
  return api_leave(runtime, sleeps ? EBB_OK : EBB_NONE);
}
