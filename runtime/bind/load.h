/*
** Conversations from texts and into them.
*/
#ifndef EBB_BIND_LOAD_H
#define EBB_BIND_LOAD_H

#include "base/sink.h"
#include "bind/handle.h"

/* Pushes the conversation of a text, as core.parse for Lua, or nil and an error; returns the number of results. The
   options stand at stack index 2. The text need not be a Lua string; it is copied. */
int   bind_parse(lua_State *L, Text text);
/* Writes the list at index 1 as `document` says (document_write). Items become messages with the texts of the
   table at index 2, by window; nil: items are skipped. Leaves blocks on the stack. STATUS_LIMIT if a message would be
   nested too deeply, STATUS_MEMORY, the sink's status. */
Status bind_write_list(lua_State *L, const Document *document, Sink sink);
extern const char *const BIND_TOO_DEEP;      /* the words of that STATUS_LIMIT */

#endif
