/*
** What a draft is made of: for the files draft*.c only.
**
** Slots are numbered when somebody first asks for them; until then the draft is
** its list, and dropping the oldest needs no more (core/evict_oldest.h).
**
** Drops and replacements only mark their slots; the list is brought up to date
** when somebody looks at it (draft_settle). So a policy that drops ten thousand
** units one by one costs ten thousand marks and one edit of the tree.
**
** Invariants: `live` and `tokens` are those of the messages that are there. A
** slot that is SLOT_SETTLED is gone from `list` too; one that is SLOT_CHANGED is
** there with its old message.
*/
#ifndef EBB_CORE_DRAFT_DATA_H
#define EBB_CORE_DRAFT_DATA_H

#include "base/map.h"
#include "core/draft.h"

enum { SLOT_HOLD = 0x07, SLOT_GONE = 0x08, SLOT_SETTLED = 0x10, SLOT_CHANGED = 0x20 };

typedef struct Slots {
  uint32_t count;
  MessageId *ids;
  uint8_t *flags;
  Units *units;
  uint32_t *turns_after;     /* per slot; NULL until somebody asks */
} Slots;

/* The items of windows among the messages that the draft began with. None comes
   later: a draft inserts no items, and replaces none. */
typedef struct DraftWindows {
  WindowItems items;
  Map numbers;               /* id -> item */
  uint32_t *tokens;          /* per item, what it is rendered to; NULL: nobody has said so */
} DraftWindows;

struct Draft {
  Memory memory;
  Conversation *conversation;
  Store *store;              /* its; shared, so that the draft may end after the conversation */
  bool guarded, numbered, settled, done;
  uint64_t version;          /* of the conversation when the draft began */
  uint32_t began;            /* messages that the store had when the draft began */
  StoreMark mark;            /* before the first that the draft added */
  uint32_t stored;           /* messages that the draft added to the store */
  Sequence *list;
  const TokenWeights *weights;        /* by which its messages weigh; NULL: by their own tokens */
  uint64_t overhead;
  Trust trust;
  DraftWindows windows;
  Slots slots;
  uint32_t *slot_of;         /* per id: slot + 1, or 0 */
  uint32_t slot_of_room;
  uint32_t live, untouched;
  uint64_t tokens, before;
  Ledger *ledger;
  char *by;
  size_t by_size;
};

/* ---- draft_slots.c ---- */

/* Slots for a list, with what the guards hold. */
Status   slots_make(const Draft *draft, const Sequence *list, Slots *result);
void     slots_free(const Memory *memory, Slots *slots);
void     slots_hold_unit(Slots *slots, uint32_t unit, Hold hold);
uint32_t slot_tokens(const Draft *draft, uint32_t slot);
/* Room in slot_of for every id that the store has, and one more. */
Status   draft_reserve_ids(Draft *draft);
/* Takes over a list and its slots, which have `count` messages more, at places of
   the list before (draft_insert.c). */
void     draft_renumber(Draft *draft, Sequence *list, Slots slots, const uint32_t *places, uint32_t count);

/* ---- draft_windows.c ---- */

Status   draft_windows_start(Draft *draft);
void     draft_windows_free(Draft *draft);
/* The item of a message, or NULL. */
const WindowItem *draft_window_item(const Draft *draft, MessageId id);
/* The next older item of the same window, or NULL. */
const WindowItem *draft_window_older(const Draft *draft, const WindowItem *item);
uint32_t draft_window_tokens(const Draft *draft, MessageId id);
/* Holds what windows are pinned by; and the item that is shown, where an older one of
   its window is held: who drops that drops this too. */
void     draft_windows_hold(const Draft *draft, const Sequence *list, Slots *slots);

/* ---- draft.c ---- */

/* False once the conversation has another store, by a join or a compaction: what the
   draft would add could never come to it. */
bool     draft_may_store(const Draft *draft);

Status   draft_settle(Draft *draft);
void     draft_take_list(Draft *draft, Sequence *list);      /* in the place of the old one */
Status   draft_cause(Draft *draft, Text reason, Cause *cause);
/* One message's entry, for which room is reserved. */
void     draft_record(Draft *draft, Cause cause, LedgerRun entry);

#endif
