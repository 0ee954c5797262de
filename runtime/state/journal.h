/*
** Journal: the changes of a conversation as records, one after the other, for hosts that write them where they like.
**
**     record   "EBJ1"   4 bytes
**              check    4 bytes      of the 16 bytes that follow: the low half of their XXH64
**              size     8 bytes      of the rows; the highest bit: the record is whole
**              sum      8 bytes      XXH64 of the sum of the record before, of `size`, and of the rows
**              rows     kind, number, size of the bytes, bytes; the numbers as varints
**
** Numbers are little-endian. The rows are those of state/state_rows.h. A whole record has all rows, stands for itself
** (the sum before it counts as 0), and replaces what came before it. So a record that is damaged, left out or put in
** twice is seen, and what a crash leaves of the last one is told from damage by its size.
*/
#ifndef EBB_STATE_JOURNAL_H
#define EBB_STATE_JOURNAL_H

#include "core/conversation.h"

#define JOURNAL_EMPTY 24     /* bytes of a record without rows: nothing changed */

/* Appends the record of what changed from `before` to `after`, as state_write_rows; before NULL: a whole record.
   `options`: the caller's as JSON; size 0: they did not change. *sum is the sum of the record before, and then of
   this one. STATUS_MEMORY: *out has a part of it. */
Status journal_write(const Conversation *before, const Conversation *after, Text options, uint64_t *sum, Buffer *out);

typedef struct JournalEnd {
  size_t whole;              /* bytes of the records that were read */
  uint64_t sum;              /* of the last one */
  const char *expected;      /* after STATUS_SHAPE, what was expected behind them; static */
} JournalEnd;

/* Appends the text of the state that the records lead to, which has no digest. What a crash left behind the last
   record (a part of one, or bytes of 0) is left out. STATUS_SHAPE: they are damaged behind end->whole, or there is
   none; STATUS_MEMORY. */
Status journal_read(const char *records, size_t size, const Memory *memory, Buffer *state, JournalEnd *end);

#endif
