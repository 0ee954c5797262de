/*
** Request cost: the tokens of those members of a request body that are not messages:
** tools, functions, system texts, and the schema of the answer, by the names that they have
** in any dialect.
**
** Tools cost the text that OpenAI makes of them (tool_text.h), and Counter.per_tools once. Where
** a system message comes first they share its frame, which costs 4 less, and its text gets a line
** end. A tool that the request names (tool_choice) costs 4 and its name, "none" 1. These rules are
** those of npm openai-chat-tokens 0.2.8, whose tests hold them against the API; they give the
** totals of OpenAI's cookbook, too ("How to count tokens with tiktoken", part 7).
**
** Tools of other forms (with input_schema; lists of function_declarations) are counted by the same
** rules. System texts in parts count as these texts; how a provider frames them is not
** published, so they are a guess. A member of an unexpected JSON type counts as its JSON
** text, a guess, too; null counts nothing.
*/
#ifndef EBB_DOCUMENT_REQUEST_COST_H
#define EBB_DOCUMENT_REQUEST_COST_H

#include "core/message/cost.h"
#include "json/json.h"

typedef enum RequestMember {
  REQUEST_TOOLS, REQUEST_FUNCTIONS, REQUEST_SYSTEM, REQUEST_INSTRUCTIONS, REQUEST_RESPONSE_FORMAT,
  REQUEST_SYSTEM_INSTRUCTION, REQUEST_SYSTEM_INSTRUCTION_SNAKE, REQUEST_TEXT, REQUEST_GENERATION, REQUEST_TOOL_CHOICE,
  REQUEST_FUNCTION_CALL,
  REQUEST_MEMBERS      /* their number */
} RequestMember;

/* Finds the member with this key; false for other keys. */
bool   request_member_of(Text key, RequestMember *member);

/* Adds the cost of a member, whose JSON is `value`, to *cost; nothing for a counter with a
   function of the caller (Counter.custom), which counts messages only. `system`: the text of the
   first system message, NULL without one. STATUS_MEMORY; STATUS_LIMIT if the sum exceeds 2^32 - 1. */
Status request_member_cost(const Counter *counter, const Memory *memory, RequestMember member, const JsonValue *value,
                           const Text *system, Cost *cost);

#endif
