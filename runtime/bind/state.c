#include "bind/state.h"

#include <assert.h>

#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/counter.h"
#include "bind/error.h"
#include "state/state.h"
#include "state/state_options.h"

/* ---- in ---- */

static int refuse_state(lua_State *L, const char *name, Text bytes, const StateError *error) {
  bool damaged = error->status == STATUS_SHAPE, newer = error->status == STATUS_RANGE;
  const char *code = damaged ? "damaged" : newer ? "unknown_version" : status_code(error->status);
  const char *hint = newer     ? "a newer version of Ebb saved it, and reads it"
                     : damaged ? "lenient = true reads what is left of a conversation whose digest differs"
                               : NULL;
  SourcePosition place = source_position(bytes.bytes, bytes.size, error->offset);
  bool is_full = error->status == STATUS_MEMORY;
  const char *message = lua_pushfstring(L, "%s:%I:%I: %s%s", name, (lua_Integer)place.line, (lua_Integer)place.byte,
                                        is_full ? "not enough memory" : "expected ", is_full ? "" : error->expected);
  lua_pushnil(L);
  bind_push_error(L, code, message, hint);
  return 2;
}

/* Opens the state; a lenient reading does without a right digest, with a warning. */
static Status open_state(State *state, Text bytes, StateReading reading, DocumentWarnings *warnings,
                         StateError *error) {
  StateTrust trust = reading == STATE_READ_JOINED ? STATE_SALVAGED : STATE_PROVEN;
  Status status = state_open(state, bytes.bytes, bytes.size, trust, error);
  if (status != STATUS_SHAPE || reading != STATE_READ_LENIENT) return status;
  DocumentWarning warning = {.what = ODD_DIGEST, .place = source_position(bytes.bytes, bytes.size, error->offset)};
  status = state_open(state, bytes.bytes, bytes.size, STATE_SALVAGED, error);
  if (status == STATUS_OK && document_warn(warnings, warning) != STATUS_OK) error->status = status = STATUS_MEMORY;
  return status;
}

/* Restores what the conversation was read from, if it was. */
static Status read_document(ConversationHandle *handle, const State *state, const Memory *memory, StateError *error) {
  Text options = state_options(state);
  if (state_document_size(options) == 0) return STATUS_OK;
  error->status = state_read_document(options, memory, &handle->document, &handle->envelope);
  error->offset = (size_t)(options.bytes - state->bytes);
  error->expected = "what stands around messages, as the first of the options";
  return error->status;
}

/* Calls `resolve`; false: it refused, and nil and its error are on top. */
static bool resolve_options(lua_State *L, const ConversationHandle *handle, const State *state, int resolve) {
  Text options = state_options(state);
  size_t document = state_document_size(options);
  lua_pushvalue(L, resolve);
  lua_pushstring(L, document > 0 ? "{" : "");
  lua_pushlstring(L, options.bytes + document, options.size - document);
  lua_concat(L, 2);
  if (handle->document.model.size > 0) bind_push_text(L, handle->document.model);
  else lua_pushnil(L);
  lua_call(L, 2, 2);
  if (lua_isnil(L, -2)) return false;
  lua_pop(L, 1);
  return true;
}

static Status read_state(lua_State *L, ConversationHandle *handle, const State *state, int options,
                         StateError *error) {
  DocumentLimits limits = {0};
  Conversation *conversation = handle->conversation;
  bind_read_aliases(L, options, &limits);
  Status status = state_read_roles(conversation, state, limits.aliases, limits.alias_count, error);
  if (status != STATUS_OK) return status;
  conversation_set_overhead(conversation, bind_overhead(L, handle, conversation_counter(conversation)));
  return STATUS_OK;
}

int bind_load_state(lua_State *L, const char *name, Text bytes, StateReading reading, int resolve) {
  State state;
  StateError error;
  Memory memory = bind_conversation_memory(L);
  ConversationHandle *handle = bind_new_conversation(L);
  int conversation = lua_gettop(L);
  handle->saved = true;
  Status status = open_state(&state, bytes, reading, &handle->warnings, &error);
  if (status == STATUS_OK) status = read_document(handle, &state, &memory, &error);
  if (status != STATUS_OK) return refuse_state(L, name, bytes, &error);
  if (!resolve_options(L, handle, &state, resolve)) return 2;
  int options = lua_gettop(L);
  bind_configure(L, conversation, options);
  handle->callbacks->self = conversation;
  status = read_state(L, handle, &state, options, &error);
  if (status == STATUS_HOST) return bind_raise_edit(L, conversation, status, "load");
  if (status == STATUS_OK) {
    lua_settop(L, conversation);
    return 1;
  }
  conversation_free(handle->conversation);     /* it can only be freed */
  handle->conversation = NULL;
  return refuse_state(L, name, bytes, &error);
}

/* ---- out ---- */

Status bind_write_options(const ConversationHandle *handle, Text options, Buffer *out) {
  assert(out->size == 0);
  if (handle->document.loaded) return state_add_document(&handle->document, options, out, NULL);
  return options.size == 0 ? buffer_add_string(out, "{}") : buffer_add(out, options.bytes, options.size);
}

Status bind_write_state(const ConversationHandle *handle, const Memory *memory, Text options, Sink sink) {
  Buffer described;
  buffer_init(&described, *memory);
  Status status = bind_write_options(handle, options, &described);
  if (status == STATUS_OK) {
    status = state_write(handle->conversation, text_plain(described.bytes, described.size), sink);
  }
  buffer_free(&described);
  return status;
}
