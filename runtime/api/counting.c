/*
** What is counted, and how: vocabularies, texts by themselves, the host's own models, a chat's counter
** and limit.
*/
#include <assert.h>
#include <string.h>

#include "api/api.h"
#include "base/utf8.h"
#include "sandbox/guard.h"
#include "state/state_options.h"
#include "tokens/estimate.h"
#include "tokens/tokenizer.h"

/* ---- vocabularies ----
**
** Images that hosts share among runtimes, or that a host's `read` has,
** "vocab/o200k_base.vocab". A runtime keeps those that it was given and those that it
** read, by the name of the encoding, until it ends; each of its tokenizers has a share.
**
**     host's bytes <- Vocab (counted) <-- ebb_vocab, the host's handle
**                                     <-- entry of a runtime <- tokenizer, with memo and scratch
**                                     <-- entry of another */

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

static ebb_status add_vocab(ebb_runtime *runtime, const char *name, Vocab *vocab) {
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
  return api_leave(runtime, add_vocab(runtime, name != NULL ? name : ebb_vocab_name(vocab), vocab_of_handle(vocab)));
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

/* ---- texts ---- */

typedef struct Counting {
  const char *function, *name;   /* of lua/ebb/libebb, and what it is given */
  Text text;
  const uint32_t *ids;
  size_t count, bad;
  uint64_t tokens;
  const char *trust;
  Status status;
  Buffer *out;
} Counting;

/* Pushes what counts by the name. */
static void push_counter(lua_State *L, const Counting *counting) {
  api_push_function(L, counting->function);
  lua_pushstring(L, counting->name);
  lua_call(L, 1, 1);
}

static int l_count(lua_State *L) {
  Counting *counting = lua_touserdata(L, 1);
  push_counter(L, counting);
  const Counter *counter = conversation_counter(bind_check_conversation(L, -1)->conversation);
  counting->status = bind_count_text(counter, counting->text, &counting->tokens);
  counting->trust = trust_name(counter->tokenizer != NULL ? TRUST_EXACT : TRUST_ESTIMATED);
  return 0;
}

static int l_encode(lua_State *L) {
  Counting *counting = lua_touserdata(L, 1);
  push_counter(L, counting);
  TokenizerHandle *handle = bind_check(L, -1, &BIND_TOKENIZER);
  counting->status = tokenizer_encode(handle->tokenizer, counting->text, counting->out);
  return 0;
}

static int l_decode(lua_State *L) {
  Counting *counting = lua_touserdata(L, 1);
  push_counter(L, counting);
  TokenizerHandle *handle = bind_check(L, -1, &BIND_TOKENIZER);
  counting->status = tokenizer_decode(handle->tokenizer, counting->ids, counting->count, counting->out, &counting->bad);
  return 0;
}

static ebb_status run(ebb_runtime *runtime, lua_CFunction function, Counting *counting, const char *what) {
  size_t valid = utf8_check(counting->text.bytes, counting->text.size);
  if (valid < counting->text.size)
    return api_fail(runtime, EBB_ENCODING, NULL, "%s: byte %zu: expected UTF-8", what, valid + 1);
  ebb_status status = api_run(runtime, function, counting);
  if (status != EBB_OK) return status;
  if (counting->status == STATUS_LIMIT)
    return api_fail(runtime, EBB_LIMIT, NULL, "%s: the expression of its vocabulary takes too long on this text", what);
  if (counting->status == STATUS_RANGE)
    return api_fail(runtime, EBB_OUT_OF_RANGE, NULL, "%s: ids[%zu]: %s has no token %lu", what, counting->bad,
                    counting->name, (unsigned long)counting->ids[counting->bad]);
  return api_fail_status(runtime, counting->status, what);
}

ebb_status ebb_count_text(ebb_runtime *runtime, const char *counter, const char *text, size_t size, uint64_t *tokens,
                          const char **trust) {
  if (counter == NULL || (text == NULL && size > 0) || tokens == NULL) return api_missing(runtime);
  Counting counting = {.function = "counter", .name = counter, .text = api_options(text, size)};
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  status = run(runtime, l_count, &counting, "count");
  if (status == EBB_OK) *tokens = counting.tokens;
  if (status == EBB_OK && trust != NULL) *trust = counting.trust;
  return api_leave(runtime, status);
}

ebb_status ebb_encode_text(ebb_runtime *runtime, const char *encoding, const char *text, size_t size, uint32_t *ids,
                           size_t room, size_t *count) {
  bool absent = (text == NULL && size > 0) || (ids == NULL && room > 0);
  if (encoding == NULL || count == NULL || absent) return api_missing(runtime);
  Counting counting = {.function = "tokenizer", .name = encoding, .text = api_options(text, size)};
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  Buffer out;                                /* the text may be an answer */
  buffer_init(&out, runtime->memory);
  counting.out = &out;
  status = run(runtime, l_encode, &counting, "encode");
  if (status == EBB_OK) {
    *count = out.size / sizeof *ids;
    size_t copied = *count < room ? *count : room;
    if (copied > 0) memcpy(ids, out.bytes, copied * sizeof *ids);
  }
  buffer_free(&out);
  return api_leave(runtime, status);
}

ebb_status ebb_decode_ids(ebb_runtime *runtime, const char *encoding, const uint32_t *ids, size_t count,
                          ebb_text *bytes) {
  if (encoding == NULL || bytes == NULL || (ids == NULL && count > 0)) return api_missing(runtime);
  Counting counting = {.function = "tokenizer", .name = encoding, .text = text_of(""), .ids = ids, .count = count};
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  counting.out = api_answer_buffer(runtime, 0);
  status = run(runtime, l_decode, &counting, "decode");
  return api_leave(runtime, status == EBB_OK ? api_answer(runtime, 0, bytes) : status);
}

/* ---- models ---- */

ebb_status ebb_models_add(ebb_runtime *runtime, const char *models, size_t size) {
  if (models == NULL && size > 0) return api_missing(runtime);
  Asking asking = {.function = "models_adder", .texts = {api_options(models, size)}, .text_count = 1};
  ebb_status status = api_enter(runtime);
  return status == EBB_OK ? api_leave(runtime, api_ask(runtime, &asking, NULL)) : status;
}

ebb_status ebb_models(ebb_runtime *runtime, ebb_text *json) { return api_list(runtime, "model_lister", json); }

/* ---- chats ---- */

typedef struct Setting {
  ebb_chat *chat;
  Text changes;
  Buffer options;            /* of the chat as they will be: the host's */
  bool has_limit;
  uint64_t limit;
} Setting;

/* Fills in the options. */
static int l_changed(lua_State *L) {
  Setting *setting = lua_touserdata(L, 1);
  api_push_function(L, "changed");
  chat_push_options(L, setting->chat);
  lua_pushlstring(L, setting->changes.bytes, setting->changes.size);
  lua_call(L, 2, 1);
  Text text = bind_text(L, -1);
  Status status = buffer_add(&setting->options, text.bytes, text.size);
  return status == STATUS_OK ? 0 : bind_raise_status(L, status, "set");
}

static int l_change(lua_State *L) {
  Setting *setting = lua_touserdata(L, 1);
  api_push_function(L, "change");
  holder_push(L, setting->chat);
  chat_push_options(L, setting->chat);
  lua_pushlstring(L, setting->changes.bytes, setting->changes.size);
  lua_call(L, 3, 1);
  setting->has_limit = lua_isinteger(L, -1);
  setting->limit = setting->has_limit ? (uint64_t)lua_tointeger(L, -1) : 0;
  return 0;
}

/* Settings of a chat that are not its conversation's. */
typedef struct Kept {
  char *options;                 /* of the runtime's memory */
  size_t size, document;
  bool has_limit;
  uint64_t limit;
} Kept;

/* What the chat keeps as its options, the document's part among them. NULL: no memory. */
static char *join_options(const ebb_chat *chat, const Buffer *options, size_t *size) {
  size_t document = chat->options_document, from = document > 0;      /* the bracket is there */
  if (document > 0 && chat->options[document - 1] == ',') document--;
  bool comma = document > 0 && options->size > 2;
  *size = document + comma + options->size - from;
  char *joined = memory_new(&chat->runtime->memory, *size);
  if (joined == NULL) return NULL;
  if (document > 0) memcpy(joined, chat->options, document);
  if (comma) joined[document] = ',';
  memcpy(joined + document + comma, options->bytes + from, options->size - from);
  return joined;
}

/* Gives a chat its settings; *kept gets what it had. */
static void exchange(ebb_chat *chat, Kept *kept) {
  ConversationHandle *handle = chat->handle;
  Kept now = {.options = chat->options, .size = chat->options_size, .document = chat->options_document,
              .has_limit = handle->has_limit, .limit = handle->limit};
  chat->options = kept->options;
  chat->options_size = kept->size;
  chat->options_document = kept->document;
  handle->has_limit = kept->has_limit;
  handle->limit = kept->limit;
  *kept = now;
}

/* Changes settings of a chat, all or none: after the recount only its journal may refuse them. */
static ebb_status set(ebb_chat *chat, Text changes) {
  ebb_runtime *runtime = chat->runtime;
  Setting setting = {.chat = chat, .changes = changes};
  size_t size = 0;
  buffer_init(&setting.options, runtime->memory);
  chat_tick(chat);
  ebb_status status = api_run(runtime, l_changed, &setting);
  char *options = status == EBB_OK ? join_options(chat, &setting.options, &size) : NULL;
  if (status == EBB_OK && options == NULL) status = api_fail_status(runtime, STATUS_MEMORY, "set");
  if (status == EBB_OK) status = api_run(runtime, l_change, &setting);
  buffer_free(&setting.options);
  if (status != EBB_OK) {
    memory_free(&runtime->memory, options, size);
    return status;
  }
  Kept kept = {.options = options, .size = size, .has_limit = setting.has_limit, .limit = setting.limit};
  if (chat->options_document > 0) kept.document = state_document_size(text_plain(options, size));
  exchange(chat, &kept);
  chat->options_edits++;
  status = api_note(chat);
  if (status != EBB_OK) exchange(chat, &kept);
  memory_free(&runtime->memory, kept.options, kept.size);
  return status;
}

ebb_status ebb_chat_set(ebb_chat *chat, const char *changes, size_t size) {
  if (chat == NULL || (changes == NULL && size > 0)) return api_missing(chat_runtime(chat));
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, set(chat, api_options(changes, size))) : status;
}

typedef struct Usage {
  ebb_chat *chat;
  uint64_t tokens;
} Usage;

static int l_report(lua_State *L) {
  const Usage *usage = lua_touserdata(L, 1);
  api_push_function(L, "report_usage");
  holder_push(L, usage->chat);
  lua_pushinteger(L, usage->tokens > INT64_MAX ? INT64_MAX : (lua_Integer)usage->tokens);
  lua_call(L, 2, 0);
  return 0;
}

ebb_status ebb_chat_report_usage(ebb_chat *chat, uint64_t prompt_tokens) {
  if (chat == NULL) return EBB_ARGUMENT;
  Usage usage = {.chat = chat, .tokens = prompt_tokens};
  ebb_status status = api_enter(chat->runtime);
  return status == EBB_OK ? api_leave(chat->runtime, api_run(chat->runtime, l_report, &usage)) : status;
}
