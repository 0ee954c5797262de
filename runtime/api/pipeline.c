/*
** Pipelines: what an agent makes of a chat, a request (lua/ebb/libebb/pipelines.lua).
**
** A handle stands for a value of the Lua library, which the registry has under the handle's
** address. Tasks that run a pipeline hold that value themselves.
*/
#include "api/api.h"

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
