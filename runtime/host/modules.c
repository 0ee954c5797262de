/*
** Modules: what `require` finds inside the binary.
**
** The searcher for embedded modules stands right behind package.preload, so
** that neither LUA_PATH nor a file in the working directory can put another
** library in its place.
*/
#define _DEFAULT_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/embedded.h"
#include "bind/open.h"
#include "host/confine.h"
#include "host/host.h"
#include "sandbox/sandbox_state.h"

#include "lualib.h"

int luaopen_lpeg(lua_State *L);
int luaopen_ebb_storage(lua_State *L);

/* is_terminal(fd) -> boolean */
static int l_is_terminal(lua_State *L) {
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* columns(fd) -> width of the terminal, or nil for anything else */
static int l_columns(lua_State *L) {
  struct winsize size = {0};
  int answer = ioctl((int)luaL_checkinteger(L, 1), TIOCGWINSZ, &size);
  if (answer == 0 && size.ws_col > 0) lua_pushinteger(L, size.ws_col);
  else lua_pushnil(L);
  return 1;
}

bool host_reader_is_gone(int descriptor) {
  struct pollfd pipe = {.fd = descriptor};
  return poll(&pipe, 1, 0) == 1 && (pipe.revents & POLLERR) != 0;
}

/* reader_is_gone(fd) -> boolean */
static int l_reader_is_gone(lua_State *L) {
  lua_pushboolean(L, host_reader_is_gone((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* entries(folder) -> list of names; nil and why if it cannot be read */
static int l_entries(lua_State *L) {
  DIR *folder = opendir(luaL_checkstring(L, 1));
  if (folder == NULL) {
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
  }
  lua_newtable(L);
  lua_Integer n = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    lua_pushstring(L, entry->d_name);
    lua_rawseti(L, -2, ++n);
  }
  closedir(folder);
  return 1;
}

/* make_folder(path) -> true, also if it is there; nil and an error {code, message} */
static int l_make_folder(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  struct stat info;
  if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
    lua_pushboolean(L, 1);
    return 1;
  }
  int why = errno;
  lua_pushnil(L);
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "io");
  lua_setfield(L, -2, "code");
  lua_pushfstring(L, "%s: %s", path, strerror(why));
  lua_setfield(L, -2, "message");
  return 2;
}

static int open_host(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"is_terminal", l_is_terminal}, {"columns", l_columns},
    {"reader_is_gone", l_reader_is_gone}, {"interruptible", host_interruptible},
    {"editor", host_editor}, {"converse", host_converse}, {"entries", l_entries}, {"isolate", host_isolate},
    {"workers", host_workers}, {"dialogue", host_dialogue}, {"http", host_http}, {"sleep", host_sleep},
    {"make_folder", l_make_folder}, {"unpack", host_unpack}, {"hold", host_hold}, {"is_descriptor", host_is_descriptor},
    {"close_on_exec", host_close_on_exec},
    {"capture", host_capture}, {"cells", host_cells}, {"conclude", host_conclude}, {NULL, NULL},
  };
  luaL_newlib(L, functions);
  lua_pushliteral(L, EBB_VERSION);
  lua_setfield(L, -2, "version");
  lua_pushinteger(L, sysconf(_SC_NPROCESSORS_ONLN));
  lua_setfield(L, -2, "processors");
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, ANSWER_BYTES_MAX);
  lua_setfield(L, -2, "ANSWER_BYTES_MAX");
  lua_pushinteger(L, CONFINE_OPEN_FILES);
  lua_setfield(L, -2, "OPEN_FILES");
  lua_pushinteger(L, HISTORY_MAX);
  lua_setfield(L, -2, "HISTORY_MAX");
  lua_setfield(L, -2, "limits");
  return 1;
}

/* searcher(name) -> loader, or why the module was not found */
static int l_search(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const EmbeddedModule *module = embedded_find(name);
  if (module == NULL) {
    lua_pushfstring(L, "no module '%s' in ebb itself", name);
    return 1;
  }
  lua_pushfstring(L, "@%s", name);
  int status = luaL_loadbufferx(L, (const char *)module->bytes, module->size, lua_tostring(L, -1), "b");
  return status == LUA_OK ? 1 : lua_error(L);
}

static void preload(lua_State *L, const char *name, lua_CFunction open) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, open);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

void host_open(lua_State *L) {
  preload(L, "lpeg", luaopen_lpeg);
  preload(L, "ebb.core", luaopen_ebb_core);
  preload(L, "ebb.host", open_host);
  preload(L, "ebb.storage", luaopen_ebb_storage);

  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");                         /* package searchers */
  for (lua_Integer i = luaL_len(L, -1); i >= 2; i--) {      /* behind preload */
    lua_geti(L, -1, i);
    lua_seti(L, -2, i + 1);
  }
  lua_pushcfunction(L, l_search);
  lua_seti(L, -2, 2);
  lua_pop(L, 2);
}
