/*
** Error objects: {code, message, hint}, with a metatable that tells them from other tables.
*/
#ifndef EBB_BIND_ERROR_H
#define EBB_BIND_ERROR_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"

/* Pushes {code, message, hint}; hint may be NULL. */
void  bind_push_error(lua_State *L, const char *code, const char *message, const char *hint);
/* Raises such an object; its message has the formats of lua_pushfstring. hint may be NULL. Never returns; the int is
   for `return bind_raise(..)`. */
int   bind_raise(lua_State *L, const char *code, const char *hint, const char *format, ...);
/* Raises in a finalizer (__gc), which may run in the middle of any call that makes something of Lua's, and so of one
   that holds what an edit would free; "a finalizer may not WHAT". Lua before 5.4.4 does not tell: nothing is raised. */
void  bind_refuse_finalizer(lua_State *L, const char *what);
/* Raises "WHAT: words of the status" with the status's code; STATUS_OK is not allowed. */
int   bind_raise_status(lua_State *L, Status status, const char *what);
/* Pushes nil and an error object, the results of a call that failed for reasons outside of the program, such as a
   missing file. Returns 2, their number. */
int   bind_refuse(lua_State *L, const char *code, const char *message);
/* Pushes a text with U+FFFD in the place of bytes that are not UTF-8. */
void  bind_push_mended(lua_State *L, Text text);
/* The nearest of the names (NULL at the end) to a misspelt one; NULL if none is near. */
const char *bind_suggest(const char *name, const char *const *names);
/* Pushes "did you mean 'x'?" and returns it; without a near name returns `otherwise`, which may be NULL. */
const char *bind_push_suggestion(lua_State *L, const char *name, const char *const *names, const char *otherwise);
bool  bind_is_error(lua_State *L, int index);      /* true for an error object; needs no memory */
void  bind_mark_error(lua_State *L);         /* makes the table on top an error object */
void  bind_open_errors(lua_State *L);        /* sets error, is_error and utf8 of the table on top, core */

#endif
