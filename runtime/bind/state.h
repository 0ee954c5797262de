/*
** Saved conversations, from Lua: read and written (format/state.h).
*/
#ifndef EBB_BIND_STATE_H
#define EBB_BIND_STATE_H

#include "bind/handle.h"

/* Pushes the conversation of a state, or nil and an error; returns the number of results. `name` begins the
   errors. The function at stack index `resolve` makes the options of the core, a table, of those that were saved,
   without their document, and the model that this names, or nil; its nil and error become the results. `lenient`:
   a state whose digest differs is read, with a warning. The bytes are copied. */
int   bind_load_state(lua_State *L, const char *name, Text bytes, bool lenient, int resolve);
/* Writes the conversation with these options, its document before them. STATUS_MEMORY, the sink's status. */
Status bind_write_state(const ConversationHandle *handle, const Memory *memory, Text options, Sink sink);

#endif
