/*
** Tokenizer: exact counts, by pretokens (pretoken.h) and merges (bpe.h).
**
** Text that spells a special token, like "<|endoftext|>", counts as the plain
** text that it is. Texts may be escaped (base/text.h): they are read as what
** they stand for.
**
** Ownership: a tokenizer holds a share of its vocabulary and scratch of its
** own; one thread at a time.
*/
#ifndef EBB_TOKENS_TOKENIZER_H
#define EBB_TOKENS_TOKENIZER_H

#include "base/text.h"
#include "tokens/vocab.h"

typedef struct Tokenizer Tokenizer;

Status tokenizer_new(const Memory *memory, Vocab *vocab, Tokenizer **tokenizer);
void   tokenizer_free(Tokenizer *tokenizer);          /* NULL is allowed */
const Vocab *tokenizer_vocab(const Tokenizer *tokenizer);

/* STATUS_MEMORY possible (scratch); the tokenizer stays usable. */
Status tokenizer_count(Tokenizer *tokenizer, Text text, uint64_t *tokens);

/* Counts, but reads no further once there are more than `limit`: *tokens is
   then limit + 1 or a little more. */
Status tokenizer_count_up_to(Tokenizer *tokenizer, Text text, uint64_t limit, uint64_t *tokens);

/* Adds the ids of `text` to `ids`, as uint32_t. */
Status tokenizer_encode(Tokenizer *tokenizer, Text text, Buffer *ids);

/* Adds the bytes of the ids, which may end in the middle of a character.
   STATUS_RANGE if an id is none of the vocabulary's; *bad is its index. */
Status tokenizer_decode(const Tokenizer *tokenizer, const uint32_t *ids, size_t count, Buffer *bytes, size_t *bad);

#endif
