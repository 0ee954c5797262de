/*
** Saving: the state of the conversation (state/state.h), with the options it was made with.
*/
#include <string.h>

#include "api/api.h"
#include "base/hex.h"
#include "codec/sha256.h"
#include "state/state.h"
#include "state/state_options.h"

/* ---- out ---- */

ebb_status chat_save(ebb_chat *chat, Sink sink) {
  Status status = state_write(chat_conversation(chat), text_plain(chat->options, chat->options_size), sink);
  return api_fail_status(chat->runtime, status, "save");
}

ebb_status ebb_chat_save(ebb_chat *chat, ebb_text *saved) {
  if (chat == NULL || saved == NULL) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = chat_save(chat, sink_to_buffer(api_answer_buffer(chat->runtime, 0)));
  return api_leave(chat->runtime, status == EBB_OK ? api_answer(chat->runtime, 0, saved) : status);
}

ebb_status ebb_chat_save_to(ebb_chat *chat, ebb_write write, void *user) {
  if (chat == NULL || write == NULL) return api_missing(chat_runtime(chat));
  Writing writing = {.write = write, .user = user};
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  status = chat_save(chat, api_writer(&writing));
  return api_leave(chat->runtime, api_end_writing(chat->runtime, &writing, status));
}

static Status add_to_hash(void *user, const char *bytes, size_t size) {
  sha256_add(user, bytes, size);
  return STATUS_OK;
}

static ebb_status digest_of(ebb_chat *chat, char digest[65]) {
  Sha256 hash;
  uint8_t bytes[32];
  sha256_start(&hash);
  ebb_status status = chat_save(chat, (Sink){.write = add_to_hash, .user = &hash});
  if (status != EBB_OK) return status;
  sha256_end(&hash, bytes);
  hex_write(digest, bytes, sizeof bytes);
  digest[64] = '\0';
  return EBB_OK;
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

static int l_check_windows(lua_State *L) {
  api_push_function(L, "check_windows");
  holder_push(L, lua_touserdata(L, 1));
  lua_call(L, 1, 0);
  return 0;
}

/* Contents and actions are JSON of the Lua library's. */
static ebb_status check_windows(ebb_chat *chat) {
  const Windows *windows = conversation_windows(chat_conversation(chat));
  if (windows == NULL || windows_count(windows) == 0) return EBB_OK;
  return api_run(chat->runtime, l_check_windows, chat);
}

/* ---- roles of the host's own ---- */

typedef struct Roles {
  Memory memory;
  RoleAlias *list;
  uint32_t count, room;
} Roles;

static ebb_status damaged_role(ebb_chat *chat) {
  return api_fail(chat->runtime, EBB_DAMAGED, NULL, "load: options.roleMap: expected names of roles");
}

/* {"spelling": "role"}; the texts are those of the chat's options. */
static ebb_status read_role_map(ebb_chat *chat, Json *json, Roles *roles) {
  Text spelling;
  JsonValue value;
  if (!json_enter(json)) return damaged_role(chat);
  while (json_next_member(json, &spelling)) {
    RoleAlias *grown = memory_grow(&roles->memory, roles->list, &roles->room, roles->count, sizeof *grown);
    if (grown == NULL) return api_fail_status(chat->runtime, STATUS_MEMORY, "load");
    roles->list = grown;
    grown[roles->count].spelling = spelling;
    bool good = json_value(json, &value) && value.kind == JSON_STRING &&
                role_parse(json_text(&value), &grown[roles->count].role);
    if (!good) return damaged_role(chat);
    roles->count++;
  }
  return json->status == STATUS_OK ? EBB_OK : damaged_role(chat);
}

/* What ebb_chat_read was told of roles. */
static ebb_status read_roles(ebb_chat *chat, Roles *roles) {
  Json json;
  JsonKind kind;
  JsonValue value;
  Text key;
  if (chat->options_document == 0) return EBB_OK;
  json_open(&json, chat->options, chat->options_size);
  if (!json_enter(&json)) return damaged_role(chat);
  while (json_next_member(&json, &key)) {
    bool map = text_equal(key, text_of("roleMap")) && json_peek(&json, &kind) && kind == JSON_OBJECT;
    ebb_status status = map ? read_role_map(chat, &json, roles) : EBB_OK;
    if (status != EBB_OK) return status;
    if (!map && !json_value(&json, &value)) return damaged_role(chat);
  }
  return EBB_OK;
}

static ebb_status read_state(ebb_chat *chat, const State *state) {
  StateError error;
  Roles roles = {.memory = chat->runtime->memory};
  ebb_status status = chat_make(chat);
  if (status == EBB_OK) status = document_restore(chat);
  if (status == EBB_OK) status = read_roles(chat, &roles);
  if (status == EBB_OK &&
      state_read_roles(chat_conversation(chat), state, roles.list, roles.count, &error) != STATUS_OK)
    status = fail_state(chat->runtime, &error);
  memory_free(&roles.memory, roles.list, roles.room * sizeof *roles.list);
  if (status == EBB_OK) status = document_charge(chat);
  return status == EBB_OK ? check_windows(chat) : status;
}

ebb_status chat_load(ebb_runtime *runtime, const char *saved, size_t size, StateTrust trust, ebb_chat **result) {
  State state;
  StateError error;
  ebb_chat *chat;
  if (state_open(&state, saved, size, trust, &error) != STATUS_OK) return fail_state(runtime, &error);
  Text options = state_options(&state);
  ebb_status status = chat_new(runtime, NULL, options.bytes, options.size, &chat);
  if (status != EBB_OK) return status;
  chat->options_document = state_document_size(options);
  status = read_state(chat, &state);
  if (status != EBB_OK) {
    chat_discard(chat);
    return status;
  }
  chat_enlist(chat);
  *result = chat;
  return EBB_OK;
}

static ebb_status enter_and_load(ebb_runtime *runtime, const char *saved, size_t size, StateTrust trust,
                                 ebb_chat **chat) {
  if ((saved == NULL && size > 0) || chat == NULL) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, chat_load(runtime, size == 0 ? "" : saved, size, trust, chat)) : status;
}

ebb_status ebb_chat_load(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **chat) {
  return enter_and_load(runtime, saved, size, STATE_PROVEN, chat);
}

ebb_status ebb_chat_salvage(ebb_runtime *runtime, const char *saved, size_t size, ebb_chat **chat) {
  return enter_and_load(runtime, saved, size, STATE_SALVAGED, chat);
}
