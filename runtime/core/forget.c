#include "core/forget.h"

#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "core/conversation_data.h"

#define WORD_BYTES 4         /* shorter words of a text are not looked for in others */
#define GRAMS ((size_t)1 << 16)

typedef struct Overwrite {
  char *bytes;               /* of a message, in an arena */
  char *other;               /* what they become; after that what they were */
  size_t size;
} Overwrite;

/* A conversation with a new history. */
typedef struct Change {
  Conversation *conversation;
  History *other;            /* the new one; after that the former one */
  PolicyMemory *base;        /* of a branch: what it left with */
} Change;

struct Forgotten {
  Memory memory;
  Redact redact;
  Overwrite *overwrites;
  uint32_t overwrite_count, overwrite_room;
  Change *changes;
  uint32_t change_count, change_room;
  uint64_t *grams;           /* hashes of WORD_BYTES bytes in a row that are overwritten */
};

static Status new_forgotten(const Conversation *conversation, Redact redact, Forgotten **result) {
  Forgotten *f = memory_new(&conversation->memory, sizeof *f);
  if (f == NULL) return STATUS_MEMORY;
  *f = (Forgotten){.memory = conversation->memory, .redact = redact};
  f->grams = bitset_new(&f->memory, GRAMS);
  *result = f;
  return f->grams == NULL ? STATUS_MEMORY : STATUS_OK;
}

void forgotten_free(Forgotten *f) {
  if (f == NULL) return;
  Memory memory = f->memory;
  for (uint32_t i = 0; i < f->overwrite_count; i++) {
    Overwrite *overwrite = &f->overwrites[i];
    memset(overwrite->other, 0, overwrite->size);      /* what is forgotten stands nowhere */
    memory_free(&memory, overwrite->other, overwrite->size);
  }
  for (uint32_t i = 0; i < f->change_count; i++) {
    history_free(f->changes[i].other);
    policy_memory_release(&memory, f->changes[i].base);
  }
  memory_free(&memory, f->overwrites, f->overwrite_room * sizeof *f->overwrites);
  memory_free(&memory, f->changes, f->change_room * sizeof *f->changes);
  if (f->grams != NULL) bitset_free(&memory, f->grams, GRAMS);
  memory_free(&memory, f, sizeof *f);
}

/* ---- words ---- */

static size_t gram_at(const char *bytes) {
  uint32_t four;
  memcpy(&four, bytes, sizeof four);
  return four * 2654435761u >> 16;
}

static bool in_word(char letter) {
  unsigned char byte = (unsigned char)letter;
  return byte >= 0x80 || byte == '_' || (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
}

/* Notes each gram of the bytes that differ. */
static void note_grams(Forgotten *f, const char *before, const char *after, size_t size) {
  size_t same = 0;
  for (size_t i = 0; i < size; i++) {
    same = before[i] == after[i] ? same + 1 : 0;
    if (i + 1 >= WORD_BYTES && same < WORD_BYTES) bitset_add(f->grams, gram_at(before + i + 1 - WORD_BYTES));
  }
}

/* Notes the words that a message loses. STATUS_MEMORY. */
static Status note_words_of(Forgotten *f, Text raw) {
  char *copy = memory_new(&f->memory, raw.size);
  if (copy == NULL) return STATUS_MEMORY;
  memcpy(copy, raw.bytes, raw.size);
  f->redact(copy, raw.size);
  note_grams(f, raw.bytes, copy, raw.size);
  memset(copy, 0, raw.size);
  memory_free(&f->memory, copy, raw.size);
  return STATUS_OK;
}

/* True if a word of the text, or a part of one, may be overwritten: all its grams are noted. */
static bool quotes(void *user, Text text) {
  const Forgotten *f = user;
  for (size_t at = 0, end; at < text.size; at = end + 1) {
    bool all = true;
    for (end = at; end < text.size && in_word(text.bytes[end]); end++) {}
    for (size_t i = at; i + WORD_BYTES <= end && all; i++) all = bitset_has(f->grams, gram_at(text.bytes + i));
    if (all && end - at >= WORD_BYTES) return true;
  }
  return false;
}

static TextFilter quotes_of(const Forgotten *f) {
  return (TextFilter){.matches = quotes, .user = (void *)(uintptr_t)f};
}

/* ---- what to overwrite ---- */

/* Adds to `origins` the messages that trims and filters inserted after `id`. */
static void find_notes(const Conversation *c, MessageId id, uint64_t *origins) {
  for (uint32_t batch = 0; batch < history_count(c->history); batch++) {
    BatchKind kind = history_batch(c->history, batch).kind;
    const Ledger *ledger = history_ledger(c->history, batch);
    if (ledger == NULL || (kind != BATCH_TRIM && kind != BATCH_FILTER)) continue;
    for (uint32_t i = 0; i < ledger_run_count(ledger); i++) {
      LedgerRun run = ledger_run(ledger, i);
      if (run.action == ACTION_INSERTED && run.first > id) bitset_add(origins, store_origin(c->store, run.first));
    }
  }
}

static Status add_overwrite(Forgotten *f, char *bytes, size_t size) {
  void *grown = memory_grow(&f->memory, f->overwrites, &f->overwrite_room, f->overwrite_count, sizeof *f->overwrites);
  if (grown == NULL) return STATUS_MEMORY;
  f->overwrites = grown;
  char *copy = memory_new(&f->memory, size);
  if (copy == NULL) return STATUS_MEMORY;
  memcpy(copy, bytes, size);
  f->redact(copy, size);
  f->overwrites[f->overwrite_count++] = (Overwrite){.bytes = bytes, .other = copy, .size = size};
  note_grams(f, bytes, copy, size);
  return STATUS_OK;
}

/* Adds all versions of a message, and of the notes after it. `owns`: in bytes of its own, which a merge takes over. */
static Status add_messages(Forgotten *f, Conversation *c, MessageId id, bool owns) {
  size_t count = (size_t)store_count(c->store) + 1;
  uint64_t *origins = bitset_new(&f->memory, count);
  Status status = origins == NULL ? STATUS_MEMORY : STATUS_OK;
  if (status != STATUS_OK) return status;
  bitset_add(origins, store_origin(c->store, id));
  find_notes(c, store_origin(c->store, id), origins);
  for (MessageId at = store_next(c->store, 0); at != 0 && status == STATUS_OK; at = store_next(c->store, at)) {
    size_t size;
    char *bytes;
    if (!bitset_has(origins, store_origin(c->store, at))) continue;
    if (owns) status = conversation_redact(c, at, &bytes, &size);
    else bytes = store_bytes(c->store, at, &size);
    if (status == STATUS_OK) status = add_overwrite(f, bytes, size);
  }
  bitset_free(&f->memory, origins, count);
  return status;
}

static Status add_change(Forgotten *f, Conversation *c) {
  void *grown = memory_grow(&f->memory, f->changes, &f->change_room, f->change_count, sizeof *f->changes);
  if (grown == NULL) return STATUS_MEMORY;
  f->changes = grown;
  History *next;
  Status status = history_fork(c->history, &next);
  if (status != STATUS_OK) return status;
  f->changes[f->change_count++] = (Change){.conversation = c, .other = next};
  return history_forget(next, quotes_of(f));
}

static bool shares(const Conversation *a, const Conversation *b, MessageId id) {
  return id <= store_count(b->store) && store_has(b->store, id) &&
         message_raw(store_message(a->store, id)).bytes == message_raw(store_message(b->store, id)).bytes;
}

/* ---- the whole ---- */

void forgotten_apply(Forgotten *f) {
  for (uint32_t i = 0; i < f->change_count; i++) {
    Change *change = &f->changes[i];
    BranchBase *base = change->conversation->base;
    History *history = change->conversation->history;
    change->conversation->history = change->other;
    change->other = history;
    change->conversation->forgettings++;
    if (base == NULL) continue;
    PolicyMemory *left = base->policy_memory;      /* else the merge would take it for a change of the others' */
    base->policy_memory = change->base;
    change->base = left;
  }
  for (uint32_t i = 0; i < f->overwrite_count; i++) {
    Overwrite *overwrite = &f->overwrites[i];
    for (size_t k = 0; k < overwrite->size; k++) {
      char byte = overwrite->bytes[k];
      overwrite->bytes[k] = overwrite->other[k];
      overwrite->other[k] = byte;
    }
  }
}

void conversation_unforget(Forgotten *f) {
  for (uint32_t i = f->overwrite_count; i-- > 0;) {      /* forks may share bytes: the first copy is the oldest */
    Overwrite *overwrite = &f->overwrites[i];
    memcpy(overwrite->bytes, overwrite->other, overwrite->size);
  }
  for (uint32_t i = 0; i < f->change_count; i++) {
    Change *change = &f->changes[i];
    History *history = change->conversation->history;
    change->conversation->history = change->other;
    change->other = history;
    change->conversation->forgettings++;
    if (change->conversation->base == NULL) continue;
    PolicyMemory *now = change->conversation->base->policy_memory;
    change->conversation->base->policy_memory = change->base;
    change->base = now;
  }
}


/* Prepares what a conversation has of a message, and what came of it. `alone`: its bytes are no others'. */
static Status add(Forgotten *f, Conversation *c, MessageId id, bool alone) {
  Status status = add_messages(f, c, id, alone);
  return status == STATUS_OK ? add_change(f, c) : status;
}

static Conversation *owner_of(Ring *link) { return RING_OWNER(link, Conversation, kin); }

Status conversation_forget(Conversation *conversation, MessageId id, Text former, Redact redact, Forgotten **result) {
  Forgotten *f = NULL;
  Status status = new_forgotten(conversation, redact, &f);
  if (status == STATUS_OK && former.size > 0) status = note_words_of(f, former);
  conversation->removals++;      /* also where nothing is overwritten in the end */
  if (status == STATUS_OK) status = add(f, conversation, id, conversation->isolated);
  Ring *end = conversation->isolated ? conversation->kin.behind : &conversation->kin;
  for (Ring *link = conversation->kin.behind; link != end && status == STATUS_OK; link = link->behind) {
    if (shares(conversation, owner_of(link), id)) status = add(f, owner_of(link), id, false);
  }
  conversation_settle_redactions(conversation, status == STATUS_OK);
  if (status == STATUS_OK) conversation->redact = redact;
  if (status == STATUS_OK) forgotten_apply(f);
  if (status == STATUS_OK && result != NULL) *result = f;
  else forgotten_free(f);
  return status;
}

/* ---- merges ---- */

/* Prepares what a fork or another branch has of the messages that a branch overwrites. */
static Status add_kin(Forgotten *f, const Conversation *conversation, const Conversation *branch, Conversation *kin) {
  Status status = STATUS_OK;
  bool shares_any = false;
  for (uint32_t i = 0; i < branch->redacted_count && status == STATUS_OK; i++) {
    MessageId id = branch->redacted[i];
    if (id > branch->base->stored || !store_has(conversation->store, id) || !shares(conversation, kin, id)) continue;
    status = add_messages(f, kin, id, false);
    shares_any = true;
  }
  return shares_any && status == STATUS_OK ? add_change(f, kin) : status;
}

/* Notes the words of what the branch overwrites. */
static Status note_words(Forgotten *f, const Conversation *conversation, const Conversation *branch) {
  for (uint32_t i = 0; i < branch->redacted_count; i++) {
    MessageId id = branch->redacted[i];
    if (id > branch->base->stored || !store_has(conversation->store, id)) continue;
    Status status = note_words_of(f, message_raw(store_message(conversation->store, id)));
    if (status != STATUS_OK) return status;
  }
  return STATUS_OK;
}

Status forgotten_prepare(Conversation *conversation, const Conversation *branch, Forgotten **result) {
  Forgotten *f = NULL;
  *result = NULL;
  if (branch->redacted_count == 0 || branch->redact == NULL) return STATUS_OK;
  Status status = new_forgotten(conversation, branch->redact, &f);
  if (status == STATUS_OK) status = note_words(f, conversation, branch);
  Ring *end = conversation->isolated ? conversation->kin.behind : &conversation->kin;
  for (Ring *link = conversation->kin.behind; link != end && status == STATUS_OK; link = link->behind) {
    if (owner_of(link) != branch) status = add_kin(f, conversation, branch, owner_of(link));
  }
  if (status == STATUS_OK) *result = f;
  else forgotten_free(f);
  return status;
}

Status forgotten_from_history(const Forgotten *f, History *history) {
  return history_forget(history, quotes_of(f));
}

/* ---- undoing by a fork ----
**
** Undoes edits of a conversation by the state that a fork has kept:
**
**     conversation   1 2 3 4      after:  1 2 3      its address, its base and its versions stay
**     fork           1 2 3                1 2 3 4    to be freed */

void conversation_exchange(Conversation *conversation, Conversation *fork) {
  assert(fork->base == NULL && conversation->memory.user == fork->memory.user);
  Conversation left = *conversation;
  Ring kin = fork->kin;                      /* both stay where they are in the ring */
  *conversation = *fork;
  *fork = left;
  fork->kin = kin;
  conversation->kin = left.kin;
  conversation->base = left.base;
  conversation->compacted = left.compacted;
  conversation->removals = left.removals;
  conversation->forgettings = left.forgettings;
  conversation->version = left.version;
  fork->base = NULL;
  conversation_touch(conversation);
  assert(conversation->version > left.version);
}
