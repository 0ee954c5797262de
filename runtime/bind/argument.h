/*
** Arguments: reading the values that callers pass to bound functions.
**
** All of these functions raise {code, message, hint} for an invalid value; the message
** names the running bound function and the argument: "units: from: ...". Fields of
** options and lists are read without metamethods, which could close or edit the values
** of the call.
*/
#ifndef EBB_BIND_ARGUMENT_H
#define EBB_BIND_ARGUMENT_H

#include "base/buffer.h"
#include "base/memory.h"
#include "bind/error.h"
#include "bind/type.h"
#include "core/message/message.h"
#include "core/operation.h"

/* ---- raising ---- */

/* As bind_raise; the name of the running bound function stands before the message. */
int   bind_raise_argument(lua_State *L, const char *code, const char *hint, const char *format, ...);
/* Raises "FUNCTION: NAME: EXPECTED is expected, not TYPE" about the value at index. `name` NULL: the value is an
   argument, and the name is that of its parameter. */
int   bind_raise_type(lua_State *L, int index, const char *name, const char *expected);

/* ---- values ----
   `name` NULL: as for bind_raise_type. */

/* The block of a userdata of that type. */
void *bind_check(lua_State *L, int index, const BindType *type);
/* Accepts values of one Lua type: LUA_TSTRING, LUA_TTABLE, LUA_TFUNCTION. */
void  bind_expect(lua_State *L, int index, const char *name, int type);
void  bind_expect_any(lua_State *L, int index);      /* accepts all values, nil too, but no missing one */
/* Strings, and numbers, which become strings on the stack; borrowed from there. */
Text  bind_text(lua_State *L, int index);
const char *bind_string(lua_State *L, int index, const char *name);
const char *bind_path(lua_State *L, int index);      /* a string without zero bytes; no number */
/* The string at index; one that is not UTF-8 is replaced on the stack, with U+FFFD for invalid bytes. */
Text  bind_mended(lua_State *L, int index);
/* A string that must be UTF-8 (else the code is "encoding"); `what` names it in the message. */
Text  bind_name(lua_State *L, int index, const char *what);
/* An integer within [low, high]. */
lua_Integer bind_integer(lua_State *L, int index, const char *name, lua_Integer low, lua_Integer high);
/* The number of the string at index among `names`, NULL at the end; `otherwise` for nil, if it is not negative. */
int   bind_choice(lua_State *L, int index, const char *name, int otherwise, const char *const *names);
/* A name or a list of names as bits; `number` reads one, and answers less than 32. An empty list has none. */
unsigned bind_bits(lua_State *L, int index, unsigned (*number)(lua_State *L, int index));
/* A role, or a list of roles, as bits. */
unsigned bind_roles(lua_State *L, int index);
Role  bind_role(lua_State *L, int index);

/* ---- fields ---- */

/* Refuses keys of the table at `index` that are not among `names`. `what` NULL: as for bind_raise_type. */
void  bind_check_names(lua_State *L, int index, const char *what, const char *const *names);
int   bind_get_field(lua_State *L, int index, const char *name);        /* pushes the field; returns its Lua type */
/* Pushes field `name` of the table at `index`; false, and nothing pushed, for nil. */
bool  bind_field(lua_State *L, int index, const char *name);
/* Reads an optional field: a count into *value, false for nil; a boolean, `absent` for nil. */
bool  bind_count_field(lua_State *L, int index, const char *name, uint32_t *value);
bool  bind_flag_field(lua_State *L, int index, const char *name, bool absent);
/* The list of strings (or one string) in field `name`. Its array is a userdata left on the stack; the strings
   belong to the table, which must not change meanwhile. */
TextList bind_text_list(lua_State *L, int index, const char *name);

/* ---- pushing ---- */

void  bind_push_text(lua_State *L, Text text);             /* decoded */
/* Set a field of the table on top. */
void  bind_set_integer(lua_State *L, const char *name, lua_Integer value);
void  bind_set_text(lua_State *L, const char *name, Text text);

/* ---- memory ---- */

Memory bind_memory(lua_State *L);            /* the Lua state's allocator */
/* Pushes an empty buffer, which the collector frees. */
Buffer *bind_buffer(lua_State *L);

#endif
