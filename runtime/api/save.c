/*
** Saving: the state of the conversation (format/state.h), with what the Lua
** library keeps beside it.
*/
#include <string.h>

#include "api/api.h"
#include "format/state.h"
#include "base/sha256.h"

typedef struct Remembered {
  const ebb_chat *chat;
  Buffer *out;               /* of l_memory */
  Text text;                 /* of l_set_memory */
} Remembered;

static int l_memory(lua_State *L) {
  Remembered *remembered = lua_touserdata(L, 1);
  api_push_function(L, "memory");
  chat_push(L, remembered->chat);
  lua_call(L, 1, 1);
  Text text = bind_text(L, -1);
  Status status = buffer_add(remembered->out, text.bytes, text.size);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "save");
}

static int l_set_memory(lua_State *L) {
  Remembered *remembered = lua_touserdata(L, 1);
  api_push_function(L, "set_memory");
  chat_push(L, remembered->chat);
  lua_pushlstring(L, remembered->text.bytes, remembered->text.size);
  lua_call(L, 2, 0);
  return 0;
}

/* ---- out ---- */

ebb_status chat_save(ebb_chat *chat, Buffer *out) {
  Buffer memory;
  buffer_init(&memory, chat->runtime->memory);
  Remembered remembered = {.chat = chat, .out = &memory};
  ebb_status status = api_run(chat->runtime, l_memory, &remembered);
  if (status == EBB_OK) {
    StateExtra extra = {.options = text_plain(chat->options, chat->options_size),
                        .memory = text_plain(memory.bytes, memory.size)};
    status = api_fail_status(chat->runtime, state_write(chat_conversation(chat), &extra, out), "save");
  }
  buffer_free(&memory);
  return status;
}

ebb_status ebb_chat_save(ebb_chat *chat, ebb_text *saved) {
  if (chat == NULL || saved == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = chat_save(chat, api_answer_buffer(chat->runtime, 0));
  return api_leave(chat->runtime, status == EBB_OK ? api_answer(chat->runtime, 0, saved) : status);
}

static ebb_status digest_of(ebb_chat *chat, char digest[65]) {
  Buffer saved;
  uint8_t hash[32];
  buffer_init(&saved, chat->runtime->memory);
  ebb_status status = chat_save(chat, &saved);
  if (status == EBB_OK) {
    sha256(saved.bytes, saved.size, hash);
    for (int i = 0; i < 64; i++) digest[i] = "0123456789abcdef"[i % 2 == 0 ? hash[i / 2] >> 4 : hash[i / 2] & 15];
    digest[64] = '\0';
  }
  buffer_free(&saved);
  return status;
}

ebb_status ebb_chat_digest(ebb_chat *chat, char digest[65]) {
  if (chat == NULL || digest == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, digest_of(chat, digest)) : status;
}

/* ---- in ---- */

static ebb_status fail_state(ebb_runtime *runtime, const StateError *error) {
  if (error->status == STATUS_MEMORY) return api_fail_status(runtime, STATUS_MEMORY, "load");
  ebb_status status = error->status == STATUS_SHAPE ? EBB_DAMAGED : error->status == STATUS_RANGE ? EBB_UNKNOWN_VERSION
                      : api_status_of_code(status_code(error->status));
  return api_fail(runtime, status, NULL, "load: byte %zu: expected %s", error->offset + 1, error->expected);
}

static ebb_status read_state(ebb_chat *chat, const char *saved, size_t size, Text memory) {
  StateError error;
  Remembered remembered = {.chat = chat, .text = memory};
  ebb_status status = chat_make(chat);
  if (status != EBB_OK) return status;
  if (state_read(chat_conversation(chat), saved, size, &error) != STATUS_OK) return fail_state(chat->runtime, &error);
  return api_run(chat->runtime, l_set_memory, &remembered);
}

static ebb_status load(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **made) {
  StateExtra extra;
  StateError error;
  ebb_chat *chat;
  if (state_peek(saved, size, &extra, &error) != STATUS_OK) return fail_state(runtime, &error);
  ebb_status status = chat_new(runtime, NULL, extra.options.bytes, extra.options.size, &chat);
  if (status != EBB_OK) return status;
  status = read_state(chat, saved, size, extra.memory);
  if (status != EBB_OK) {
    chat_discard(chat);
    return status;
  }
  chat_enlist(chat);
  *made = chat;
  return EBB_OK;
}

ebb_status ebb_chat_load(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **chat) {
  if (saved == NULL || chat == NULL) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, load(runtime, saved, size, chat)) : status;
}
