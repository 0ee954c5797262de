#include "sandbox/owner.h"

#include <assert.h>
#include <string.h>

#include "os/entropy.h"
#include "sandbox/sandbox_state.h"

#define TRAILER (sizeof(OwnerTrailer) + sizeof(Number))

/* Lua warns in a sandbox of nothing else: scripts have no `warn`. */
static void on_warning(void *user, const char *text, int more) {
  (void)text, (void)more;
  ((Sandbox *)user)->gives_up = true;
}

void owner_open(Sandbox *sandbox) {
  sandbox->secret = entropy_hash_key().words[0] | 1;     /* never 0 */
  lua_setwarnf(sandbox->L, on_warning, sandbox);
}

void owner_release(Sandbox *sandbox, char *block, size_t size) {
  OwnerTrailer ending;
  if (size < TRAILER) return;
  char *at = block + size - TRAILER;
  memcpy(&ending, at, sizeof ending);
  if (ending.secret != sandbox->secret) return;
  memset(at, 0, sizeof ending);      /* the next block at this place may not be written at its end */
  ending.end(ending.content);
}

void *guard_owner(lua_State *L, size_t size, int user_values, size_t header, void (*end)(void *content)) {
  Sandbox *sandbox = sandbox_of(L);
  assert(header <= size);
  if (sandbox == NULL) return memset(lua_newuserdatauv(L, size, user_values), 0, size);
  char *block = guard_userdata(L, size + sizeof(OwnerTrailer), user_values);
  OwnerTrailer ending = {.secret = sandbox->secret, .end = end, .content = block + header};
  memset(block, 0, size);
  memcpy(block + size, &ending, sizeof ending);
  return block;
}

void guard_end_owner(lua_State *L, int index, size_t header, void (*end)(void *content)) {
  char *block = lua_touserdata(L, index);
  if (sandbox_of(L) != NULL) memset(block + lua_rawlen(L, index) - TRAILER, 0, sizeof(OwnerTrailer));
  end(block + header);
}
