/*
** Tool cost: what the members of a request body cost that are no messages:
** tools, functions, system, instructions, response_format.
**
** Tool schemas follow OpenAI's recipe ("How to count tokens with tiktoken", part
** 7): per function a start, then "name:description"; per property "name:type:
** description", a start for the first, and something for each value of an enum.
** What the recipe says nothing of (nested objects, arrays, other keywords)
** counts as its text, and makes the cost a guess. A description that is missing
** is an empty one.
*/
#ifndef EBB_FORMAT_TOOL_COST_H
#define EBB_FORMAT_TOOL_COST_H

#include "core/cost.h"
#include "format/json.h"

typedef enum BodyPart { BODY_TOOLS, BODY_FUNCTIONS, BODY_SYSTEM, BODY_INSTRUCTIONS, BODY_RESPONSE_FORMAT } BodyPart;
#define BODY_PARTS 5

/* Which of them is the member of this key? false: none. */
bool   body_part_of(Text key, BodyPart *part);

/* What a member costs; adds to *cost. Nothing by a caller's own counter, which
   counts messages only. STATUS_MEMORY, STATUS_LIMIT. */
Status body_part_cost(const Counter *counter, const Memory *memory, BodyPart part, const JsonValue *value, Cost *cost);

#endif
