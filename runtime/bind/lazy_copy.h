/*
** Lazy working copies: most messages go through a pipeline unread. A lazy copy is a table with `source`, `seq` and
** `origin`, whose other members are those of the stored message until something else than `role`, `content`,
** `_attachments` and absent added names is read, or a member is written: then it gets all members and is a table like
** others.
**
**     {source, seq, origin}          the message says what it said
**     {source, origin, [..] = id}    rules made another text of it: that message of the fork (lazy_copy_rewrite)
**
** Messages are those of a fork of the conversation, which nobody else sees; its store has the rewritten ones, too, and
** no list shows them. So a message is written, read and counted once, however often it is weighed.
**
** Lua sees no difference, but for what reads tables raw (`next`, rawget): the pipeline makes lazy copies only where
** built-in processors alone see them.
*/
#ifndef EBB_BIND_LAZY_COPY_H
#define EBB_BIND_LAZY_COPY_H

#include "base/buffer.h"
#include "bind/copy_members.h"
#include "core/conversation.h"

/* True if a message has a lazy copy: it says something as a text or by calls (copy_members_speaks), has no members of
   added names, and refers to no files. */
bool  lazy_copy_fits(const Message *message);
/* Pushes the metatable of lazy copies of the messages of the fork at `fork`. */
void  lazy_copy_push_metatable(lua_State *L, int fork);
/* Pushes the lazy copy of a message that has one. All are plain (copy_members_push). */
void  lazy_copy_push(lua_State *L, const AddedNames *added, int metatable, MessageId id);

/* What a walk over copies remembers of the last lazy one, and the names of members that it reads. */
typedef struct LazyWalk {
  const void *metatable;
  Conversation *fork;        /* that has its message */
  MessageId id;              /* of that message */
  bool rewritten;            /* it is not the stored one */
  int names;                 /* stack index of "seq"; "content" lies on it */
} LazyWalk;

/* Begins a walk: pushes its names, which stay on the stack. */
LazyWalk lazy_walk_begin(lua_State *L);
/* The message of the table at `index`, if that is a lazy copy; else NULL. One whose `seq` was taken away becomes a
   table like others. Raises if the store no longer has the message. */
const Message *lazy_copy_message(lua_State *L, LazyWalk *walk, int index);
/* The text of a lazy copy, empty if it has none; adds it to `decoded` if it is escaped. */
Text  lazy_copy_text(lua_State *L, const Message *message, Buffer *decoded);
/* Pushes the content of the table at `index`, which is not lazy. Returns its Lua type. */
int   lazy_copy_content(lua_State *L, const LazyWalk *walk, int index);
/* Gives the table at `index` another content; it is no longer the stored message. `lazy`: its message, which the walk
   came to last; NULL: it is not lazy. `scratch` is for its JSON. */
void  lazy_copy_rewrite(lua_State *L, const LazyWalk *walk, int index, const Message *lazy, Text content,
                        Buffer *scratch);
/* Makes the lazy copy at `index` a table like others. */
void  lazy_copy_fill(lua_State *L, int index, const Message *message);

#endif
