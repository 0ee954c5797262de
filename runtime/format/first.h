/*
** First: what a file is, told by what stands first in it, not by a name.
*/
#ifndef EBB_FORMAT_FIRST_H
#define EBB_FORMAT_FIRST_H

#include "format/json.h"

/* Other systems' bodies are known only to be refused with a word that helps. */
typedef enum First { FIRST_LINES, FIRST_ARRAY, FIRST_BODY, FIRST_GEMINI, FIRST_RESPONSES } First;

/* Passes over a byte order mark, which may stand at the very start. */
void  first_skip_mark(Json *json);

/* Passes over white space; answers whether there was a newline in it. */
bool  first_skip_blank(Json *json);

/* What the cursor stands before. An object with a role is a message, so these
   are lines, wherever the role stands; a body that breaks off is a body still.
   *told: the key that told; its bytes are NULL if none did. */
First first_of(Json json, Text *told);

#endif
