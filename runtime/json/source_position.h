/*
** SourcePosition: where in a file an error is, and in whose terms: line and byte for
** people and editors, a JSON path for programs.
*/
#ifndef EBB_JSON_SOURCE_POSITION_H
#define EBB_JSON_SOURCE_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct SourcePosition {
  uint64_t line;       /* from 1 */
  uint64_t byte;       /* in its line, from 1 */
} SourcePosition;

/* O(offset). offset <= size */
SourcePosition source_position(const char *bytes, size_t size, size_t offset);

/* Counts on from the place asked for last, so that many take one walk. Start with
   {start, start, {1, 1}}; places should be asked for in order. */
typedef struct SourceWalk {
  const char *start, *at;
  SourcePosition place;
} SourceWalk;

SourcePosition source_position_next(SourceWalk *walk, const char *to);

/* Writes the path of the value at `offset`, such as "messages[3].role", as far
   as the JSON before it can be read; cut at `room` bytes, terminated. `tolerant`:
   invalid UTF-8 does not end it, but in a key that would be a step of it. */
void  source_path(const char *bytes, size_t size, size_t offset, bool tolerant, char *out, size_t room);

#endif
