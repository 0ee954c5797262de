/*
** A plain model of chats and tasks, as a host sees them: lists of seqs, and under
** each seq a cell that says which text it is and whether that was forgotten. Chats
** that share a message share its cell, until one of them copies it: a compaction does,
** and so does a task that forgets.
*/
#ifndef EBB_TESTS_HOST_MODEL_H
#define EBB_TESTS_HOST_MODEL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 3, MARK_NAMES = 2, WINDOWS = 2, POLICIES = 2 };

typedef struct Cell {
  struct Cell *next;         /* of all that the life made */
  uint32_t label;
  bool forgotten;
} Cell;

typedef struct PlainBatch {
  uint32_t *seqs;
  uint32_t count, room, born, parent;
  uint32_t memory[POLICIES]; /* what each policy remembers; 0: nothing */
  bool pruned;
} PlainBatch;

typedef struct Name {
  bool set;
  uint32_t batch, length;
  uint64_t naming;
} Name;

typedef struct PlainChat {
  PlainBatch *batches;
  uint32_t count, room, current;
  uint32_t stored;           /* seqs given */
  Cell **cells;              /* by seq; NULL: removed */
  uint8_t *marks;            /* by seq, a bit per name */
  uint32_t cell_room;
  Name names[NAMES];
  uint64_t namings, prunings, window_edits, memory_edits, rollbacks;
  uint32_t windows[WINDOWS]; /* labels of their contents; 0: not opened yet */
  bool closed[WINDOWS];
} PlainChat;

static inline PlainBatch *plain_current(const PlainChat *chat) { return &chat->batches[chat->current]; }

static inline void *copy_of(const void *from, size_t size) {
  void *copy = malloc(size + 1);
  assert(copy != NULL);
  if (size > 0) memcpy(copy, from, size);
  return copy;
}

static inline void plain_free(PlainChat *chat) {
  for (uint32_t i = 0; i < chat->count; i++) free(chat->batches[i].seqs);
  free(chat->batches);
  free(chat->cells);
  free(chat->marks);
}

static inline PlainChat plain_copy(const PlainChat *chat) {
  PlainChat copy = *chat;
  copy.batches = copy_of(chat->batches, chat->room * sizeof *chat->batches);
  for (uint32_t i = 0; i < chat->count; i++) {
    copy.batches[i].seqs = copy_of(chat->batches[i].seqs, chat->batches[i].room * sizeof(uint32_t));
  }
  copy.cells = copy_of(chat->cells, chat->cell_room * sizeof *chat->cells);
  copy.marks = copy_of(chat->marks, chat->cell_room);
  return copy;
}

static inline uint32_t plain_store(PlainChat *chat, Cell *cell) {
  uint32_t seq = ++chat->stored;
  if (seq >= chat->cell_room) {
    chat->cell_room = chat->cell_room * 2 + 64;
    chat->cells = realloc(chat->cells, chat->cell_room * sizeof *chat->cells);
    chat->marks = realloc(chat->marks, chat->cell_room);
    assert(chat->cells != NULL && chat->marks != NULL);
  }
  chat->cells[seq] = cell;
  chat->marks[seq] = 0;
  return seq;
}

static inline void batch_put(PlainBatch *batch, uint32_t at, uint32_t seq) {
  if (batch->count == batch->room) {
    batch->room = batch->room * 2 + 16;
    batch->seqs = realloc(batch->seqs, batch->room * sizeof *batch->seqs);
    assert(batch->seqs != NULL);
  }
  memmove(batch->seqs + at + 1, batch->seqs + at, (batch->count - at) * sizeof *batch->seqs);
  batch->seqs[at] = seq;
  batch->count++;
}

/* A new current batch, with the first `length` messages of the one numbered `from`. */
static inline PlainBatch *plain_new_batch(PlainChat *chat, uint32_t from, uint32_t length) {
  if (chat->count == chat->room) {
    chat->room = chat->room * 2 + 8;
    chat->batches = realloc(chat->batches, chat->room * sizeof *chat->batches);
    assert(chat->batches != NULL);
  }
  PlainBatch made = {.parent = from};
  if (from < chat->count) memcpy(made.memory, chat->batches[from].memory, sizeof made.memory);
  for (uint32_t i = 0; i < length; i++) batch_put(&made, i, chat->batches[from].seqs[i]);
  made.born = length;
  chat->batches[chat->count] = made;
  chat->current = chat->count++;
  return plain_current(chat);
}

static inline PlainChat plain_new(void) {
  PlainChat chat = {0};
  plain_new_batch(&chat, 0, 0);
  return chat;
}

static inline void plain_append(PlainChat *chat, Cell *cell) {
  PlainBatch *batch = plain_current(chat);
  batch_put(batch, batch->count, plain_store(chat, cell));
}

static inline void plain_insert(PlainChat *chat, uint32_t at, Cell *cell) {
  PlainBatch *batch = plain_new_batch(chat, chat->current, plain_current(chat)->count);
  batch_put(batch, at, plain_store(chat, cell));
  batch->born = batch->count;
}

static inline void plain_keep_last(PlainChat *chat, uint32_t keep) {
  PlainBatch *batch = plain_new_batch(chat, chat->current, plain_current(chat)->count);
  if (keep < batch->count) {
    memmove(batch->seqs, batch->seqs + batch->count - keep, keep * sizeof *batch->seqs);
    batch->count = keep;
  }
  batch->born = batch->count;
}

static inline void plain_go_to(PlainChat *chat, uint32_t batch) {
  chat->rollbacks += chat->current != batch;
  chat->current = batch;
}

static inline void plain_remember(PlainChat *chat, uint32_t policy, uint32_t label) {
  plain_current(chat)->memory[policy] = label;
  chat->memory_edits++;
}

/* All that policies remember goes: it may quote what is forgotten. */
static inline void plain_forget_memory(PlainChat *chat) {
  for (uint32_t i = 0; i < chat->count; i++) {
    for (int policy = 0; policy < POLICIES; policy++) chat->memory_edits += chat->batches[i].memory[policy] != 0;
    memset(chat->batches[i].memory, 0, sizeof chat->batches[i].memory);
  }
}

static inline bool plain_has(const PlainChat *chat, uint32_t seq, const Cell *cell) {
  return seq <= chat->stored && chat->cells[seq] == cell;
}

static inline void plain_rollback(PlainChat *chat, uint32_t batch, uint32_t length) {
  if (length == chat->batches[batch].count) plain_go_to(chat, batch);
  else plain_new_batch(chat, batch, length);
}

static inline void plain_name(PlainChat *chat, uint32_t name) {
  chat->names[name] = (Name){.set = true, .batch = chat->current, .length = plain_current(chat)->count,
                             .naming = ++chat->namings};
}

static inline bool plain_is_named(const PlainChat *chat, uint32_t batch) {
  for (int i = 0; i < NAMES; i++) {
    if (chat->names[i].set && chat->names[i].batch == batch) return true;
  }
  return false;
}

/* Lets go of old batches; answers how many messages no batch shows any more. The cells of
   what stays are the chat's own from then on, if any went: `own` makes them. */
static inline uint32_t plain_compact(PlainChat *chat, uint32_t keep, Cell *(*own)(void *user, const Cell *),
                                     void *user) {
  bool *shown = calloc(chat->stored + 1, sizeof *shown);
  uint32_t removed = 0;
  assert(shown != NULL);
  for (uint32_t i = 0; i < chat->count; i++) {
    PlainBatch *batch = &chat->batches[i];
    if ((uint64_t)i + keep < chat->count && i != chat->current && !plain_is_named(chat, i) && !batch->pruned) {
      batch->pruned = true;
      memset(batch->memory, 0, sizeof batch->memory);
      chat->prunings++;
    }
    for (uint32_t j = 0; j < batch->count && !batch->pruned; j++) shown[batch->seqs[j]] = true;
  }
  for (uint32_t seq = 1; seq <= chat->stored; seq++) removed += chat->cells[seq] != NULL && !shown[seq];
  for (uint32_t seq = 1; seq <= chat->stored && removed > 0; seq++) {
    if (!shown[seq]) chat->marks[seq] = 0;
    chat->cells[seq] = shown[seq] ? own(user, chat->cells[seq]) : NULL;
  }
  free(shown);
  return removed;
}

/* ---- branches ---- */

/* What a chat was when a task began, and the task's copy as it will be at its end. */
typedef struct PlainBranch {
  PlainChat copy, base;
  bool pruned;
  uint32_t forgotten[16], forgotten_count;     /* seqs */
} PlainBranch;

typedef enum PlainEnd { END_LISTS, END_WINDOWS, END_MEMORY, END_JOINED } PlainEnd;

static inline bool remembered(const PlainChat *chat, const PlainChat *base) {
  return chat->memory_edits != base->memory_edits;
}

/* Where a chat rolled back and returned, what it added may be at batches other than the base's current one. */
static inline bool added_elsewhere(const PlainChat *chat, const PlainChat *base) {
  return chat->rollbacks != base->rollbacks && (remembered(chat, base) || chat->stored != base->stored);
}

/* True if a batch of the branch grew out of the one that was current at its beginning. */
static inline bool grew_out(const PlainBranch *branch, uint32_t batch) {
  while (batch >= branch->base.count) batch = branch->copy.batches[batch].parent;
  return batch == branch->base.current;
}

static inline bool lists_changed(const PlainBranch *branch) {
  const PlainChat *copy = &branch->copy, *base = &branch->base;
  return copy->count != base->count || copy->current != base->current || branch->pruned ||
         added_elsewhere(copy, base) ||
         copy->batches[base->current].count != plain_current(base)->count;
}

static inline PlainEnd memory_conflict(const PlainChat *chat, const PlainBranch *branch) {
  const PlainChat *copy = &branch->copy, *base = &branch->base;
  uint32_t from = grew_out(branch, copy->current) ? copy->current : base->current;
  if (chat->current != base->current && chat->rollbacks != base->rollbacks && remembered(copy, base)) return END_LISTS;
  for (int i = 0; i < POLICIES; i++) {
    uint32_t was = plain_current(base)->memory[i], ours = plain_current(chat)->memory[i];
    uint32_t theirs = copy->batches[from].memory[i];
    if (ours != was && theirs != was && ours != theirs) return END_MEMORY;
  }
  return END_JOINED;
}

static inline bool moved_on(const PlainChat *chat, const PlainChat *base) {
  return chat->count != base->count || chat->current != base->current || chat->prunings != base->prunings ||
         added_elsewhere(chat, base);
}

static inline PlainEnd plain_conflict(const PlainChat *chat, const PlainBranch *branch) {
  const PlainChat *copy = &branch->copy, *base = &branch->base;
  if (copy->window_edits != base->window_edits && chat->window_edits != base->window_edits) return END_WINDOWS;
  if (copy->prunings != base->prunings && chat->namings != base->namings) return END_LISTS;
  if (chat->prunings != base->prunings && copy->namings != base->namings) return END_LISTS;
  if (!lists_changed(branch)) return memory_conflict(chat, branch);
  return moved_on(chat, base) ? END_LISTS : memory_conflict(chat, branch);
}

static inline uint32_t renumbered(const PlainBranch *branch, uint32_t seq, uint32_t shift) {
  return seq > branch->base.stored ? seq + shift : seq;
}

/* One batch of the branch as the chat has it. */
static inline void batch_take(PlainBatch *to, const PlainBranch *branch, uint32_t batch, uint32_t shift) {
  const PlainBatch *from = &branch->copy.batches[batch];
  free(to->seqs);
  *to = *from;
  to->seqs = copy_of(from->seqs, from->room * sizeof(uint32_t));
  for (uint32_t i = 0; i < to->count; i++) to->seqs[i] = renumbered(branch, to->seqs[i], shift);
}

/* Gives a batch what `ours` remembers with the changes of `theirs`; true if that is new to it. */
static inline bool merge_memory(PlainBatch *to, const PlainBranch *branch, const uint32_t *ours,
                                const uint32_t *theirs) {
  uint32_t merged[POLICIES];
  const uint32_t *was = plain_current(&branch->base)->memory;
  for (int i = 0; i < POLICIES; i++) merged[i] = theirs[i] == was[i] ? ours[i] : theirs[i];
  bool differs = memcmp(to->memory, merged, sizeof merged) != 0;
  memcpy(to->memory, merged, sizeof merged);
  return differs;
}

/* The batches of the branch, in the chat by now; `ours`: what the chat remembered. */
static inline void plain_take_memory(PlainChat *chat, const PlainBranch *branch, const uint32_t *ours) {
  const PlainChat *base = &branch->base, *copy = &branch->copy;
  bool any = remembered(chat, base);
  chat->memory_edits += copy->memory_edits - base->memory_edits;
  chat->rollbacks += copy->rollbacks - base->rollbacks;
  for (uint32_t i = 0; i < copy->count; i++) {
    PlainBatch *batch = &chat->batches[i];
    bool merges = any && !batch->pruned && (i == base->current || (i >= base->count && grew_out(branch, i)));
    memcpy(batch->memory, copy->batches[i].memory, sizeof batch->memory);
    if (merges) chat->memory_edits += merge_memory(batch, branch, ours, copy->batches[i].memory);
  }
}

/* A batch of the branch behind those of the chat, with what was appended to this one `since`. */
static inline PlainBatch *batch_add(PlainChat *chat, const PlainBranch *branch, uint32_t batch, uint32_t shift,
                                    const uint32_t *since, uint32_t tail) {
  uint32_t parent = chat->current, at = chat->count;
  plain_new_batch(chat, parent, 0);
  batch_take(&chat->batches[at], branch, batch, shift);
  PlainBatch *added = &chat->batches[at];
  added->pruned = false;
  added->parent = parent;
  for (uint32_t i = 0; i < tail; i++) batch_put(added, added->count, since[i]);
  added->born = added->count;
  return added;
}

static inline void plain_take_lists(PlainChat *chat, const PlainBranch *branch, uint32_t shift) {
  const PlainChat *base = &branch->base, *copy = &branch->copy;
  uint32_t length = plain_current(base)->count, tail = plain_current(chat)->count - length;
  uint32_t *since = copy_of(plain_current(chat)->seqs + length, tail * sizeof *since);
  uint32_t ours_then[POLICIES];
  memcpy(ours_then, plain_current(chat)->memory, sizeof ours_then);
  bool grew = copy->batches[base->current].count > length;
  if (grew && shift > 0) {
    if (copy->current != base->current && !copy->batches[base->current].pruned) {
      PlainBatch *grown = batch_add(chat, branch, base->current, shift, since, tail);
      memcpy(grown->memory, ours_then, sizeof ours_then);
    }
    PlainBatch *edited = batch_add(chat, branch, copy->current, shift, since, tail);
    if (grew_out(branch, copy->current)) {
      merge_memory(edited, branch, ours_then, copy->batches[copy->current].memory);
    }
  } else {
    for (uint32_t i = 0; i < copy->count; i++) {
      if (i >= chat->count) plain_new_batch(chat, 0, 0);
      bool ours = i == base->current && !grew;
      if (ours) chat->batches[i].pruned = copy->batches[i].pruned;
      else batch_take(&chat->batches[i], branch, i, shift);
    }
    chat->current = copy->current;
    plain_take_memory(chat, branch, ours_then);
  }
  bool behind = !(grew && shift > 0) && chat->current != base->current;
  PlainBatch *batch = plain_current(chat);
  for (uint32_t i = 0; i < tail && behind; i++) batch_put(batch, batch->count, since[i]);
  free(since);
}

static inline void plain_take_names(PlainChat *chat, const PlainBranch *branch, bool as_one) {
  for (int i = 0; i < NAMES; i++) {
    Name theirs = branch->copy.names[i];
    if (!theirs.set || theirs.naming <= branch->base.namings) continue;
    bool beyond = theirs.batch >= branch->base.count ||
                  (theirs.batch == branch->base.current && theirs.length > plain_current(&branch->base)->count) ||
                  theirs.length > chat->batches[theirs.batch].count;
    if (as_one && beyond) {
      theirs.batch = chat->current;
      theirs.length = plain_current(chat)->count;
    }
    theirs.naming = ++chat->namings;
    chat->names[i] = theirs;
  }
}

/* What the chat is once the branch has come back; `own` copies a cell. */
static inline void plain_join(PlainChat *chat, PlainBranch *branch, Cell *(*own)(void *user, const Cell *),
                              void *user) {
  const PlainChat *base = &branch->base, *copy = &branch->copy;
  uint32_t shift = chat->stored - base->stored;
  bool lists = lists_changed(branch), forgets = branch->forgotten_count > 0;
  bool becomes = shift == 0 && (lists || (forgets && !moved_on(chat, base)));      /* its bytes are the branch's */
  for (uint32_t i = 0; i < branch->forgotten_count; i++) {
    uint32_t seq = branch->forgotten[i];
    bool both = seq <= base->stored && chat->cells[seq] != NULL && copy->cells[seq] != NULL;
    if (both) chat->cells[seq]->forgotten = true;
  }
  for (uint32_t seq = 1; seq <= base->stored && becomes && branch->pruned; seq++) {
    const Cell *ours = chat->cells[seq];
    if (ours != NULL && copy->cells[seq] != NULL) copy->cells[seq]->forgotten |= ours->forgotten;
  }
  bool as_one = lists && shift > 0 && copy->batches[base->current].count > plain_current(base)->count;
  if (lists) plain_take_lists(chat, branch, shift);
  if (lists) {
    for (uint32_t seq = base->stored + 1; seq <= copy->stored; seq++) {
      plain_store(chat, copy->cells[seq] == NULL || becomes ? copy->cells[seq] : own(user, copy->cells[seq]));
    }
  }
  for (uint32_t seq = 1; seq <= base->stored && becomes; seq++) chat->cells[seq] = copy->cells[seq];
  for (uint32_t seq = 1; seq <= copy->stored; seq++) {
    uint8_t changed = copy->marks[seq] ^ (seq <= base->stored ? base->marks[seq] : 0);
    uint32_t here = renumbered(branch, seq, shift);
    if (here > chat->stored) continue;
    chat->marks[here] = (uint8_t)((chat->marks[here] & ~changed) | (copy->marks[seq] & changed));
  }
  if (copy->window_edits != base->window_edits) {
    memcpy(chat->windows, copy->windows, sizeof chat->windows);
    memcpy(chat->closed, copy->closed, sizeof chat->closed);
    chat->window_edits = copy->window_edits;
  }
  if (!lists && remembered(copy, base)) {
    PlainBatch *batch = plain_current(chat);
    chat->memory_edits += merge_memory(batch, branch, batch->memory, copy->batches[base->current].memory);
  }
  plain_take_names(chat, branch, as_one);
  if (forgets) plain_forget_memory(chat);
  if (lists && !as_one) chat->prunings = copy->prunings;
}

#endif
