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

static ebb_status trim(ebb_chat *chat, const char *policy, Text options, ebb_text *report) {
  ebb_runtime *runtime = chat->runtime;
  ebb_text answer;
  Branch branch = branch_of(chat);
  Asking asking = {.function = "trim", .branch = &branch, .texts = {text_or_nil(policy), options}};
  chat_tick(chat);
  ebb_status status = api_run(runtime, l_prepare, &asking);
  if (status == EBB_OK) status = api_call_held(runtime, UINT64_MAX, api_answer_buffer(runtime, 0));
  if (status == EBB_OK) status = api_answer(runtime, 0, &answer);
  if (status == EBB_OK) status = branch_commit(&branch);
  if (status == EBB_OK && report != NULL) *report = answer;
  branch_end(&branch);
  return status;
}

ebb_status ebb_chat_trim(ebb_chat *chat, const char *policy, const char *options, size_t size, ebb_text *report) {
  if (chat == NULL || (options == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  return api_leave(chat->runtime, trim(chat, policy, text_plain(options == NULL ? "" : options, size), report));
}
