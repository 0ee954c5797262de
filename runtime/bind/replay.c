/*
** For replays: an empty conversation that counts as another does, and what two
** states of one have in common.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "core/common_prefix.h"
#include "os/entropy.h"

/* like(conversation) -> an empty one with the same counter, overhead and functions,
   but with a store of its own and no limit */
static int l_like(lua_State *L) {
  lua_settop(L, 1);
  ConversationHandle *handle = bind_enter(L, 1), *copy = bind_new(L, &BIND_CONVERSATION, sizeof *copy, 3);
  copy->warnings.memory = bind_memory(L);
  copy->document = document_new(DOCUMENT_ARRAY);
  copy->callbacks = handle->callbacks;
  for (int value = 1; value <= 2; value++) {
    lua_getiuservalue(L, 1, value);
    lua_setiuservalue(L, 2, value);
  }
  ConversationConfig config = {.memory = bind_memory(L), .clock = clock_system(), .hash_key = entropy_hash_key(),
                               .counter = *conversation_counter(handle->conversation)};
  Status status = conversation_new(&config, &copy->conversation);
  if (status != STATUS_OK) return bind_raise_status(L, status, "like");
  conversation_charge_as(copy->conversation, handle->conversation);
  return 1;
}

/* common(conversation, batch, length, other, other_length) -> messages, tokens: of
   the beginning that both states have */
static int l_common(lua_State *L) {
  Conversation *conversation = bind_check_conversation(L, 1)->conversation;
  Memory memory = bind_memory(L);
  uint32_t messages;
  lua_settop(L, 5);
  uint32_t length = (uint32_t)bind_integer(L, 3, "length", 0, UINT32_MAX);
  uint32_t other_length = (uint32_t)bind_integer(L, 5, "other_length", 0, UINT32_MAX);
  const Sequence *before = bind_push_batch_list(L, 2, true, length);
  const Sequence *after = bind_push_batch_list(L, 4, true, other_length);
  Status status = common_prefix_count(&memory, conversation_store(conversation), before, after, &messages);
  if (status != STATUS_OK) return bind_raise_status(L, status, "common");
  Sum sum = sequence_prefix(after, messages);
  lua_pushinteger(L, messages);
  lua_pushinteger(L, (lua_Integer)sum_measure(&sum, MEASURE_TOKENS));
  return 2;
}

void bind_open_replay(lua_State *L) {
  static const BindMethod functions[] = {
    {"like", l_like, "conversation", CHARGE_LIST},
    {"common", l_common, "conversation batch length other other_length", CHARGE_LIST},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
