/*
** Windows of a conversation, and items in lists.
*/
#ifndef EBB_BIND_WINDOW_H
#define EBB_BIND_WINDOW_H

#include "bind/view.h"
#include "core/list/request_order.h"

extern const BindType BIND_WINDOWS;

int   bind_push_windows(lua_State *L);     /* pushes the Windows of the conversation at 1, always the same; returns 1 */
int   bind_active(lua_State *L);           /* list:active() */
/* True if the message is a window item of the view's list, and obsolete there. O(k log n) for k items. */
bool  bind_is_obsolete(lua_State *L, const View *view, MessageId id);
/* Pushes a block with the view's messages in the order of a request. `items_index` not 0: stack index of
   the block of items from core.window.rendered, whose list is taken. Raises for want of memory. */
const RequestOrder *bind_push_request_order(lua_State *L, const View *view, bool obsolete, int items_index);
/* Keeps the positions, which rise, of obsolete items, or of items that are not obsolete; returns their number. */
uint32_t bind_keep_obsolete(lua_State *L, const View *view, bool obsolete, uint32_t *positions, uint32_t count);

#endif
