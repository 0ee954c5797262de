/*
** Lazy working copies: most messages go through a pipeline unread. A lazy copy is a table with `source`, `seq` and
** `origin`, whose other members are those of the stored message until something else than `role`, `content` and
** absent added names is read, or a member is written: then it gets all members and is a table like others.
**
**     {source, seq, origin}                      the message says what it said
**     {source, origin, content}                  rules made another text of it (lazy_copy_rewrite)
**
** Lua sees no difference, but for what reads tables raw (`next`, rawget): the pipeline makes lazy copies only where
** built-in processors alone see them. Messages are those of a conversation that must not be compacted meanwhile.
*/
#ifndef EBB_BIND_LAZY_COPY_H
#define EBB_BIND_LAZY_COPY_H

#include "base/buffer.h"
#include "bind/copy_members.h"
#include "core/store.h"

/* True if a message has a lazy copy: it is a plain one (copy_members_push) without members of added names. */
bool  lazy_copy_fits(const Message *message);
/* Pushes the metatable of lazy copies of the messages of the conversation at `conversation`. */
void  lazy_copy_push_metatable(lua_State *L, int conversation);
/* Pushes the lazy copy of a message that has one. */
void  lazy_copy_push(lua_State *L, const AddedNames *added, int metatable, MessageId id);

/* What a walk over copies remembers of the last lazy one, and the names of members that it reads. */
typedef struct LazyWalk {
  const void *metatable;
  const Store *store;
  int names;                 /* stack index of "origin"; "content" lies on it */
} LazyWalk;

/* Begins a walk: pushes its names, which stay on the stack. */
LazyWalk lazy_walk_begin(lua_State *L);
/* The message of the table at `index`, if that is a lazy copy; else NULL. Raises if the store no longer has it. */
const Message *lazy_copy_message(lua_State *L, LazyWalk *walk, int index);
/* The text of the lazy copy at `index`; pushes what holds it, or adds it to `decoded`. */
Text  lazy_copy_text(lua_State *L, const LazyWalk *walk, int index, const Message *message, Buffer *decoded);
/* Pushes the content of the table at `index`, lazy or not; nil: that of its message, or none. Returns its Lua type. */
int   lazy_copy_own_content(lua_State *L, const LazyWalk *walk, int index);
/* Gives the table at `index`, lazy or not, another content; it is no longer the stored message. */
void  lazy_copy_rewrite(lua_State *L, int index, Text content);
/* Makes the lazy copy at `index` a table like others. */
void  lazy_copy_fill(lua_State *L, int index, const Message *message);
/* Appends the lazy copy at `index` as JSON, as if it were filled. False, and *out is as it was, where it must be
   filled first. */
bool  lazy_copy_write(lua_State *L, int index, const Message *message, Buffer *out);
/* True if the lazy copy at `index` is the stored message. */
bool  lazy_copy_is_stored(lua_State *L, int index);

#endif
