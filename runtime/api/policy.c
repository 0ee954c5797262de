/*
** What the host makes from its own texts: policies and pipelines.
*/
#include <assert.h>
#include <string.h>

#include "api/api.h"

#include "lauxlib.h"

/* ---- policies ----
**
** From a text, or from a policy that was compiled before.
**
**     text --compile--> bytecode --run--> what it returns --check--> policy of a runtime
**          \____ ebb_policy_new ____/
**                        \_____________ ebb_policy_add _______________/
**
** Bytecode is made here alone, of texts, before anything of them has run; it lies in
** memory that no script reaches. */

struct ebb_policy {
  Memory memory;             /* the host's, of the runtime that compiled it */
  size_t size;               /* of the bytecode */
  char name[API_POLICY_NAME + 1];
  char bytes[];
};

/* What lua/ebb/libebb is asked: a function that is to run within limits. */
typedef struct Loading {
  const char *function, *name;
  Text source;               /* of a policy that is compiled */
  const ebb_policy *policy;  /* that is added; NULL: there is a source */
} Loading;

/* A text only says what the policy is: it is read in mid-game, and not in slices. */
enum { LOADING_SHARE = 20 };

/* Pushes the chunk, with globals of its own. */
static void push_chunk(lua_State *L, const ebb_policy *policy) {
  int status = luaL_loadbufferx(L, policy->bytes, policy->size, policy->name, "b");
  if (status != LUA_OK) lua_error(L);        /* for want of memory */
  api_push_function(L, "script_globals");
  lua_call(L, 0, 1);
  const char *upvalue = lua_setupvalue(L, -2, 1);
  assert(upvalue != NULL);                   /* a chunk has _ENV, whether it uses it or not */
  (void)upvalue;
}

static int l_prepare(lua_State *L) {
  const Loading *loading = lua_touserdata(L, 1);
  api_push_function(L, loading->function);
  lua_pushstring(L, loading->name);
  if (loading->policy != NULL) push_chunk(L, loading->policy);
  else lua_pushlstring(L, loading->source.bytes, loading->source.size);
  lua_call(L, 2, 1);
  api_hold(L);
  return 0;
}

static ebb_status load(ebb_runtime *runtime, const Loading *loading) {
  const char *name = loading->name;
  bool fits = name[0] != '\0' && strlen(name) <= API_POLICY_NAME &&
              name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
  if (!fits)
    return api_fail(runtime, EBB_ARGUMENT, NULL, "'%s': a name is up to %d letters, digits, '_' or '-'",
                    name, API_POLICY_NAME);
  ebb_status status = api_run(runtime, l_prepare, (void *)(uintptr_t)loading);
  return status == EBB_OK ? api_call_held(runtime, api_limits(runtime).fuel / LOADING_SHARE, NULL) : status;
}

ebb_status ebb_policy_load(ebb_runtime *runtime, const char *name, const char *source, size_t size) {
  if (name == NULL || (source == NULL && size > 0)) return api_missing(runtime);
  Loading loading = {.function = "policy_loader", .name = name, .source = api_options(source, size)};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, load(runtime, &loading)) : status;
}

typedef struct Naming {
  const char *function, *name;
} Naming;

static int l_name(lua_State *L) {
  const Naming *naming = lua_touserdata(L, 1);
  api_push_function(L, naming->function);
  lua_pushstring(L, naming->name);
  lua_call(L, 1, 0);
  return 0;
}

static ebb_status unload(ebb_runtime *runtime, const char *function, const char *name) {
  if (name == NULL) return api_missing(runtime);
  Naming naming = {.function = function, .name = name};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, api_run(runtime, l_name, &naming)) : status;
}

ebb_status ebb_policy_unload(ebb_runtime *runtime, const char *name) { return unload(runtime, "policy_unload", name); }

ebb_status ebb_policies(ebb_runtime *runtime, ebb_text *json) { return api_list(runtime, "policy_lister", json); }

/* ---- filters ---- */

ebb_status ebb_filter_load(ebb_runtime *runtime, const char *name, const char *source, size_t size) {
  if (name == NULL || (source == NULL && size > 0)) return api_missing(runtime);
  Loading loading = {.function = "filter_loader", .name = name, .source = api_options(source, size)};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, load(runtime, &loading)) : status;
}

ebb_status ebb_filter_unload(ebb_runtime *runtime, const char *name) { return unload(runtime, "filter_unload", name); }

static ebb_status filter(ebb_chat *chat, const char *name, Text options) {
  Branch branch = branch_of(chat);
  Asking asking = {.function = "filterer", .branch = &branch, .texts = {text_of(name), options}, .text_count = 2};
  chat_tick(chat);
  quota_allow_excess(chat->quota, true);
  ebb_status status = api_ask(chat->runtime, &asking, NULL);
  if (status == EBB_OK) status = branch_commit(&branch);
  branch_end(&branch);
  quota_allow_excess(chat->quota, false);
  return status;
}

ebb_status ebb_chat_filter(ebb_chat *chat, const char *name, const char *options, size_t size) {
  if (chat == NULL || name == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, filter(chat, name, api_options(options, size))) : status;
}

/* ---- compiled once ---- */

static int write_bytes(lua_State *L, const void *bytes, size_t size, void *out) {
  (void)L;
  return buffer_add(out, bytes, size) != STATUS_OK;
}

/* (chunk): its bytecode becomes the runtime's first answer */
int api_keep_chunk(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  if (lua_dump(L, write_bytes, api_answer_buffer(runtime, 0), 0) != 0)
    return bind_raise_status(L, STATUS_MEMORY, "policy");
  return 0;
}

static ebb_status compile(ebb_runtime *runtime, const char *name, Text source, ebb_policy **policy) {
  Loading loading = {.function = "policy_compiler", .name = name, .source = source};
  ebb_status status = load(runtime, &loading);
  if (status != EBB_OK) return status;
  const Buffer *chunk = &runtime->answers[0];
  ebb_policy *compiled = memory_new(&runtime->host, sizeof *compiled + chunk->size);
  if (compiled == NULL) return api_fail_status(runtime, STATUS_MEMORY, "a policy");
  *compiled = (ebb_policy){.memory = runtime->host, .size = chunk->size};
  memcpy(compiled->name, name, strlen(name) + 1);
  memcpy(compiled->bytes, chunk->bytes, chunk->size);
  *policy = compiled;
  return EBB_OK;
}

ebb_status ebb_policy_new(ebb_runtime *runtime, const char *name, const char *source, size_t size,
                          ebb_policy **policy) {
  if (name == NULL || (source == NULL && size > 0) || policy == NULL) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, compile(runtime, name, api_options(source, size), policy)) : status;
}

ebb_status ebb_policy_add(ebb_runtime *runtime, const ebb_policy *policy) {
  if (policy == NULL) return api_missing(runtime);
  Loading loading = {.function = "policy_adder", .name = policy->name, .policy = policy};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, load(runtime, &loading)) : status;
}

void ebb_policy_free(ebb_policy *policy) {
  if (policy == NULL) return;
  Memory memory = policy->memory;
  memory_free(&memory, policy, sizeof *policy + policy->size);
}

/* ---- pipelines ----
**
** What an agent makes of a chat: a request (lua/ebb/libebb/pipelines.lua). A handle is for a value of the Lua
** library, which the registry has under the handle's address. Tasks that run a pipeline hold that value themselves. */

struct ebb_pipeline {
  ebb_runtime *runtime;
  Ring link;                 /* in the runtime's pipelines */
};

int api_keep_pipeline(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  void *holder = lua_touserdata(L, 2);
  lua_settop(L, 1);
  holder_set(L, holder);
  return 0;
}

static void discard(ebb_pipeline *pipeline) {
  ebb_runtime *runtime = pipeline->runtime;
  holder_clear(runtime->L, pipeline);
  memory_free(&runtime->memory, pipeline, sizeof *pipeline);
}

static ebb_status open_pipeline(ebb_runtime *runtime, Text agent, Text options, ebb_pipeline **result) {
  ebb_pipeline *pipeline = memory_new(&runtime->memory, sizeof *pipeline);
  if (pipeline == NULL) return api_fail_status(runtime, STATUS_MEMORY, "a pipeline");
  *pipeline = (ebb_pipeline){.runtime = runtime};
  Asking asking = {.function = "pipeline_opener", .texts = {agent, options}, .text_count = 2, .target = pipeline};
  ebb_status status = api_ask(runtime, &asking, NULL);
  if (status != EBB_OK) {
    discard(pipeline);
    return status;
  }
  ring_init(&pipeline->link);
  ring_add(&runtime->pipelines, &pipeline->link);
  *result = pipeline;
  return EBB_OK;
}

ebb_status ebb_pipeline_new(ebb_runtime *runtime, const char *agent, size_t size, const char *options,
                            size_t options_size, ebb_pipeline **pipeline) {
  bool absent = (agent == NULL && size > 0) || (options == NULL && options_size > 0);
  if (pipeline == NULL || absent) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  status = open_pipeline(runtime, api_options(agent, size), api_options(options, options_size), pipeline);
  return api_leave(runtime, status);
}

void ebb_pipeline_free(ebb_pipeline *pipeline) {
  if (pipeline == NULL || pipeline->runtime->busy) return;
  ring_remove(&pipeline->link);
  discard(pipeline);
}

void api_free_pipelines(ebb_runtime *runtime) {
  while (!ring_is_alone(&runtime->pipelines)) {
    ebb_pipeline_free(RING_OWNER(runtime->pipelines.behind, ebb_pipeline, link));
  }
}

ebb_status pipeline_check(const ebb_pipeline *pipeline, const ebb_chat *chat) {
  if (pipeline->runtime == chat->runtime) return EBB_OK;
  return api_fail(chat->runtime, EBB_ARGUMENT, NULL, "the pipeline belongs to another runtime than the chat");
}

static ebb_status run(const ebb_pipeline *pipeline, ebb_chat *chat, Text options, ebb_text *body, ebb_text *report) {
  ebb_runtime *runtime = chat->runtime;
  ebb_status status = pipeline_check(pipeline, chat);
  if (status != EBB_OK) return status;
  ebb_text answer, request;
  Branch branch = branch_of(chat);
  Sink sink = sink_to_buffer(api_answer_buffer(runtime, 1));
  Asking asking = {.function = "pipeline_runner", .branch = &branch, .texts = {options}, .text_count = 1,
                   .held = pipeline};
  chat_tick(chat);
  runtime->out = &sink;
  status = api_ask_text(runtime, &asking, &answer);
  runtime->out = NULL;
  if (status == EBB_OK) status = api_answer(runtime, 1, &request);
  if (status == EBB_OK) status = branch_commit(&branch);
  if (status == EBB_OK) *body = request;
  if (status == EBB_OK && report != NULL) *report = answer;
  branch_end(&branch);
  return status;
}

ebb_status ebb_pipeline_run(const ebb_pipeline *pipeline, ebb_chat *chat, const char *options, size_t size,
                            ebb_text *body, ebb_text *report) {
  bool absent = pipeline == NULL || body == NULL || (options == NULL && size > 0);
  if (chat == NULL || absent) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  return api_leave(chat->runtime, run(pipeline, chat, api_options(options, size), body, report));
}
