/*
** The fields of a draft, for its own files only. Each calls only those above it:
**
**     draft_windows.c     which messages are window items, and their tokens
**     draft_list.c        the list, and edits that wait for it
**     draft_thinking.c    bound thinking
**     draft_slots.c       slots and holds
**     draft.c             its life and its end
**     draft_edit.c        edits
**     draft_insert.c      insertions
**     draft_sent.c        the thinking of a request that is sent
**
** Slots are numbered on first use; until then the draft is only its list, which
** suffices for dropping the oldest units (core/draft/evict_oldest.h).
**
** Drops and replacements only mark their slots; draft_apply_edits applies the marks to the
** list before a read: few of them one by one, O(log n) each, many in one edit of the tree.
**
** A message without calls and results that is inserted gets the next slot, and the slots are
** no longer in the order of the list (`numbered` < `count`). Who needs that order numbers them anew:
**
**     slot    0       1       2       3            after draft_number_slots   0  1  2  3
**     list    0       1       3       2                                       0  1  2  3
**
** So an edit costs O(log n), and what walks over all messages O(n), once.
**
** Invariants (asserted by draft_check):
**   1. `live` and `tokens` are those of the slots without SLOT_DROPPED, and the overhead.
**   2. `list` has every slot without SLOT_REMOVED, which only dropped slots have.
**   3. `list` has the old message of a slot with SLOT_CHANGED.
**   4. The slots' units are sound (units_check); `slot_of` leads to each present slot.
*/
#ifndef EBB_CORE_DRAFT_DATA_H
#define EBB_CORE_DRAFT_DATA_H

#include "base/map.h"
#include "core/draft/draft.h"
#include "core/draft/draft_thinking.h"
#include "core/message/pages.h"

/* Flags of a slot: its Hold in the lowest bits; its message was dropped; the drop is applied,
   so `list` lacks the message; it was replaced, and `list` still has the old message. */
enum { SLOT_HOLD = 0x07, SLOT_DROPPED = 0x08, SLOT_REMOVED = 0x10, SLOT_CHANGED = 0x20 };

typedef struct Slots {
  uint32_t count;
  uint32_t numbered;         /* the first of them are in the order of the list; the others were added since */
  uint32_t ids_room, flags_room;
  MessageId *ids;
  uint8_t *flags;
  uint32_t *cover;           /* per numbered slot, how many units have messages before it and from it on; NULL until
                                its first use */
  Units *units;
  uint32_t *turns_after;     /* per slot; NULL until its first use */
} Slots;

/* The window items among the draft's first messages. Their number never grows: a draft
   neither inserts nor replaces items. */
typedef struct DraftWindows {
  WindowItems items;
  Map numbers;               /* id -> item */
  uint32_t *tokens;          /* per item, tokens of its rendering; NULL: all 0 */
} DraftWindows;

struct Draft {
  Memory memory;
  Conversation *conversation;
  Store *store;              /* a share of the conversation's store, in case the draft ends later */
  bool guarded;
  bool numbered;             /* `slots` and `slot_of` are filled */
  uint32_t *waiting;         /* slots whose drop or replacement waits for draft_apply_edits; some may be undone */
  uint32_t waiting_count, waiting_room;
  bool always;               /* the commit makes a batch without edits, too */
  bool done;                 /* committed */
  uint64_t version;          /* of the conversation at the start */
  uint64_t removals;         /* conversation_removals at the start */
  uint64_t forgettings;      /* conversation_forgettings at the start */
  uint32_t base;             /* messages of the store at the start */
  StoreMark mark;            /* the store before the draft's first addition */
  uint32_t stored;           /* messages that the draft added to the store */
  Sequence *list;
  const TokenWeights *weights;   /* token weights of its messages; NULL: their own tokens */
  uint64_t overhead;         /* tokens of the request outside messages */
  Trust trust;
  DraftWindows windows;
  DraftThinking thinking;
  Slots slots;
  Pages slot_of;             /* per id, of uint32_t: slot + 1, or 0. Has a page for each id of `slots` */
  uint32_t live;             /* messages of the current list */
  uint32_t unchanged;        /* messages of the first list that were neither dropped nor replaced */
  uint64_t tokens;           /* of the request, with the thinking that is left out */
  uint64_t before;           /* the same at the start */
  Ledger *ledger;
  char *author;              /* name under which edits are recorded */
  size_t author_size;
};

/* The slot of a message, or UNIT_NONE. */
static inline uint32_t slot_of_id(const Draft *draft, MessageId id) {
  const uint32_t *number = pages_at(&draft->slot_of, id);
  return number != NULL && *number > 0 ? *number - 1 : UNIT_NONE;
}

/* ---- draft_windows.c ---- */

/* Finds the items of the draft's first list. STATUS_MEMORY. */
Status   draft_start_windows(Draft *draft);
void     draft_free_windows(Draft *draft);
/* The window item that a message is, or NULL. */
const WindowItem *draft_window_item(const Draft *draft, MessageId id);
/* The next older item of the same window, or NULL. */
const WindowItem *draft_window_older(const Draft *draft, const WindowItem *item);
/* True if the item is rendered and its window is pinned. */
bool     draft_window_is_pinned(const Draft *draft, const WindowItem *item);
/* Tokens of the item's rendering; 0 for one that is not rendered, and for other messages. */
uint32_t draft_window_tokens(const Draft *draft, MessageId id);

/* ---- draft_list.c ---- */

/* Makes room in `waiting` for one more. STATUS_MEMORY. */
Status   draft_reserve_waiting(Draft *draft);
/* Applies waiting drops and replacements to the list. STATUS_MEMORY, STATUS_LIMIT: they still wait. */
Status   draft_apply_edits(Draft *draft);
void     draft_take_list(Draft *draft, Sequence *list);      /* releases the list and takes over another one */

/* ---- draft_slots.c ---- */

/* Slots for a list, with the holds of the guards, and room in slot_of. STATUS_MEMORY. */
Status   slots_make(Draft *draft, const Sequence *list, Slots *result);
void     slots_free(const Memory *memory, Slots *slots);
/* Sets the hold of the unit's messages that have none. HOLD_REQUESTED replaces HOLD_PENDING. */
void     slots_hold_unit(Slots *slots, uint32_t unit, Hold hold);
/* Tokens of a message with its thinking. */
uint32_t draft_message_weight(const Draft *draft, MessageId id);
uint32_t slot_tokens(const Draft *draft, uint32_t slot);
/* Makes room in slot_of for an id. STATUS_MEMORY. */
Status   draft_reserve_id(Draft *draft, MessageId id);
/* Sets the slot of an id that has room. */
void     draft_set_slot(Draft *draft, MessageId id, uint32_t slot);
/* Installs a list and its slots, and takes both over. */
void     draft_renumber(Draft *draft, Sequence *list, Slots slots);
/* Makes room for one more slot, and adds it for a message that is a unit by itself. STATUS_MEMORY. */
Status   draft_reserve_slot(Draft *draft);
void     draft_add_slot(Draft *draft, MessageId id, Hold hold);
/* Fills slots.cover. STATUS_MEMORY. */
Status   draft_cover_slots(Draft *draft);

/* ---- draft.c ---- */

/* False once the conversation has another store, by a merge or a compaction: messages that
   the draft adds could no longer reach it. */
bool     draft_may_store(const Draft *draft);
/* The cause of the next entries: the draft's author and a reason. STATUS_MEMORY. */
Status   draft_cause(Draft *draft, Text reason, Cause *cause);
/* Adds an entry for one message or a run; the caller has reserved room. */
void     draft_record(Draft *draft, Cause cause, LedgerRun entry);

#endif
