/*
** Numbers as texts, the same under every locale.
*/
#ifndef EBB_BIND_NUMBER_H
#define EBB_BIND_NUMBER_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

enum { BIND_NUMBER = 48 };   /* bytes of any number as a text, and its NUL */

/* strtod and printf, whatever the program's locale: JSON and Lua have a point in numbers. */
double bind_read_float(const char *text);
/* As Lua's tostring; the size without the NUL; exact: with as many digits as it takes to read the same number again. */
size_t bind_write_integer(lua_Integer number, char text[BIND_NUMBER]);
size_t bind_write_float(double number, bool exact, char text[BIND_NUMBER]);

#endif
