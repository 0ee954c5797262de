/*
** Dialect members: which members a request may have, by dialect. Everything else, such as
** `id`, `timestamp` and `metadata` of a message, stays in files and conversations.
*/
#ifndef EBB_DIALECT_DIALECT_MEMBERS_H
#define EBB_DIALECT_DIALECT_MEMBERS_H

#include "dialect/dialect.h"

typedef enum MemberLevel {
  MEMBER_OF_BODY,            /* the request itself */
  MEMBER_OF_MESSAGE,         /* a message, content or item */
  MEMBER_OF_PART,            /* a content part */
  MEMBER_OF_CALL,            /* openai: an element of tool_calls; gemini: functionCall, functionResponse */
  MEMBER_OF_FUNCTION         /* openai: the function or custom tool of a call, function_call */
} MemberLevel;

/* The type by which an object's members are told: its "type". A message with a role and the type of an item is read
   as a message, so it has none: size 0. */
Text dialect_type(MemberLevel level, Text object);

/* True if the dialect has the member `key` there. `type`: the dialect_type of the part, call or item.
   Types that are not known may have any member: providers keep adding new ones. */
bool dialect_member(Dialect dialect, MemberLevel level, Text type, Text key);

/* Those of the `possible` dialects (bits) that a member of a body tells, since the others lack it; 0: it tells
   nothing. Members that compatible servers took over from another dialect tell nothing. */
unsigned dialects_with_member(unsigned possible, Text key);

#endif
