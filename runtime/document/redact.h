/*
** Redact: overwrites the contents of a message in place.
**
** The number of bytes stays the same, so that pointers into them stay valid. Members that give a message its place
** in the conversation are kept: role, type, ids, names of tools, timestamps. Names of authors, metadata and unknown
** members are not; of objects that a caller fills, such as arguments, not even the names of members are.
**
**     {"role":"user","content":"my key is sk-123456"}
**     {"role":"user","content":"[forgotten]        "}
*/
#ifndef EBB_DOCUMENT_REDACT_H
#define EBB_DOCUMENT_REDACT_H

#include <stddef.h>

/* Overwrites `raw`, a valid message, which stays one. */
void redact_message(char *raw, size_t size);

#endif
