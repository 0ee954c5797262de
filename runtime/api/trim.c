/*
** Trims that run to the end, within the runtime's limits. task.c has those in slices.
*/
#include "api/api.h"

/* The report goes into the sink (NULL: it is dropped), and *answer (NULL: it is no answer) gets it,
   before the commit, after which nothing may fail. */
static ebb_status trim(ebb_chat *chat, const char *policy, Text options, const Sink *report, ebb_text *answer) {
  ebb_runtime *runtime = chat->runtime;
  Branch branch = branch_of(chat);
  Asking asking = {.function = "trim", .branch = &branch, .texts = {api_text(policy), options}, .text_count = 2};
  chat_tick(chat);
  quota_allow_excess(chat->quota, true);
  ebb_status status = api_ask(runtime, &asking, report);
  if (status == EBB_OK && answer != NULL) status = api_answer(runtime, 0, answer);
  if (status == EBB_OK) status = branch_commit(&branch);
  branch_end(&branch);
  quota_allow_excess(chat->quota, false);
  return status;
}

ebb_status ebb_chat_trim(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_text *report) {
  if (chat == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  Text options_text = api_options(options, size);
  Sink sink = sink_to_buffer(api_answer_buffer(chat->runtime, 0));
  ebb_text answer;
  status = trim(chat, policy, options_text, report == NULL ? NULL : &sink, report == NULL ? NULL : &answer);
  if (status == EBB_OK && report != NULL) *report = answer;
  return api_leave(chat->runtime, status);
}

ebb_status ebb_chat_trim_to(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_write write,
                            void *user) {
  if (chat == NULL || write == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  Writing writing = {.write = write, .user = user};
  Sink sink = api_writer(&writing);
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = trim(chat, policy, api_options(options, size), &sink, NULL);
  return api_leave(chat->runtime, api_end_writing(chat->runtime, &writing, status));
}
