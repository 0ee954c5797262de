/*
** Tokenizer: exact counts, by pretokens (pretoken.h) and merges (bpe.h).
**
** Text that spells a special token, like "<|endoftext|>", counts as plain text; atoms of
** the vocabulary (vocab_build.h), like "<think>", are tokens wherever they stand. Texts may
** be escaped (base/text.h): their escapes are decoded first.
**
** Ownership: a tokenizer has a share of its vocabulary, and scratch memory; one thread at
** a time uses it. Tokenizers of several threads may share a vocabulary.
*/
#ifndef EBB_TOKENS_TOKENIZER_H
#define EBB_TOKENS_TOKENIZER_H

#include "base/text.h"
#include "tokens/vocab/vocab.h"

typedef struct Tokenizer Tokenizer;

/* Creates a tokenizer; takes a share of `vocab`. STATUS_MEMORY; for a vocabulary with PRETOKEN_REGEX
   also the statuses of regex_cut_new. */
Status tokenizer_new(const Memory *memory, Vocab *vocab, Tokenizer **tokenizer);
void   tokenizer_free(Tokenizer *tokenizer);          /* NULL is allowed */
const Vocab *tokenizer_vocab(const Tokenizer *tokenizer);     /* borrowed */

/* Counts the tokens of a text. STATUS_MEMORY (scratch), here and below; the tokenizer stays usable. */
Status tokenizer_count(Tokenizer *tokenizer, Text text, uint64_t *tokens);

/* Counts, but reads no further once there are more than `limit`: *tokens is
   then limit + 1 or a little more. */
Status tokenizer_count_up_to(Tokenizer *tokenizer, Text text, uint64_t limit, uint64_t *tokens);

/* Appends the ids of the tokens of `text` to `ids`, as uint32_t. On failure `ids` may have some. */
Status tokenizer_encode(Tokenizer *tokenizer, Text text, Buffer *ids);

/* Appends the bytes of the ids, which may end in the middle of a character; the space in front that
   a vocabulary adds (text_form.h) is left out. STATUS_RANGE if the
   vocabulary lacks an id, whose index *bad gets; then `bytes` may have those of the ids before. */
Status tokenizer_decode(const Tokenizer *tokenizer, const uint32_t *ids, size_t count, Buffer *bytes, size_t *bad);

#endif
