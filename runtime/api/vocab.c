/*
** Vocabularies: images that hosts share among runtimes, or that a host's `read` has,
** "vocab/o200k_base.vocab". A runtime keeps those that it was given and those that it
** read, by the name of the encoding, until it ends; each of its tokenizers has a share.
**
**     host's bytes <- Vocab (counted) <-- ebb_vocab, the host's handle
**                                     <-- entry of a runtime <- tokenizer, with memo and scratch
**                                     <-- entry of another
*/
#include <assert.h>
#include <string.h>

#include "api/api.h"
#include "sandbox/guard.h"
#include "tokens/estimate.h"
#include "tokens/tokenizer.h"

#define IMAGE_CAP ((size_t)256 << 20)        /* bytes; the largest that are published have some 20 MB */

enum {
  ASKING_UNITS = 2000,       /* a call of the host's `read` */
  BYTES_PER_UNIT = 8         /* of an image that was copied and summed up */
};

struct VocabEntry {
  char name[VOCAB_NAME_MAX + 1];
  Vocab *vocab;
  VocabEntry *next;
};

/* ---- handles ---- */

/* A handle is a share of the vocabulary: the type is closed, its name is the API's. */
static Vocab *vocab_of_handle(const ebb_vocab *handle) { return (Vocab *)(uintptr_t)handle; }

static ebb_status status_of(Status status) {
  return status == STATUS_OK ? EBB_OK : api_status_of_code(status_code(status));
}

ebb_status ebb_vocab_new(const ebb_config *config, const void *bytes, size_t size, ebb_release release,
                         ebb_vocab **vocab) {
  ebb_config full;
  ebb_status status = api_read_config(config, &full);
  if (status != EBB_OK) return status;
  if (vocab == NULL || bytes == NULL || (uintptr_t)bytes % 8 != 0)
    return api_fail_config(&full, EBB_ARGUMENT, "a vocabulary: NULL, or bytes that are not aligned to 8");
  Memory memory = api_host_memory(&full);
  VocabImage image = {.bytes = bytes, .size = size, .release = release, .user = full.user};
  Vocab *opened = NULL;
  status = status_of(vocab_of_image(&memory, &image, &opened));
  if (status != EBB_OK) return api_fail_config(&full, status, "a vocabulary: %s", ebb_status_name(status));
  *vocab = (ebb_vocab *)opened;
  return EBB_OK;
}

void ebb_vocab_free(ebb_vocab *vocab) { vocab_release(vocab_of_handle(vocab)); }

const char *ebb_vocab_name(const ebb_vocab *vocab) {
  return vocab == NULL ? "" : vocab_name(vocab_of_handle(vocab));
}

ebb_status ebb_vocab_verify(const ebb_vocab *vocab) {
  return vocab == NULL ? EBB_ARGUMENT : status_of(vocab_verify(vocab_of_handle(vocab)));
}

/* ---- what a runtime has ---- */

static Vocab *find(const ebb_runtime *runtime, const char *name) {
  const VocabEntry *entry = runtime->vocabs;
  while (entry != NULL && strcmp(entry->name, name) != 0) entry = entry->next;
  return entry == NULL ? NULL : entry->vocab;
}

/* Takes a share. The name fits, and the runtime has none of it yet. */
static Status enlist(ebb_runtime *runtime, const char *name, Vocab *vocab) {
  assert(vocab_name_fits(name) && find(runtime, name) == NULL);
  VocabEntry *entry = memory_new(&runtime->memory, sizeof *entry);
  if (entry == NULL) return STATUS_MEMORY;
  *entry = (VocabEntry){.vocab = vocab_share(vocab), .next = runtime->vocabs};
  memcpy(entry->name, name, strlen(name) + 1);
  runtime->vocabs = entry;
  return STATUS_OK;
}

void api_free_vocabs(ebb_runtime *runtime) {
  while (runtime->vocabs != NULL) {
    VocabEntry *entry = runtime->vocabs;
    runtime->vocabs = entry->next;
    vocab_release(entry->vocab);
    memory_free(&runtime->memory, entry, sizeof *entry);
  }
}

static ebb_status add(ebb_runtime *runtime, const char *name, Vocab *vocab) {
  Estimator estimator;
  if (!vocab_name_fits(name))
    return api_fail(runtime, EBB_ARGUMENT, NULL,
                    "'%s': the name of an encoding is up to %d letters, digits, '.', '_' or '-'", name, VOCAB_NAME_MAX);
  if (estimator_parse(name, &estimator))
    return api_fail(runtime, EBB_ARGUMENT, NULL, "'%s' is the name of an estimator", name);
  if (find(runtime, name) != NULL)
    return api_fail(runtime, EBB_DUPLICATE, NULL, "the runtime has a vocabulary '%s' already", name);
  return api_fail_status(runtime, enlist(runtime, name, vocab), "a vocabulary");
}

ebb_status ebb_runtime_add_vocab(ebb_runtime *runtime, const char *name, ebb_vocab *vocab) {
  if (vocab == NULL) return api_missing(runtime);
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  return api_leave(runtime, add(runtime, name != NULL ? name : ebb_vocab_name(vocab), vocab_of_handle(vocab)));
}

/* ---- tokenizers ---- */

/* The image of the host's `read`, as a share that the caller releases. */
static Status read_vocab(ebb_runtime *runtime, const char *file, Vocab **vocab) {
  Buffer image;
  buffer_init(&image, runtime->memory);
  Status status = api_read(runtime, file, IMAGE_CAP, &image);
  if (status == STATUS_OK) {
    buffer_trim(&image);
    status = vocab_take(&image, vocab);
  }
  if (status == STATUS_OK) status = vocab_check_sum(*vocab);
  buffer_free(&image);
  return status;
}

static Status open_tokenizer(ebb_runtime *runtime, Vocab *vocab, Tokenizer **tokenizer) {
  Status status = tokenizer_new(&runtime->memory, vocab, tokenizer);
  return status == STATUS_ARGUMENT ? STATUS_SYNTAX : status;   /* an expression that this PCRE2 refuses */
}

/* Reads the vocabulary and makes its first tokenizer; it stays only if both succeed. */
static Status read_tokenizer(ebb_runtime *runtime, const char *name, const char *file, Tokenizer **tokenizer) {
  Vocab *vocab = NULL;
  Tokenizer *opened = NULL;
  Status status = read_vocab(runtime, file, &vocab);
  if (status == STATUS_OK) status = open_tokenizer(runtime, vocab, &opened);
  if (status == STATUS_OK) status = enlist(runtime, name, vocab);
  vocab_release(vocab);                      /* the tokenizer and the runtime have their shares */
  if (status == STATUS_OK) *tokenizer = opened;
  else tokenizer_free(opened);
  return status;
}

/* tokenizer(encoding) -> Tokenizer | nil, error */
int api_tokenizer(lua_State *L) {
  ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = luaL_checkstring(L, 1);
  if (!vocab_name_fits(name)) return bind_refuse(L, status_code(STATUS_ABSENT), "no name of an encoding");
  const char *file = lua_pushfstring(L, "vocab/%s.vocab", name);
  TokenizerHandle *handle = bind_new(L, &BIND_TOKENIZER, sizeof *handle, 0);
  guard_charge(L, ASKING_UNITS);
  Vocab *vocab = find(runtime, name);
  Status status = vocab != NULL ? open_tokenizer(runtime, vocab, &handle->tokenizer)
                                : read_tokenizer(runtime, name, file, &handle->tokenizer);
  if (status == STATUS_MEMORY) return bind_raise_status(L, status, "vocabulary");
  const char *why = status == STATUS_SYNTAX ? "not a vocabulary of this version of ebb, or a damaged one"
                                            : status_code(status);
  if (status != STATUS_OK) return bind_refuse(L, status_code(status), lua_pushfstring(L, "%s: %s", file, why));
  if (vocab == NULL) guard_charge(L, vocab_bytes(tokenizer_vocab(handle->tokenizer)) / BYTES_PER_UNIT);
  return 1;
}

/* vocabularies() -> {{name}}: those that the runtime has, the newest first */
int api_vocabularies(lua_State *L) {
  const ebb_runtime *runtime = lua_touserdata(L, lua_upvalueindex(1));
  lua_newtable(L);
  lua_Integer count = 0;
  for (const VocabEntry *entry = runtime->vocabs; entry != NULL; entry = entry->next) {
    lua_createtable(L, 0, 1);
    lua_pushstring(L, entry->name);
    lua_setfield(L, -2, "name");
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}
