/*
** Values written anew: without white space, members in the order of their keys, texts with the escapes that they need.
** This is how tables of Lua are written (bind_encode), so a value that came from JSON needs no table on its way.
*/
#ifndef EBB_JSON_JSON_SORTED_H
#define EBB_JSON_JSON_SORTED_H

#include "base/buffer.h"
#include "json/json.h"

/* Appends the value. *written false, and *out is as it was, for forms that it leaves to others: numbers that are no
   short integers, keys with escapes or twice, many members, deep nesting. STATUS_MEMORY. */
Status json_sorted(const JsonValue *value, Buffer *out, bool *written);

#endif
