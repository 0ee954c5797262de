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
int   bind_raise(lua_State *L, const char *code, const char *hint, const char *format, ...);
/* Raises what a status says, with `what` failed; STATUS_OK is not allowed. */
int   bind_raise_status(lua_State *L, Status status, const char *what);
/* Pushes nil and an error object: what the world refuses, and no mistake of the program. Returns 2. */
int   bind_refuse(lua_State *L, const char *code, const char *message);
/* Pushes a text with U+FFFD in the place of bytes that are not UTF-8. */
void  bind_push_mended(lua_State *L, Text text);
/* Among the names (NULL at the end), the one that was probably meant, or NULL. */
const char *bind_suggest(const char *name, const char *const *names);
/* "did you mean 'x'?", pushed, or `otherwise`, which may be NULL. */
const char *bind_push_suggestion(lua_State *L, const char *name, const char *const *names, const char *otherwise);
bool  bind_is_error(lua_State *L, int index);      /* needs no memory */
void  bind_mark_error(lua_State *L);         /* the table on top becomes an error object */
void  bind_open_errors(lua_State *L);        /* core.error, is_error, utf8 into the table on top */

#endif
