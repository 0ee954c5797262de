/*
** Vocabularies and tokenizers.
*/
#ifndef EBB_BIND_VOCAB_H
#define EBB_BIND_VOCAB_H

#include "bind/type.h"
#include "tokens/tokenizer.h"

extern const BindType BIND_TOKENIZER;

typedef struct TokenizerHandle {
  Tokenizer *tokenizer;
} TokenizerHandle;

/* Pushes an empty slot for a vocabulary, which the collector releases. */
Vocab **bind_hold_vocab(lua_State *L);
/* The identity of a file as one word, in lists of images that were checked. */
#define VOCAB_IDENTITY_SIZE 120

/* Opens an image and gives the identity of its file. Its check sum must be right, or the string at
   `index` (nil: empty) has a line "sum IDENTITY": it was right earlier. The statuses of vocab_open. */
Status bind_open_image(lua_State *L, const char *path, int index, char identity[VOCAB_IDENTITY_SIZE], Vocab **vocab);
/* Pushes nil and an error object for a vocabulary that could not be opened; returns 2. */
int   bind_refuse_vocab(lua_State *L, Status status, const char *path);

#endif
