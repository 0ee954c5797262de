/*
** Conversations from texts and into them.
*/
#ifndef EBB_BIND_LOAD_H
#define EBB_BIND_LOAD_H

#include "base/sink.h"
#include "bind/handle.h"

/* As core.parse, of a text that need not be a string of Lua's; the options stand at 2. */
int   bind_parse(lua_State *L, Text text);
/* Writes the list at index 1 by a document, with the table of windows' texts at index 2
   (nil: it shows none) in the place of items; leaves blocks on the stack. STATUS_LIMIT: a
   message would stand too deep. */
Status bind_write_list(lua_State *L, const Document *document, Sink sink);
extern const char *const BIND_TOO_DEEP;

#endif
