/*
** Reader: reads a message in the form of any dialect (dialect/dialect.h) from JSON into a
** MessageShape. The spans of the shape refer to the message's bytes;
** the lists of parts, calls and results belong to the reader and are valid until it
** reads again.
*/
#ifndef EBB_DIALECT_READER_H
#define EBB_DIALECT_READER_H

#include "core/message/message.h"
#include "json/json.h"

#define MESSAGE_BYTES_MAX ((size_t)16 << 20)   /* the default */

/* Bytes behind the cap that are read at most: more than any word, escape or character has. */
#define READER_BEHIND_CAP ((size_t)16)

/* Reads a role of this spelling as another role; the message keeps the spelling. */
typedef struct RoleAlias {
  Text spelling;
  Role role;
} RoleAlias;

typedef struct Reader {
  Memory memory;
  size_t message_bytes_max;
  bool all_items;            /* an object with a type and no role is an item, also if its type is unknown */
  const RoleAlias *aliases;  /* the caller's; they take precedence over standard roles */
  uint32_t alias_count;
  Part *parts;     uint32_t part_count, part_room;
  Call *calls;     uint32_t call_count, call_room;
  Result *results; uint32_t result_count, result_room;
} Reader;

void reader_init(Reader *reader, Memory memory);
void reader_free(Reader *reader);

/* The number of a known key, from 0, and its static name; false for other keys. A message
   may have each known key once. */
#define READER_KEYS 15
bool reader_key(Text key, uint32_t *number, Text *name);

/* Reads the next value as a message. False on failure; the cursor has the error: SYNTAX,
   ENCODING, LIMIT, SHAPE, ROLE, DUPLICATE, MEMORY. */
bool reader_message(Reader *reader, Json *json, Text *raw, MessageShape *shape);

/* What reader_message makes of {"role":"..","content":".."} as message_is_bare has it: the spelling and the text, as
   they stand there, have these sizes. The role is not ROLE_TOOL; the message is within MESSAGE_BYTES_MAX. */
MessageShape reader_bare_shape(Role role, size_t role_size, size_t content_size, bool escaped);

#endif
