/*
** A host with a Lua of its own: it exports names that Lua has, and must neither
** clash with the library's nor be called by it.
*/
#include <stdio.h>
#include <stdlib.h>

#include <ebb.h>

#define OWN(name) \
  void *name(void); \
  void *name(void) { \
    puts(#name " of the host was called"); \
    exit(1); \
  }

OWN(lua_newstate) OWN(lua_close) OWN(lua_pcallk) OWN(lua_callk) OWN(lua_settop) OWN(lua_pushlstring) OWN(lua_rawgetp)
OWN(luaL_loadbufferx) OWN(luaL_ref) OWN(luaopen_base) OWN(luaopen_ebb_core) OWN(conversation_new) OWN(memory_new)

int main(void) {
  ebb_runtime *runtime;
  ebb_chat *chat;
  if (ebb_runtime_new(NULL, &runtime) != EBB_OK || ebb_chat_new(runtime, NULL, 0, &chat) != EBB_OK) return 1;
  if (ebb_chat_append(chat, "{\"role\":\"user\",\"content\":\"a\"}", 29) != EBB_OK) return 1;
  printf("%u message\n", (unsigned)ebb_chat_count(chat));
  ebb_runtime_free(runtime);
  return 0;
}
