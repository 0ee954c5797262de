/*
** Vocab: a byte-pair vocabulary, ready to use without parsing.
**
** An image is one position-independent block of bytes, built once from a vocabulary's
** tokens and ranks (vocab_build.h) and then mapped read-only, so that all processes share
** its pages:
**
**     header      magic, version, byte order, sizes, pattern, checksums
**     tables      bytes -> id, pair validity, id -> bytes
**
** Opening checks the header and the bounds of every table, at no cost per token.
** vocab_check_sum reads the whole image, vocab_verify also compares the tables. Look-ups
** check every offset: a damaged image gives wrong counts, never a read outside.
**
** Ownership: reference counted by vocab_share and vocab_release, from any thread. A vocab
** never changes, so tokenizers of several threads can share it.
*/
#ifndef EBB_TOKENS_VOCAB_H
#define EBB_TOKENS_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/status.h"
#include "os/os.h"
#include "tokens/pretoken/pretoken.h"

typedef struct Vocab Vocab;

#define VOCAB_IMAGE_BYTES_MAX ((size_t)1 << 32)
#define VOCAB_NAME_MAX 63      /* bytes of a name: letters, digits, '.', '_' and '-', no '.' in front */
bool vocab_name_fits(const char *name);

/* Maps an image file, and checks its header. `identity` (NULL: dropped) becomes that of the file; in
   builds with EBB_MINIMAL, which read it, all zero. STATUS_ABSENT, STATUS_IO, STATUS_SYNTAX (not an
   image, damaged, another version or byte order), STATUS_LIMIT, STATUS_MEMORY. */
Status vocab_open(const Memory *memory, const char *path, FileIdentity *identity, Vocab **vocab);
/* An image in the caller's memory. */
typedef struct VocabImage {
  const void *bytes;         /* aligned to 8; unchanged during the vocab's life */
  size_t size;
  /* Called once, when the last owner releases the vocab; NULL: no call. */
  void (*release)(void *user, const void *bytes, size_t size);
  void *user;
} VocabImage;

/* Opens an image in memory. STATUS_SYNTAX as vocab_open, STATUS_MEMORY; then `release` is not called. */
Status vocab_of_image(const Memory *memory, const VocabImage *image, Vocab **vocab);
/* The same for bytes of the caller that outlive the vocab. */
Status vocab_of_bytes(const Memory *memory, const void *bytes, size_t size, Vocab **vocab);
/* The same for the bytes of a buffer, which it takes over on success; then the buffer is empty. */
Status vocab_take(Buffer *image, Vocab **vocab);
Vocab *vocab_share(Vocab *vocab);                /* the same vocab, with one more owner */
void   vocab_release(Vocab *vocab);              /* NULL is allowed */

const char  *vocab_name(const Vocab *vocab);     /* "o200k_base" */
PretokenPattern vocab_pattern(const Vocab *vocab);
uint32_t     vocab_size(const Vocab *vocab);     /* upper bound of ids, exclusive */
uint32_t     vocab_tokens(const Vocab *vocab);   /* number of tokens; ids may have gaps */
uint64_t     vocab_bytes(const Vocab *vocab);    /* size of the image */
/* SHA-256 of the source file, 32 bytes. */
const uint8_t *vocab_source(const Vocab *vocab);
/* The stages of a vocabulary with PRETOKEN_REGEX (regex_cut.h): expressions, each ended by
   NUL, the last by two. NULL for other patterns. */
const char  *vocab_regex(const Vocab *vocab);
/* STATUS_SYNTAX if the check sum differs: detects accidents, not attacks. 0.2 to 0.4 ms per MB. */
Status       vocab_check_sum(const Vocab *vocab);
/* The same, and STATUS_SYNTAX if tables contradict each other. 15 ms per MB. */
Status       vocab_verify(const Vocab *vocab);
/* SHA-256 of all tokens as a .tiktoken file, a line each, by id: of a vocabulary that was made of such
   a file, that of the file. About 5 ms per MB of lines. STATUS_MEMORY. */
Status       vocab_tokens_digest(const Memory *memory, const Vocab *vocab, uint8_t digest[32]);

#endif
