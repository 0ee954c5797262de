/*
** JSON and Lua values.
*/
#ifndef EBB_BIND_JSON_H
#define EBB_BIND_JSON_H

#include <lua.h>
#include <stdbool.h>
#include "base/buffer.h"
#include "base/text.h"
#include "json/json.h"

/* What a table is written as: by its keys, as a list though it is empty, or as the text of a value that it holds. */
typedef enum JsonMark { JSON_MARK_NONE, JSON_MARK_LIST, JSON_MARK_RAW } JsonMark;

void  bind_push_json(lua_State *L, const char *bytes, size_t size);     /* pushes the value of valid JSON */
/* Pushes the value at the cursor, and steps over it; false if it is not valid. */
bool  bind_push_json_value(lua_State *L, Json *json);
/* Pushes a table that is written as the text of a valid value. */
void  bind_push_raw_json(lua_State *L, const char *bytes, size_t size);
/* Functions of the module: decode(text, options), decode_at(text, position, options). */
int   bind_json_decode(lua_State *L);
int   bind_json_decode_at(lua_State *L);
/* Appends the value at index as JSON; raises {code = "argument"} for values without a JSON form. */
void  bind_encode(lua_State *L, int index, Buffer *out);
/* The same for a value that will be nested in `depth` others; raises {code = "limit"} if *out gets more than `most`
   bytes (0: no limit), or beyond JSON_DEPTH_MAX levels. */
void  bind_encode_within(lua_State *L, int index, int depth, size_t most, Buffer *out);
/* The order in which people write a message; other keys follow, sorted. */
#define BIND_MESSAGE_KEY_COUNT 8
extern const char *const BIND_MESSAGE_KEYS[BIND_MESSAGE_KEY_COUNT];
void  bind_encode_message(lua_State *L, int index, Buffer *out);        /* keys in a message's usual order */
/* The keys of the table at the absolute `index` in byte order, in a block that it pushes; the table holds their bytes.
   Raises {code = "argument"} for keys that are no texts. */
Text *bind_push_keys(lua_State *L, int index, size_t *count);
/* The mark of a table; none for other values. Needs no memory. */
JsonMark bind_json_mark(lua_State *L, int index);
void  bind_set_json_mark(lua_State *L, JsonMark mark);                   /* gives the table on top that mark */
void  bind_open_json_marks(lua_State *L);            /* makes the marks; before all that reads or sets them */

#endif
