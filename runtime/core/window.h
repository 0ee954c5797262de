/*
** Windows: live state that a conversation shows by name, never by content.
**
** A message may be an item that names a window (CONTENT_WINDOW). What the model
** reads of it is made when a request is built, from the window as it is then:
**
**     list      user   {todo}   assistant   {todo}   {log}
**                        |                    |        |
**               obsolete: a later one     rendered   rendered
**
** An item is obsolete if a later item of the list names the same window, or if
** the window is closed: a function of the list, never stored. Windows stand
** beside the batches, as marks do: a rollback brings back items, never windows.
**
** Times are of the logical clock: the seq of the newest message of the store. A
** content may be the host's own, made when it is asked for; here it is a number,
** `source`, and nothing but equality means anything.
**
** Ownership: a value. `windows_share` gives a fork a second owner in O(1); the
** first edit of either copies the table, O(windows), and shares the records.
*/
#ifndef EBB_CORE_WINDOW_H
#define EBB_CORE_WINDOW_H

#include "core/sequence.h"

#define WINDOW_NONE UINT32_MAX
#define WINDOW_COUNT_MAX 65536      /* of one conversation, closed ones too */

typedef enum WindowContent {
  WINDOW_EMPTY,
  WINDOW_TEXT,               /* plain */
  WINDOW_ELEMENTS,           /* JSON, whose meaning is the host's */
  WINDOW_SOURCE              /* made by the host */
} WindowContent;

/* Bits of a window, and of how it is shown. */
typedef enum WindowFlag {
  WINDOW_CLOSABLE = 1, WINDOW_PINNED = 2, WINDOW_IMPORTANT = 4, WINDOW_COMPACT = 8, WINDOW_APPEND = 16,
  WINDOW_HIDDEN = 32, WINDOW_CLOSED = 64
} WindowFlag;
#define WINDOW_FLAGS 127

typedef enum WindowText { WINDOW_ID, WINDOW_DESCRIPTION, WINDOW_CONTENT, WINDOW_ACTIONS, WINDOW_SUMMARY } WindowText;
#define WINDOW_TEXTS 5

/* A window, immutable: an update makes another one. Texts are plain; actions are
   a JSON list, or nothing. */
typedef struct Window {
  uint32_t owners;
  unsigned flags;
  WindowContent content;
  uint32_t version;          /* 1, 2, 3 ... */
  MessageId created, updated;
  uint64_t source;           /* the host's; 0: none */
  Text texts[WINDOW_TEXTS];
} Window;

typedef struct Windows Windows;

/* Without any; ids are looked up by their hashes under the key. */
Status   windows_new(const Memory *memory, HashKey key, Windows **windows);
Windows *windows_share(Windows *windows);
void     windows_free(Windows *windows);               /* NULL is allowed */

Memory   windows_memory(const Windows *windows);       /* its allocator */

/* Of all these, NULL stands for a table without windows. */
uint32_t windows_count(const Windows *windows);
const Window *windows_at(const Windows *windows, uint32_t index);     /* in order of their creation; index < count */
uint32_t windows_find(const Windows *windows, Text id);               /* or WINDOW_NONE */

/* Puts a copy of these fields (their owners are not looked at) where the window
   of that id is, or behind the last. STATUS_LIMIT beyond WINDOW_COUNT_MAX, or for
   texts of 2 GiB; STATUS_MEMORY. */
Status   windows_put(Windows **windows, const Window *fields);
/* The same windows with each time above `base` made later by `shift`: those of a fork
   whose messages after its base were taken into another store (store_take). STATUS_MEMORY. */
Status   windows_renumber(const Windows *windows, MessageId base, uint32_t shift, Windows **renumbered);
/* How many have been put, those included that a fork had from the start. */
uint64_t windows_edits(const Windows *windows);
/* Does nobody else have this window, so that its source may be another's from now on? */
bool     windows_is_sole(const Windows *windows, uint32_t index);

/* ---- items ---- */

typedef struct WindowItem {
  MessageId id;
  uint32_t position;
  uint32_t window;           /* index, or WINDOW_NONE: there is no such window */
  uint32_t newest;           /* among the items: the last of the same name, maybe this one */
  uint32_t older;            /* the next one before it, or WINDOW_NONE */
  bool obsolete;
} WindowItem;

typedef struct WindowItems {
  Memory memory;
  uint32_t count, room;
  WindowItem *list;          /* in order */
} WindowItems;

/* The items of a list. O(k log n) for k items. STATUS_MEMORY. */
Status   window_items(const Memory *memory, const Windows *windows, const Store *store, const Sequence *list,
                      WindowItems *items);
void     window_items_free(WindowItems *items);

#endif
