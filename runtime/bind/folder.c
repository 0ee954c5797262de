/*
** Folders: what is in one, and making one.
*/
#define _DEFAULT_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/open.h"
#include "bind/type.h"

static void end_folder(void *block) {
  DIR **folder = block;
  if (*folder != NULL) closedir(*folder);
}

/* list_folder(path) -> names without those that begin with '.', in no order | nil, error */
static int l_list(lua_State *L) {
  const char *path = bind_string(L, 1, NULL);
  DIR **folder = bind_own(L, sizeof *folder, end_folder);
  *folder = opendir(path);
  if (*folder == NULL) {
    const char *why = strerror(errno);
    return bind_refuse(L, status_code(STATUS_ABSENT), lua_pushfstring(L, "%s: %s", path, why));
  }
  lua_newtable(L);
  lua_Integer count = 0;
  for (struct dirent *entry; (entry = readdir(*folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    lua_pushstring(L, entry->d_name);
    lua_rawseti(L, -2, ++count);
  }
  return 1;
}

/* make_folder(path) -> true | nil, error; with those that it lies in */
static int l_make(lua_State *L) {
  Text path = bind_text(L, 1);
  Buffer *copy = bind_buffer(L);
  Status status = buffer_add(copy, path.bytes, path.size + 1);
  if (status != STATUS_OK) return bind_raise_status(L, status, "make_folder");
  for (size_t i = 1; i <= path.size; i++) {
    char end = copy->bytes[i];
    if (end != '/' && end != '\0') continue;
    copy->bytes[i] = '\0';
    if (mkdir(copy->bytes, 0777) != 0 && errno != EEXIST) {
      const char *why = strerror(errno);
      return bind_refuse(L, status_code(STATUS_IO), lua_pushfstring(L, "%s: %s", copy->bytes, why));
    }
    copy->bytes[i] = end;
  }
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
