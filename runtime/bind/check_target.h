/*
** The target of a check or a repair, as Lua gives it: a dialect's name, or a table
** {dialect, profile, traits, model_known}, whose profile is an entry of ebb.profiles.
*/
#ifndef EBB_BIND_CHECK_TARGET_H
#define EBB_BIND_CHECK_TARGET_H

#include "bind/view.h"
#include "dialect/check/check.h"

/* The target that the value at index names; nil: the dialect of the messages, its provider's own API. With the other
   members of a loaded body, and the range of bound thinking of a conversation. Texts stay on the stack. Raises for
   unknown names, and for a dialect without rules. */
CheckTarget bind_check_target(lua_State *L, int index, const View *view);

/* The codes in the list `field` of the table at index; `otherwise` without it. Raises for unknown codes. */
CodeSet bind_codes(lua_State *L, int index, const char *field, CodeSet otherwise);

#endif
