/*
** Request cost: the tokens of those members of a request body that are not messages:
** tools, functions, system, instructions, response_format.
**
** Tool schemas follow OpenAI's recipe ("How to count tokens with tiktoken", part
** 7): per function a start, then "name:description"; per property "name:type:
** description", a start for the first, and an addition for each value of an enum.
** What the recipe leaves open (nested objects, arrays, other keywords) counts as
** its text and makes the cost a guess. A missing description counts as empty.
*/
#ifndef EBB_FORMAT_REQUEST_COST_H
#define EBB_FORMAT_REQUEST_COST_H

#include "core/cost.h"
#include "json/json.h"

typedef enum RequestPart {
  REQUEST_TOOLS, REQUEST_FUNCTIONS, REQUEST_SYSTEM, REQUEST_INSTRUCTIONS, REQUEST_RESPONSE_FORMAT
} RequestPart;
#define REQUEST_PARTS 5

/* The part with this key; false if none has it. */
bool   request_part_of(Text key, RequestPart *part);

/* Adds the cost of a part to *cost. A caller's own counter counts messages only and
   adds nothing. STATUS_MEMORY, STATUS_LIMIT: *cost is as it was. */
Status request_part_cost(const Counter *counter, const Memory *memory, RequestPart part, const JsonValue *value,
                         Cost *cost);

#endif
