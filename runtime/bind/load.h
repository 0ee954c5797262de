/*
** Conversations from texts and into them.
*/
#ifndef EBB_BIND_LOAD_H
#define EBB_BIND_LOAD_H

#include "base/buffer.h"
#include "base/sink.h"
#include "bind/handle.h"
#include "bind/view.h"

/* Pushes the conversation of a text, as core.parse for Lua, or nil and an error; returns the number of results. The
   options stand at stack index 2, the function that resolves those of a saved conversation at 3 (bind/state.h), or
   none: then such a text is refused. The text need not be a Lua string; it is copied. */
int   bind_parse(lua_State *L, Text text);
/* The same of a buffer of the allocator for conversations (bind_conversation_memory), which is empty afterwards: its
   bytes become the conversation's. Index 3 holds nil; the stack has more than that, the buffer's owner among it.
   `envelope`: DocumentLimits.envelope; `messages`: those of a list that is empty in the text, or NULL. The text has the
   first `size` bytes of the buffer. */
int   bind_parse_buffer(lua_State *L, Buffer *text, size_t size, Text envelope, const DocumentMessages *messages);
/* Writes the list at index 1 as `document` says (document_write). Items become messages with the texts of the
   table at index 2, by window; nil: items are skipped. Leaves blocks on the stack. STATUS_LIMIT if a message would be
   nested too deeply, STATUS_MEMORY, the sink's status. */
Status bind_write_list(lua_State *L, const Document *document, Sink sink);
/* What stands in the place of a message. */
typedef struct MessageText {
  MessageId id;
  Text text;
} MessageText;

/* The texts of windows by their index in the conversation, and those of messages. */
typedef struct WindowTable {
  const Conversation *conversation;
  const Text *texts;
  const MessageText *messages;   /* by id */
  uint32_t message_count;
} WindowTable;

/* How a view's windows are written, and messages in another form. */
typedef struct ViewTexts {
  WindowTable table;
  WindowTexts windows;
  bool has;                  /* false: its windows are not shown */
} ViewTexts;

/* Reads the texts from the table at `index`, by window, and by seq for messages; nil: the view shows no windows. They
   stay while *texts and the stack do. May raise. */
void  bind_view_texts(lua_State *L, ViewTexts *texts, const View *view, int index);
extern const char *const BIND_TOO_DEEP;      /* the words of that STATUS_LIMIT */

#endif
