/*
** The members of working copies (working_copy.c): those of the message, and some that the pipeline adds. A member of
** the message that has such a name moves to the table `own` of the copy.
*/
#ifndef EBB_BIND_COPY_MEMBERS_H
#define EBB_BIND_COPY_MEMBERS_H

#include <lua.h>
#include <stdbool.h>

#include "core/message/message.h"

/* The members that the pipeline adds. */
typedef enum AddedName {
  ADDED_ATTACHMENTS, ADDED_ORIGIN, ADDED_OWN, ADDED_SEQ, ADDED_SOURCE, ADDED_SOURCE_ID, ADDED_SOURCES, ADDED_TRUSTED,
  ADDED_COUNT
} AddedName;

/* The added names as Lua strings, which stay on the stack. Lua stores a short string once, so
   a member has an added name if the addresses are equal. */
typedef struct AddedNames {
  int first;                 /* stack index of the first string; the others follow */
  const char *names[ADDED_COUNT];
} AddedNames;

/* Pushes ADDED_COUNT strings, and makes room for 16 more values. May raise. */
AddedNames copy_members_push_names(lua_State *L);
/* The number of the added name at `index`, or -1. */
int   copy_members_added(lua_State *L, const AddedNames *added, int index);
/* True if the key, as it stands in a message, is an added name. */
bool  copy_members_is_added(Text key);
/* Sets an added name of the table on top to the value above it, which it pops. */
void  copy_members_set(lua_State *L, const AddedNames *added, AddedName name);
/* True if the message says something for sure: its content is a text with more than white space, or it has calls beside
   a text or none. */
bool  copy_members_speaks(const Message *message);
/* Pushes the working copy of a message; true if it is a plain one: it says something so, and refers to no files. */
bool  copy_members_push(lua_State *L, const AddedNames *added, const Message *message, MessageId id);
/* Sets the message's members of the table on top, but for a content that it has; the message has no added names. */
void  copy_members_fill(lua_State *L, const Message *message);

#endif
