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

/* Pushes a place for a vocabulary, which the collector releases. */
Vocab **bind_hold_vocab(lua_State *L);
/* nil and an error object for a vocabulary that could not be opened. */
int   bind_refuse_vocab(lua_State *L, Status status, const char *path);

#endif
