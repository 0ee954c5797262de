/*
** Ledgers in Lua: what an edit did to each message, and why (core/history/ledger.h).
*/
#ifndef EBB_BIND_LEDGER_H
#define EBB_BIND_LEDGER_H

#include "bind/type.h"
#include "core/history/ledger.h"
#include "json/json_out.h"

extern const BindType BIND_LEDGER;

/* The ledger at index, or NULL for other values. */
const Ledger *bind_test_ledger(lua_State *L, int index);
/* Writes the entries of the ledger at index: [{action, by, reason, replacement?, role, seq, tokens}].
   Raises nothing. */
void  bind_write_ledger(lua_State *L, int index, JsonOut *out);
/* Pushes a ledger of the conversation at stack index `conversation`; takes a share of it. */
void  bind_push_ledger(lua_State *L, int conversation, Ledger *ledger);

#endif
