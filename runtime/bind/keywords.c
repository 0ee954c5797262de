/*
** Sets of keywords: which of them stand in a text.
*/
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/type.h"
#include "regex/keyword_set.h"

typedef struct Handle {
  KeywordSet *set;
} Handle;

static void end_set(void *block) {
  Handle *handle = block;
  keyword_set_free(handle->set);
  handle->set = NULL;
}

static const BindType KEYWORDS = {.name = "Keywords", .end = end_set};

static KeywordSet *check_set(lua_State *L) { return ((Handle *)bind_check(L, 1, &KEYWORDS))->set; }

static void end_keywords(void *block) { (void)block; }

/* The list of texts at 1 with the list of flags at 2, in a block left on the stack. */
static Keyword *read_keywords(lua_State *L, uint32_t *count) {
  bind_expect(L, 1, NULL, LUA_TTABLE);
  bind_expect(L, 2, NULL, LUA_TTABLE);
  size_t size = lua_rawlen(L, 1);
  if (size > UINT32_MAX / sizeof(Keyword)) bind_raise_status(L, STATUS_LIMIT, "keywords");
  Keyword *keywords = bind_own(L, (size + 1) * sizeof *keywords, end_keywords);
  for (size_t i = 0; i < size; i++) {
    if (lua_rawgeti(L, 1, (lua_Integer)i + 1) != LUA_TSTRING) bind_raise_type(L, -1, "texts", "a list of texts");
    keywords[i].text = bind_text(L, -1);         /* the list holds it */
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    keywords[i].flags = (unsigned)bind_integer(L, -1, "flags", 0, KEYWORD_CASE | KEYWORD_WHOLE);
    lua_pop(L, 2);
  }
  *count = (uint32_t)size;
  return keywords;
}

/* keywords(texts, flags) -> Keywords; flags, a number for each text: 1 with case, 2 whole words, 3 both */
static int l_keywords(lua_State *L) {
  uint32_t count;
  lua_settop(L, 2);
  const Keyword *keywords = read_keywords(L, &count);
  Memory memory = bind_memory(L);
  Handle *handle = bind_new(L, &KEYWORDS, sizeof *handle, 0);
  Status status = keyword_set_new(&memory, keywords, count, &handle->set);
  return status == STATUS_OK ? 1 : bind_raise_status(L, status, "keywords");
}

/* keywords:find(text, prefix) -> numbers of those in the text, from 1 | nil: none. With a prefix the text is what
   follows it. */
static int l_find(lua_State *L) {
  KeywordSet *set = check_set(L);
  Text text = bind_text(L, 2);
  Text prefix = lua_isnoneornil(L, 3) ? text_of("") : bind_text(L, 3);
  const uint32_t *hits;
  uint32_t count;
  Status status = keyword_set_find(set, prefix, text, &hits, &count);
  if (status != STATUS_OK) return bind_raise_status(L, status, "find");
  if (count == 0) {
    lua_pushnil(L);
    return 1;
  }
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    lua_pushinteger(L, (lua_Integer)hits[i] + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int l_size(lua_State *L) {
  lua_pushinteger(L, keyword_set_size(check_set(L)));
  return 1;
}

static int l_index(lua_State *L) { return bind_index_method(L, &KEYWORDS); }

void bind_open_keywords(lua_State *L) {
  static const BindMethod methods[] = {{"find", l_find, "text prefix", CHARGE_TEXT}, BIND_END};
  static const BindMethod functions[] = {{"keywords", l_keywords, "texts flags", CHARGE_PATH}, BIND_END};
  bind_type(L, &KEYWORDS, l_index, l_size);
  bind_methods(L, &KEYWORDS, methods);
  bind_functions(L, "core", functions);
}
