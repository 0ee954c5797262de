/*
** Shapes: the keys of tables that are written one after another, such as the rows of a
** list. Most have the same keys, in the same order of traversal: these are sorted and
** escaped once.
**
** A shape borrows the keys' bytes from the table that it was learned from: both belong to
** one value that lives and does not change while it is written.
*/
#ifndef EBB_BIND_JSON_SHAPE_H
#define EBB_BIND_JSON_SHAPE_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum { SHAPE_KEYS = 24, SHAPE_BYTES = 768 };

typedef struct Shape {
  uint32_t count;                  /* 0: none was learned */
  Text keys[SHAPE_KEYS];           /* in the order of traversal */
  uint8_t order[SHAPE_KEYS];       /* their numbers, sorted by the keys' bytes */
  uint16_t ends[SHAPE_KEYS];       /* in `leads`: the end of what stands before each value, sorted */
  char leads[SHAPE_BYTES];         /* commas, white space, escaped keys and colons */
} Shape;

/* Learns the keys of the table at the absolute `index`; false, and the shape has none, if they are too many, are no
   texts, or there are none. The caller fills `ends` and `leads`. */
bool shape_learn(lua_State *L, int index, Shape *shape);
/* If the table has the shape's keys, pushes its values in the order of traversal; else pushes nothing. */
bool shape_push_values(lua_State *L, int index, const Shape *shape);

#endif
