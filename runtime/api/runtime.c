/*
** Runtimes: their memory, and who may be in them.
*/
#include <string.h>

#include "api/api.h"
#include "os/os.h"

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

/* ---- life ---- */

/* Creates the sandbox of a new runtime and prepares its state for the library, which is loaded on first use. */
static ebb_status open_sandbox(ebb_runtime *runtime) {
  const ebb_config *config = &runtime->config;
  SandboxConfig sandbox_config = {.memory = runtime->memory,
                          .memory_limit = config->script_memory,
                          .limits = api_limits(runtime),
                          .seed = config->seed,
                          .deterministic = config->deterministic != 0,
                          .user = runtime,
                          .print = print,
                          .module = module};
  runtime->sandbox = sandbox_new(&sandbox_config);
  if (runtime->sandbox == NULL) return api_fail(runtime, EBB_MEMORY, NULL, "not enough memory for a runtime");
  runtime->L = sandbox_state(runtime->sandbox);
  static const luaL_Reg functions[] = {
    {"keep_chunk", api_keep_chunk},         {"keep_conversation", chat_keep},     {"write", api_write_text},
    {"write_messages", api_write_messages}, {"write_document", api_write_document},
    {"write_body", api_write_body},         {"write_list", api_write_list},
    {"write_message", api_write_message},   {"keep_pipeline", api_keep_pipeline},
    {NULL, NULL}};
  static const LibraryHooks hooks = {
    .tokenizer = api_tokenizer, .vocabularies = api_vocabularies, .functions = functions};
  return api_begin_library(runtime, &hooks);
}

/* Fills an empty runtime. */
static ebb_status open_runtime(ebb_runtime *runtime, const ebb_config *config, Memory host) {
  *runtime = (ebb_runtime){.config = *config, .host = host, .used = sizeof *runtime};
  runtime->config.error = NULL;              /* the caller's for this call only */
  runtime->memory = (Memory){.allocate = allocate, .user = runtime};
  ring_init(&runtime->chats);
  ring_init(&runtime->pipelines);
  ring_init(&runtime->listening);
  ring_init(&runtime->journals);
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

ebb_status ebb_runtime_new(const ebb_config *host_config, ebb_runtime **result) {
  ebb_config config;
  ebb_status status = api_read_config(host_config, &config);
  if (status != EBB_OK) return status;
  if (result == NULL) return api_fail_config(&config, EBB_ARGUMENT, "NULL where the runtime goes");
  Memory host = api_host_memory(&config);
  ebb_runtime *runtime = memory_new(&host, sizeof *runtime);
  if (runtime == NULL) return api_fail_config(&config, EBB_MEMORY, "not enough memory for a runtime");
  status = open_runtime(runtime, &config, host);
  if (status == EBB_OK) {
    *result = runtime;
    return EBB_OK;
  }
  api_fail_config(&config, status, "%s", runtime->message);
  ebb_runtime_free(runtime);
  return status;
}

void ebb_runtime_free(ebb_runtime *runtime) {
  if (runtime == NULL || runtime->busy) return;
  while (!ring_is_alone(&runtime->chats)) ebb_chat_free(RING_OWNER(runtime->chats.behind, ebb_chat, link));
  api_free_pipelines(runtime);
  sandbox_free(runtime->sandbox);
  api_free_vocabs(runtime);
  api_free_answers(runtime);
  buffer_free(&runtime->module);
  Memory host = runtime->host;
  memory_free(&host, runtime, sizeof *runtime);
}

/* ---- garbage, and being stopped ---- */

ebb_status ebb_collect(ebb_runtime *runtime, uint64_t microseconds, int *done) {
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  bool complete = true;
  api_free_answers(runtime);
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
