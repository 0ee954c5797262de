/*
** What became of each message in the end, counted. The ledger tells every edit, and
** one message may have had several:
**
**     replaced  seq 5 by 90            seq 5 counts once, as dropped
**     dropped   seq 90
**     inserted  seq 91                 seq 91 counts for nothing
**     dropped   seq 91
**
** So kept + dropped + replaced are the messages there were, whatever was inserted.
*/
#include "core/draft_data.h"
#include "core/ledger.h"

static bool was_there(const Draft *draft, MessageId id) { return store_origin(draft->store, id) <= draft->began; }

/* Of the ids in a run of drops those that the draft itself had made, one by one: they are few. */
static void count_dropped(const Draft *draft, const LedgerRun *run, Fates *fates) {
  uint32_t old = run->first > draft->began ? 0 : draft->began - run->first + 1;
  if (old > run->count) old = run->count;
  fates->dropped += old;
  for (uint32_t i = old; i < run->count; i++) {
    if (was_there(draft, run->first + i)) {
      fates->dropped++;
      fates->replaced--;               /* it was counted when it was replaced */
    } else {
      fates->inserted--;
    }
  }
}

Fates draft_fates(const Draft *draft) {
  Fates fates = {.kept = draft->untouched};
  for (uint32_t i = 0; i < ledger_run_count(draft->ledger); i++) {
    LedgerRun run = ledger_run(draft->ledger, i);
    if (run.action == ACTION_INSERTED) fates.inserted += run.count;
    else if (run.action == ACTION_REPLACED) fates.replaced += run.first <= draft->began;
    else count_dropped(draft, &run, &fates);
  }
  return fates;
}
