/*
** Check: finds what a provider would refuse in a list of messages.
**
** Each dialect has its own rules (check_openai.c, check_anthropic.c), which walk the
** list once and report violations in its order:
**
**     position   0     1             2           3     4
**     message    user  calls a, b    result a    user  result b
**     openai           unanswered b                    orphan
**
** An empty list has no violations. Foreign forms (a tool message in an anthropic list)
** are reported, not interpreted: that would be a conversion.
*/
#ifndef EBB_FORMAT_CHECK_H
#define EBB_FORMAT_CHECK_H

#include "format/dialect.h"

typedef enum CheckCode {
  CHECK_ORPHAN_RESULT,       /* answers no call of the previous assistant message */
  CHECK_DUPLICATE_RESULT,    /* its call is answered already */
  CHECK_UNANSWERED_CALL,     /* no result where it is required */
  CHECK_DUPLICATE_CALL,      /* an id that another call of the message has */
  CHECK_CALL_ID,             /* no id, or one that is too long or has other characters than allowed */
  CHECK_RESULTS_LATE,        /* anthropic: results behind other parts */
  CHECK_MISPLACED_PART,      /* anthropic: a call that is not an assistant's, a result that is not a user's */
  CHECK_EMPTY_TEXT,          /* anthropic: no content, or a text of white space only */
  CHECK_TRAILING_SPACE,      /* anthropic: the last assistant text ends in white space */
  CHECK_USER_FIRST,          /* anthropic: the first message is not a user's */
  CHECK_ALTERNATION,         /* anthropic: the same role twice in a row */
  CHECK_FOREIGN_REASONING,   /* a reasoning part of another dialect */
  CHECK_FOREIGN_PART,        /* another part of another dialect, or one without type */
  CHECK_FOREIGN_CALL,        /* anthropic: tool_calls or function_call */
  CHECK_FOREIGN_ROLE,        /* anthropic: a tool message */
  CHECK_SYSTEM_INSIDE        /* anthropic: a system message among the others */
} CheckCode;
#define CHECK_CODE_COUNT 16
#define CHECK_ALL ((1u << CHECK_CODE_COUNT) - 1)

const char *check_code_name(CheckCode code);    /* "orphan_result", ...; static */
bool        check_code_parse(Text name, CheckCode *code);
const char *check_hint(CheckCode code);         /* what to do about it; static */
/* True if repair.h can mend it, without converting the message. */
bool        check_can_repair(CheckCode code);

typedef struct Violation {
  CheckCode code;
  uint32_t index;            /* position in the list, from 0 */
  MessageId id;
  Text subject;              /* the call's id, the part's type or the role; borrowed from the message */
} Violation;

/* Adds a description to `out`. STATUS_MEMORY. */
Status      check_describe(const Violation *violation, Buffer *out);

typedef struct CheckReport {
  Memory memory;
  Violation *list;           /* sorted by index */
  uint32_t count, room;
} CheckReport;

void        check_report_free(CheckReport *report);

/* Fills `report`, whose `memory` must be set; free it also after a failure.
   Items of windows are skipped: check the messages that replace them. The dialect must have
   rules (DialectForm.check). STATUS_MEMORY. O(messages and their parts). */
Status      check_list(Dialect dialect, const Store *store, const Sequence *list, CheckReport *report);

#endif
