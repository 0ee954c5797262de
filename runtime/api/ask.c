/*
** Asking: the way of most calls that need Lua. A function of lua/ebb/libebb checks the
** arguments and gives back a function, which runs within the runtime's limits and
** returns a result (api_write_result), or writes one with the writers of window.c and
** document.c.
**
**     ebb_* --> api_ask --> api_run    [ api.NAME(chat or fork, texts ..) -> run ]
**                      \--> sandbox_call [ run() ] -> a sink, or the first answer
*/
#include "api/api.h"

/* Leaves the function that is to run within limits. */
static int l_prepare(lua_State *L) {
  const Asking *asking = lua_touserdata(L, 1);
  api_push_function(L, asking->function);
  if (asking->branch != NULL) branch_push_fork(L, asking->branch);
  else if (asking->chat != NULL) holder_push(L, asking->chat);
  for (int i = 0; i < asking->text_count; i++) {
    if (asking->texts[i].bytes != NULL) lua_pushlstring(L, asking->texts[i].bytes, asking->texts[i].size);
    else lua_pushnil(L);
  }
  if (asking->held != NULL) holder_push(L, asking->held);
  if (asking->target != NULL) lua_pushlightuserdata(L, asking->target);
  lua_call(L, lua_gettop(L) - 2, 1);
  api_hold(L);
  return 0;
}

ebb_status api_ask(ebb_runtime *runtime, const Asking *asking, const Sink *out) {
  ebb_status status = api_run(runtime, l_prepare, (void *)(uintptr_t)asking);
  return status == EBB_OK ? api_call_held(runtime, UINT64_MAX, out) : status;
}

ebb_status api_ask_text(ebb_runtime *runtime, const Asking *asking, ebb_text *answer) {
  api_answer_buffer(runtime, 0);
  ebb_status status = api_ask(runtime, asking, NULL);
  return status == EBB_OK ? api_answer(runtime, 0, answer) : status;
}

ebb_status api_list(ebb_runtime *runtime, const char *function, ebb_text *json) {
  if (json == NULL) return api_missing(runtime);
  Asking asking = {.function = function};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, api_ask_text(runtime, &asking, json)) : status;
}

Text api_text(const char *string) { return string == NULL ? (Text){0} : text_of(string); }

Text api_options(const char *options, size_t size) { return text_plain(options == NULL ? "" : options, size); }
