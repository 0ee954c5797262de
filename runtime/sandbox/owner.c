#include "sandbox/owner.h"

#include <assert.h>
#include <string.h>

#include "sandbox/sandbox_state.h"

#define IS_OWNER UINT64_MAX   /* in the word before a block; no number comes that far */

void owner_mark(char *block, char *at, OwnerTrailer ending) {
  const uint64_t word = IS_OWNER;
  assert(number_is_before(block));
  memcpy(at, &ending, sizeof ending);
  memcpy(block - NUMBER_SIZE, &word, sizeof word);
}

void owner_release(char *block, size_t size) {
  uint64_t word;
  OwnerTrailer ending;
  memcpy(&word, block - NUMBER_SIZE, sizeof word);
  if (word != IS_OWNER) return;
  memcpy(&ending, block + size - OWNER_TRAILER, sizeof ending);
  ending.end(ending.content);
}

/* ---- boxes ---- */

/* Lua warns in a sandbox of nothing else: scripts have no `warn`. */
static void on_warning(void *user, const char *text, int more) {
  (void)text, (void)more;
  ((Sandbox *)user)->gives_up = true;
}

void owner_open(Sandbox *sandbox) { lua_setwarnf(sandbox->L, on_warning, sandbox); }

typedef struct BoxContent {
  void *bytes;               /* NULL: it has ended */
  size_t size;
} BoxContent;

/* Leaves the metatable of boxes on the stack: the library makes it for its first long text. */
static void push_box_metatable(lua_State *L) {
  luaL_Buffer b;
  luaL_buffinitsize(L, &b, 2 * LUAL_BUFFERSIZE);
  luaL_pushresultsize(&b, 0);
  lua_pop(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, "_UBOX*");
}

void owner_learn_boxes(lua_State *L, Sandbox *sandbox) {
  OwnerBoxes boxes = {.size = 0};
  push_box_metatable(L);
  boxes.metatable = lua_topointer(L, -1);
  const char *content = memset(lua_newuserdatauv(L, sizeof(BoxContent), 0), 0, sizeof(BoxContent));
  const char *block = sandbox->last_userdata.block;
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  boxes.content_at = (size_t)(content - block);
  for (size_t at = 0; at + sizeof boxes.metatable <= boxes.content_at; at += sizeof boxes.metatable) {
    if (boxes.metatable == NULL || memcmp(block + at, &boxes.metatable, sizeof boxes.metatable) != 0) continue;
    boxes.metatable_at = at;
    boxes.size = sandbox->last_userdata.size;
  }
  lua_pop(L, 1);
  if (boxes.metatable == NULL || boxes.size != boxes.content_at + sizeof(BoxContent)) {      /* else boxes would leak */
    luaL_error(L, "this Lua keeps its buffers otherwise than the sandbox knows");
  }
  sandbox->boxes = boxes;
}

void owner_release_box(Sandbox *sandbox, char *block, size_t size) {
  const OwnerBoxes *boxes = &sandbox->boxes;
  BoxContent content;
  if (boxes->size == 0 || size != boxes->size) return;
  if (memcmp(block + boxes->metatable_at, &boxes->metatable, sizeof boxes->metatable) != 0) return;
  memcpy(&content, block + boxes->content_at, sizeof content);
  if (content.bytes == NULL) return;
  memset(block + boxes->content_at, 0, sizeof content);
  void *user;
  lua_getallocf(sandbox->L, &user)(user, content.bytes, content.size, 0);      /* as the library itself would */
}
