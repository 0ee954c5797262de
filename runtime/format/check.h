/*
** Check: what a provider would refuse in a list of messages, sent as it is.
**
** Each dialect has a rule set of its own (check_openai.c, check_anthropic.c),
** which walks the list once and reports in the order of the list:
**
**     position   0     1             2           3     4
**     message    user  calls a, b    result a    user  result b
**     openai           unanswered b                    orphan
**
** A list without messages violates nothing. Foreign forms (a tool message in an
** anthropic list) are named, not understood: to write them otherwise is a
** conversion.
*/
#ifndef EBB_FORMAT_CHECK_H
#define EBB_FORMAT_CHECK_H

#include "core/sequence.h"

typedef enum Dialect { DIALECT_OPENAI, DIALECT_ANTHROPIC } Dialect;
#define DIALECT_COUNT 2

const char *dialect_name(Dialect dialect);      /* "openai", "anthropic"; static */
bool        dialect_parse(Text name, Dialect *dialect);
/* The dialect in which the messages are written, as far as they show it: one
   message that only openai has decides; anthropic's parts alone make anthropic;
   and openai where nothing shows. O(messages). */
Dialect     dialect_detect(const Store *store, const Sequence *list);

typedef enum CheckCode {
  CHECK_ORPHAN_RESULT,       /* answers no call of the assistant message before it */
  CHECK_DUPLICATE_RESULT,    /* its call is answered already */
  CHECK_UNANSWERED_CALL,     /* no result where it must stand */
  CHECK_DUPLICATE_CALL,      /* an id that another call of the message has */
  CHECK_CALL_ID,             /* no id, or one of characters that are not allowed, or too long */
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
const char *check_hint(CheckCode code);         /* what to do; static */
/* Can it be mended without converting the message (repair.h)? */
bool        check_can_mend(CheckCode code);

typedef struct Violation {
  CheckCode code;
  uint32_t index;            /* position in the list, from 0 */
  MessageId id;
  Text subject;              /* the call's id, the part's type or the role; borrowed from the message */
} Violation;

/* What is wrong, as a sentence, added to `out`. STATUS_MEMORY. */
Status      check_describe(const Violation *violation, Buffer *out);

typedef struct CheckReport {
  Memory memory;
  Violation *list;           /* by index */
  uint32_t count, room;
} CheckReport;

void        check_report_free(CheckReport *report);

/* Fills `report`, which needs only its memory; the list is the caller's to free
   also after STATUS_MEMORY, the only failure. Items of windows are passed over: who
   sends them checks what they become. O(messages and their parts). */
Status      check_list(Dialect dialect, const Store *store, const Sequence *list, CheckReport *report);

#endif
