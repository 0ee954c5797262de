/*
** What luaopen_ebb_core opens: each adds its methods to types and its functions to the
** table on top, or pushes a table of its own where the comment says so. The order counts:
** types before methods for them.
*/
#ifndef EBB_BIND_OPEN_H
#define EBB_BIND_OPEN_H

#include <lua.h>
#include <stdint.h>

/* ---- methods of types, functions of the table on top ---- */

void  bind_open_conversation(lua_State *L);  /* before what adds methods to conversations */
void  bind_open_edit(lua_State *L);
void  bind_open_batch(lua_State *L);
void  bind_open_message(lua_State *L);
void  bind_open_selection(lua_State *L);
void  bind_open_unit(lua_State *L);
void  bind_open_ledger(lua_State *L);
void  bind_open_load(lua_State *L);
void  bind_open_files(lua_State *L);
void  bind_open_limits(lua_State *L);
void  bind_open_check(lua_State *L);
void  bind_open_convert(lua_State *L);
void  bind_open_replay(lua_State *L);
void  bind_open_words(lua_State *L);
void  bind_open_walk(lua_State *L);          /* after bind_open_draft */
void  bind_open_tokenizer(lua_State *L);
void  bind_open_encoding(lua_State *L);      /* base64, data_uri, sha256 */
void  bind_open_printable(lua_State *L);
void  bind_open_number(lua_State *L);
void  bind_open_canonical(lua_State *L);
void  bind_open_keywords(lua_State *L);
void  bind_open_folder(lua_State *L);        /* for trusted code only */

/* ---- each pushes a table of functions; its owner is the module ---- */

void  bind_open_draft(lua_State *L);
void  bind_open_draft_edit(lua_State *L);    /* adds to the table of bind_open_draft, which is on top */
void  bind_open_window(lua_State *L);
void  bind_open_counter(lua_State *L);
void  bind_open_vocab(lua_State *L);
void  bind_open_regex(lua_State *L);
void  bind_open_working(lua_State *L);
void  bind_open_speech(lua_State *L);        /* adds to the table of bind_open_working, which is on top */
void  bind_open_json(lua_State *L);
/* open_core: luaopen_ebb_core, which opens the library inside of each sandbox. */
void  bind_open_sandbox(lua_State *L, lua_CFunction open_core);

/* ---- functions that one file defines and another binds ---- */

/* call(f, limit, argument, memory) -> true, result, remaining instructions | false, error, remaining.
   limit: instructions; memory: bytes in use at once (in a sandbox its own limit applies instead) */
int   bind_limited_call(lua_State *L);
int   bind_escape_markup(lua_State *L);      /* core.window.escape */
void  bind_push_digest(lua_State *L, const uint8_t digest[32]);      /* as hexadecimal digits */

/* ---- the module ---- */

#define EBB_VERSION "0.1.0"

/* require "ebb.core": pushes the module. */
int   luaopen_ebb_core(lua_State *L);

#endif
