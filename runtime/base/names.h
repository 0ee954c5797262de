/*
** Names: tables of C strings, searched by name. Such a table has the names of an enum's
** values in their order and without gaps, so that an index in the table is a value.
*/
#ifndef EBB_BASE_NAMES_H
#define EBB_BASE_NAMES_H

#include "base/text.h"

/* The number of elements of an array; not for pointers, whose targets have no known size. */
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Index of `name` among `count` names, or `count` if it is not among them. */
static inline size_t names_find(const char *const names[], size_t count, Text name) {
  size_t i = 0;
  while (i < count && !text_is(name, names[i])) i++;
  return i;
}

/* The same for an array of names, not a pointer to one. */
#define NAMES_FIND(names, name) names_find(names, COUNT_OF(names), name)
/* True if the array of names has `name`. */
#define NAMES_HAVE(names, name) (NAMES_FIND(names, name) < COUNT_OF(names))

#endif
