/*
** Windows: live state that a conversation includes by name, never by content.
**
** A message may be an item that names a window (CONTENT_WINDOW). A request contains the
** window's rendering at the time when it is built:
**
**     list      user   {todo}   assistant   {todo}   {log}
**                        |                    |        |
**               obsolete: a later one     rendered   rendered
**
** An item is obsolete if a later item of the list names the same window, or if the
** window is closed. This follows from the list and is never stored. Windows, like marks,
** are not part of batches: a rollback restores items, never windows.
**
** Times are those of the logical clock: the seq of the newest message of the store. The
** host may produce a content on demand; then the window has only its number, `source`,
** which is compared for equality and otherwise opaque.
**
** Ownership: a value. `windows_share` gives a fork a second owner in O(1); the
** first edit of either copies the table, O(windows), and shares the records.
*/
#ifndef EBB_CORE_WINDOW_H
#define EBB_CORE_WINDOW_H

#include "core/list/sequence.h"

#define WINDOW_NONE UINT32_MAX
#define WINDOW_COUNT_MAX 65536      /* in one conversation, including closed ones */

typedef enum WindowContent {
  WINDOW_EMPTY,
  WINDOW_TEXT,               /* plain */
  WINDOW_ELEMENTS,           /* JSON, which the host interprets */
  WINDOW_SOURCE              /* produced by the host on demand */
} WindowContent;

/* Flags of a window, as bits. */
typedef enum WindowFlag {
  WINDOW_CLOSABLE = 1, WINDOW_PINNED = 2, WINDOW_IMPORTANT = 4, WINDOW_COMPACT = 8, WINDOW_APPEND = 16,
  WINDOW_HIDDEN = 32, WINDOW_CLOSED = 64
} WindowFlag;
#define WINDOW_FLAGS 127

typedef enum WindowText { WINDOW_ID, WINDOW_DESCRIPTION, WINDOW_CONTENT, WINDOW_ACTIONS, WINDOW_SUMMARY } WindowText;
#define WINDOW_TEXTS 5

/* A window, immutable: an update creates another record. Texts are plain; actions are a
   JSON list or empty. */
typedef struct Window {
  uint32_t owners;
  unsigned flags;
  WindowContent content;
  uint32_t version;          /* 1, 2, 3 ... */
  MessageId created, updated;
  uint64_t source;           /* the host's number; 0: none */
  Text texts[WINDOW_TEXTS];
} Window;

typedef struct Windows Windows;

/* Creates an empty table; the key hashes ids. STATUS_MEMORY. */
Status   windows_new(const Memory *memory, HashKey key, Windows **windows);
Windows *windows_share(Windows *windows);
void     windows_free(Windows *windows);               /* NULL is allowed */

/* For these three functions NULL is an empty table. */
uint32_t windows_count(const Windows *windows);
const Window *windows_at(const Windows *windows, uint32_t index);     /* in order of their creation; index < count */
uint32_t windows_find(const Windows *windows, Text id);               /* or WINDOW_NONE */

/* Replaces the window with this id by a copy of the fields (ignoring `owners`), or adds it
   behind the last one. STATUS_LIMIT beyond WINDOW_COUNT_MAX, and for texts of 2 GiB;
   STATUS_MEMORY. */
Status   windows_put(Windows **windows, const Window *fields);
/* Copies the windows of a fork and adds `shift` to each time above `base`, for a store that
   took the fork's messages after `base` (store_take). STATUS_MEMORY. */
Status   windows_renumber(const Windows *windows, MessageId base, uint32_t shift, Windows **renumbered);
/* Number of calls of windows_put, including those before a fork. */
uint64_t windows_edits(const Windows *windows);
/* True if no other table has the record, so that its source can be reused. */
bool     windows_is_sole(const Windows *windows, uint32_t index);

/* ---- items ---- */

typedef struct WindowItem {
  MessageId id;
  uint32_t position;
  uint32_t window;           /* its index, or WINDOW_NONE if it does not exist */
  uint32_t newest;           /* number of the last item with the same name, maybe itself */
  uint32_t older;            /* number of the previous item with the same name, or WINDOW_NONE */
  bool obsolete;
} WindowItem;

typedef struct WindowItems {
  Memory memory;
  uint32_t count, room;
  WindowItem *list;          /* in the order of the list */
} WindowItems;

/* Finds the items of a list; the caller frees them. O(k log n) for k items. STATUS_MEMORY. */
Status   window_items(const Memory *memory, const Windows *windows, const Store *store, const Sequence *list,
                      WindowItems *items);
void     window_items_free(WindowItems *items);

/* Asserts every invariant, for tests: O(windows). NULL is allowed. */
void     windows_check(const Windows *windows);

#endif
