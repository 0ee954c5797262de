/*
** Random lives of a host against a plain model (host_model.h): chats, forks, streamed
** answers, tasks that wait, sleep, end, fail and are cancelled, windows, marks, checkpoints, what policies
** remember, forgetting, compaction, saves and loads, while memory fails now and then. After each call one
** chat is compared with what it should be; every save loads, to an equal digest.
** SEED=n repeats a run, LIFE=n one life of it (TELL=1 names them), CALLS=n sets its length,
** LIFE_CALLS=n that of a life, THREADS=n how many live at once.
*/
#include "api_kit.h"

#include <pthread.h>

#include "host_model.h"
#include "thread_jumps.h"

#ifdef __SANITIZE_THREAD__
enum { THREADS_USUAL = 8 };
#else
enum { THREADS_USUAL = 1 };
#endif
enum { LIFE_USUAL = 2000 };

enum { PIECE = 4, PIECES = 2 };   /* bytes of a streamed text's pieces, and how many it has */
enum { CHATS = 6, TASKS = 6, LIST_MAX = 40, BATCHES_MAX = 40, ACTIONS = 200 };

typedef enum Edit {
  EDIT_APPEND, EDIT_INSERT, EDIT_KEEP_LAST, EDIT_ROLLBACK, EDIT_ROLLBACK_TO, EDIT_NAME, EDIT_MARK, EDIT_UNMARK,
  EDIT_FORGET, EDIT_WINDOW, EDIT_CLOSE, EDIT_COMPACT, EDIT_REMEMBER, EDITS
} Edit;

typedef struct Drawn {
  Edit edit;
  uint32_t a, b, label;
} Drawn;

/* What becomes of a task's branch: an edit of its script, or a message that others forget. */
typedef struct Action {
  bool forgets;
  Drawn drawn;
  uint32_t seq;
  const Cell *cell;
} Action;

typedef struct LifeChat {
  ebb_chat *chat;            /* NULL: no such chat */
  PlainChat plain;
  uint32_t streamed;         /* the label of the open stream; 0: none */
  uint32_t pieces;           /* that have come of its text */
} LifeChat;

typedef struct LifeTask {
  ebb_task *task;            /* NULL: no such task */
  LifeChat *chat;
  PlainBranch start;         /* what the branch is at the beginning */
  PlainBranch branch;        /* and at the end, after all actions */
  Action actions[ACTIONS];
  uint32_t action_count;
  uint32_t done;             /* edits that the script has made */
  uint32_t others[TASKS];    /* the same of all tasks, when its script ended */
  bool waits, fails, cancelled;
  bool shaken;               /* a trim may have run when others forgot: it ends in conflict then */
  bool starved;              /* memory failed while it lived: it may end so, also in a later slice */
} LifeTask;

typedef struct Life {
  Host host;
  ebb_runtime *runtime;
  uint64_t seed, chance;
  uint64_t calls, most, kinds[20];
  uint32_t labels, removed;
  Cell *cells;
  bool failing;              /* memory fails in this call */
  LifeChat chats[CHATS];
  LifeTask tasks[TASKS];
} Life;

/* cmocka's assertions belong to one thread. */
#define ensure(life, condition)                                                             \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "%s:%d: LIFE=%llu: %s: call %llu: %s\n", __FILE__, __LINE__,            \
              (unsigned long long)(life)->seed, #condition, (unsigned long long)(life)->calls, \
              ebb_last_error((life)->runtime)->message);                                     \
      abort();                                                                              \
    }                                                                                       \
  } while (0)

static uint32_t life_below(Life *life, uint32_t n) { return (uint32_t)(test_random(&life->chance) % n); }
static bool life_one_in(Life *life, uint32_t n) { return life_below(life, n) == 0; }

static Cell *new_cell(Life *life, uint32_t label, bool forgotten) {
  Cell *cell = copy_of(&(Cell){.next = life->cells, .label = label, .forgotten = forgotten}, sizeof *cell);
  life->cells = cell;
  return cell;
}

static Cell *own_cell(void *user, const Cell *cell) { return new_cell(user, cell->label, cell->forgotten); }

/* ---- comparing ---- */

static void same_message(Life *life, ebb_chat *chat, const PlainChat *plain, uint32_t index) {
  ebb_message message = {.size = sizeof message};
  char text[32];
  uint32_t seq = plain_current(plain)->seqs[index];
  const Cell *cell = plain->cells[seq];
  ensure(life, ebb_chat_message(chat, index, &message) == EBB_OK);
  ensure(life, message.seq == seq);
  snprintf(text, sizeof text, "m%07u", (unsigned)cell->label);
  if (cell->forgotten) ensure(life, message.text.bytes[0] == '-');
  else ensure(life, strcmp(message.text.bytes, text) == 0);
}

static void same_list(Life *life, ebb_chat *chat, const PlainChat *plain) {
  uint32_t count = plain_current(plain)->count;
  ensure(life, ebb_chat_count(chat) == count);
  for (uint32_t i = 0; i < count; i++) {
    if (count < 12 || life_one_in(life, 3) || i + 2 > count) same_message(life, chat, plain, i);
  }
}

static const char *const POLICY_TEXTS[] = {"p0", "p1"};

/* Remembers a number; told 0, it fails with the number that it remembers. */
static const char POLICY[] = "return { options = { n = { type = 'integer', default = 0 } }, "
                             "trim = function(draft, budget, options) "
                             "if options.n == 0 then error('remembers ' .. (draft.memory.n or 0) .. '.') end "
                             "draft.memory.n = options.n end }";

static ebb_status remember(ebb_chat *chat, uint32_t policy, uint32_t label) {
  char options[80];
  snprintf(options, sizeof options, "{\"budget\":1000000,\"options\":{\"n\":%u}}", (unsigned)label);
  return trim(chat, POLICY_TEXTS[policy], options, NULL);
}

static void same_memory(Life *life, ebb_chat *chat, const PlainChat *plain) {
  char wanted[40];
  for (uint32_t i = 0; i < POLICIES; i++) {
    snprintf(wanted, sizeof wanted, "remembers %u.", (unsigned)plain_current(plain)->memory[i]);
    ensure(life, remember(chat, i, 0) == EBB_POLICY);
    ensure(life, strstr(ebb_last_error(life->runtime)->message, wanted) != NULL);
  }
}

static void same_past(Life *life, const LifeChat *chat) {
  ebb_chat *fork;
  uint32_t batch = life_below(life, chat->plain.count);
  PlainChat then = chat->plain;
  then.current = batch;
  ensure(life, ebb_chat_fork(chat->chat, &fork) == EBB_OK);
  ebb_status status = ebb_chat_rollback(fork, batch);
  ensure(life, status == (then.batches[batch].pruned ? EBB_OUT_OF_RANGE : EBB_OK));
  if (status == EBB_OK) same_list(life, fork, &then);
  if (status == EBB_OK) same_memory(life, fork, &then);
  ebb_chat_free(fork);
}

static void add(char *text, size_t *size, const char *more, long long number) {
  *size += (size_t)snprintf(text + *size, 8192 - *size, more, number);
}

/* What a save says of marks, checkpoints and windows. */
static void same_save(Life *life, const PlainChat *plain, const char *saved) {
  static const char *const marks[] = {"kept", "old"}, *const names[] = {"one", "three", "two"};
  char text[8192];
  size_t size = 0;
  add(text, &size, "\"marks\":{", 0);
  for (int mark = 0, some = 0; mark < MARK_NAMES; mark++) {
    bool any = false;
    for (uint32_t seq = 1; seq <= plain->stored; seq++) {
      if (!(plain->marks[seq] >> mark & 1)) continue;
      if (!any) size += (size_t)snprintf(text + size, sizeof text - size, "%s\"%s\":[", some++ ? "," : "", marks[mark]);
      add(text, &size, any ? ",%lld" : "%lld", seq);
      any = true;
    }
    if (any) add(text, &size, "]", 0);
  }
  add(text, &size, "}", 0);
  ensure(life, strstr(saved, text) != NULL);
  for (int i = 0; i < NAMES; i++) {
    if (!plain->names[i].set) continue;
    snprintf(text, sizeof text, "[\"%s\",%u,%u]", names[i], (unsigned)plain->names[i].batch,
             (unsigned)plain->names[i].length);
    ensure(life, strstr(saved, text) != NULL);
  }
  for (int i = 0; i < WINDOWS; i++) {
    if (plain->windows[i] == 0) continue;
    snprintf(text, sizeof text, "\"content\":\"c%u\"", (unsigned)plain->windows[i]);
    ensure(life, strstr(saved, text) != NULL);
  }
}

/* A copy of the chat by way of its save. */
static ebb_chat *reload(Life *life, ebb_chat *chat, const PlainChat *plain) {
  ebb_text saved;
  ebb_chat *loaded;
  char before[65], after[65];
  ensure(life, ebb_chat_save(chat, &saved) == EBB_OK);
  same_save(life, plain, saved.bytes);
  char *copy = copy_of(saved.bytes, saved.size);
  ensure(life, ebb_chat_load(life->runtime, copy, saved.size, &loaded) == EBB_OK);
  free(copy);
  ensure(life, ebb_chat_digest(chat, before) == EBB_OK && ebb_chat_digest(loaded, after) == EBB_OK);
  ensure(life, strcmp(before, after) == 0);
  return loaded;
}

/* Behind the last message. */
static void same_stream(Life *life, const LifeChat *chat) {
  ebb_message message = {.size = sizeof message};
  char text[32];
  ebb_status status = ebb_chat_message(chat->chat, ebb_chat_count(chat->chat), &message);
  ensure(life, status == (chat->streamed == 0 ? EBB_OUT_OF_RANGE : EBB_OK));
  if (chat->streamed == 0) return;
  snprintf(text, sizeof text, "m%07u", (unsigned)chat->streamed);
  text[PIECE * chat->pieces] = '\0';
  ensure(life, message.partial == 1 && strcmp(message.text.bytes, text) == 0);
}

static void same_chat(Life *life, const LifeChat *chat) {
  ensure(life, ebb_chat_batch_count(chat->chat) == chat->plain.count);
  ensure(life, ebb_chat_batch(chat->chat) == chat->plain.current);
  same_list(life, chat->chat, &chat->plain);
  same_stream(life, chat);
  if (life_one_in(life, 3)) same_memory(life, chat->chat, &chat->plain);
  if (life_one_in(life, 4)) same_past(life, chat);
  if (life_one_in(life, 6)) {
    ebb_chat *loaded = reload(life, chat->chat, &chat->plain);
    same_list(life, loaded, &chat->plain);
    same_memory(life, loaded, &chat->plain);
    ebb_chat_free(loaded);
  }
}

/* ---- edits: done by the host, or written into a script ---- */

static const char *const NAME_TEXTS[] = {"one", "three", "two"};
static const char *const MARK_TEXTS[] = {"kept", "old"};
static const char *const WINDOW_TEXTS[] = {"todo", "log"};

static Drawn draw_edit(Life *life, const PlainChat *plain) {
  static const Edit often[] = {EDIT_APPEND, EDIT_APPEND, EDIT_APPEND, EDIT_INSERT, EDIT_KEEP_LAST, EDIT_ROLLBACK,
                               EDIT_ROLLBACK_TO, EDIT_NAME, EDIT_MARK, EDIT_MARK, EDIT_UNMARK, EDIT_FORGET, EDIT_WINDOW,
                               EDIT_CLOSE, EDIT_COMPACT, EDIT_REMEMBER, EDIT_REMEMBER};
  uint32_t count = plain_current(plain)->count;
  Drawn drawn = {.edit = often[life_below(life, sizeof often / sizeof *often)], .label = ++life->labels};
  if (count > LIST_MAX) drawn.edit = EDIT_KEEP_LAST;
  bool needs_message = drawn.edit == EDIT_MARK || drawn.edit == EDIT_UNMARK || drawn.edit == EDIT_FORGET;
  if (count == 0 && needs_message) drawn.edit = EDIT_APPEND;
  switch (drawn.edit) {
  case EDIT_INSERT: drawn.a = life_below(life, count + 1); break;
  case EDIT_KEEP_LAST: drawn.a = life_below(life, count > LIST_MAX ? LIST_MAX : count + 1); break;
  case EDIT_ROLLBACK: drawn.a = life_below(life, plain->count); break;
  case EDIT_ROLLBACK_TO: case EDIT_NAME: drawn.a = life_below(life, NAMES); break;
  case EDIT_MARK: case EDIT_UNMARK: drawn.b = life_below(life, MARK_NAMES); drawn.a = life_below(life, count); break;
  case EDIT_FORGET: drawn.a = life_below(life, count); break;
  case EDIT_WINDOW: case EDIT_CLOSE: drawn.a = life_below(life, WINDOWS); break;
  case EDIT_COMPACT: drawn.a = 1 + life_below(life, 4); break;
  case EDIT_REMEMBER: drawn.a = life_below(life, POLICIES); break;
  default: break;
  }
  if (drawn.edit == EDIT_ROLLBACK && plain->batches[drawn.a].pruned) drawn.a = plain->current;
  bool no_window = drawn.edit == EDIT_CLOSE && (plain->windows[drawn.a] == 0 || plain->closed[drawn.a]);
  bool no_name = drawn.edit == EDIT_ROLLBACK_TO && !plain->names[drawn.a].set;
  if (no_window || no_name) drawn.edit = EDIT_APPEND;
  return drawn;
}

/* A message that chats and tasks share, and which edits each task had made when it was forgotten. */
typedef struct Forgetting {
  uint32_t seq;
  Cell *cell;
  uint32_t done[TASKS];
} Forgetting;

static void host_forgets(Life *life, uint32_t seq, Cell *cell);

/* `branch` NULL: the host's own edit. */
static void plain_do(Life *life, PlainChat *plain, PlainBranch *branch, Drawn drawn) {
  uint32_t seq = plain_current(plain)->count > drawn.a ? plain_current(plain)->seqs[drawn.a] : 0;
  switch (drawn.edit) {
  case EDIT_APPEND: plain_append(plain, new_cell(life, drawn.label, false)); break;
  case EDIT_INSERT: plain_insert(plain, drawn.a, new_cell(life, drawn.label, false)); break;
  case EDIT_KEEP_LAST: plain_keep_last(plain, drawn.a); break;
  case EDIT_ROLLBACK: plain_go_to(plain, drawn.a); break;
  case EDIT_ROLLBACK_TO: plain_rollback(plain, plain->names[drawn.a].batch, plain->names[drawn.a].length); break;
  case EDIT_NAME: plain_name(plain, drawn.a); break;
  case EDIT_MARK: plain->marks[seq] |= (uint8_t)(1u << drawn.b); break;
  case EDIT_UNMARK: plain->marks[seq] &= (uint8_t)~(1u << drawn.b); break;
  case EDIT_FORGET:
    if (branch == NULL) {
      host_forgets(life, seq, plain->cells[seq]);
      break;
    }
    plain->cells[seq] = new_cell(life, plain->cells[seq]->label, true);
    branch->forgotten[branch->forgotten_count++] = seq;
    plain_forget_memory(plain);
    memset(plain_current(&branch->base)->memory, 0, sizeof plain->batches->memory);
    break;
  case EDIT_WINDOW:
    plain->windows[drawn.a] = drawn.label;
    plain->closed[drawn.a] = false;
    plain->window_edits++;
    break;
  case EDIT_CLOSE:
    plain->closed[drawn.a] = true;
    plain->window_edits++;
    break;
  case EDIT_REMEMBER: plain_remember(plain, drawn.a, drawn.label); break;
  default: break;
  }
}

static ebb_status host_do(Life *life, LifeChat *chat, Drawn drawn) {
  char json[160], message[64];
  int size = snprintf(message, sizeof message, "{\"role\":\"user\",\"content\":\"m%07u\"}", (unsigned)drawn.label);
  const PlainChat *plain = &chat->plain;
  bool open = plain->windows[drawn.a % WINDOWS] != 0 && !plain->closed[drawn.a % WINDOWS];
  switch (drawn.edit) {
  case EDIT_APPEND: return ebb_chat_append(chat->chat, message, (size_t)size);
  case EDIT_INSERT:
    snprintf(json, sizeof json, "{\"operation\":\"insert\",\"position\":%u,\"messages\":[%.*s]}", (unsigned)drawn.a,
             size, message);
    return apply(chat->chat, json);
  case EDIT_KEEP_LAST:
    snprintf(json, sizeof json, "{\"operation\":\"truncate\",\"keepLast\":%u}", (unsigned)drawn.a);
    return apply(chat->chat, json);
  case EDIT_ROLLBACK: return ebb_chat_rollback(chat->chat, drawn.a);
  case EDIT_ROLLBACK_TO: return ebb_chat_rollback_to(chat->chat, NAME_TEXTS[drawn.a]);
  case EDIT_NAME: return ebb_chat_checkpoint(chat->chat, NAME_TEXTS[drawn.a]);
  case EDIT_MARK: return ebb_chat_mark(chat->chat, drawn.a, MARK_TEXTS[drawn.b]);
  case EDIT_UNMARK: return ebb_chat_unmark(chat->chat, drawn.a, MARK_TEXTS[drawn.b]);
  case EDIT_FORGET: return ebb_chat_forget(chat->chat, drawn.a);
  case EDIT_WINDOW:
    size = snprintf(json, sizeof json, open ? "{\"content\":\"c%u\"}" : "{\"content\":\"c%u\",\"item\":false}",
                    (unsigned)drawn.label);
    return (open ? ebb_window_update : ebb_window_open)(chat->chat, WINDOW_TEXTS[drawn.a], json, (size_t)size);
  case EDIT_CLOSE: return ebb_window_close(chat->chat, WINDOW_TEXTS[drawn.a], NULL);
  case EDIT_COMPACT: return ebb_chat_compact(chat->chat, drawn.a, &life->removed);
  case EDIT_REMEMBER: return remember(chat->chat, drawn.a, drawn.label);
  default: break;
  }
  ensure(life, false);
  return EBB_ARGUMENT;
}

/* The same edit as a line of a script. */
static void script_do(const PlainChat *plain, Drawn drawn, char *out, size_t room) {
  bool open = plain->windows[drawn.a % WINDOWS] != 0 && !plain->closed[drawn.a % WINDOWS];
  unsigned at = drawn.a + 1, label = drawn.label;
  switch (drawn.edit) {
  case EDIT_APPEND: snprintf(out, room, "chat:append { role = 'user', content = 'm%07u' }\n", label); break;
  case EDIT_INSERT: snprintf(out, room, "chat:insert(%u, { role = 'user', content = 'm%07u' })\n", at, label); break;
  case EDIT_KEEP_LAST: snprintf(out, room, "chat:truncate { keep_last = %u }\n", (unsigned)drawn.a); break;
  case EDIT_ROLLBACK: snprintf(out, room, "chat:rollback(%u)\n", (unsigned)drawn.a); break;
  case EDIT_ROLLBACK_TO: snprintf(out, room, "chat:rollback '%s'\n", NAME_TEXTS[drawn.a]); break;
  case EDIT_NAME: snprintf(out, room, "chat:checkpoint '%s'\n", NAME_TEXTS[drawn.a]); break;
  case EDIT_MARK: snprintf(out, room, "chat:mark(%u, '%s')\n", at, MARK_TEXTS[drawn.b]); break;
  case EDIT_UNMARK: snprintf(out, room, "chat:unmark(%u, '%s')\n", at, MARK_TEXTS[drawn.b]); break;
  case EDIT_FORGET: snprintf(out, room, "chat:forget(%u)\n", at); break;
  case EDIT_WINDOW:
    if (open) snprintf(out, room, "chat.windows:get('%s'):update { content = 'c%u' }\n", WINDOW_TEXTS[drawn.a], label);
    else snprintf(out, room, "chat.windows:open { id = '%s', content = 'c%u', item = false }\n",
                  WINDOW_TEXTS[drawn.a], label);
    break;
  case EDIT_CLOSE: snprintf(out, room, "chat.windows:get('%s'):close()\n", WINDOW_TEXTS[drawn.a]); break;
  case EDIT_COMPACT: snprintf(out, room, "chat:prune { keep = %u }\n", (unsigned)drawn.a); break;
  case EDIT_REMEMBER:
    snprintf(out, room, "assert(chat:trim { budget = 1000000, policy = { name = '%s', trim = function(draft) "
             "draft.memory.n = %u end } })\n", POLICY_TEXTS[drawn.a], label);
    break;
  default: out[0] = '\0'; break;
  }
}

/* ---- calls ---- */

static LifeChat *some_chat(Life *life) {
  for (;;) {
    LifeChat *chat = &life->chats[life_below(life, CHATS)];
    if (chat->chat != NULL) return chat;
  }
}

static LifeChat *free_chat(Life *life) {
  for (int i = 0; i < CHATS; i++) {
    if (life->chats[i].chat == NULL) return &life->chats[i];
  }
  return NULL;
}

static void fail_memory_soon(Life *life) {
  life->failing = life_one_in(life, 25);
  life->host.heap.failed = life->host.heap.calls = 0;
  life->host.heap.fail_at = life->failing ? 1 + life_below(life, life_one_in(life, 2) ? 12 : 300) : 0;
  life->host.heap.once = life_one_in(life, 2);
}

static void memory_is_back(Life *life) {
  life->host.heap.fail_at = 0;
  for (int i = 0; i < TASKS; i++) life->tasks[i].starved |= life->host.heap.failed > 0;
}

/* Did the call succeed? If not, it was for want of memory. */
static bool went(Life *life, ebb_status status) {
  bool failed = life->host.heap.failed > 0;
  memory_is_back(life);
  ensure(life, status == EBB_OK || (status == EBB_MEMORY && failed));
  return status == EBB_OK;
}

static void do_edit(Life *life) {
  LifeChat *chat = some_chat(life);
  Drawn drawn = draw_edit(life, &chat->plain);
  if (chat->plain.count > BATCHES_MAX) drawn = (Drawn){.edit = EDIT_COMPACT, .a = 1};
  fail_memory_soon(life);
  if (!went(life, host_do(life, chat, drawn))) return;
  if (drawn.edit == EDIT_COMPACT) ensure(life, plain_compact(&chat->plain, drawn.a, own_cell, life) == life->removed);
  else plain_do(life, &chat->plain, NULL, drawn);
}

static ebb_status settle_or_drop(Life *life, LifeChat *chat) {
  ebb_status status = EBB_OK;
  bool settles = !life_one_in(life, 4);
  if (settles) status = ebb_chat_stream_settle(chat->chat, NULL, 0);
  else ebb_chat_stream_drop(chat->chat);
  if (status != EBB_OK) return status;
  if (settles) plain_append(&chat->plain, new_cell(life, chat->streamed, false));
  chat->streamed = chat->pieces = 0;
  return EBB_OK;
}

static void do_stream(Life *life) {
  LifeChat *chat = some_chat(life);
  char text[32];
  snprintf(text, sizeof text, "m%07u", (unsigned)chat->streamed);
  fail_memory_soon(life);
  if (chat->streamed == 0) {
    if (went(life, ebb_chat_stream_begin(chat->chat, "{\"role\":\"user\"}", 15))) chat->streamed = ++life->labels;
  } else if (chat->pieces < PIECES) {
    const char *piece = text + PIECE * chat->pieces;
    if (went(life, ebb_chat_stream_add(chat->chat, piece, PIECE))) chat->pieces++;
  } else {
    went(life, settle_or_drop(life, chat));
  }
}

static void branch_free(PlainBranch *branch) {
  plain_free(&branch->copy);
  plain_free(&branch->base);
}

static void end_task(LifeTask *task) {
  branch_free(&task->branch);
  branch_free(&task->start);
  *task = (LifeTask){0};
}

static void do_fork(Life *life) {
  LifeChat *chat = some_chat(life), *fork = free_chat(life);
  if (fork == NULL) return;
  fail_memory_soon(life);
  if (went(life, ebb_chat_fork(chat->chat, &fork->chat))) fork->plain = plain_copy(&chat->plain);
}

/* The chat goes on as what its save says. */
static void do_reload(Life *life) {
  LifeChat *chat = some_chat(life);
  for (int i = 0; i < TASKS; i++) {
    if (life->tasks[i].chat == chat) return;
  }
  ebb_chat *loaded = reload(life, chat->chat, &chat->plain);
  ebb_chat_free(chat->chat);
  chat->chat = loaded;
  chat->streamed = chat->pieces = 0;         /* it is in no save */
  for (uint32_t seq = 1; seq <= chat->plain.stored; seq++) {
    if (chat->plain.cells[seq] != NULL) chat->plain.cells[seq] = own_cell(life, chat->plain.cells[seq]);
  }
}

static void do_free(Life *life) {
  LifeChat *chat = some_chat(life);
  if (free_chat(life) != NULL) return;
  ebb_chat_free(chat->chat);
  for (int i = 0; i < TASKS; i++) {
    if (life->tasks[i].chat == chat) end_task(&life->tasks[i]);
  }
  plain_free(&chat->plain);
  *chat = (LifeChat){0};
}

/* ---- tasks ---- */

static void branch_do(Life *life, PlainBranch *branch, Drawn drawn) {
  if (drawn.edit != EDIT_COMPACT) {
    plain_do(life, &branch->copy, branch, drawn);
    return;
  }
  uint64_t prunings = branch->copy.prunings;
  bool removed = plain_compact(&branch->copy, drawn.a, own_cell, life) > 0;
  branch->pruned |= removed || branch->copy.prunings != prunings;
}

static PlainBranch branch_copy(const PlainBranch *branch) {
  PlainBranch copy = *branch;
  copy.copy = plain_copy(&branch->copy);
  copy.base = plain_copy(&branch->base);
  return copy;
}

static void branch_forgets(PlainBranch *branch, uint32_t seq, const Cell *cell) {
  if (!plain_has(&branch->copy, seq, cell)) return;
  plain_forget_memory(&branch->copy);
  memset(plain_current(&branch->base)->memory, 0, sizeof branch->base.batches->memory);
}

/* Makes all actions anew. */
static void replay(Life *life, LifeTask *task) {
  branch_free(&task->branch);
  task->branch = branch_copy(&task->start);
  for (uint32_t i = 0; i < task->action_count; i++) {
    const Action *action = &task->actions[i];
    if (action->forgets) branch_forgets(&task->branch, action->seq, action->cell);
    else branch_do(life, &task->branch, action->drawn);
  }
}

/* Puts a forgetting behind the edits that the task had made. */
static void forget_in_task(Life *life, LifeTask *task, const Forgetting *forgetting, uint32_t done) {
  uint32_t at = 0;
  for (uint32_t edits = 0; at < task->action_count; at++) {
    if (!task->actions[at].forgets && ++edits > done) break;
  }
  task->shaken |= at < task->action_count && task->actions[at].drawn.edit == EDIT_REMEMBER;
  ensure(life, task->action_count < ACTIONS);
  memmove(task->actions + at + 1, task->actions + at, (task->action_count - at) * sizeof *task->actions);
  task->actions[at] = (Action){.forgets = true, .seq = forgetting->seq, .cell = forgetting->cell};
  task->action_count++;
  replay(life, task);
}

/* `joins`: the task that brings it back; NULL: the host forgets. */
static void forget_in_all(Life *life, const LifeTask *joins, const Forgetting *forgetting) {
  forgetting->cell->forgotten = true;
  for (int i = 0; i < CHATS; i++) {
    LifeChat *chat = &life->chats[i];
    if (joins != NULL && joins->chat == chat) continue;      /* the merge does that */
    if (chat->chat != NULL && plain_has(&chat->plain, forgetting->seq, forgetting->cell)) {
      plain_forget_memory(&chat->plain);
    }
  }
  for (int i = 0; i < TASKS; i++) {
    LifeTask *task = &life->tasks[i];
    if (task != joins && task->task != NULL) forget_in_task(life, task, forgetting, forgetting->done[i]);
  }
}

static void host_forgets(Life *life, uint32_t seq, Cell *cell) {
  Forgetting forgetting = {.seq = seq, .cell = cell};
  for (int i = 0; i < TASKS; i++) forgetting.done[i] = life->tasks[i].done;
  forget_in_all(life, NULL, &forgetting);
}

/* at(task, edits) from scripts; with {task}: it ends, and its branch joins before any other script goes on. */
static ebb_status note_place(void *user, const char *arguments, size_t size, ebb_sink *result) {
  Life *life = user;
  unsigned task, done;
  (void)size, (void)result;
  if (sscanf(arguments, "[%u,%u]", &task, &done) == 2) {
    life->tasks[task].done = done;
  } else if (sscanf(arguments, "[[%u]", &task) == 1) {
    for (int i = 0; i < TASKS; i++) life->tasks[task].others[i] = life->tasks[i].done;
  }
  return EBB_OK;
}

/* One edit, and the note that it is made. Where it matters whether a forgetting comes before or after it, no slice ends
   between the two: a function of sort's cannot yield, which calls it once. */
static size_t write_edit(const LifeTask *task, unsigned slot, Drawn drawn, unsigned number, char *out, size_t room) {
  bool is_whole = drawn.edit == EDIT_REMEMBER || drawn.edit == EDIT_COMPACT || drawn.edit == EDIT_FORGET;
  size_t size = (size_t)snprintf(out, room, "%s", is_whole ? "table.sort({1, 2}, function()\n" : "");
  script_do(&task->branch.copy, drawn, out + size, room - size);
  size += strlen(out + size);
  const char *end = is_whole ? " return false end)" : "";
  return size + (size_t)snprintf(out + size, room - size, "at(%u, %u)%s\n", slot, number, end);
}

/* A script of some edits with a request among them; the branch is as it will be at the end. */
static void write_script(Life *life, LifeTask *task, char *source, size_t room) {
  uint32_t edits = life_below(life, 6), before = life_below(life, edits + 1);
  unsigned slot = (unsigned)(task - life->tasks);
  PlainBranch *branch = &task->branch;
  size_t size = (size_t)snprintf(source, room, "local chat = ...\n"
                                 "local last <close> = setmetatable({%u}, {__close = at})\n", slot);
  for (uint32_t i = 0; i <= edits; i++) {
    const char *asks = life_one_in(life, 3) ? "request { timer = 2 }\n" : "request {}\n";
    if (i == before) size += (size_t)snprintf(source + size, room - size, "%s", asks);
    if (i == edits) break;
    Drawn drawn = draw_edit(life, &branch->copy);
    if (drawn.edit == EDIT_COMPACT && !life_one_in(life, 3)) drawn.edit = EDIT_APPEND;
    size += write_edit(task, slot, drawn, i + 1, source + size, room - size);
    task->actions[task->action_count++] = (Action){.drawn = drawn};
    branch_do(life, branch, drawn);
  }
  task->fails = life_one_in(life, 5);
  if (task->fails) snprintf(source + size, room - size, "error 'no'\n");
}

static void do_start(Life *life) {
  LifeTask *task = &life->tasks[life_below(life, TASKS)];
  char source[4096];
  if (task->task != NULL) return;
  task->chat = some_chat(life);
  task->branch = (PlainBranch){.copy = plain_copy(&task->chat->plain), .base = plain_copy(&task->chat->plain)};
  task->start = branch_copy(&task->branch);
  write_script(life, task, source, sizeof source);
  fail_memory_soon(life);
  ebb_task *made = NULL;
  if (!went(life, ebb_task_script(task->chat->chat, "life", source, strlen(source), NULL, 0, &made))) end_task(task);
  else task->task = made;
}

static LifeTask *task_of(Life *life, const ebb_event *event) {
  for (int i = 0; i < TASKS; i++) {
    if (life->tasks[i].task == event->task) return &life->tasks[i];
  }
  ensure(life, false);
  return NULL;
}

static void take_done(Life *life, LifeTask *task) {
  PlainChat *plain = &task->chat->plain;
  ensure(life, !task->fails && plain_conflict(plain, &task->branch) == END_JOINED);
  for (uint32_t i = 0; i < task->branch.forgotten_count; i++) {
    uint32_t seq = task->branch.forgotten[i];
    bool both = seq <= task->branch.base.stored && plain->cells[seq] != NULL && task->branch.copy.cells[seq] != NULL;
    Forgetting forgetting = {.seq = seq, .cell = both ? plain->cells[seq] : NULL};
    memcpy(forgetting.done, task->others, sizeof forgetting.done);
    if (both) forget_in_all(life, task, &forgetting);
  }
  bool shrinks = task->branch.pruned && plain->stored > task->branch.base.stored;
  plain_join(plain, &task->branch, own_cell, life);
  if (shrinks) plain_compact(plain, UINT32_MAX, own_cell, life);
  life->kinds[17]++;
}

static void take_event(Life *life, const ebb_event *event) {
  LifeTask *task = task_of(life, event);
  if (event->kind == EBB_EVENT_REQUEST) {
    task->waits = true;
    return;
  }
  if (event->kind == EBB_EVENT_DONE) {
    take_done(life, task);
  } else if (task->shaken && strstr(event->json.bytes, "while it was being trimmed") != NULL) {
    life->kinds[19]++;
  } else if (event->status == EBB_CONFLICT) {
    ensure(life, !task->fails && plain_conflict(&task->chat->plain, &task->branch) != END_JOINED);
    life->kinds[18]++;
  } else {
    ensure(life, (task->fails && event->status == EBB_SCRIPT) || (event->status == EBB_MEMORY && task->starved) ||
                 (task->cancelled && event->status == EBB_CANCELLED));
    life->kinds[19]++;
  }
  ebb_task_free(event->task);
  end_task(task);
}

static void do_step(Life *life) {
  ebb_event event = {.size = sizeof event};
  fail_memory_soon(life);
  ebb_status status = ebb_step(life->runtime, EBB_NO_LIMIT, life_one_in(life, 2) ? EBB_NO_LIMIT : 3000);
  bool failed = life->host.heap.failed > 0;
  memory_is_back(life);
  ensure(life, status == EBB_OK || status == EBB_MORE || (failed && status == EBB_MEMORY));
  while ((status = ebb_next_event(life->runtime, &event)) == EBB_OK) take_event(life, &event);
  ensure(life, status == EBB_NONE);
}

static void do_answer(Life *life) {
  LifeTask *task = &life->tasks[life_below(life, TASKS)];
  if (task->task == NULL || !task->waits) return;
  fail_memory_soon(life);
  ebb_status status = ebb_answer(task->task, "true", 4);
  if (went(life, status)) task->waits = false;
}

static void do_stop(Life *life) {
  LifeTask *task = &life->tasks[life_below(life, TASKS)];
  if (task->task == NULL) return;
  if (life_one_in(life, 2)) {
    ebb_task_free(task->task);
    end_task(task);
    return;
  }
  if (life_one_in(life, 2)) ebb_task_stop(task->task);
  else ensure(life, ebb_task_cancel(task->task) == EBB_OK);
  task->cancelled = true;
  do_step(life);
}

/* ---- a life ---- */

static void one_call(Life *life) {
  static void (*const calls[])(Life *) = {do_edit, do_fork, do_reload, do_free, do_start, do_step, do_answer, do_stop,
                                        do_stream};
  static const uint8_t often[] = {0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 4, 5, 5, 5, 6, 6, 6, 7, 8, 8, 8};
  uint32_t which = often[life_below(life, sizeof often)];
  life->calls++;
  life->kinds[which]++;
  calls[which](life);
  same_chat(life, some_chat(life));
}

static void begin(Life *life) {
  life->host = (Host){.now = 1700000000000};
  ebb_config config = host_config(&life->host);
  ensure(life, ebb_runtime_new(&config, &life->runtime) == EBB_OK);
  ensure(life, ebb_chat_new(life->runtime, NULL, 0, &life->chats[0].chat) == EBB_OK);
  life->chats[0].plain = plain_new();
  ensure(life, ebb_register(life->runtime, "at", note_place, life, 0) == EBB_OK);
  for (int i = 0; i < POLICIES; i++) ensure(life, load_policy(life->runtime, POLICY_TEXTS[i], POLICY) == EBB_OK);
}

static void end(Life *life) {
  for (int i = 0; i < CHATS; i++) {
    if (life->chats[i].chat != NULL) same_chat(life, &life->chats[i]);
    if (life->chats[i].chat != NULL) plain_free(&life->chats[i].plain);
  }
  for (int i = 0; i < TASKS; i++) {
    if (life->tasks[i].task != NULL) end_task(&life->tasks[i]);
  }
  ebb_runtime_free(life->runtime);
  if (life->host.heap.in_use != 0) {
    fprintf(stderr, "%zu bytes were never freed\n", life->host.heap.in_use);
    abort();
  }
  for (Cell *cell = life->cells, *next; cell != NULL; cell = next) {
    next = cell->next;
    free(cell);
  }
}

typedef struct Lives {
  uint64_t chance, calls, kinds[20];
  pthread_t thread;
} Lives;

static uint64_t number_of(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void *live(void *user) {
  Life *life = user;
  begin(life);
  if (getenv("TELL") != NULL) fprintf(stderr, "LIFE=%llu\n", (unsigned long long)life->seed);
  while (life->calls < life->most) one_call(life);
  end(life);
  return NULL;
}

/* One life after another, until there were so many calls. Each has a thread of its own. */
static void *live_on(void *user) {
  Lives *lives = user;
  uint64_t length = number_of("LIFE_CALLS", LIFE_USUAL);
  for (uint64_t done = 0; done < lives->calls; done += length) {
    Life *life = calloc(1, sizeof *life);
    pthread_t thread;
    life->chance = life->seed = number_of("LIFE", test_random(&lives->chance));
    life->most = lives->calls - done < length ? lives->calls - done : length;
    assert_int_equal(pthread_create(&thread, NULL, live, life), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 20; i++) lives->kinds[i] += life->kinds[i];
    free(life);
  }
  return NULL;
}

static void random_lives_agree_with_a_plain_model(void **state) {
  static Lives lives[64];
  uint64_t threads = number_of("THREADS", THREADS_USUAL), seed = test_seed(), kinds[20] = {0};
  (void)state;
  assert_in_range(threads, 1, 64);
  for (uint64_t i = 0; i < threads; i++) {
    lives[i] = (Lives){.chance = seed + i * 1000003, .calls = number_of("CALLS", 6000) / threads};
    assert_int_equal(pthread_create(&lives[i].thread, NULL, live_on, &lives[i]), 0);
  }
  for (uint64_t i = 0; i < threads; i++) {
    pthread_join(lives[i].thread, NULL);
    for (int k = 0; k < 20; k++) kinds[k] += lives[i].kinds[k];
  }
  printf("swept: %llu forks, %llu reloads, %llu pieces of streams, %llu tasks, of which %llu joined, "
         "%llu in conflict, %llu failed\n",
         (unsigned long long)kinds[1], (unsigned long long)kinds[2], (unsigned long long)kinds[8],
         (unsigned long long)kinds[4], (unsigned long long)kinds[17], (unsigned long long)kinds[18],
         (unsigned long long)kinds[19]);
  assert_true(kinds[17] > 0 && kinds[18] > 0 && kinds[19] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_lives_agree_with_a_plain_model),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
