/*
** Source position: where an error is in a file, as line and byte for people and editors,
** and as a JSON path for programs.
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

/* The position of an offset, which is at most `size`. O(offset). */
SourcePosition source_position(const char *bytes, size_t size, size_t offset);

/* Finds many positions in one walk, if they come in order. Start with
   {start, start, {1, 1}}. */
typedef struct SourceWalk {
  const char *start, *at;
  SourcePosition place;
} SourceWalk;

SourcePosition source_position_next(SourceWalk *walk, const char *to);

/* Writes the path of the value at `offset`, such as "messages[3].role", as far as the
   JSON before it is valid, cut to `room` bytes with its NUL. `tolerant`: invalid UTF-8
   ends it only in a key that would be a step. */
void  source_path(const char *bytes, size_t size, size_t offset, bool tolerant, char *out, size_t room);

#endif
