/*
** Runtimes: their memory, and who may be in them.
*/
#include <string.h>

#include "api/api.h"
#include "os/clock.h"

uint32_t ebb_api_version(void) { return EBB_API_VERSION; }
const char *ebb_version(void) { return EBB_VERSION; }   /* bind/open.h and ebb.h define the same */

/* ---- memory ---- */

static void *allocate(void *user, void *block, size_t old_size, size_t new_size) {
  ebb_runtime *runtime = user;
  if (block == NULL) old_size = 0;           /* Lua says there what the block is for */
  if (block == NULL && new_size == 0) return NULL;
  size_t limit = runtime->config.memory_limit;
  bool over =
      new_size > old_size && limit > 0 && (runtime->used > limit || new_size - old_size > limit - runtime->used);
  if (over) return NULL;
  runtime->allocating = true;
  void *answer = runtime->host.allocate(runtime->host.user, block, old_size, new_size);
  runtime->allocating = false;
  if (answer == NULL && new_size > 0) return NULL;
  runtime->used = runtime->used - old_size + new_size;
  return answer;
}

size_t ebb_runtime_memory(const ebb_runtime *runtime) { return runtime == NULL ? 0 : runtime->used; }

/* ---- callbacks ---- */

static void print(void *user, const char *line, size_t size) { api_log(user, EBB_LOG_PRINT, line, size); }

/* "my.tools" for a script's require is the host's "my/tools.lua". */
static Status module(void *user, const char *name, const char **text, size_t *size) {
  ebb_runtime *runtime = user;
  Buffer path;
  buffer_init(&path, runtime->memory);
  Status status = buffer_add_string(&path, name);
  for (size_t i = 0; i < path.size; i++) {
    if (path.bytes[i] == '.') path.bytes[i] = '/';
  }
  if (status == STATUS_OK) status = buffer_add(&path, ".lua", sizeof ".lua");
  buffer_reset(&runtime->module);
  if (status == STATUS_OK) status = api_read(runtime, path.bytes, SANDBOX_SOURCE, &runtime->module);
  buffer_free(&path);
  *text = runtime->module.bytes == NULL ? "" : runtime->module.bytes;
  *size = runtime->module.size;
  return status;
}

int64_t api_now(ebb_runtime *runtime) {
  if (runtime->config.clock_ms != NULL) return runtime->config.clock_ms(runtime->config.user);
  Clock clock = clock_system();
  return clock_now(&clock);
}

size_t api_message_limit(const ebb_runtime *runtime) {
  return runtime->config.message_limit != 0 ? runtime->config.message_limit : MESSAGE_BYTES_MAX;
}

/* ---- life ---- */

Memory api_host_memory(const ebb_config *config) {
  if (config->allocate == NULL) return memory_system();
  return (Memory){.allocate = config->allocate, .user = config->user};
}

static ebb_status open_sandbox(ebb_runtime *runtime) {
  const ebb_config *config = &runtime->config;
  SandboxConfig wanted = {.memory = runtime->memory,
                          .memory_limit = config->script_memory,
                          .limits = api_limits(runtime),
                          .seed = config->seed,
                          .user = runtime,
                          .print = print,
                          .module = module};
  runtime->sandbox = sandbox_new(&wanted);
  if (runtime->sandbox == NULL) return api_fail(runtime, EBB_MEMORY, NULL, "not enough memory for a runtime");
  runtime->L = sandbox_state(runtime->sandbox);
  return api_begin_library(runtime);
}

/* Fills an empty runtime. */
static ebb_status open_runtime(ebb_runtime *runtime, const ebb_config *config, Memory host) {
  *runtime = (ebb_runtime){.config = *config, .host = host, .used = sizeof *runtime};
  runtime->config.error = NULL;              /* the caller's for this call only */
  runtime->memory = (Memory){.allocate = allocate, .user = runtime};
  ring_init(&runtime->chats);
  ring_init(&runtime->listening);
  ring_init(&runtime->ready);
  ring_init(&runtime->events);
  ring_init(&runtime->sleepers);
  atomic_init(&runtime->stopped, false);
  for (int i = 0; i < ANSWERS; i++) {
    buffer_init(&runtime->answers[i], runtime->memory);
    buffer_init(&runtime->read_answers[i], runtime->memory);
  }
  buffer_init(&runtime->module, runtime->memory);
  api_fail(runtime, EBB_OK, NULL, "nothing has failed");
  return open_sandbox(runtime);
}

ebb_status ebb_runtime_new(const ebb_config *given, ebb_runtime **made) {
  ebb_config config;
  ebb_status status = api_read_config(given, &config);
  if (status != EBB_OK) return status;
  if (made == NULL) return api_fail_config(&config, EBB_ARGUMENT, "NULL where the runtime goes");
  Memory host = api_host_memory(&config);
  ebb_runtime *runtime = memory_new(&host, sizeof *runtime);
  if (runtime == NULL) return api_fail_config(&config, EBB_MEMORY, "not enough memory for a runtime");
  status = open_runtime(runtime, &config, host);
  if (status == EBB_OK) {
    *made = runtime;
    return EBB_OK;
  }
  api_fail_config(&config, status, "%s", runtime->message);
  ebb_runtime_free(runtime);
  return status;
}

static void free_answers(ebb_runtime *runtime) {
  for (int i = 0; i < ANSWERS; i++) {
    buffer_free(&runtime->answers[i]);
    buffer_free(&runtime->read_answers[i]);
  }
}

void ebb_runtime_free(ebb_runtime *runtime) {
  if (runtime == NULL || runtime->busy) return;
  while (!ring_is_alone(&runtime->chats)) ebb_chat_free(RING_OWNER(runtime->chats.behind, ebb_chat, link));
  sandbox_free(runtime->sandbox);
  api_free_vocabs(runtime);
  free_answers(runtime);
  buffer_free(&runtime->module);
  Memory host = runtime->host;
  memory_free(&host, runtime, sizeof *runtime);
}

/* ---- entering ---- */

ebb_status api_enter(ebb_runtime *runtime) {
  if (runtime == NULL) return EBB_ARGUMENT;
  if (runtime->busy || runtime->allocating)
    return api_fail(runtime, EBB_BUSY, NULL, "called from a callback: the runtime is at work");
  runtime->busy = true;
  return EBB_OK;
}

ebb_status api_enter_read(ebb_runtime *runtime) {
  if (runtime == NULL || !runtime->busy) return api_enter(runtime);
  if (runtime->reading || runtime->allocating)
    return api_fail(runtime, EBB_BUSY, NULL, "called from `allocate`: the runtime is at work");
  runtime->reading = true;
  return EBB_OK;
}

ebb_status api_leave(ebb_runtime *runtime, ebb_status status) {
  if (runtime->reading) {
    runtime->reading = false;
    return status;
  }
  listen_tell(runtime);
  runtime->busy = false;
  return status;
}

/* What a callback reads must not touch what its call is answering. */
static Buffer *answers(ebb_runtime *runtime) { return runtime->reading ? runtime->read_answers : runtime->answers; }

/* Buffers are empty from the first on. A host may have given this call what the last one handed
   out: no buffer loses its bytes before the call is at its end. */
Buffer *api_answer_buffer(ebb_runtime *runtime, int number) {
  for (int i = number; i < ANSWERS; i++) buffer_reset(&answers(runtime)[i]);
  return &answers(runtime)[number];
}

/* What a long text has left behind goes; where the next is as long, nothing moves. */
static void shrink_answers(ebb_runtime *runtime) {
  for (int i = 0; i < ANSWERS; i++) {
    Buffer *answer = &answers(runtime)[i];
    if (answer->capacity > ANSWER_KEPT && answer->size < answer->capacity / 4) buffer_trim(answer);
  }
}

ebb_status api_answer(ebb_runtime *runtime, int number, ebb_text *text) {
  Buffer *answer = &answers(runtime)[number];
  Status status = buffer_add_byte(answer, '\0');
  shrink_answers(runtime);
  if (status != STATUS_OK) return api_fail_status(runtime, status, "the answer");
  *text = (ebb_text){.bytes = answer->bytes, .size = answer->size - 1};
  return EBB_OK;
}

/* ---- garbage, and being stopped ---- */

void api_collect_all(ebb_runtime *runtime) {
  lua_gc(runtime->L, LUA_GCCOLLECT);         /* whole: what died in mid-cycle is found too */
}

ebb_status ebb_collect(ebb_runtime *runtime, uint64_t microseconds, int *done) {
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  bool complete = true;
  free_answers(runtime);
  if (microseconds == EBB_NO_LIMIT) api_collect_all(runtime);
  else complete = microseconds > 0 && sandbox_collect(runtime->sandbox, microseconds);
  if (done != NULL) *done = complete;
  return api_leave(runtime, EBB_OK);
}

void ebb_cancel(ebb_runtime *runtime) {
  if (runtime != NULL) sandbox_cancel(runtime->sandbox);
}

void ebb_uncancel(ebb_runtime *runtime) {
  if (runtime != NULL) sandbox_uncancel(runtime->sandbox);
}
