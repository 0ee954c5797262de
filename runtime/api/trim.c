/*
** Trims that run to the end, within the runtime's limits. task.c has those in slices.
*/
#include <string.h>

#include "api/api.h"

/* What a call of lua/ebb/api takes: a branch or not, and texts; NULL bytes are nil. */
typedef struct Asking {
  const char *function;
  Branch *branch;
  Text texts[2];
} Asking;

/* Leaves the function that is to run within limits. */
static int l_prepare(lua_State *L) {
  const Asking *asking = lua_touserdata(L, 1);
  api_push_function(L, asking->function);
  if (asking->branch != NULL) branch_push_fork(L, asking->branch);
  for (int i = 0; i < 2; i++) {
    if (asking->texts[i].bytes != NULL) lua_pushlstring(L, asking->texts[i].bytes, asking->texts[i].size);
    else lua_pushnil(L);
  }
  lua_call(L, lua_gettop(L) - 2, 1);
  api_hold(L);
  return 0;
}

static Text text_or_nil(const char *string) { return string == NULL ? (Text){0} : text_of(string); }

/* ---- trimming ---- */

/* The report goes into the sink (NULL: nobody wants it), and *answer (NULL: it is no answer) gets it,
   before the commit, after which nothing may fail. */
static ebb_status trim(ebb_chat *chat, const char *policy, Text options, const Sink *report, ebb_text *answer) {
  ebb_runtime *runtime = chat->runtime;
  Branch branch = branch_of(chat);
  Asking asking = {.function = "trim", .branch = &branch, .texts = {text_or_nil(policy), options}};
  chat_tick(chat);
  account_let_go(chat->account, true);
  ebb_status status = api_run(runtime, l_prepare, &asking);
  if (status == EBB_OK) status = api_call_held(runtime, UINT64_MAX, report);
  if (status == EBB_OK && answer != NULL) status = api_answer(runtime, 0, answer);
  if (status == EBB_OK) status = branch_commit(&branch);
  branch_end(&branch);
  account_let_go(chat->account, false);
  return status;
}

ebb_status ebb_chat_trim(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_text *report) {
  if (chat == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  Text given = text_plain(options == NULL ? "" : options, size);
  Sink sink = sink_to_buffer(api_answer_buffer(chat->runtime, 0));
  ebb_text answer;
  status = trim(chat, policy, given, report == NULL ? NULL : &sink, report == NULL ? NULL : &answer);
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
  status = trim(chat, policy, text_plain(options == NULL ? "" : options, size), &sink, NULL);
  return api_leave(chat->runtime, api_end_writing(chat->runtime, &writing, status));
}
