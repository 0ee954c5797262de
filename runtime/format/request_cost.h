/*
** Request cost: the tokens of those members of a request body that are not messages:
** tools, functions, system texts, and the schema of the answer, by the names that they have
** in any dialect.
**
** Tool schemas are counted as OpenAI's cookbook does ("How to count tokens with tiktoken",
** part 7, on functions). Tokens of a list of functions:
**
**     each function           Counter.per_function, and the text "name:description"
**     its parameters          3, once, if it has properties
**     each property           3, and the text "name:type:description"
**     an enum                 3 for each value and the value's text, minus 3
**     the end of the list     12
**
** What that recipe leaves open (nested objects, arrays, other keywords) counts as its
** text and makes the cost a guess. A missing description counts as empty. Tools of other
** forms (with input_schema; lists of function_declarations) are counted by the same
** recipe. System texts in parts count as these texts; how a provider frames them is not
** published, so they are a guess. A member of an unexpected JSON type counts as its JSON
** text, a guess, too; null counts nothing.
*/
#ifndef EBB_FORMAT_REQUEST_COST_H
#define EBB_FORMAT_REQUEST_COST_H

#include "core/cost.h"
#include "json/json.h"

typedef enum RequestMember {
  REQUEST_TOOLS, REQUEST_FUNCTIONS, REQUEST_SYSTEM, REQUEST_INSTRUCTIONS, REQUEST_RESPONSE_FORMAT,
  REQUEST_SYSTEM_INSTRUCTION, REQUEST_SYSTEM_INSTRUCTION_SNAKE, REQUEST_TEXT, REQUEST_GENERATION,
  REQUEST_MEMBERS      /* their number */
} RequestMember;

/* Finds the member with this key; false for other keys. */
bool   request_member_of(Text key, RequestMember *member);

/* Adds the cost of a member, whose JSON is `value`, to *cost; nothing for a counter with a
   function of the caller (Counter.custom), which counts messages only. STATUS_MEMORY;
   STATUS_LIMIT if the sum exceeds 2^32 - 1. */
Status request_member_cost(const Counter *counter, const Memory *memory, RequestMember member, const JsonValue *value,
                           Cost *cost);

#endif
