/*
** Vocabularies: the host's `read` has their images, "vocab/o200k_base.vocab". An
** image comes as bytes, is checked as a whole, and stays until the runtime ends.
*/
#include "api/api.h"
#include "sandbox/guard.h"
#include "tokens/tokenizer.h"

#define IMAGE_CAP ((size_t)256 << 20)        /* bytes; the largest that are published have some 20 MB */

enum { ASKING_UNITS = 2000 };                /* a call of the host's `read` */

static Status read_vocab(ebb_runtime *runtime, const char *name, Vocab **vocab) {
  Buffer image;
  buffer_init(&image, runtime->memory);
  Status status = api_read(runtime, name, IMAGE_CAP, &image);
  if (status == STATUS_OK) {
    buffer_trim(&image);
    status = vocab_take(&image, vocab);
  }
  if (status == STATUS_OK) status = vocab_verify(*vocab);
  buffer_free(&image);
  return status;
}

static Status open_tokenizer(ebb_runtime *runtime, const char *name, Tokenizer **tokenizer) {
  Vocab *vocab = NULL;
  Status status = read_vocab(runtime, name, &vocab);
  if (status == STATUS_OK) status = tokenizer_new(&runtime->memory, vocab, tokenizer);
  vocab_release(vocab);                      /* the tokenizer has its share */
  return status == STATUS_ARGUMENT ? STATUS_SYNTAX : status;   /* an expression that this PCRE2 refuses */
}

/* tokenizer(name) -> Tokenizer | nil, message, code */
int api_tokenizer(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = luaL_checkstring(L, 1);
  TokenizerHandle *handle = bind_new(L, &BIND_TOKENIZER, sizeof *handle, 0);
  guard_charge(L, ASKING_UNITS);
  Status status = open_tokenizer(runtime, name, &handle->tokenizer);
  if (status == STATUS_MEMORY) return bind_raise_status(L, status, "vocabulary");
  const char *why = status == STATUS_SYNTAX ? "not a vocabulary of this version of ebb, or a damaged one"
                                            : status_code(status);
  if (status != STATUS_OK) return bind_refuse(L, status_code(status), lua_pushfstring(L, "%s: %s", name, why));
  guard_charge(L, vocab_bytes(tokenizer_vocab(handle->tokenizer)));   /* it was checked, byte by byte */
  return 1;
}
