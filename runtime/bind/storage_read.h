/*
** Reading sessions: all of one, in the version of now or in that of a tail, or the texts of its messages.
*/
#ifndef EBB_BIND_STORAGE_READ_H
#define EBB_BIND_STORAGE_READ_H

#include "bind/storage_handle.h"
#include "storage/storage_past.h"

typedef struct PastHandle {
  StoragePast past;
} PastHandle;

extern const BindType BIND_PAST;

/* Pushes an empty one. */
StoragePast *bind_push_past(lua_State *L);
/* db:load(session, options, resolve, past?) -> conversation, info | nil, error; options and resolve are those of
   core.load. `past`: the version that db:tail gave, or the error conflict. */
int   bind_load_session(lua_State *L);
/* db:messages(session) -> all stored messages that are there, by seq, as a JSON list; their number; the same with the
   places of windows | nil, error */
int   bind_session_messages(lua_State *L);
/* db:rows(session) -> its own rows that are there, those that it wrote | nil, error */
int   bind_session_rows(lua_State *L);

#endif
