/*
** Plain files, for scripts and reports.
*/
#include <errno.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/error.h"
#include "bind/files.h"
#include "bind/open.h"
#include "bind/type.h"
#include "document/document.h"

int bind_refuse_file(lua_State *L, Status status, const char *path, size_t cap) {
  int error = errno;
  if (strcmp(path, "-") == 0) path = cap == 0 ? "standard output" : "standard input";
  const char *why = status == STATUS_LIMIT ? lua_pushfstring(L, "it is larger than %I bytes", (lua_Integer)cap)
                    : status == STATUS_MEMORY ? "not enough memory"
                    : status == STATUS_CONFLICT ? "it was changed by another program since it was read"
                                                : strerror(error);
  return bind_refuse(L, status_code(status), lua_pushfstring(L, "%s: %s", path, why));
}

/* ---- reading ---- */

typedef struct Content {
  Memory memory;
  char *bytes;
  size_t size, capacity;
} Content;

static void end_content(void *block) {
  Content *content = block;
  memory_free(&content->memory, content->bytes, content->capacity);
  content->bytes = NULL;
}

/* read_file(path, cap) -> text | nil, error */
static int l_read_file(lua_State *L) {
  const char *path = bind_path(L, 1);
  size_t cap = lua_isnoneornil(L, 2) ? FILE_BYTES_MAX : (size_t)bind_integer(L, 2, "cap", 0, INT64_MAX);
  lua_settop(L, 2);
  Content *content = bind_own(L, sizeof *content, end_content);
  content->memory = bind_memory(L);
  Status status = file_read(&content->memory, path, cap, &content->bytes, &content->size, &content->capacity);
  if (status != STATUS_OK) return bind_refuse_file(L, status, path, cap);
  lua_pushlstring(L, content->bytes == NULL ? "" : content->bytes, content->size);
  return 1;
}

/* ---- which file it is ---- */

/* file_identity(path) -> the bytes of a FileIdentity, for a comparison, and the size of the file | nil, error */
static int l_file_identity(lua_State *L) {
  const char *path = bind_path(L, 1);
  FileIdentity identity = {0};
  Status status = file_identify(path, &identity);
  if (status != STATUS_OK) return bind_refuse_file(L, status, path, 0);
  lua_pushlstring(L, (const char *)&identity, sizeof identity);
  lua_pushinteger(L, (lua_Integer)identity.size);
  return 2;
}

FileIdentity bind_file_identity(lua_State *L, int index) {
  FileIdentity identity = {0};
  Text bytes = bind_text(L, index);
  if (bytes.size == sizeof identity) memcpy(&identity, bytes.bytes, sizeof identity);
  else bind_raise_argument(L, "argument", "ebb.file_identity(path) gives one", "expected the identity of a file");
  return identity;
}

/* target_key(path) -> bytes that are equal for all names of one file, also of one that does not exist yet */
static int l_target_key(lua_State *L) {
  const char *path = bind_path(L, 1);
  FileTarget target;
  if (!file_target(path, &target)) {
    lua_settop(L, 1);
    return 1;
  }
  uint64_t numbers[] = {target.device, target.inode};
  lua_pushlstring(L, (const char *)numbers, sizeof numbers);
  lua_pushstring(L, target.name != NULL ? target.name : "");
  lua_concat(L, 2);
  return 1;
}

/* ---- writing ---- */

/* Pushes what the new file lacks of the old one, or nil. */
static void push_lost(lua_State *L, int lost) {
  static const struct {
    int bit;
    const char *text;
  } texts[] = {
    {FILE_LOST_OWNER, "it has another owner now"},
    {FILE_LOST_GROUP, "it has another group now, with the rights of all others"},
    {FILE_LOST_EXTENDED, "extended attributes of it are lost"},
    {FILE_LOST_NAMES, "its other names (hard links) keep the old content"},
  };
  int count = 0;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if ((lost & texts[i].bit) == 0) continue;
    if (count++ > 0) lua_pushliteral(L, "; ");
    lua_pushstring(L, texts[i].text);
  }
  if (count == 0) lua_pushnil(L);
  else lua_concat(L, 2 * count - 1);
}

int bind_end_file(lua_State *L, FileWriter *writer, Status status, const FileIdentity *unchanged, const char *path) {
  int lost = writer->lost;
  if (unchanged != NULL) {
    writer->guarded = true;
    writer->unchanged = *unchanged;
  }
  if (status == STATUS_OK) status = file_commit(writer);
  else file_abandon(writer);
  if (status != STATUS_OK) return bind_refuse_file(L, status, path, 0);
  lua_pushboolean(L, 1);
  push_lost(L, lost);
  return 2;
}

/* write_file(path, text, unchanged) -> true, what is lost of the old file | nil, error */
static int l_write_file(lua_State *L) {
  const char *path = bind_path(L, 1);
  Text text = bind_text(L, 2);
  bool guarded = !lua_isnoneornil(L, 3);
  FileIdentity unchanged = guarded ? bind_file_identity(L, 3) : (FileIdentity){0};
  Memory memory = bind_memory(L);
  FileWriter writer;
  Status status = file_create(&writer, &memory, path);
  if (status != STATUS_OK) return bind_refuse_file(L, status, path, 0);
  status = file_write(&writer, text.bytes, text.size);
  return bind_end_file(L, &writer, status, guarded ? &unchanged : NULL, path);
}

/* ---- a file that waits for another ---- */

typedef struct Staged {
  FileWriter writer;
  bool open;
} Staged;

static void end_staged(void *block) {
  Staged *staged = block;
  if (staged->open) file_abandon(&staged->writer);
  staged->open = false;
}

/* The file of a call to write or commit, which is open. */
static Staged *check_staged(lua_State *L) {
  Staged *staged = bind_test_owned(L, lua_upvalueindex(1), end_staged);
  if (!staged->open) bind_raise(L, "closed", NULL, "the file has been written");
  return staged;
}

/* Ends the file: it gets its name, or is removed. */
static int end_file(lua_State *L, Staged *staged, Status status, const FileIdentity *unchanged) {
  staged->open = false;
  return bind_end_file(L, &staged->writer, status, unchanged, lua_tostring(L, lua_upvalueindex(2)));
}

/* commit(unchanged) -> true, what is lost of the old file | nil, error */
static int l_commit(lua_State *L) {
  Staged *staged = check_staged(L);
  bool guarded = !lua_isnoneornil(L, 1);
  FileIdentity unchanged = guarded ? bind_file_identity(L, 1) : (FileIdentity){0};
  return end_file(L, staged, STATUS_OK, guarded ? &unchanged : NULL);
}

/* write(text) -> true | nil, error: appends to the file, which is removed if that fails. */
static int l_write_more(lua_State *L) {
  Staged *staged = check_staged(L);
  Text text = bind_text(L, 1);
  Status status = file_write(&staged->writer, text.bytes, text.size);
  if (status != STATUS_OK) return end_file(L, staged, status, NULL);
  lua_pushboolean(L, 1);
  return 1;
}

/* stage_file(path, text) -> commit, write | nil, error: writes the file, which gets its name when
   `commit` is called. Without that the collector removes it. "-" is standard output. */
static int l_stage_file(lua_State *L) {
  const char *path = bind_path(L, 1);
  Text text = bind_text(L, 2);
  Staged *staged = bind_own(L, sizeof *staged, end_staged);
  int owner = lua_gettop(L);
  lua_CFunction parts[] = {l_commit, l_write_more};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {   /* what may raise comes before the file */
    lua_pushvalue(L, owner);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, parts[i], 2);
  }
  Memory memory = bind_memory(L);
  Status status = file_create(&staged->writer, &memory, path);
  if (status != STATUS_OK) return bind_refuse_file(L, status, path, 0);
  staged->open = true;
  status = file_write(&staged->writer, text.bytes, text.size);
  if (status == STATUS_OK) return 2;
  staged->open = false;
  return bind_end_file(L, &staged->writer, status, NULL, path);
}

void bind_open_files(lua_State *L) {
  static const BindMethod functions[] = {
    {"read_file", l_read_file, "path cap", CHARGE_NEVER},
    {"write_file", l_write_file, "path text unchanged", CHARGE_NEVER},
    {"stage_file", l_stage_file, "path text", CHARGE_NEVER},
    {"file_identity", l_file_identity, "path", CHARGE_NEVER},
    {"target_key", l_target_key, "path", CHARGE_NEVER},
    BIND_END,
  };
  bind_functions(L, "ebb", functions);
}
