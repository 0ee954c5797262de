/*
** Files, from Lua: how writing ends, and what is said of it.
*/
#ifndef EBB_BIND_FILES_H
#define EBB_BIND_FILES_H

#include "base/status.h"
#include "os/os.h"

#include "lua.h"

/* Answers nil and an error that names the file; errno has details. cap: the bytes that
   were allowed, or 0 for a file that is written. */
int bind_refuse_file(lua_State *L, Status status, const char *path, size_t cap);
/* The identity that core.file_identity answered, at `index`; raises for any other value. */
FileIdentity bind_file_identity(lua_State *L, int index);
/* Commits after STATUS_OK, abandons otherwise. With `unchanged`, a file in another state is
   not replaced. Answers true and what is lost of the old file (a text, or nil), or nil and
   the error. */
int bind_end_file(lua_State *L, FileWriter *writer, Status status, const FileIdentity *unchanged, const char *path);

#endif
