/*
** Reader: one message of the openai form (and its neighbours' part forms), from
** JSON to a MessageShape. The spans of the shape name bytes of the message
** where they lie; only the lists of parts, calls and results are the reader's
** own, valid until it reads again.
*/
#ifndef EBB_FORMAT_READER_H
#define EBB_FORMAT_READER_H

#include "core/message.h"
#include "json/json.h"

#define MESSAGE_BYTES_MAX ((size_t)16 << 20)   /* by default */

/* No byte this far behind the cap is looked at: more than any word, escape or
   character has bytes. */
#define READER_BEHIND_CAP ((size_t)16)

/* A role that is read as another; its spelling stays. */
typedef struct RoleAlias {
  Text spelling;
  Role role;
} RoleAlias;

typedef struct Reader {
  Memory memory;
  size_t message_bytes_max;
  const RoleAlias *aliases;  /* the caller's; they come before the roles that everybody knows */
  uint32_t alias_count;
  Part *parts;     uint32_t part_count, part_room;
  Call *calls;     uint32_t call_count, call_room;
  Result *results; uint32_t result_count, result_room;
} Reader;

void reader_init(Reader *reader, Memory memory);
void reader_free(Reader *reader);

/* The keys of ours, each of which may stand once in a message, are numbered from
   0. False if it is none; *name is static. */
#define READER_KEYS 13
bool reader_key(Text key, uint32_t *number, Text *name);

/* Reads the value that comes next. False on an error, which the cursor then
   holds: SYNTAX, ENCODING, LIMIT, SHAPE, ROLE, DUPLICATE, MEMORY. */
bool reader_message(Reader *reader, Json *json, Text *raw, MessageShape *shape);

#endif
