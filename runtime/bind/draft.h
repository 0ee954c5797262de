/*
** Drafts: what the files of their methods share.
*/
#ifndef EBB_BIND_DRAFT_H
#define EBB_BIND_DRAFT_H

#include "bind/handle.h"

/* The draft at 1; raises for anything else, and if it has ended. What is called next must not
   run a script's code, which could end it. */
Draft *bind_check_draft(lua_State *L);
/* Required before an edit that may call back; pushes the conversation and returns its index. Comes
   before bind_check_draft: the clock that it asks may end the draft. Raises. */
int    bind_enter_draft(lua_State *L);
/* Charges a sandbox for bytes that an edit of a borrowed draft keeps in the program's memory; raises
   at the sandbox's limit. The draft stands at 1. */
void   bind_hold_draft(lua_State *L, size_t bytes);
/* The same for a reason or a note, which the ledger keeps for good; also raises beyond LEDGER_TEXTS_MAX. */
void   bind_hold_text(lua_State *L, Text text);
#define LEDGER_TEXTS_MAX ((size_t)16 << 20)  /* bytes of reasons and notes of a sandboxed policy, at one batch */
#define LEDGER_ENTRY     16                  /* bytes for each, whatever its text */

#endif
