/*
** Tokenizers: exact counts, ids and back.
*/
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/vocab.h"
#include "tokens/tokenizer.h"

static void end_tokenizer(void *block) {
  TokenizerHandle *handle = block;
  tokenizer_free(handle->tokenizer);
  handle->tokenizer = NULL;
}

const BindType BIND_TOKENIZER = {.name = "Tokenizer", .end = end_tokenizer};

static Tokenizer *check(lua_State *L) {
  return ((TokenizerHandle *)bind_check(L, 1, &BIND_TOKENIZER))->tokenizer;
}

/* tokenizer(path, checked | nil) -> Tokenizer, identity of its file | nil, error. checked: lines
   "sum IDENTITY" of images whose check sum was right earlier, and need not be computed again. */
static int l_tokenizer(lua_State *L) {
  const char *path = bind_string(L, 1, NULL);
  char identity[VOCAB_IDENTITY_SIZE];
  lua_settop(L, 2);
  Vocab **slot = bind_hold_vocab(L);
  TokenizerHandle *handle = bind_new(L, &BIND_TOKENIZER, sizeof *handle, 0);
  Memory memory = bind_memory(L);
  Status status = bind_open_image(L, path, 2, identity, slot);
  if (status == STATUS_OK) status = tokenizer_new(&memory, *slot, &handle->tokenizer);
  if (status == STATUS_ARGUMENT) status = STATUS_SYNTAX;   /* an expression that this PCRE2 refuses */
  if (status != STATUS_OK) return bind_refuse_vocab(L, status, path);
  lua_pushstring(L, identity);
  return 2;
}

static Text check_text(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) {
    bind_raise_type(L, index, NULL, "a text");
  }
  return bind_text(L, index);
}

static int raise_counting(lua_State *L, Status status) {
  if (status == STATUS_LIMIT) {
    return bind_raise(L, "limit", NULL, "the vocabulary's expression takes too many steps on this text");
  }
  return bind_raise_status(L, status, "tokenizer");
}

/* tokenizer:count(text) -> tokens */
static int l_count(lua_State *L) {
  Tokenizer *tokenizer = check(L);
  uint64_t tokens;
  Status status = tokenizer_count(tokenizer, check_text(L, 2), &tokens);
  if (status != STATUS_OK) return raise_counting(L, status);
  lua_pushinteger(L, (lua_Integer)tokens);
  return 1;
}

/* tokenizer:count_up_to(text, limit) -> tokens, or a number above the limit */
static int l_count_up_to(lua_State *L) {
  Tokenizer *tokenizer = check(L);
  Text text = check_text(L, 2);
  uint64_t tokens, limit = (uint64_t)bind_integer(L, 3, "limit", 0, INT64_MAX);
  Status status = tokenizer_count_up_to(tokenizer, text, limit, &tokens);
  if (status != STATUS_OK) return raise_counting(L, status);
  lua_pushinteger(L, (lua_Integer)tokens);
  return 1;
}

/* tokenizer:encode(text) -> list of ids */
static int l_encode(lua_State *L) {
  Tokenizer *tokenizer = check(L);
  Text text = check_text(L, 2);
  Buffer *ids = bind_buffer(L);
  Status status = tokenizer_encode(tokenizer, text, ids);
  if (status != STATUS_OK) return raise_counting(L, status);
  size_t count = ids->size / sizeof(uint32_t);
  if (count > INT32_MAX) return bind_raise_status(L, STATUS_LIMIT, "encode");
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    uint32_t id;
    memcpy(&id, ids->bytes + i * sizeof id, sizeof id);
    lua_pushinteger(L, id);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static Status read_ids(lua_State *L, size_t count, Buffer *ids) {
  for (size_t i = 0; i < count; i++) {
    int is_integer;
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    lua_Integer id = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || lua_type(L, -1) != LUA_TNUMBER) {
      bind_raise_argument(L, "argument", NULL, "ids[%I]: an id is expected, not %s", (lua_Integer)i + 1,
                 luaL_typename(L, -1));
    }
    uint32_t narrow = id < 0 || id > UINT32_MAX ? UINT32_MAX : (uint32_t)id;
    Status status = buffer_add(ids, &narrow, sizeof narrow);
    if (status != STATUS_OK) return status;
    lua_pop(L, 1);
  }
  return STATUS_OK;
}

/* tokenizer:decode(ids) -> bytes; they may end within a character */
static int l_decode(lua_State *L) {
  Tokenizer *tokenizer = check(L);
  if (!lua_istable(L, 2)) {
    return bind_raise_type(L, 2, NULL, "a list of ids");
  }
  size_t count = lua_rawlen(L, 2), bad = 0;
  Buffer *ids = bind_buffer(L), *bytes = bind_buffer(L);
  Status status = read_ids(L, count, ids);
  if (status == STATUS_OK) {
    status = tokenizer_decode(tokenizer, (const uint32_t *)(const void *)ids->bytes, count, bytes, &bad);
  }
  if (status == STATUS_RANGE) {
    lua_rawgeti(L, 2, (lua_Integer)bad + 1);
    const Vocab *vocab = tokenizer_vocab(tokenizer);
    return bind_raise_argument(L, "out_of_range", NULL, "ids[%I]: %s has no token %I", (lua_Integer)bad + 1,
                      vocab_name(vocab), lua_tointeger(L, -1));
  }
  if (status != STATUS_OK) return bind_raise_status(L, status, "decode");
  lua_pushlstring(L, bytes->size == 0 ? "" : bytes->bytes, bytes->size);
  return 1;
}

/* tokenizer.name, .size, or a method */
static int l_index(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const Vocab *vocab = tokenizer_vocab(check(L));
  if (strcmp(name, "name") == 0) lua_pushstring(L, vocab_name(vocab));
  else if (strcmp(name, "size") == 0) lua_pushinteger(L, vocab_size(vocab));
  else return bind_index_method(L, &BIND_TOKENIZER);
  return 1;
}

void bind_open_tokenizer(lua_State *L) {
  static const BindMethod methods[] = {
    {"count", l_count, "text", CHARGE_TEXT},
    {"count_up_to", l_count_up_to, "text limit", CHARGE_TEXT},
    {"encode", l_encode, "text", CHARGE_TEXT},
    {"decode", l_decode, "ids", CHARGE_TEXT},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"tokenizer", l_tokenizer, "path checked", CHARGE_NEVER},
    BIND_END,
  };
  bind_type(L, &BIND_TOKENIZER, l_index, NULL);
  bind_methods(L, &BIND_TOKENIZER, methods);
  bind_functions(L, "ebb", functions);
}
