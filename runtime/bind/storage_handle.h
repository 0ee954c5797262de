/*
** Handles of databases, which the functions of sessions share.
*/
#ifndef EBB_BIND_STORAGE_HANDLE_H
#define EBB_BIND_STORAGE_HANDLE_H

#include "bind/type.h"
#include "storage/storage.h"

typedef struct StorageHandle {
  Storage *storage;          /* NULL: closed */
} StorageHandle;

extern const BindType BIND_STORAGE;

Storage *bind_check_storage(lua_State *L, int index);      /* raises where it is closed */
void  bind_end_storage(void *handle);        /* closes it */
uint64_t bind_session_argument(lua_State *L, int index);
/* Pushes nil and the error; a conflict has the actual version, too. */
int   bind_storage_refuse(lua_State *L, Status status, const StorageError *error);
void  bind_push_session_info(lua_State *L, const SessionInfo *info);
/* Sets all but the name in the table on top; in one that has these fields it allocates nothing. */
void  bind_set_session_numbers(lua_State *L, const SessionInfo *info);

/* Functions for Lua: messages that a branch forgot, and forgetting them in another session. */
int bind_forgotten(lua_State *L);
int bind_forget_again(lua_State *L);

#endif
