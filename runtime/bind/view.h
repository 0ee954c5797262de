/*
** Views: the list of messages that conversations, batches and drafts have in common.
*/
#ifndef EBB_BIND_VIEW_H
#define EBB_BIND_VIEW_H

#include "bind/handle.h"

/* The list behind a conversation, batch or draft. */
typedef struct View {
  int owner;                 /* absolute stack index */
  ConversationHandle *handle;
  Conversation *conversation;
  const Sequence *list;
  Draft *draft;              /* NULL: not a draft */
  BatchHandle *batch;        /* NULL: not a batch */
} View;

View  bind_view(lua_State *L, int index);                  /* raises for anything else */
/* The same without the list of a draft, which costs O(slots) after an edit: a
   policy that edits and looks in turns needs the slots only. */
View  bind_look(lua_State *L, int index);
void  bind_view_list(lua_State *L, View *view);            /* fetches what bind_look left out */
bool  bind_is_view(lua_State *L, int index);
const Units *bind_view_units(lua_State *L, View *view);    /* of the list, or of the draft's slots */
/* Where a message stands in the units' numbering, or UNIT_NONE. */
uint32_t bind_view_slot(lua_State *L, View *view, MessageId id, uint32_t hint);
MessageId bind_view_slot_message(const View *view, uint32_t slot);
bool  bind_view_slot_is_dropped(const View *view, uint32_t slot);
uint64_t bind_view_tokens(const View *view);
/* What a message weighs there; of any message of the store. */
uint32_t bind_view_message_tokens(const View *view, MessageId id);

/* Pushes the Batch of the conversation at 1 that the number or name at `index` stands for, with
   `length` messages (has_length false: as many as it has, or had when it got the name); its list. */
const Sequence *bind_push_batch_list(lua_State *L, int index, bool has_length, uint32_t length);

#endif
