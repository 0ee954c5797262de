/*
** Exchange: undoes edits of a conversation by the state that a fork has kept.
**
**     conversation   1 2 3 4      after:  1 2 3      its address, its base and its versions stay
**     fork           1 2 3                1 2 3 4    to be freed
*/
#include <assert.h>

#include "core/conversation_data.h"

void conversation_exchange(Conversation *conversation, Conversation *fork) {
  assert(fork->base == NULL && conversation->memory.user == fork->memory.user);
  Conversation left = *conversation;
  Ring kin = fork->kin;                      /* both stay where they are in the ring */
  *conversation = *fork;
  *fork = left;
  fork->kin = kin;
  conversation->kin = left.kin;
  conversation->base = left.base;
  conversation->compacted = left.compacted;
  conversation->removals = left.removals;
  conversation->forgettings = left.forgettings;
  conversation->version = left.version;
  fork->base = NULL;
  conversation_touch(conversation);
  assert(conversation->version > left.version);
}
