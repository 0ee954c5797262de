/*
** Folders for Lua: the names in one, and making one.
*/
#include "os/os.h"

#include <errno.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/type.h"

static void end_folder(void *block) { folder_close(block); }

static int refuse(lua_State *L, Status status, const char *path) {
  const char *why = strerror(errno);
  return bind_refuse(L, status_code(status), lua_pushfstring(L, "%s: %s", path, why));
}

/* list_folder(path) -> names without those that begin with '.', in no order | nil, error */
static int l_list(lua_State *L) {
  const char *path = bind_path(L, 1);
  Folder *folder = bind_own(L, sizeof *folder, end_folder);
  Status status = folder_open(folder, path);
  if (status != STATUS_OK) return refuse(L, status, path);
  lua_newtable(L);
  lua_Integer count = 0;
  for (const char *name; (name = folder_next(folder)) != NULL;) {
    if (name[0] == '.') continue;
    lua_pushstring(L, name);
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

/* make_folder(path) -> true | nil, error; makes the folders above it too */
static int l_make(lua_State *L) {
  Text path = text_of(bind_path(L, 1));
  Buffer *copy = bind_buffer(L);
  Status status = buffer_add(copy, path.bytes, path.size + 1);
  if (status != STATUS_OK) return bind_raise_status(L, status, "make_folder");
  status = folder_make(copy->bytes);
  if (status != STATUS_OK) return refuse(L, status, copy->bytes);
  lua_pushboolean(L, 1);
  return 1;
}

void bind_open_folder(lua_State *L) {
  static const BindMethod functions[] = {
    {"list_folder", l_list, "path", CHARGE_NEVER},
    {"make_folder", l_make, "path", CHARGE_NEVER},
    BIND_END,
  };
  bind_functions(L, "ebb", functions);
}
