/*
** Tasks: what they start with, and how they end. Each works on a branch of its
** chat, which comes back when it is done, and is let go.
*/
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"

/* ---- starting ---- */

typedef struct Starting {
  ebb_task *task;
  const char *function;
  Text texts[3];             /* bytes NULL: nil */
  const ebb_pipeline *pipeline;          /* NULL: none; else the argument behind the first text */
} Starting;

/* Leaves what is to run where task_start takes it from. */
static int l_start(lua_State *L) {
  Starting *starting = lua_touserdata(L, 1);
  ebb_task *task = starting->task;
  api_push_function(L, starting->function);
  branch_push_fork(L, &task->branch);        /* function fork */
  for (int i = 0; i < 3; i++) {
    if (i == 1 && starting->pipeline != NULL) holder_push(L, starting->pipeline);
    else if (starting->texts[i].bytes != NULL) lua_pushlstring(L, starting->texts[i].bytes, starting->texts[i].size);
    else lua_pushnil(L);
  }
  lua_call(L, 4, 1);
  api_hold(L);
  return 0;
}

static ebb_status start(Starting *starting) {
  ebb_task *task = starting->task;
  ebb_runtime *runtime = task->runtime;
  SandboxLimits limits = api_limits(runtime);
  chat_tick(task->branch.chat);
  ebb_status status = api_run(runtime, l_start, starting);
  if (status != EBB_OK) return status;
  if (!api_push_held(runtime)) return api_fail_status(runtime, STATUS_MEMORY, "a task");
  SandboxEnd end = task_start(runtime->sandbox, 0, &limits, &task->task);
  if (end == SANDBOX_OK) task_watch(task->task, &task->stopped);
  return api_fail_end(runtime, end);
}

/* Ends a task, removes it from all rings and frees it. */
static void task_discard(ebb_task *task) {
  ebb_runtime *runtime = task->runtime;
  bool had_ended = task->phase == PHASE_ENDED;
  task_enter(task, PHASE_ENDED);
  ring_remove(&task->event);
  ring_remove(&task->chat_tasks);
  task_free(task->task);
  if (!had_ended) branch_end(&task->branch);
  buffer_free(&task->json);
  memory_free(&runtime->memory, task, sizeof *task);
}

/* Creates a task of the chat, and its sandbox task; on failure nothing is left. */
static ebb_status make_task(ebb_chat *chat, Starting *starting, ebb_task **result) {
  ebb_runtime *runtime = chat->runtime;
  ebb_task *task = memory_new(&runtime->memory, sizeof *task);
  if (task == NULL) return api_fail_status(runtime, STATUS_MEMORY, "a task");
  *task = (ebb_task){.runtime = runtime, .branch = branch_of(chat)};
  buffer_init(&task->json, runtime->memory);
  ring_init(&task->ready);
  ring_init(&task->event);
  ring_init(&task->chat_tasks);
  ring_init(&task->sleeping);
  atomic_init(&task->stopped, false);
  ring_add(&chat->tasks, &task->chat_tasks);
  chat->end_task = task_discard;
  task_enter(task, PHASE_READY);
  starting->task = task;
  ebb_status status = start(starting);
  if (status == EBB_OK) *result = task;
  else task_discard(task);
  return status;
}

ebb_status ebb_task_trim(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_task **task) {
  if (chat == NULL || task == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  Starting starting = {.function = "task_trim", .texts = {policy == NULL ? (Text){0} : text_of(policy),
                                                          text_plain(options == NULL ? "" : options, size)}};
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, make_task(chat, &starting, task)) : status;
}

ebb_status ebb_task_replay(ebb_chat *chat, const char *options, size_t size, ebb_task **task) {
  if (chat == NULL || task == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  Starting starting = {.function = "task_replay", .texts = {text_plain(options == NULL ? "" : options, size)}};
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, make_task(chat, &starting, task)) : status;
}

ebb_status ebb_task_pipeline(const ebb_pipeline *pipeline, ebb_chat *chat, const char *options, size_t size,
                             ebb_task **task) {
  bool absent = pipeline == NULL || task == NULL || (options == NULL && size > 0);
  if (chat == NULL || absent) return api_missing(chat_runtime(chat));
  Starting starting = {.function = "task_pipeline", .texts = {api_options(options, size)}, .pipeline = pipeline};
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = pipeline_check(pipeline, chat);
  return api_leave(chat->runtime, status == EBB_OK ? make_task(chat, &starting, task) : status);
}

ebb_status ebb_task_script(ebb_chat *chat, const char *name, const char *source, size_t size, const char *arguments,
                           size_t arguments_size, ebb_task **task) {
  bool absent = (source == NULL && size > 0) || (arguments == NULL && arguments_size > 0);
  if (chat == NULL || name == NULL || task == NULL || absent) return api_missing(chat_runtime(chat));
  Starting starting = {.function = "task_script",
                       .texts = {text_of(name), api_options(source, size),
                                 text_plain(arguments == NULL ? "" : arguments, arguments_size)}};
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, make_task(chat, &starting, task)) : status;
}

/* ---- ending ---- */

void task_enter(ebb_task *task, TaskPhase phase) {
  ebb_runtime *runtime = task->runtime;
  bool was_ready = !ring_is_alone(&task->ready), is_ready = phase == PHASE_READY;
  if (was_ready && !is_ready) ring_remove(&task->ready);
  if (is_ready && !was_ready) ring_add(&runtime->ready, &task->ready);
  runtime->ready_count = runtime->ready_count - was_ready + is_ready;
  ring_remove(&task->sleeping);
  task->phase = phase;
}

void task_note_event(ebb_task *task, ebb_event_kind kind) {
  task->kind = kind;
  ring_move(&task->runtime->events, &task->event);
  task_enter(task, kind == EBB_EVENT_REQUEST ? PHASE_WAITING : PHASE_ENDED);
  if (task->phase != PHASE_ENDED) return;
  task_free(task->task);
  task->task = NULL;
  branch_end(&task->branch);
}

void task_fail(ebb_task *task, ebb_status status) {
  const ebb_error *error = &task->runtime->error;
  int size = snprintf(task->texts, sizeof task->texts, "%.60s", error->code);
  task->code = task->texts;
  task->message = task->texts + size + 1;
  size_t room = sizeof task->texts - (size_t)size - 1, length = strlen(error->message);
  if (length >= room) length = utf8_check(error->message, room - 1);
  memcpy(task->message, error->message, length);
  task->message[length] = '\0';
  task->status = status;
  task_note_event(task, EBB_EVENT_FAILED);
}

void ebb_task_free(ebb_task *task) {
  if (task != NULL && !task->runtime->busy) task_discard(task);
}

/* ---- answering ---- */

typedef struct Answering {
  ebb_task *task;
  Text json;
} Answering;

static int l_answer(lua_State *L) {
  Answering *answering = lua_touserdata(L, 1);
  Json json;
  JsonValue value;
  json_open(&json, answering->json.bytes, answering->json.size);
  if (!json_value(&json, &value) || !json_end(&json)) {
    return bind_raise(L, status_code(json.status), NULL, "answer: byte %I: expected %s",
                      (lua_Integer)(json.error - json.start) + 1, json.expected);
  }
  lua_pushlstring(L, answering->json.bytes, answering->json.size);
  api_hold(L);
  return 0;
}

ebb_status task_give_answer(ebb_task *task, Text json) {
  ebb_runtime *runtime = task->runtime;
  Answering answering = {.task = task, .json = json};
  ebb_status status = api_run(runtime, l_answer, &answering);
  if (status != EBB_OK) return status;
  if (!api_push_held(runtime)) return api_fail_status(runtime, STATUS_MEMORY, "answer");
  status = api_fail_end(runtime, task_answer(task->task));
  if (status == EBB_OK) task_enter(task, PHASE_READY);
  return status;
}

/* ---- ending for the host ---- */

static ebb_status fail_ended(const ebb_task *task) {
  return api_fail(task->runtime, EBB_ARGUMENT, NULL, "the task has ended");
}

static void cancel(ebb_task *task) {
  task_fail(task, api_fail(task->runtime, EBB_CANCELLED, NULL, "the task was cancelled"));
}

ebb_status ebb_task_cancel(ebb_task *task) {
  if (task == NULL) return EBB_ARGUMENT;
  if (task->phase == PHASE_ENDED) return fail_ended(task);
  ebb_status status = api_enter(task->runtime);
  if (status != EBB_OK) return status;
  cancel(task);
  return api_leave(task->runtime, EBB_OK);
}

/* The step that sees the runtime's flag must see the task's. */
void ebb_task_stop(ebb_task *task) {
  if (task == NULL) return;
  atomic_store_explicit(&task->stopped, true, memory_order_relaxed);
  atomic_store_explicit(&task->runtime->stopped, true, memory_order_release);
}

void task_end_stopped(ebb_runtime *runtime) {
  if (!atomic_exchange_explicit(&runtime->stopped, false, memory_order_acquire)) return;
  for (ebb_chat *chat = NULL; (chat = ebb_next_chat(runtime, chat)) != NULL;) {
    for (ebb_task *task = NULL; (task = ebb_next_task(chat, task)) != NULL;) {
      bool stopped = atomic_load_explicit(&task->stopped, memory_order_relaxed);
      if (stopped && task->phase != PHASE_ENDED) cancel(task);
    }
  }
}

/* ---- what hosts ask and set ---- */

ebb_status ebb_task_limit(ebb_task *task, uint64_t fuel, uint64_t deadline_us) {
  if (task == NULL) return EBB_ARGUMENT;
  if (task->phase == PHASE_ENDED) return fail_ended(task);
  ebb_status status = api_enter(task->runtime);
  if (status != EBB_OK) return status;
  SandboxLimits limits = api_limits(task->runtime);
  bool timed = !task->runtime->config.deterministic;
  if (fuel != 0) limits.fuel = fuel == EBB_NO_LIMIT ? 0 : fuel;
  if (deadline_us != 0 && timed) limits.microseconds = deadline_us == EBB_NO_LIMIT ? 0 : deadline_us;
  task_limit(task->task, &limits);
  return api_leave(task->runtime, EBB_OK);
}

ebb_task_phase ebb_task_state(const ebb_task *task) {
  if (task == NULL) return EBB_TASK_NONE;
  switch (task->phase) {
    case PHASE_READY: return EBB_TASK_READY;
    case PHASE_SLEEPING: return EBB_TASK_SLEEPING;
    case PHASE_WAITING: return ring_is_alone(&task->event) ? EBB_TASK_WAITING : EBB_TASK_ASKS;
    case PHASE_ENDED: break;
  }
  return task->kind == EBB_EVENT_DONE ? EBB_TASK_DONE : EBB_TASK_FAILED;
}

ebb_task *ebb_next_task(const ebb_chat *chat, const ebb_task *after) {
  if (chat == NULL) return NULL;
  Ring *next = after == NULL ? chat->tasks.behind : after->chat_tasks.behind;
  return next == &chat->tasks ? NULL : RING_OWNER(next, ebb_task, chat_tasks);
}

ebb_chat *ebb_task_chat(const ebb_task *task) { return task == NULL ? NULL : task->branch.chat; }

void *ebb_task_user(const ebb_task *task) { return task == NULL ? NULL : task->user; }

void ebb_task_set_user(ebb_task *task, void *user) {
  if (task != NULL) task->user = user;
}
