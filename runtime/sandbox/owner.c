#include "sandbox/owner.h"

#include <string.h>

#include "os/entropy.h"
#include "sandbox/sandbox_state.h"

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
  if (size < OWNER_TRAILER) return;
  char *at = block + size - OWNER_TRAILER;
  memcpy(&ending, at, sizeof ending);
  if (ending.secret != sandbox->secret) return;
  memset(at, 0, sizeof ending);      /* the next block at this place may not be written at its end */
  ending.end(ending.content);
}
