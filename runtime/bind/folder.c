/*
** Folders for Lua: the names in one, making one, and reading files below one.
*/
#include <errno.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/type.h"
#include "os/os.h"

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

static void open_folders(lua_State *L) {
  static const BindMethod functions[] = {
    {"list_folder", l_list, "path", CHARGE_NEVER},
    {"make_folder", l_make, "path", CHARGE_NEVER},
    BIND_END,
  };
  bind_functions(L, "ebb", functions);
}

/* ---- roots ----
**
** A root is a folder below which files may be read. Its owner may read all
** that is in it, so a sandboxed script never gets one, nor core.root. */

static void end_root(void *block) { contained_dir_close(block); }

static const BindType ROOT = {.name = "Root", .end = end_root};

/* root(path) -> root | nil, error */
static int l_root(lua_State *L) {
  Text path = text_of(bind_path(L, 1));
  if (strlen(path.bytes) != path.size) {
    return bind_raise_argument(L, "argument", NULL, "a path may not hold a NUL byte");
  }
  ContainedDir *dir = bind_new(L, &ROOT, sizeof *dir, 0);
  dir->folder = -1;      /* before anything that may raise */
  Status status = contained_dir_open(dir, path.bytes);
  if (status == STATUS_OK) return 1;
  const char *why = strerror(errno);
  return bind_refuse(L, status_code(status), lua_pushfstring(L, "%s: %s", path.bytes, why));
}

/* root:read(path, cap) -> bytes | nil, error; the message does not name the file */
static int l_read(lua_State *L) {
  ContainedDir *dir = bind_check(L, 1, &ROOT);
  Text path = bind_text(L, 2);
  size_t cap = (size_t)bind_integer(L, 3, "cap", 0, INT64_MAX);
  if (dir->folder < 0) return bind_raise_argument(L, "argument", NULL, "it is closed");
  Buffer *bytes = bind_buffer(L);
  const char *why = "";
  Status status = contained_dir_read(dir, path, cap, bytes, &why);
  if (status == STATUS_MEMORY) return bind_raise_status(L, status, "root:read");
  if (status == STATUS_LIMIT) why = lua_pushfstring(L, "it is larger than %I bytes", (lua_Integer)cap);
  if (status != STATUS_OK) return bind_refuse(L, status_code(status), why);
  lua_pushlstring(L, bytes->bytes, bytes->size);
  buffer_free(bytes);        /* not only when the collector comes by */
  return 1;
}

/* root:close(); again is allowed */
static int l_close(lua_State *L) {
  contained_dir_close(bind_check(L, 1, &ROOT));
  return 0;
}

static int l_index(lua_State *L) { return bind_index_method(L, &ROOT); }

void bind_open_folder(lua_State *L) {
  static const BindMethod methods[] = {
    {"read", l_read, "path cap", CHARGE_NEVER},
    {"close", l_close, "", CHARGE_NEVER},
    BIND_END,
  };
  static const BindMethod functions[] = {
    {"root", l_root, "path", CHARGE_NEVER},
    BIND_END,
  };
  bind_type(L, &ROOT, l_index, NULL);
  bind_methods(L, &ROOT, methods);
  bind_functions(L, "core", functions);
  open_folders(L);
}
