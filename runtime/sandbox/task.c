/*
** Tasks: threads of a sandbox that the host steps.
**
**            start                   slice over
**              |      step          +----------+
**              +----> runs ---------+          |
**                      | ^  \       +-- READY -+-- step
**              request | |   +--> DONE, FAILED
**                      v |
**                   REQUEST -- answer, refuse -- step
**
** The registry has two entries per task: under the address of `thread` its thread, under
** the address of `request` the value of its request and later the answer. Setting an entry
** that exists, even to nil, allocates nothing and so cannot raise: the host's side does it
** outside of protected calls.
*/
#include <assert.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

/* The state of a task's request. */
typedef enum RequestState { REQUEST_NONE, REQUEST_OPEN, REQUEST_ANSWERED, REQUEST_REFUSED } RequestState;

struct Task {
  Sandbox *sandbox;
  Task *next;
  lua_State *thread;         /* NULL when it is done, failed */
  int arguments;             /* of the first step */
  SandboxLimits limits, used;
  const atomic_bool *cancelled;   /* the host's; NULL: none */
  TaskState state;
  SandboxEnd end;
  RequestState request;      /* its address is the key of the registry entry */
};

/* ---- asking: the script's side ---- */

/* Continues request(): returns the answer, or raises the refusal. */
static int continue_request(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  Task *task = sandbox_of(L)->task;
  RequestState request = task->request;
  task->request = REQUEST_NONE;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &task->request);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &task->request);
  return request == REQUEST_REFUSED ? lua_error(L) : 1;
}

/* request(value) -> what the host answers */
int library_request(lua_State *L) {
  Sandbox *sandbox = sandbox_of(L);
  Task *task = sandbox->task;
  luaL_argcheck(L, !lua_isnoneornil(L, 1), 1, "something must be asked");   /* nil would make no entry */
  if (task == NULL) return luaL_error(L, "nobody answers requests here");
  if (!guard_can_pass(L)) return luaL_error(L, "a request cannot be made here: a C function waits that cannot yield");
  guard_charge(L, 20);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &task->request);
  task->request = REQUEST_OPEN;
  sandbox->passing = PASS_REQUEST;
  return lua_yieldk(L, 0, 0, continue_request);
}

/* ---- the host's side ---- */

typedef struct Start {
  Task *task;
  int arguments;
} Start;

/* (start, function, arguments ...): creates the task's thread and moves the rest to it. Raises
   for want of memory. */
static int start_thread(lua_State *L) {
  Start *start = lua_touserdata(L, 1);
  lua_State *thread = lua_newthread(L);
  thread_begin(thread, THREAD_HOST);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &start->task->thread);
  guard_check_stack(thread, start->arguments + 1, NULL);
  lua_xmove(L, thread, start->arguments + 1);
  start->task->thread = thread;
  return 0;
}

SandboxEnd task_start(Sandbox *sandbox, int arguments, const SandboxLimits *limits, Task **result) {
  lua_State *L = sandbox->L;
  if (sandbox->current != NULL) {
    lua_pop(L, arguments + 1);
    return outcome_note_text(sandbox, SANDBOX_BUSY, NULL, "a script of this sandbox is running");
  }
  Task *task = memory_new(&sandbox->memory, sizeof *task);
  if (task == NULL || !lua_checkstack(L, 4)) {
    memory_free(&sandbox->memory, task, sizeof *task);
    lua_pop(L, arguments + 1);
    return outcome_note_text(sandbox, SANDBOX_MEMORY_OUT, NULL, "not enough memory for a task");
  }
  *task = (Task){.sandbox = sandbox, .arguments = arguments, .state = TASK_READY,
                 .limits = limits != NULL ? *limits : sandbox->config.limits};
  Start call = {.task = task, .arguments = arguments};
  sandbox->printed = 0;
  lua_pushcfunction(L, start_thread);
  lua_insert(L, -(arguments + 2));
  lua_pushlightuserdata(L, &call);
  lua_insert(L, -(arguments + 2));
  int status = lua_pcall(L, arguments + 2, 0, 0);
  task->next = sandbox->tasks;
  sandbox->tasks = task;
  if (status != LUA_OK) {
    SandboxEnd end = outcome_note(sandbox, L, status);
    task_free(task);
    return end;
  }
  *result = task;
  return SANDBOX_OK;
}

/* Releases the thread without closing it: no code of the script runs for it again. */
static void drop_thread(Task *task) {
  lua_State *L = task->sandbox->L;
  guard_note_garbage(task->sandbox);
  if (!lua_checkstack(L, 1)) return;         /* then it lives as long as the state */
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &task->thread);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &task->request);
  task->thread = NULL;
}

static TaskState fail(Task *task, int status) {
  task->end = outcome_note(task->sandbox, task->thread, status);
  task->state = TASK_FAILED;
  return TASK_FAILED;
}

static TaskState finish(Task *task, int count, int *results) {
  lua_State *L = task->sandbox->L;
  task->state = TASK_DONE;
  if (results == NULL) return TASK_DONE;
  *results = 0;
  if (!lua_checkstack(L, count)) {
    task->end = outcome_note_text(task->sandbox, SANDBOX_MEMORY_OUT, NULL, "not enough memory for the results");
    task->state = TASK_FAILED;
    return TASK_FAILED;
  }
  lua_xmove(task->thread, L, count);
  *results = count;
  return TASK_DONE;
}

/* The total of fuel or microseconds at which a slice ends that may use `slice` more; 0: no end. */
static uint64_t slice_end(uint64_t used, uint64_t slice) {
  return slice == 0 ? 0 : slice > UINT64_MAX - used ? UINT64_MAX : used + slice;
}

TaskState task_step(Task *task, uint64_t microseconds, uint64_t fuel, int *results) {
  Sandbox *sandbox = task->sandbox;
  if (results != NULL) *results = 0;
  if (sandbox->current != NULL || task->thread == NULL || task->request == REQUEST_OPEN) return task->state;
  guard_begin(sandbox, &task->limits, &task->used);
  sandbox->slicing = true;
  sandbox->slice_fuel = slice_end(task->used.fuel, fuel);
  sandbox->slice_microseconds = slice_end(task->used.microseconds, microseconds);
  sandbox->task = task;
  sandbox->watched = task->cancelled;
  sandbox->current = task->thread;
  guard_enter(sandbox, task->thread);
  int count = 0;
  Locale outside = sandbox_enter_locale(sandbox);
  int status = landing_resume(sandbox, task->thread, sandbox->L, task->arguments, &count);
  sandbox_leave_locale(sandbox, outside);
  task->arguments = 0;
  if (status == LUA_YIELD) task->state = sandbox->passing == PASS_REQUEST ? TASK_REQUEST : TASK_READY;
  else if (status == LUA_OK) finish(task, count, results);
  else fail(task, status);
  guard_end(sandbox);
  sandbox->task = NULL;
  sandbox->watched = NULL;
  task->used = sandbox->last_used;
  if (status != LUA_YIELD) drop_thread(task);
  return task->state;
}

SandboxEnd task_request(Task *task) {
  lua_State *L = task->sandbox->L;
  if (!lua_checkstack(L, 1)) return outcome_note_text(task->sandbox, SANDBOX_MEMORY_OUT, NULL, "not enough memory");
  if (task->request == REQUEST_OPEN) lua_rawgetp(L, LUA_REGISTRYINDEX, &task->request);
  else lua_pushnil(L);
  return SANDBOX_OK;
}

/* Makes the value on top the answer to the open request, and pops it; without an open request
   it pops it, too, and fails. The answer may be nil. The registry entry was made by the request
   and has not been cleared since, so setting it allocates nothing and cannot raise. */
static SandboxEnd answer(Task *task, RequestState answered_as) {
  lua_State *L = task->sandbox->L;
  assert(answered_as == REQUEST_ANSWERED || answered_as == REQUEST_REFUSED);
  if (task->request != REQUEST_OPEN) {
    lua_pop(L, 1);
    return outcome_note_text(task->sandbox, SANDBOX_ERROR, NULL, "the task has no open request");
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &task->request);
  task->request = answered_as;
  task->state = TASK_READY;
  return SANDBOX_OK;
}

SandboxEnd task_answer(Task *task) {
  return answer(task, REQUEST_ANSWERED);
}

typedef struct Refusal {
  const char *code, *message;
} Refusal;

/* (refusal) -> {code, message} */
static int push_refusal(lua_State *L) {
  const Refusal *refusal = lua_touserdata(L, 1);
  lua_createtable(L, 0, 2);
  lua_pushstring(L, refusal->code);
  lua_setfield(L, -2, "code");
  lua_pushstring(L, refusal->message);
  lua_setfield(L, -2, "message");
  return 1;
}

SandboxEnd task_refuse(Task *task, const char *code, const char *message) {
  Sandbox *sandbox = task->sandbox;
  Refusal refusal = {.code = code, .message = message};
  if (!lua_checkstack(sandbox->L, 4)) return outcome_note_text(sandbox, SANDBOX_MEMORY_OUT, NULL, "not enough memory");
  lua_pushcfunction(sandbox->L, push_refusal);
  lua_pushlightuserdata(sandbox->L, &refusal);
  int status = lua_pcall(sandbox->L, 1, 1, 0);
  if (status != LUA_OK) return outcome_note(sandbox, sandbox->L, status);
  return answer(task, REQUEST_REFUSED);
}

void task_limit(Task *task, const SandboxLimits *limits) { task->limits = *limits; }

void task_watch(Task *task, const atomic_bool *cancelled) { task->cancelled = cancelled; }

SandboxEnd task_end(const Task *task) {
  return task->end;
}

SandboxLimits task_used(const Task *task) {
  return task->used;
}

void task_free(Task *task) {
  if (task == NULL) return;
  Sandbox *sandbox = task->sandbox;
  for (Task **link = &sandbox->tasks; *link != NULL; link = &(*link)->next) {
    if (*link != task) continue;
    *link = task->next;
    break;
  }
  drop_thread(task);
  memory_free(&sandbox->memory, task, sizeof *task);
}

void task_free_all(Sandbox *sandbox) {
  while (sandbox->tasks != NULL) task_free(sandbox->tasks);
}
