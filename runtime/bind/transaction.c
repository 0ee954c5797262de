/*
** Transactions: several edits as one, on a copy that the conversation becomes if
** all goes well.
**
** The copy shares the store. If the transaction fails, the store forgets what was
** added meanwhile; so what was made of the copy, the young, must end before it:
** forks and drafts note themselves in a list, `young` beside the functions that
** the caller gave, which all forks share.
*/
#include "bind/bind.h"

void bind_note_young(lua_State *L, int index) {
  const ConversationHandle *handle = bind_test(L, index, &BIND_CONVERSATION);
  if (handle->callbacks->sole == NULL) return;
  lua_getiuservalue(L, index, BIND_FUNCTIONS);
  if (bind_get_field(L, -1, "young") == LUA_TTABLE) {
    lua_pushvalue(L, -3);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_pop(L, 2);
}

/* Pushes the list of young ones, and says how many there were before this
   transaction, which may stand in another's. */
static lua_Unsigned push_young(lua_State *L) {
  lua_getiuservalue(L, 1, BIND_FUNCTIONS);
  if (bind_get_field(L, -1, "young") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "young");
  }
  lua_remove(L, -2);
  return lua_rawlen(L, -1);
}

/* Ends the young ones that have come after the first `count`. Needs no memory. */
static void end_young(lua_State *L, int young, lua_Unsigned count) {
  for (lua_Unsigned last = lua_rawlen(L, young); last > count; last--) {
    lua_rawgeti(L, young, (lua_Integer)last);
    ConversationHandle *fork = bind_test(L, -1, &BIND_CONVERSATION);
    DraftHandle *draft = bind_test(L, -1, &BIND_DRAFT);
    if (fork != NULL) {
      conversation_free(fork->conversation);
      fork->conversation = NULL;
    } else if (draft != NULL) {
      draft_free(draft->draft);
      draft->draft = NULL;
    }
    lua_pushnil(L);
    lua_rawseti(L, young, (lua_Integer)last);
    lua_pop(L, 1);
  }
}

static void forget_young(lua_State *L) {
  if (!lua_checkstack(L, 2)) return;         /* no harm: nothing is noted there until the next transaction */
  lua_getiuservalue(L, 1, BIND_FUNCTIONS);
  lua_pushnil(L);
  lua_setfield(L, -2, "young");
  lua_pop(L, 1);
}

enum { YOUNG = 4 };    /* place of the transaction's stack */

/* transaction(conversation, run) -> what run(copy) returns. The conversation
   becomes the copy if run returns; if it raises, no trace of it is left. */
int bind_transaction(lua_State *L) {
  ConversationHandle *handle = bind_check_conversation(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  ConversationHandle *copy = bind_push_fork(L);
  Callbacks *callbacks = handle->callbacks;
  Conversation *outer = callbacks->sole;
  Store *store = conversation_store(handle->conversation);
  StoreMark mark = store_mark(store);
  lua_Unsigned young = push_young(L);
  callbacks->sole = copy->conversation;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  bool done = lua_pcall(L, 1, LUA_MULTRET, 0) == LUA_OK;
  callbacks->sole = outer;
  if (done) {
    conversation_swap(handle->conversation, copy->conversation);
    handle->told = copy->told;
  }
  conversation_free(copy->conversation);
  copy->conversation = NULL;
  if (!done) {
    end_young(L, YOUNG, young);
    store_rewind(store, mark);
  }
  if (outer == NULL) forget_young(L);
  return done ? lua_gettop(L) - YOUNG : lua_error(L);
}
