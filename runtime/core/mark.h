/*
** Marks: named sets of messages, such as "pinned". They stand outside the
** batches: no edit and no rollback changes them. Messages are named by their
** origin, so that a replacement keeps the marks of what it replaced.
*/
#ifndef EBB_CORE_MARK_H
#define EBB_CORE_MARK_H

#include "core/message.h"

#define MARK_PINNED "pinned"

typedef struct Marks Marks;

Status marks_new(const Memory *memory, Marks **marks);
Status marks_copy(const Marks *marks, Marks **copy);
void   marks_free(Marks *marks);       /* NULL is allowed */

Status marks_add(Marks *marks, Text name, MessageId origin);
bool   marks_remove(Marks *marks, Text name, MessageId origin);     /* had it the mark? */
bool   marks_has(const Marks *marks, Text name, MessageId origin);
uint32_t marks_size(const Marks *marks, Text name);                 /* messages under a name */
/* Takes the next message under a name, in no order; false at the end. Start with
   *at = 0; nothing may be added or removed meanwhile. */
bool     marks_next(const Marks *marks, Text name, size_t *at, MessageId *origin);

/* The names in order of their first use, also of sets that are empty again. */
uint32_t marks_name_count(const Marks *marks);
Text     marks_name(const Marks *marks, uint32_t index);

#endif
