/*
** Detect: the format of a conversation file, from its first value; file names do not count.
*/
#ifndef EBB_DOCUMENT_DETECT_H
#define EBB_DOCUMENT_DETECT_H

#include "json/json.h"

typedef enum FileFormat { FORMAT_LINES, FORMAT_ARRAY, FORMAT_BODY } FileFormat;

/* Detects the format of the file from the cursor on. An object with a role, with parts or with
   the type of an item is a message, whatever precedes that, so its file is FORMAT_LINES; a
   truncated body is a body. *evidence: the key that decided, of a body the member that has the messages
   (dialect/dialect.h); its bytes are NULL if no key did. */
FileFormat detect_format(Json json, Text *evidence);

#endif
