/*
** Windows of a conversation, and items in lists.
*/
#ifndef EBB_BIND_WINDOW_H
#define EBB_BIND_WINDOW_H

#include "bind/view.h"
#include "core/request_order.h"

extern const BindType BIND_WINDOWS;

int   bind_push_windows(lua_State *L);     /* pushes the Windows of the conversation at 1, always the same; returns 1 */
int   bind_active(lua_State *L);           /* list:active() */
/* Is the message an item of a window in the view's list, and obsolete there? O(k log n) for k items. */
bool  bind_is_obsolete(lua_State *L, const View *view, MessageId id);
/* The view's messages in the order in which they are sent, in a block left on the stack; of the
   list that core.window.shown was asked about if its items stand at `found` (0: nowhere). */
const RequestOrder *bind_push_sent(lua_State *L, const View *view, bool obsolete, int found);
/* Of the positions, which rise, keeps those of items that are obsolete, or of those that are not; says how many. */
uint32_t bind_keep_obsolete(lua_State *L, const View *view, bool obsolete, uint32_t *positions, uint32_t count);

#endif
