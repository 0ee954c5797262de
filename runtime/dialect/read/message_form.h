/*
** Message form: how the calls, results and parts of a message are written.
*/
#ifndef EBB_DIALECT_MESSAGE_FORM_H
#define EBB_DIALECT_MESSAGE_FORM_H

#include "core/message/message.h"
#include "json/json.h"

#define NO_TEXT ((Text){.bytes = "", .size = 0})

/* The type of a part as it is written, "string" for a bare string, else empty. */
Text part_type(const Message *message, Part part);
/* True if the call (the result) is a content part, not a member beside the content. Indices count
   from 0, below message_call_count (message_result_count). */
bool call_is_part(const Message *message, uint32_t call);
bool result_is_part(const Message *message, uint32_t result);
/* The member of a message that has its content: "content", "parts", or "output" of an item that is
   a result; NULL: the item has none. Static. */
const char *message_content_key(const Message *message);
/* Reads the value behind a key of the message's JSON, where the cursor stands: that of a text as content in one step,
   as its end is known. The cursor is one of json_open_valid. False where json_value is. */
bool message_member_value(const Message *message, Json *json, Text key, JsonValue *value);
/* Adds the JSON of a list of parts that say `string`, a JSON string, to `out`: as the response of
   each result of the message, if it has results. The message has FORM_PARTS. STATUS_MEMORY. */
Status message_put_parts(const Message *message, Text string, Buffer *out);

#endif
