/*
** Forget: overwrites what a message says, for good.
**
** The bytes stay as many as they were, so that everything that points into them
** stays true; only what stands there is gone. Whatever gives a message its place
** in the conversation is kept: role, type, ids, the names of tools, timestamps.
**
**     {"role":"user","content":"my key is sk-123456"}
**     {"role":"user","content":"[forgotten]        "}
*/
#ifndef EBB_FORMAT_REDACT_H
#define EBB_FORMAT_REDACT_H

#include <stddef.h>

/* `raw`: a valid message, which stays one. */
void redact_message(char *raw, size_t size);

#endif
