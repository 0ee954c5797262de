#include "core/history/ledger.h"

#include <assert.h>

#include "base/map.h"

typedef struct Note {
  uint32_t author, text;
} Note;

typedef struct Run {
  LedgerRun run;
  uint32_t start;            /* entries before it */
} Run;

typedef struct Stored {
  char *bytes;
  size_t size;
} Stored;

struct Ledger {
  Memory memory;
  HashKey key;
  uint32_t owners;
  Counter counter;           /* the counter of its figures if `weighed`, else messages' own tokens */
  bool weighed;
  Run *runs;
  uint32_t run_count, run_room, entries;
  Stored *texts;
  uint32_t text_count, text_room;
  size_t text_bytes;
  Map numbers;               /* hash of a text -> its number */
  Note *notes;
  uint32_t note_count, note_room;
  LedgerKeep *keeps;
  uint32_t keep_count, keep_room;
};

const char *action_name(Action action) {
  assert(action <= ACTION_KEPT);
  static const char *const names[] = {"dropped", "replaced", "inserted", "kept"};
  return names[action];
}

Status ledger_new(const Memory *memory, HashKey key, Ledger **result) {
  Ledger *ledger = memory_new(memory, sizeof *ledger);
  if (ledger == NULL) return STATUS_MEMORY;
  *ledger = (Ledger){.memory = *memory, .key = key, .owners = 1};
  map_init(&ledger->numbers, *memory);
  *result = ledger;
  return STATUS_OK;
}

void ledger_set_token_weights(Ledger *ledger, const TokenWeights *weights) {
  ledger->weighed = weights != NULL;
  if (weights != NULL) ledger->counter = *token_weights_counter(weights);
}

TokenWeights *ledger_token_weights(const Ledger *ledger, Store *store) {
  return ledger->weighed ? token_weights_find(store, &ledger->counter) : NULL;
}

Ledger *ledger_share(Ledger *ledger) {
  ledger->owners++;
  return ledger;
}

void ledger_release(Ledger *ledger) {
  assert(ledger == NULL || ledger->owners > 0);
  if (ledger == NULL || --ledger->owners > 0) return;
  Memory memory = ledger->memory;
  for (uint32_t i = 0; i < ledger->text_count; i++) {
    memory_free(&memory, ledger->texts[i].bytes, ledger->texts[i].size);
  }
  memory_free(&memory, ledger->texts, ledger->text_room * sizeof *ledger->texts);
  memory_free(&memory, ledger->runs, ledger->run_room * sizeof *ledger->runs);
  memory_free(&memory, ledger->notes, ledger->note_room * sizeof *ledger->notes);
  memory_free(&memory, ledger->keeps, ledger->keep_room * sizeof *ledger->keeps);
  map_free(&ledger->numbers);
  memory_free(&memory, ledger, sizeof *ledger);
}

/* ---- texts, each stored once ---- */

size_t ledger_text_bytes(const Ledger *ledger) { return ledger->text_bytes; }

Text ledger_text(const Ledger *ledger, uint32_t number) {
  assert(number < ledger->text_count);
  return text_plain(ledger->texts[number].bytes, ledger->texts[number].size);
}

static bool find_text(const Ledger *ledger, Text text, uint32_t *number) {
  const uint64_t *match = map_find(&ledger->numbers, hash_text(text, &ledger->key));
  if (match == NULL || !text_equal(ledger_text(ledger, (uint32_t)*match), text)) return false;
  *number = (uint32_t)*match;
  return true;
}

static Status keep_text(Ledger *ledger, Text text, uint32_t *number) {
  assert(!text.escaped);
  if (find_text(ledger, text, number)) return STATUS_OK;
  void *grown =
      memory_grow(&ledger->memory, ledger->texts, &ledger->text_room, ledger->text_count, sizeof *ledger->texts);
  if (grown == NULL) return STATUS_MEMORY;
  ledger->texts = grown;
  char *copy;
  Status status = text_copy(&ledger->memory, text, &copy);
  if (status != STATUS_OK) return status;
  status = map_put(&ledger->numbers, hash_text(text, &ledger->key), ledger->text_count);
  if (status != STATUS_OK) {
    memory_free(&ledger->memory, copy, text.size);
    return status;
  }
  ledger->texts[ledger->text_count] = (Stored){.bytes = copy, .size = text.size};
  ledger->text_bytes += text.size;
  *number = ledger->text_count++;
  return STATUS_OK;
}

/* ---- runs ---- */

Status ledger_cause(Ledger *ledger, Text author, Text reason, Cause *cause) {
  Status status = keep_text(ledger, author, &cause->author);
  return status == STATUS_OK ? keep_text(ledger, reason, &cause->reason) : status;
}

Status ledger_reserve(Ledger *ledger) {
  void *grown = memory_grow(&ledger->memory, ledger->runs, &ledger->run_room, ledger->run_count, sizeof *ledger->runs);
  if (grown == NULL) return STATUS_MEMORY;
  ledger->runs = grown;
  return STATUS_OK;
}

/* True if the entry extends the run. Only drops form long runs; a window item gets its own
   run, because its tokens are recorded only there. */
static bool continues(const LedgerRun *run, const LedgerRun *entry) {
  if (run->role == ROLE_NONE || entry->role == ROLE_NONE) return false;
  return run->action == ACTION_DROPPED && entry->action == ACTION_DROPPED && run->cause.author == entry->cause.author &&
         run->cause.reason == entry->cause.reason && run->first + run->count == entry->first;
}

void ledger_add(Ledger *ledger, Cause cause, LedgerRun entry) {
  assert(ledger->run_count < ledger->run_room);
  assert(entry.count == 1 || (entry.count > 1 && entry.action == ACTION_DROPPED));
  assert(cause.author < ledger->text_count && cause.reason < ledger->text_count);
  entry.cause = cause;
  LedgerRun *newest = ledger->run_count == 0 ? NULL : &ledger->runs[ledger->run_count - 1].run;
  if (newest != NULL && continues(newest, &entry)) {
    newest->count += entry.count;
    newest->freed += entry.freed;
  } else {
    ledger->runs[ledger->run_count++] = (Run){.run = entry, .start = ledger->entries};
  }
  ledger->entries += entry.count;
}

LedgerMark ledger_mark(const Ledger *ledger) {
  LedgerMark mark = {.runs = ledger->run_count, .entries = ledger->entries, .keeps = ledger->keep_count};
  if (mark.runs > 0) mark.newest = ledger->runs[mark.runs - 1].run;     /* later entries may extend it */
  return mark;
}

void ledger_rewind(Ledger *ledger, LedgerMark mark) {
  assert(mark.runs <= ledger->run_count && mark.entries <= ledger->entries && mark.keeps <= ledger->keep_count);
  ledger->run_count = mark.runs;
  ledger->entries = mark.entries;
  ledger->keep_count = mark.keeps;
  if (mark.runs > 0) ledger->runs[mark.runs - 1].run = mark.newest;
}

/* ---- for merging a branch ---- */

/* True if it names a message above `base`. */
static bool names_newer(const Ledger *ledger, MessageId base) {
  for (uint32_t i = 0; i < ledger->run_count; i++) {
    const LedgerRun *run = &ledger->runs[i].run;
    if (run->first + run->count - 1 > base || run->replacement > base) return true;
  }
  for (uint32_t i = 0; i < ledger->keep_count; i++) {
    if (ledger->keeps[i].id > base) return true;
  }
  return false;
}

static MessageId shifted(MessageId id, MessageId base, uint32_t shift) { return id > base ? id + shift : id; }

static int64_t weight_of(const Ledger *ledger, Store *store, MessageId first, uint32_t count) {
  int64_t tokens = 0;
  const TokenWeights *weights = ledger_token_weights(ledger, store);
  for (MessageId id = first; id < first + count; id++) tokens += token_weights_get(weights, store, id);
  return tokens;
}

static Status add_run(Ledger *to, LedgerRun run) {
  Status status = ledger_reserve(to);
  if (status == STATUS_OK) ledger_add(to, run.cause, run);
  return status;
}

/* Adds a run with new seqs; splits one that crosses the base. */
static Status add_renumbered(Ledger *to, LedgerRun run, Store *fork, uint32_t shift) {
  MessageId base = store_base(fork);
  if (run.first <= base && run.first + run.count - 1 > base) {
    LedgerRun older = run;
    older.count = base + 1 - run.first;
    older.freed = weight_of(to, fork, run.first, older.count);
    Status status = add_run(to, older);
    if (status != STATUS_OK) return status;
    run = (LedgerRun){.action = run.action, .cause = run.cause, .first = base + 1, .count = run.count - older.count,
                      .role = message_role(store_message(fork, base + 1)), .freed = run.freed - older.freed};
  }
  run.first = shifted(run.first, base, shift);
  run.replacement = shifted(run.replacement, base, shift);
  return add_run(to, run);
}

/* Copies texts, runs, kept messages and notes to an empty ledger; the numbers of texts stay equal. STATUS_MEMORY. */
static Status add_all_renumbered(Ledger *to, const Ledger *from, Store *fork, uint32_t shift) {
  Status status = STATUS_OK;
  uint32_t number;
  for (uint32_t i = 0; i < from->text_count && status == STATUS_OK; i++) {
    status = keep_text(to, ledger_text(from, i), &number);
    assert(status != STATUS_OK || number == i);
  }
  for (uint32_t i = 0; i < from->run_count && status == STATUS_OK; i++) {
    status = add_renumbered(to, from->runs[i].run, fork, shift);
  }
  for (uint32_t i = 0; i < from->keep_count && status == STATUS_OK; i++) {
    status = ledger_keep(to, from->keeps[i].cause, shifted(from->keeps[i].id, store_base(fork), shift));
  }
  for (uint32_t i = 0; i < from->note_count && status == STATUS_OK; i++) {
    Text author, note;
    ledger_note_at(from, i, &author, &note);
    status = ledger_note(to, author, note);
  }
  return status;
}

Status ledger_renumber(Ledger *ledger, Store *fork, uint32_t shift, Ledger **renumbered) {
  if (!names_newer(ledger, store_base(fork))) {
    *renumbered = ledger_share(ledger);
    return STATUS_OK;
  }
  Ledger *result;
  Status status = ledger_new(&ledger->memory, ledger->key, &result);
  if (status != STATUS_OK) return status;
  result->weighed = ledger->weighed;
  result->counter = ledger->counter;
  status = add_all_renumbered(result, ledger, fork, shift);
  if (status == STATUS_OK) *renumbered = result;
  else ledger_release(result);
  return status;
}

/* ---- forgetting ---- */

const Text FORGOTTEN_TEXT = {.bytes = "[forgotten]", .size = sizeof "[forgotten]" - 1};

static Text without(const Ledger *ledger, TextFilter filter, uint32_t number) {
  Text text = ledger_text(ledger, number);
  return filter.matches(filter.user, text) ? FORGOTTEN_TEXT : text;
}

static Status add_forgotten(Ledger *to, const Ledger *from, TextFilter filter) {
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < from->run_count && status == STATUS_OK; i++) {
    LedgerRun run = from->runs[i].run;
    status = ledger_cause(to, ledger_text(from, run.cause.author), without(from, filter, run.cause.reason), &run.cause);
    if (status == STATUS_OK) status = add_run(to, run);
  }
  for (uint32_t i = 0; i < from->keep_count && status == STATUS_OK; i++) {
    LedgerKeep keep = from->keeps[i];
    Text author = ledger_text(from, keep.cause.author);
    status = ledger_cause(to, author, without(from, filter, keep.cause.reason), &keep.cause);
    if (status == STATUS_OK) status = ledger_keep(to, keep.cause, keep.id);
  }
  for (uint32_t i = 0; i < from->note_count && status == STATUS_OK; i++) {
    status = ledger_note(to, ledger_text(from, from->notes[i].author), without(from, filter, from->notes[i].text));
  }
  return status;
}

Status ledger_forget(const Ledger *ledger, TextFilter filter, Ledger **result) {
  bool any = false;
  *result = NULL;
  for (uint32_t i = 0; i < ledger->text_count && !any; i++) any = filter.matches(filter.user, ledger_text(ledger, i));
  Status status = any ? ledger_new(&ledger->memory, ledger->key, result) : STATUS_OK;
  if (status != STATUS_OK || !any) return status;
  (*result)->weighed = ledger->weighed;
  (*result)->counter = ledger->counter;
  status = add_forgotten(*result, ledger, filter);
  if (status == STATUS_OK) return STATUS_OK;
  ledger_release(*result);
  *result = NULL;
  return status;
}

uint32_t ledger_run_count(const Ledger *ledger) { return ledger->run_count; }

LedgerRun ledger_run(const Ledger *ledger, uint32_t index) {
  assert(index < ledger->run_count);
  return ledger->runs[index].run;
}

uint32_t ledger_count(const Ledger *ledger) { return ledger->entries; }

LedgerRun ledger_run_of(const Ledger *ledger, uint32_t entry, uint32_t *place) {
  assert(entry < ledger->entries);
  uint32_t low = 0, high = ledger->run_count;      /* starts[low] <= entry < starts[high] */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (ledger->runs[middle].start <= entry) low = middle;
    else high = middle;
  }
  *place = entry - ledger->runs[low].start;
  assert(*place < ledger->runs[low].run.count);
  return ledger->runs[low].run;
}

/* ---- keeps ---- */

Status ledger_keep(Ledger *ledger, Cause cause, MessageId id) {
  assert(cause.author < ledger->text_count && cause.reason < ledger->text_count && id != 0);
  void *grown =
      memory_grow(&ledger->memory, ledger->keeps, &ledger->keep_room, ledger->keep_count, sizeof *ledger->keeps);
  if (grown == NULL) return STATUS_MEMORY;
  ledger->keeps = grown;
  ledger->keeps[ledger->keep_count++] = (LedgerKeep){.cause = cause, .id = id};
  return STATUS_OK;
}

uint32_t ledger_keep_count(const Ledger *ledger) { return ledger->keep_count; }

LedgerKeep ledger_keep_at(const Ledger *ledger, uint32_t index) {
  assert(index < ledger->keep_count);
  return ledger->keeps[index];
}

/* ---- notes ---- */

Status ledger_note(Ledger *ledger, Text author, Text note) {
  Note result;
  Status status = keep_text(ledger, author, &result.author);
  if (status == STATUS_OK) status = keep_text(ledger, note, &result.text);
  if (status != STATUS_OK) return status;
  void *grown =
      memory_grow(&ledger->memory, ledger->notes, &ledger->note_room, ledger->note_count, sizeof *ledger->notes);
  if (grown == NULL) return STATUS_MEMORY;
  ledger->notes = grown;
  ledger->notes[ledger->note_count++] = result;
  return STATUS_OK;
}

uint32_t ledger_note_count(const Ledger *ledger) { return ledger->note_count; }

void ledger_note_at(const Ledger *ledger, uint32_t index, Text *author, Text *note) {
  assert(index < ledger->note_count);
  *author = ledger_text(ledger, ledger->notes[index].author);
  *note = ledger_text(ledger, ledger->notes[index].text);
}

/* ---- invariants ---- */

void ledger_check(const Ledger *ledger) {
  uint32_t entries = 0;
  for (uint32_t i = 0; i < ledger->run_count; i++) {
    const LedgerRun *run = &ledger->runs[i].run;
    assert(ledger->runs[i].start == entries && run->count > 0 && run->first > 0);
    assert(run->count == 1 || run->action == ACTION_DROPPED);
    assert((run->action == ACTION_REPLACED) == (run->replacement != 0) && run->action != ACTION_KEPT);
    assert(run->cause.author < ledger->text_count && run->cause.reason < ledger->text_count);
    entries += run->count;
  }
  assert(entries == ledger->entries);
  (void)entries;
}
