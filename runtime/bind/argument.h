/*
** Arguments: values that callers hand to bound functions.
**
** What is wrong raises {code, message, hint}; the message names the bound function that
** runs and the argument: "units: from: ...". Fields of options and lists are read
** without metamethods: those could close or edit what the call is about.
*/
#ifndef EBB_BIND_ARGUMENT_H
#define EBB_BIND_ARGUMENT_H

#include "base/buffer.h"
#include "base/memory.h"
#include "bind/error.h"
#include "bind/type.h"
#include "core/message.h"
#include "core/operation.h"

/* ---- raising ---- */

/* As bind_raise, with the name of the bound function that runs before the message. */
int   bind_raise_argument(lua_State *L, const char *code, const char *hint, const char *format, ...);
/* Raises "FUNCTION: NAME: EXPECTED is expected, not TYPE" about the value at index. `name` NULL: it is an
   argument, and is called by its parameter. */
int   bind_raise_type(lua_State *L, int index, const char *name, const char *expected);

/* ---- values ----
   `name` NULL: as for bind_raise_type. */

void *bind_check(lua_State *L, int index, const BindType *type);
/* A value of that Lua type: LUA_TSTRING, LUA_TTABLE, LUA_TFUNCTION. */
void  bind_expect(lua_State *L, int index, const char *name, int type);
void  bind_expect_any(lua_State *L, int index);
/* Strings; numbers too, which become strings. */
Text  bind_text(lua_State *L, int index);
const char *bind_string(lua_State *L, int index, const char *name);
/* The string at index, where bytes that are not UTF-8 became U+FFFD. */
Text  bind_mended(lua_State *L, int index);
/* A name, which is refused ("encoding") unless it is UTF-8. */
Text  bind_name(lua_State *L, int index, const char *what);
/* An integer within [low, high]. */
lua_Integer bind_integer(lua_State *L, int index, const char *name, lua_Integer low, lua_Integer high);
/* The number of the string at index among `names`, NULL at the end; `otherwise` for nil, if it is not negative. */
int   bind_choice(lua_State *L, int index, const char *name, int otherwise, const char *const *names);
/* A role, or a list of roles, as bits. */
unsigned bind_roles(lua_State *L, int index);
Role  bind_role(lua_State *L, int index);

/* ---- fields ---- */

/* Refuses keys of the table at `index` that are not among `names`. `what` NULL: as for bind_raise_type. */
void  bind_check_names(lua_State *L, int index, const char *what, const char *const *names);
int   bind_get_field(lua_State *L, int index, const char *name);        /* pushes it; its type */
/* Pushes field `name` of the table at `index`; false, and nothing pushed, for nil. */
bool  bind_field(lua_State *L, int index, const char *name);
/* Options: optional integer and boolean fields. */
bool  bind_count_field(lua_State *L, int index, const char *name, uint32_t *value);
bool  bind_flag_field(lua_State *L, int index, const char *name, bool absent);
/* The list of strings (or one string) in field `name`. The texts live in a
   userdata left on the stack; the strings are held by the table. */
TextList bind_text_list(lua_State *L, int index, const char *name);

/* ---- pushing ---- */

void  bind_push_text(lua_State *L, Text text);             /* decoded */
/* Set a field of the table on top. */
void  bind_set_integer(lua_State *L, const char *name, lua_Integer value);
void  bind_set_text(lua_State *L, const char *name, Text text);

/* ---- memory ---- */

Memory bind_memory(lua_State *L);            /* the state's own */
/* A growing block that the collector frees; pushed. */
Buffer *bind_buffer(lua_State *L);

#endif
