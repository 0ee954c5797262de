/*
** Ledger: the entries of an edit: per message the action, its author, the reason, and
** the tokens it freed.
**
** Entries of consecutive messages with the same cause form one run, so that dropping
** half a million messages stores one run:
**
**     dropped   seq 2 to 41   keep_recent   oldest        freed 3120
**     replaced  seq 57        shrink_tools  old result    freed 800   by seq 99
**
** The freed tokens of all entries sum up to the tokens before minus the tokens after.
** A separate list has the messages that a policy kept on purpose: they did not change,
** so they are in no run.
**
** Ownership: reference counted.
*/
#ifndef EBB_CORE_LEDGER_H
#define EBB_CORE_LEDGER_H

#include "base/hash.h"
#include "core/message/token_weights.h"

/* ACTION_KEPT is for events of core/explain.h; no run has it. */
typedef enum Action { ACTION_DROPPED, ACTION_REPLACED, ACTION_INSERTED, ACTION_KEPT } Action;

const char *action_name(Action action);     /* "dropped", ...; static */

/* Author and reason as numbers of texts: ledger_cause gives them once for many entries. */
typedef struct Cause {
  uint32_t author, reason;
} Cause;

/* The entries of one or more messages with the same cause. */
typedef struct LedgerRun {
  Action action;
  Cause cause;               /* numbers for ledger_text */
  MessageId first;           /* the run has the messages first .. first + count - 1 */
  uint32_t count;            /* 1 unless they were dropped */
  MessageId replacement;     /* the new message of a replaced one; else 0 */
  Role role;                 /* of the first message */
  int64_t freed;             /* tokens before minus tokens after */
} LedgerRun;

typedef struct Ledger Ledger;

/* Creates an empty ledger with one owner; the key hashes its texts. STATUS_MEMORY. */
Status   ledger_new(const Memory *memory, HashKey key, Ledger **ledger);
/* Sets the token weights that its token figures were computed with (NULL: messages' own
   tokens); the ledger keeps their counter. */
void     ledger_set_token_weights(Ledger *ledger, const TokenWeights *weights);
/* The weights of that counter in a store; NULL: messages' own tokens. */
TokenWeights *ledger_token_weights(const Ledger *ledger, Store *store);
Ledger  *ledger_share(Ledger *ledger);
void     ledger_release(Ledger *ledger);    /* NULL is allowed */

/* Gives the numbers of two texts; copies those that the ledger does not have. STATUS_MEMORY. */
Status   ledger_cause(Ledger *ledger, Text author, Text reason, Cause *cause);

/* Makes room for one more run, so that the next ledger_add cannot fail. STATUS_MEMORY. */
Status   ledger_reserve(Ledger *ledger);
/* Adds `entry`, whose cause is ignored, after a ledger_reserve. Only drops may have a
   count above 1. Cannot fail. */
void     ledger_add(Ledger *ledger, Cause cause, LedgerRun entry);

/* A state for ledger_rewind to restore when an edit fails halfway. */
typedef struct LedgerMark {
  uint32_t runs, entries, keeps;
  LedgerRun newest;
} LedgerMark;

LedgerMark ledger_mark(const Ledger *ledger);
void     ledger_rewind(Ledger *ledger, LedgerMark mark);

/* Copies the ledger of a fork's batch and adds `shift` to each seq above the fork's base
   (store_take); shares it if it has none. STATUS_MEMORY. */
Status   ledger_renumber(Ledger *ledger, Store *fork, uint32_t shift, Ledger **renumbered);

/* Finds texts; true for those that are found. */
typedef struct TextFilter {
  bool (*matches)(void *user, Text text);
  void *user;
} TextFilter;

/* Copies a ledger with "[forgotten]" in the place of the reasons and notes that a filter finds; NULL where it finds
   none. STATUS_MEMORY. */
Status   ledger_forget(const Ledger *ledger, TextFilter filter, Ledger **result);
extern const Text FORGOTTEN_TEXT;      /* "[forgotten]" */

uint32_t ledger_run_count(const Ledger *ledger);
LedgerRun ledger_run(const Ledger *ledger, uint32_t index);          /* index < count */
size_t   ledger_text_bytes(const Ledger *ledger);      /* of all texts; each counts once */
Text     ledger_text(const Ledger *ledger, uint32_t number);          /* of a cause; borrowed */

/* Number of entries, one per message. The run of an entry, and its place in the run, from 0; O(log runs). */
uint32_t ledger_count(const Ledger *ledger);
LedgerRun ledger_run_of(const Ledger *ledger, uint32_t entry, uint32_t *place);

/* A message that a policy keeps on purpose. */
typedef struct LedgerKeep {
  Cause cause;
  MessageId id;
} LedgerKeep;

Status   ledger_keep(Ledger *ledger, Cause cause, MessageId id);      /* STATUS_MEMORY */
uint32_t ledger_keep_count(const Ledger *ledger);
LedgerKeep ledger_keep_at(const Ledger *ledger, uint32_t index);

/* Notes that policies write for the reader. STATUS_MEMORY. */
Status   ledger_note(Ledger *ledger, Text author, Text note);
uint32_t ledger_note_count(const Ledger *ledger);
void     ledger_note_at(const Ledger *ledger, uint32_t index, Text *author, Text *note);

/* Asserts every invariant, for tests: O(runs). */
void     ledger_check(const Ledger *ledger);

#endif
