/*
** Ledger: what an edit did to which message, by whom, why, and what it freed.
**
** Entries of neighbouring messages with one cause are kept as one run, so that
** dropping half a million messages costs one entry:
**
**     dropped   seq 2 to 41   keep_recent   oldest        freed 3120
**     replaced  seq 57        shrink_tools  old result    freed 800   by seq 99
**
** What all entries freed adds up to tokens before less tokens after. Beside the
** entries stand the messages that a policy kept on purpose: nothing happened to
** them, so they are in no run and in no sum.
**
** Ownership: reference counted.
*/
#ifndef EBB_CORE_LEDGER_H
#define EBB_CORE_LEDGER_H

#include "base/hash.h"
#include "core/token_weights.h"

/* No run has ACTION_KEPT: core/explain.h tells of it. */
typedef enum Action { ACTION_DROPPED, ACTION_REPLACED, ACTION_INSERTED, ACTION_KEPT } Action;

const char *action_name(Action action);     /* "dropped", ...; static */

/* By whom and why, as numbers: asked for once, used for many entries. */
typedef struct Cause {
  uint32_t by, reason;
} Cause;

typedef struct LedgerRun {
  Action action;
  Cause cause;               /* numbers of texts: ledger_text */
  MessageId first;           /* seq; the run has `count` in a row */
  uint32_t count;
  MessageId replacement;     /* of a replaced message; such a run has one */
  Role role;                 /* of the first */
  int64_t freed;             /* tokens before less tokens after */
} LedgerRun;

typedef struct Ledger Ledger;

Status   ledger_new(const Memory *memory, HashKey key, Ledger **ledger);
/* Notes by which counter's weights its token figures were computed (NULL: messages'
   own tokens). ledger_token_weights gives that counter's weights in a store, NULL for own tokens. */
void     ledger_set_token_weights(Ledger *ledger, const TokenWeights *weights);
TokenWeights   *ledger_token_weights(const Ledger *ledger, Store *store);
Ledger  *ledger_share(Ledger *ledger);
void     ledger_release(Ledger *ledger);    /* NULL is allowed */

Status   ledger_cause(Ledger *ledger, Text by, Text reason, Cause *cause);

/* Room for one more run, so that the next ledger_add cannot fail. */
Status   ledger_reserve(Ledger *ledger);
/* After a ledger_reserve. `entry` says all but its cause; only what was dropped
   may be more than one message. Cannot fail. */
void     ledger_add(Ledger *ledger, Cause cause, LedgerRun entry);

/* How an edit that fails halfway takes its entries back. */
typedef struct LedgerMark {
  uint32_t runs, entries, keeps;
  LedgerRun newest;
} LedgerMark;

LedgerMark ledger_mark(const Ledger *ledger);
void     ledger_rewind(Ledger *ledger, LedgerMark mark);

/* The ledger of a batch of a fork, with each seq above the fork's base made greater by
   `shift` (store_take): a share if it names none. STATUS_MEMORY. */
Status   ledger_renumber(Ledger *ledger, Store *fork, uint32_t shift, Ledger **renumbered);

uint32_t ledger_run_count(const Ledger *ledger);
LedgerRun ledger_run(const Ledger *ledger, uint32_t index);
Text     ledger_text(const Ledger *ledger, uint32_t number);

/* Entries, one per message, in order; the run of one and its place in it. O(log runs). */
uint32_t ledger_count(const Ledger *ledger);
LedgerRun ledger_run_of(const Ledger *ledger, uint32_t entry, uint32_t *place);

/* A message that a policy keeps, whatever comes. */
typedef struct LedgerKeep {
  Cause cause;
  MessageId id;
} LedgerKeep;

Status   ledger_keep(Ledger *ledger, Cause cause, MessageId id);
uint32_t ledger_keep_count(const Ledger *ledger);
LedgerKeep ledger_keep_at(const Ledger *ledger, uint32_t index);

/* Remarks of policies. */
Status   ledger_note(Ledger *ledger, Text by, Text note);
uint32_t ledger_note_count(const Ledger *ledger);
void     ledger_note_at(const Ledger *ledger, uint32_t index, Text *by, Text *note);

#endif
