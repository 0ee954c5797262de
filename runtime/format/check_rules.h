/*
** Shared by the rules of all dialects. A new dialect is a file with one function that
** walks a Checker's messages, named in the dialect's form (dialect.h).
*/
#ifndef EBB_FORMAT_CHECK_RULES_H
#define EBB_FORMAT_CHECK_RULES_H

#include "format/calls.h"
#include "format/check.h"
#include "format/message_form.h"

typedef struct Checker {
  const Store *store;
  const MessageId *ids;      /* of the messages of the list */
  uint32_t count;
  Calls calls;               /* of the current assistant message */
  CheckReport *report;
} Checker;

/* The rules of a dialect: add the violations of all messages. STATUS_MEMORY. */
Status check_openai(Checker *checker);
Status check_anthropic(Checker *checker);

const Message *checker_message(const Checker *checker, uint32_t index);
/* Adds a violation; call it in the order of the list. STATUS_MEMORY. */
Status checker_add(Checker *checker, CheckCode code, uint32_t index, Text subject);

/* ---- forms of messages, also for repairs ---- */

/* True if its call is a function_call, which has no id. */
bool   message_is_legacy_call(const Message *message);
/* Opens the calls of a message's tool_calls or function_call, in their order. STATUS_MEMORY. */
Status openai_open_calls(Calls *calls, const Message *message);
/* Opens the calls of a message's tool_use parts, in their order. STATUS_MEMORY. */
Status anthropic_open_calls(Calls *calls, const Message *message);
/* The id that a tool message answers: its tool_call_id, or its name; false if it has neither. */
bool   tool_answers(const Message *message, Text *id);
/* True if a part of the message's own list has a type of another dialect; *code: the violation. */
bool   part_is_foreign(Dialect dialect, const Message *message, Part part, CheckCode *code, Text *type);
/* True if the text has only white space, or is empty; true if its last character is white space. */
bool   text_is_blank(Text text);
bool   text_ends_in_space(Text text);
/* True for 1 to 64 letters, digits, _ and -. */
bool   id_is_valid(Text id);

#endif
