/*
** Vocab: a byte-pair vocabulary, ready to use without parsing.
**
** An image is one block of bytes, position independent, made once from a
** vocabulary's tokens and ranks (vocab_build.h) and from then on mapped
** read-only, so that all processes share its pages:
**
**     header      magic, version, byte order, sizes, pattern, checksums
**     tables      bytes -> id, pair validity, id -> bytes
**
** Opening checks the header and that every table lies within the block; that
** costs nothing per token. vocab_check_sum reads all of it once, vocab_verify
** compares the tables too. Looking up never trusts an offset: a damaged image
** gives wrong counts at worst.
**
** Ownership: counted by vocab_share and vocab_release, which any thread may call;
** never changed, so tokenizers of any number of threads may use one.
*/
#ifndef EBB_TOKENS_VOCAB_H
#define EBB_TOKENS_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/status.h"
#include "tokens/pretoken.h"

typedef struct Vocab Vocab;

#define VOCAB_NAME_MAX 63      /* bytes of a name: letters, digits, '.', '_' and '-', no '.' in front */
bool vocab_name_fits(const char *name);

/* Maps an image file. STATUS_ABSENT, STATUS_SYNTAX (not an image, damaged, of
   another version or byte order), STATUS_MEMORY. */
Status vocab_open(const Memory *memory, const char *path, Vocab **vocab);
/* Bytes that belong to the caller. */
typedef struct VocabImage {
  const void *bytes;         /* aligned to 8; unchanged as long as the vocab lives */
  size_t size;
  /* Called once, when the last owner of the vocab is gone; NULL: nothing is. */
  void (*release)(void *user, const void *bytes, size_t size);
  void *user;
} VocabImage;

/* The same over an image in memory. On failure nothing is released. */
Status vocab_of_image(const Memory *memory, const VocabImage *image, Vocab **vocab);
/* The same over bytes that outlive the vocab. */
Status vocab_of_bytes(const Memory *memory, const void *bytes, size_t size, Vocab **vocab);
/* The same over the bytes of a buffer, which it takes: the buffer is empty then. On
   failure they stay where they are. */
Status vocab_take(Buffer *image, Vocab **vocab);
Vocab *vocab_share(Vocab *vocab);
void   vocab_release(Vocab *vocab);              /* NULL is allowed */

const char  *vocab_name(const Vocab *vocab);     /* "o200k_base" */
PretokenPattern vocab_pattern(const Vocab *vocab);
uint32_t     vocab_size(const Vocab *vocab);     /* ids are below it */
uint32_t     vocab_tokens(const Vocab *vocab);   /* how many there are; ids may have gaps */
uint64_t     vocab_bytes(const Vocab *vocab);    /* of the image */
/* SHA-256 of the file that it was made from, 32 bytes. */
const uint8_t *vocab_source(const Vocab *vocab);
/* Of a vocabulary with PRETOKEN_REGEX: the expressions that cut, one after the
   other, each ended by NUL, the last by two. NULL for the others. */
const char  *vocab_regex(const Vocab *vocab);
/* STATUS_SYNTAX if the image is not as it was built; against accidents. 0.2 to 0.4 ms a MB. */
Status       vocab_check_sum(const Vocab *vocab);
/* The same, and STATUS_SYNTAX if a table contradicts another: 15 ms a MB. */
Status       vocab_verify(const Vocab *vocab);

#endif
