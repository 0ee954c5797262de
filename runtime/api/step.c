/*
** Steps, timers and events. A step goes in rounds. In a round every ready task has one turn,
** with an equal share of what was left when the round began. What tasks
** that end or ask do not use is shared in the next round, until nothing is ready
** or nothing is left; then the next step goes on with the task whose turn it is.
**
**     left 60 of 60    A 20   B 20   C 5, ends     a round
**     left 15          A 7    B 8                  another
*/
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "os/os.h"

/* ---- timers ----
**
** A task that asks for one sleeps until the runtime's clock has come so far.
**
**     script         request { timer = 500 }          answers the time that it is then
**     lua/ebb/libebb    "timer 500"                      no JSON, so no request of the host's
**     here           sleepers, in the order in which they wake --ebb_step--> ready */

static const char PREFIX[] = "timer ";

static ebb_task *owner(Ring *link) { return RING_OWNER(link, ebb_task, sleeping); }

/* Behind all that wake as early: mostly at the end. */
static void fall_asleep(ebb_task *task) {
  Ring *head = &task->runtime->sleepers, *before = head->before;
  while (before != head && owner(before)->wake > task->wake) before = before->before;
  ring_add(before->behind, &task->sleeping);
}

/* Lets the task sleep if its request, in task->json, is a timer; false for other requests. */
static bool begin_timer(ebb_task *task) {
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

/* Wakes the tasks whose time has come. */
static void wake_tasks(ebb_runtime *runtime) {
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

/* ---- budgets ---- */

enum { SHARE_LEAST_US = 50, SHARE_LEAST_FUEL = 5000 };   /* less would go into starting and stopping */

/* Microseconds and fuel, of a step or of one slice; EBB_NO_LIMIT: no bound. */
typedef struct Amount {
  uint64_t microseconds, fuel;
} Amount;

/* What a step may use, and how far it has come. */
typedef struct Budget {
  Amount all, share;             /* share: of each task in this round */
  uint64_t began, used_fuel;
  uint32_t waiting;              /* tasks whose turn is still to come in this round */
} Budget;

static uint64_t now_us(void) {
  return (uint64_t)clock_monotonic_us();
}

static bool is_bound(uint64_t amount) { return amount != EBB_NO_LIMIT; }

/* False when it is used up. */
static bool measure_left(const Budget *budget, Amount *left) {
  *left = budget->all;
  uint64_t spent = is_bound(budget->all.microseconds) ? now_us() - budget->began : 0;
  if (spent >= budget->all.microseconds || budget->used_fuel >= budget->all.fuel) return false;
  if (is_bound(left->microseconds)) left->microseconds -= spent;
  if (is_bound(left->fuel)) left->fuel -= budget->used_fuel;
  return true;
}

static uint64_t share_of(uint64_t left, uint32_t tasks, uint64_t least) {
  if (!is_bound(left)) return left;
  uint64_t share = left / tasks;
  return share > least ? share : least;
}

static void begin_round(Budget *budget, Amount left, uint32_t ready) {
  budget->waiting = ready;
  budget->share = (Amount){.microseconds = share_of(left.microseconds, ready, SHARE_LEAST_US),
                           .fuel = share_of(left.fuel, ready, SHARE_LEAST_FUEL)};
}

/* For task_step, to which 0 is no bound. */
static uint64_t slice_of(uint64_t left, uint64_t share) {
  uint64_t slice = left < share ? left : share;
  return is_bound(slice) ? slice : 0;
}

/* ---- one slice ---- */

/* Writes the result on top, two values (api_write_result), into the task's event. */
static ebb_status take_json(ebb_task *task) {
  buffer_reset(&task->json);
  Status status = api_write_result(task->runtime->L, sink_to_buffer(&task->json));
  if (status == STATUS_OK) status = buffer_add_byte(&task->json, '\0');
  return api_fail_status(task->runtime, status, "the event of a task");
}

static void end_done(ebb_task *task, int results) {
  lua_State *L = task->runtime->L;
  lua_settop(L, lua_gettop(L) - results + 2);
  ebb_status status = take_json(task);
  if (status == EBB_OK) status = branch_commit(&task->branch);
  if (status == EBB_OK) task_note_event(task, EBB_EVENT_DONE);
  else task_fail(task, status);
}

static void end_request(ebb_task *task) {
  ebb_status status = api_fail_end(task->runtime, task_request(task->task));
  if (status == EBB_OK) {
    lua_pushnil(task->runtime->L);
    status = take_json(task);
  }
  if (status != EBB_OK) task_fail(task, status);
  else if (!begin_timer(task)) task_note_event(task, EBB_EVENT_REQUEST);
}

static void run_slice(ebb_task *task, Amount slice) {
  int results = 0;
  task->branch.fork->callbacks->now = api_now(task->runtime);
  TaskState state = task_step(task->task, slice.microseconds, slice.fuel, &results);
  switch (state) {
    case TASK_READY: break;
    case TASK_DONE: end_done(task, results); break;
    case TASK_REQUEST: end_request(task); break;
    case TASK_FAILED: task_fail(task, api_fail_end(task->runtime, task_end(task->task))); break;
  }
}

/* ---- all of them ---- */

/* The one whose turn it is; one is ready. It comes behind the others. */
static ebb_task *take_turn(ebb_runtime *runtime) {
  Ring *first = runtime->ready.behind;
  ring_move(&runtime->ready, first);
  return RING_OWNER(first, ebb_task, ready);
}

/* Gives one task its slice; answers the fuel that it used. */
static uint64_t run_turn(ebb_task *task, Amount slice) {
  ebb_runtime *runtime = task->runtime;
  uint64_t before = task_used(task->task).fuel;
  run_slice(task, slice);
  uint64_t after = task->task != NULL ? task_used(task->task).fuel : sandbox_used(runtime->sandbox).fuel;
  return after > before ? after - before : 0;
}

static ebb_status step(ebb_runtime *runtime, Budget *budget) {
  Amount left;
  for (;;) {
    bool new_round = budget->waiting == 0;
    uint32_t ready = new_round ? runtime->ready_count : budget->waiting;
    if (ready == 0) return EBB_OK;
    if (!measure_left(budget, &left)) {
      if (new_round) take_turn(runtime);     /* who comes last has what the others left: another one in each step */
      return EBB_MORE;
    }
    if (new_round) begin_round(budget, left, ready);
    budget->waiting--;
    Amount slice = {.microseconds = slice_of(left.microseconds, budget->share.microseconds),
                    .fuel = slice_of(left.fuel, budget->share.fuel)};
    budget->used_fuel += run_turn(take_turn(runtime), slice);
  }
}

ebb_status ebb_step(ebb_runtime *runtime, uint64_t microseconds, uint64_t fuel) {
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  if (runtime->config.deterministic) microseconds = EBB_NO_LIMIT;
  Budget budget = {.all = {.microseconds = microseconds, .fuel = fuel}};
  if (is_bound(microseconds)) budget.began = now_us();
  task_end_stopped(runtime);
  wake_tasks(runtime);
  return api_leave(runtime, step(runtime, &budget));
}

/* ---- events ---- */

static ebb_status tell_failure(ebb_task *task, ebb_text *json) {
  JsonOut out;
  json_out_start(&out, sink_to_buffer(api_answer_buffer(task->runtime, 0)));
  json_out_open(&out, '{');
  json_out_member_string(&out, "code", task->code);
  json_out_member_string(&out, "message", task->message);
  json_out_close(&out, '}');
  Status status = json_out_end(&out);
  return status == STATUS_OK ? api_answer(task->runtime, 0, json) : api_fail_status(task->runtime, status, "an event");
}

static ebb_status next_event(ebb_runtime *runtime, ebb_event *event) {
  if (ring_is_alone(&runtime->events)) return EBB_NONE;
  ebb_task *task = RING_OWNER(runtime->events.behind, ebb_task, event);
  event->kind = task->kind;
  event->task = task;
  event->chat = task->branch.chat;
  event->status = task->status;
  ebb_status status = EBB_OK;
  if (task->kind == EBB_EVENT_FAILED) status = tell_failure(task, &event->json);
  else event->json = (ebb_text){.bytes = task->json.bytes, .size = task->json.size - 1};
  if (status == EBB_OK) ring_remove(&task->event);
  return status;
}

ebb_status ebb_next_event(ebb_runtime *runtime, ebb_event *event) {
  if (event == NULL) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  ebb_event next = {.size = sizeof next};
  status = abi_check(runtime, event->size, EVENT_FIRST, "ebb_event");
  if (status == EBB_OK) status = next_event(runtime, &next);
  if (status == EBB_OK) abi_write(event, &next, sizeof next);
  return api_leave(runtime, status);
}

/* ---- answers ---- */

static ebb_status check_waiting(ebb_task *task) {
  if (task->phase == PHASE_WAITING && ring_is_alone(&task->event)) return EBB_OK;
  return api_fail(task->runtime, EBB_ARGUMENT, NULL, "the task waits for no answer to a request that was fetched");
}

static ebb_status answer(ebb_task *task, const char *json, size_t size) {
  ebb_status status = check_waiting(task);
  return status == EBB_OK ? task_give_answer(task, api_options(json, size)) : status;
}

ebb_status ebb_answer(ebb_task *task, const char *json, size_t size) {
  if (task == NULL || (json == NULL && size > 0)) return api_missing(task == NULL ? NULL : task->runtime);
  ebb_status status = api_enter(task->runtime);
  return status == EBB_OK ? api_leave(task->runtime, answer(task, json, size)) : status;
}

static ebb_status refuse(ebb_task *task, const char *message) {
  ebb_status status = check_waiting(task);
  if (status == EBB_OK) status = api_fail_end(task->runtime, task_refuse(task->task, "refused", message));
  if (status == EBB_OK) task_enter(task, PHASE_READY);
  return status;
}

ebb_status ebb_refuse(ebb_task *task, const char *message) {
  if (task == NULL || message == NULL) return api_missing(task == NULL ? NULL : task->runtime);
  ebb_status status = api_enter(task->runtime);
  return status == EBB_OK ? api_leave(task->runtime, refuse(task, message)) : status;
}
