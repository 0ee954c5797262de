/*
** Handles of databases, what they refuse, and what is told of sessions.
*/
#include "bind/storage_handle.h"

#include "bind/argument.h"
#include "bind/error.h"

void bind_end_storage(void *block) {
  StorageHandle *handle = block;
  Storage *storage = handle->storage;
  handle->storage = NULL;
  storage_close(storage);
}

const BindType BIND_STORAGE = {.name = "Storage", .end = bind_end_storage};

/* ---- errors ---- */

static const char *code_of(Status status) {
  switch (status) {
    case STATUS_SHAPE: return "damaged";
    case STATUS_RANGE: return "unknown_version";
    case STATUS_FORBIDDEN: return "read_only";
    default: return status_code(status);
  }
}

int bind_storage_refuse(lua_State *L, Status status, const StorageError *error) {
  const char *text = error->text[0] != '\0' ? error->text : "sessions: not enough memory";
  lua_pushnil(L);
  bind_push_error(L, code_of(status), text, NULL);
  if (status == STATUS_CONFLICT) bind_set_integer(L, "actual", (lua_Integer)error->actual);
  return 2;
}

Storage *bind_check_storage(lua_State *L, int index) {
  StorageHandle *handle = bind_check(L, index, &BIND_STORAGE);
  if (handle->storage == NULL) bind_raise(L, "closed", NULL, "the database is closed");
  return handle->storage;
}

uint64_t bind_session_argument(lua_State *L, int index) {
  return (uint64_t)bind_integer(L, index, NULL, 1, INT64_MAX);
}

void bind_set_session_numbers(lua_State *L, const SessionInfo *info) {
  bind_set_integer(L, "id", (lua_Integer)info->id);
  bind_set_integer(L, "version", (lua_Integer)info->version);
#define SET_FIGURE(member, number) bind_set_integer(L, #member, (lua_Integer)info->member);
  SESSION_FIGURES(SET_FIGURE)
  bind_set_integer(L, "created", info->created);
  bind_set_integer(L, "changed", info->changed);
  if (info->origin == 0) return;
  bind_set_integer(L, "origin", (lua_Integer)info->origin);
  bind_set_integer(L, "shared", (lua_Integer)info->shared);
}

void bind_push_session_info(lua_State *L, const SessionInfo *info) {
  lua_createtable(L, 0, 11);
  bind_set_text(L, "name", info->name);
  bind_set_session_numbers(L, info);
}
