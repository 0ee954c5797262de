/*
** Saved conversations, from Lua: read and written (state/state.h).
*/
#ifndef EBB_BIND_STATE_H
#define EBB_BIND_STATE_H

#include "bind/handle.h"

typedef enum StateReading {
  STATE_READ_STRICT,
  STATE_READ_LENIENT,        /* also a state whose digest differs, with a warning */
  STATE_READ_JOINED          /* of rows with checksums of their own: it has no digest */
} StateReading;

/* Pushes the conversation of a state, or nil and an error; returns the number of results. `name` begins the
   errors. The function at stack index `resolve` makes the options of the core, a table, of those that were saved,
   without their document, and the model that this names, or nil; its nil and error become the results. The bytes are
   copied. */
int   bind_load_state(lua_State *L, const char *name, Text bytes, StateReading reading, int resolve);
/* Writes these options with the document before them, a JSON object, to an empty buffer. STATUS_MEMORY. */
Status bind_write_options(const ConversationHandle *handle, Text options, Buffer *out);
/* Writes the conversation with these options, its document before them. STATUS_MEMORY, the sink's status. */
Status bind_write_state(const ConversationHandle *handle, const Memory *memory, Text options, Sink sink);

#endif
