/*
** What the host is told of the changes of a call, at its end: records for journals, and calls of listeners. Neither
** needs an edit to know of it: a chat is compared with what it was.
*/
#include "api/api.h"
#include "state/journal.h"

/* ---- journals ----
**
** What calls change goes to the host as records (state/journal.h), before they return. What a chat was at
** the last record is kept as a fork, with which the chat is compared, and by which a change is undone that the host
** did not take:
**
**     ebb_chat_append .. ebb_step --> api_leave --> end: compares, writes; on failure the chat is as it was */

/* Numbers of which one is another after each change. */
typedef struct JournalState {
  uint64_t version, marks, namings, prunings, windows, removals, redactions, options;
  Calibration calibration;
} JournalState;

struct ChatJournal {
  ebb_chat *chat;
  ebb_journal write;         /* NULL: the chat was read from records, and writes none yet */
  void *user;
  Ring link;                 /* in the runtime's journals, once there is `write` */
  Conversation *kept;        /* the chat as of the last record; NULL: not forked yet */
  JournalState state;        /* then */
  uint64_t sum;              /* of the last record */
  bool undone;               /* redactions may have stayed: the next record is whole */
  Buffer record;
  Conversation *next;        /* the chat as `record` makes it; NULL: no record is ready */
  uint64_t next_sum;         /* of the record that is ready */
};

static JournalState journal_state(const ebb_chat *chat) {
  const Conversation *c = chat_conversation(chat);
  HistoryCounts counts = history_counts(conversation_history(c));
  return (JournalState){.version = conversation_version(c), .marks = marks_edits(conversation_marks(c)),
                        .namings = counts.namings, .prunings = counts.prunings,
                        .windows = windows_edits(conversation_windows(c)), .removals = conversation_removals(c),
                        .redactions = quota_redactions(chat->quota), .options = chat->options_edits,
                        .calibration = conversation_calibration(c)};
}

/* Were bytes of the chat's messages overwritten, in it or in a fork, or freed? Deltas do not have that. */
static bool has_lost(const JournalState *a, const JournalState *b) {
  return a->removals != b->removals || a->redactions != b->redactions;
}

static bool is_equal(const JournalState *a, const JournalState *b) {
  return a->version == b->version && a->marks == b->marks && a->namings == b->namings &&
         a->prunings == b->prunings && a->windows == b->windows && !has_lost(a, b) &&
         a->options == b->options && a->calibration.reported == b->calibration.reported &&
         a->calibration.counted == b->calibration.counted;
}

/* ---- writing ---- */

static ebb_status make_record(ebb_chat *chat, ChatJournal *journal, const JournalState *now, uint64_t *sum) {
  bool whole = journal->kept == NULL || journal->undone || has_lost(now, &journal->state);
  bool options = whole || now->options != journal->state.options;
  Text text = chat->options_size == 0 ? text_of("{}") : text_plain(chat->options, chat->options_size);
  *sum = journal->sum;
  buffer_reset(&journal->record);
  Status status = journal_write(whole ? NULL : journal->kept, chat_conversation(chat), options ? text : text_of(""),
                                sum, &journal->record);
  return api_fail_status(chat->runtime, status, "journal");
}

/* Makes all that needs memory for the next record. */
static ebb_status ready_record(ebb_chat *chat, ChatJournal *journal) {
  JournalState now = journal_state(chat);
  assert(journal->next == NULL);
  ebb_status status = make_record(chat, journal, &now, &journal->next_sum);
  if (status != EBB_OK) return status;
  return api_fail_status(chat->runtime, conversation_fork(chat_conversation(chat), &journal->next), "journal");
}

/* Hands a record to the host, and keeps the chat as it is now. On failure the journal is as it was. */
static ebb_status write_record(ebb_chat *chat, ChatJournal *journal) {
  JournalState now = journal_state(chat);
  ebb_status status = journal->next == NULL ? ready_record(chat, journal) : EBB_OK;
  Conversation *fork = journal->next;
  journal->next = NULL;
  bool changed = journal->record.size > JOURNAL_EMPTY;      /* a rollback to the current batch does not */
  if (status == EBB_OK && changed) {
    status = journal->write(journal->user, journal->record.bytes, journal->record.size);
    if (status != EBB_OK) api_fail(chat->runtime, status, NULL, "the journal answered %s", ebb_status_name(status));
  }
  if (journal->record.capacity > ANSWER_KEPT) buffer_free(&journal->record);
  if (status != EBB_OK) {
    conversation_free(fork);
    return status;
  }
  conversation_free(journal->kept);
  journal->kept = fork;
  journal->state = now;
  if (changed) journal->sum = journal->next_sum;
  journal->undone = false;
  return EBB_OK;
}

/* Makes the conversation what it was at the last record. What was redacted since stays so; the caller of api_note
   undoes what else it has changed. */
static void undo(ebb_chat *chat, ChatJournal *journal) {
  JournalState failed = journal_state(chat);
  conversation_exchange(chat_conversation(chat), journal->kept);
  conversation_free(journal->kept);
  journal->kept = NULL;                       /* forked anew at the next call */
  journal->undone |= has_lost(&failed, &journal->state);
  journal->state = journal_state(chat);
}

static ebb_status note(ebb_chat *chat) {
  ChatJournal *journal = chat->journal;
  JournalState now = journal_state(chat);
  if (journal->write == NULL || is_equal(&now, &journal->state)) return EBB_OK;
  assert(journal->kept != NULL);
  ebb_status status = write_record(chat, journal);
  if (status != EBB_OK) undo(chat, journal);
  return status;
}

/* ---- around calls ---- */

static ebb_status begin(ebb_runtime *runtime) {
  ebb_status status = EBB_OK;
  for (Ring *link = runtime->journals.behind; link != &runtime->journals && status == EBB_OK; link = link->behind) {
    ChatJournal *journal = RING_OWNER(link, ChatJournal, link);
    if (journal->kept != NULL) continue;
    Conversation *conversation = chat_conversation(journal->chat);
    status = api_fail_status(runtime, conversation_fork(conversation, &journal->kept), "journal");
  }
  return status;
}

static ebb_status end(ebb_runtime *runtime) {
  ebb_status status = EBB_OK;
  for (Ring *link = runtime->journals.behind; link != &runtime->journals; link = link->behind) {
    ebb_status noted = note(RING_OWNER(link, ChatJournal, link)->chat);
    if (status == EBB_OK) status = noted;
  }
  return status;
}

/* Nothing changes between this and the end of the call but what a record is ready for. */
static ebb_status ready(ebb_runtime *runtime) {
  Ring *link;
  ebb_status status = EBB_OK;
  for (link = runtime->journals.behind; link != &runtime->journals && status == EBB_OK; link = link->behind) {
    ChatJournal *journal = RING_OWNER(link, ChatJournal, link);
    JournalState now = journal_state(journal->chat);
    if (!is_equal(&now, &journal->state)) status = ready_record(journal->chat, journal);
  }
  if (status == EBB_OK) return EBB_OK;
  for (link = runtime->journals.behind; link != &runtime->journals; link = link->behind) {
    ChatJournal *journal = RING_OWNER(link, ChatJournal, link);
    conversation_free(journal->next);
    journal->next = NULL;
  }
  return status;
}

static void free_journal(ChatJournal *journal) {
  if (journal == NULL) return;
  ring_remove(&journal->link);
  conversation_free(journal->kept);
  buffer_free(&journal->record);
  memory_free(&journal->chat->runtime->memory, journal, sizeof *journal);
}

static void end_journal(ebb_chat *chat) {
  free_journal(chat->journal);
  chat->journal = NULL;
}

static const JournalHooks HOOKS = {.begin = begin, .end = end, .ready = ready, .note = note, .free = end_journal};

static ebb_status new_journal(ebb_chat *chat, uint64_t sum) {
  ChatJournal *journal = memory_new(&chat->runtime->memory, sizeof *journal);
  if (journal == NULL) return api_fail_status(chat->runtime, STATUS_MEMORY, "journal");
  *journal = (ChatJournal){.chat = chat, .sum = sum, .state = journal_state(chat)};
  ring_init(&journal->link);
  buffer_init(&journal->record, chat->runtime->memory);
  chat->runtime->journal_hooks = &HOOKS;
  chat->journal = journal;
  return EBB_OK;
}

/* ---- beginning ---- */

/* Begins with a whole record. On failure the former journal goes on. */
static ebb_status start(ebb_chat *chat, ebb_journal write, void *user) {
  ChatJournal *former = chat->journal;
  ebb_status status = new_journal(chat, 0);
  if (status != EBB_OK) return status;
  ChatJournal *journal = chat->journal;
  journal->write = write;
  journal->user = user;
  status = write_record(chat, journal);
  if (status == EBB_OK) ring_add(&chat->runtime->journals, &journal->link);
  free_journal(status == EBB_OK ? former : journal);
  chat->journal = status == EBB_OK ? journal : former;
  return status;
}

static ebb_status go_on(ebb_chat *chat, ebb_journal write, void *user) {
  ChatJournal *journal = chat->journal;
  JournalState now = journal_state(chat);
  if (journal == NULL || journal->write != NULL || !is_equal(&now, &journal->state)) {
    return api_fail(chat->runtime, EBB_ARGUMENT, NULL,
                    "journal: only a chat that was read from records, and not changed since, goes on behind them");
  }
  ebb_status status = api_fail_status(chat->runtime, conversation_fork(chat_conversation(chat), &journal->kept),
                                      "journal");
  if (status != EBB_OK) return status;
  journal->write = write;
  journal->user = user;
  ring_add(&chat->runtime->journals, &journal->link);
  return EBB_OK;
}

ebb_status ebb_chat_journal(ebb_chat *chat, ebb_journal journal, void *user, int goes_on) {
  if (chat == NULL) return EBB_ARGUMENT;
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  if (journal != NULL && goes_on) return api_leave(chat->runtime, go_on(chat, journal, user));
  if (journal == NULL) end_journal(chat);
  return api_leave(chat->runtime, journal == NULL ? EBB_OK : start(chat, journal, user));
}

/* ---- reading ---- */

static ebb_status read_records(ebb_runtime *runtime, const char *records, size_t size, size_t *whole,
                               ebb_chat **result) {
  JournalEnd end;
  Buffer state;
  ebb_chat *chat;
  buffer_init(&state, runtime->memory);
  Status read = journal_read(records, size, &runtime->memory, &state, &end);
  *whole = end.whole;
  ebb_status status = read == STATUS_SHAPE
      ? api_fail(runtime, EBB_DAMAGED, NULL, "journal: byte %zu: expected %s", end.whole + 1, end.expected)
      : api_fail_status(runtime, read, "journal");
  if (status == EBB_OK) status = chat_load(runtime, state.bytes, state.size, STATE_SALVAGED, &chat);
  buffer_free(&state);
  if (status != EBB_OK) return status;
  status = new_journal(chat, end.sum);
  if (status == EBB_OK) *result = chat;
  else {
    ring_remove(&chat->link);
    chat_discard(chat);
  }
  return status;
}

ebb_status ebb_chat_read_journal(ebb_runtime *runtime, const void *records, size_t size, size_t *whole,
                                 ebb_chat **chat) {
  size_t end;
  if (runtime == NULL || (records == NULL && size > 0) || chat == NULL) return api_missing(runtime);
  if (whole == NULL) whole = &end;
  *whole = 0;
  ebb_status status = api_enter(runtime);
  if (status != EBB_OK) return status;
  return api_leave(runtime, read_records(runtime, size == 0 ? "" : records, size, whole, chat));
}

/* ---- listeners ----
**
**     ebb_chat_append .. ebb_step --> api_leave --> tell: compares, and calls */

static ChatState chat_state(const ebb_chat *chat) {
  const Conversation *conversation = chat_conversation(chat);
  const History *history = conversation_history(conversation);
  const ConversationHandle *handle = chat->handle;
  return (ChatState){.count = sequence_count(conversation_list(conversation)),
                     .window_edits = windows_edits(conversation_windows(conversation)),
                     .batch = history_current(history), .batch_count = history_count(history),
                     .over = handle->has_limit && bind_request_tokens(conversation) > handle->limit};
}

static unsigned changes_of(const ChatState *before, const ChatState *now) {
  unsigned changes = 0;
  bool batch = now->batch != before->batch || now->batch_count != before->batch_count;
  if (batch || now->count != before->count) changes |= EBB_CHANGED_MESSAGES;      /* batches grow, and nothing else */
  if (batch) changes |= EBB_CHANGED_BATCH;
  if (now->window_edits != before->window_edits) changes |= EBB_CHANGED_WINDOWS;
  if (now->over && !before->over) changes |= EBB_CHANGED_OVER_LIMIT;
  return changes;
}

/* Compares each chat that has a listener with what it was; runs at the end of a call. */
static void tell(ebb_runtime *runtime) {
  for (Ring *link = runtime->listening.behind; link != &runtime->listening; link = link->behind) {
    ebb_chat *chat = RING_OWNER(link, ebb_chat, listening);
    ChatState now = chat_state(chat);
    unsigned changes = changes_of(&chat->listener_state, &now);
    chat->listener_state = now;
    if (changes != 0) chat->listener(chat->listener_user, chat, changes);
  }
}

ebb_status ebb_chat_listen(ebb_chat *chat, ebb_listener listener, void *user) {
  if (chat == NULL) return EBB_ARGUMENT;
  ebb_status status = api_enter(chat->runtime);
  if (status != EBB_OK) return status;
  ring_remove(&chat->listening);
  chat->listener = listener;
  chat->listener_user = user;
  chat->listener_state = chat_state(chat);
  chat->runtime->tell = tell;
  if (listener != NULL) ring_add(&chat->runtime->listening, &chat->listening);
  return api_leave(chat->runtime, EBB_OK);
}
