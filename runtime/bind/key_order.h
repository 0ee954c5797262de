/*
** Key order: the entries of a table in an order that repeats, for what is numbered as it is copied.
**
** Lua walks over a table in an order that depends on addresses and on the seed of its strings. Entries whose values
** are tables or functions come in the order of their keys instead: 1, 2, 3 ..., then other numbers, false, true, and
** strings by their bytes.
*/
#ifndef EBB_BIND_KEY_ORDER_H
#define EBB_BIND_KEY_ORDER_H

#include <lua.h>
#include <stdbool.h>

/* Called for each entry, its key and value on top of L, which it leaves there. May raise. */
typedef void KeyOrderEntry(lua_State *L, void *user);

/* Walks over the table at the absolute index: entries whose values are no references as Lua has them, and the others in
   their order. Keeps keys on the stack of L meanwhile, and allocates nothing else in L. False: the stack has no room;
   what `entry` raises elsewhere leaves keys there. */
bool key_order_walk(lua_State *L, int index, KeyOrderEntry *entry, void *user);

#endif
