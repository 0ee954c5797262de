/*
** Edits of conversations that have a fork, and of drafts, while memory runs out: the k-th allocation fails, once and
** from then on. A failed edit changes nothing and succeeds when it is made again; the fork never changes.
*/
#define _GNU_SOURCE /* open_memstream */
#include "edit_kit.h"

#include "vocab_kit.h"

#include "core/list/call_index.h"
#include "core/explain.h"
#include "core/merge_branch.h"
#include "state/policy_memory.h"

/* ---- conversations ---- */

typedef struct EditRow {
  const char *before, *edit;         /* words of edit_kit.h; | is where the conversation is forked, else at the end */
} EditRow;

#define LONG "s4 u9 a9(xy) t9(x) t8(y) u3 a7(z) t2(z) a5 u6 a8(abc) t1(a) t2(b) t3(c) a4 u2 h3 u4 a6"
#define FIVE(text) text " " text " " text " " text " " text
/* So long that few edits are applied one by one. */
#define LONGEST FIVE(FIVE(LONG))
/* So long that twenty edits are few. */
#define USERS FIVE(FIVE(FIVE("u u u u u u u u u u u u")))

static const EditRow EDITS[] = {
    {"u4 a4 u4 <2 | !0", "+a4"},    {"u4 a4(x) u4 <2 e | !0", "<1"},  {"u4 a4 u4 <2 E <1 e | !1", "+u4"},
    {"u4 a4(x)", "+t4(x)"},         {"u4 a4(x) u4", "+U4(xy)"},      {"u4 a4 e", "+a4(xyz)"},
    {LONG, "=3:t4(x)"},             {LONG, "=3:t4(y)"},              {LONG, "=2:a4(xyz)"},
    {LONG, "@3:t4(x)"},             {LONG, "@6:t4(z)"},              {LONG, "@18:U4(cz)"},
    {LONG, "<7"},                   {LONG, "~"},                     {"u4 a4 u4 <2 e", "!0"},
    {LONG, "#here"},                {"u4 #one u4", "#one"},          {"u4 a4 u4 a4 <3 <2 <1", "p0"},
    {"u4 a4(x) t4(x) =1:a5(x) <2", "p0"},                            {"u4 a4 *1 *2 <1 #here", "p0"},
    {"u4 a4 u4 a4 e <3 <2", "p0"},  {"u4 a4", "*1"},                 {"u4 a4 *1 *2", "/1"},
    {"u4", "wx"},                   {"u4 wx wy", "wx"},              {"u4 wx w0(x)", "w0(x)"},
    {"u4 a4", "e"},                 {"u4 a4 <1 e", "+u4"},           {"u4 a4", "m\"a\":1"},
    {"u4 a4 m\"a\":1 <1", "m\"a\":2"},                               {LONG, "@0:s4"},
    {"u4 a4 u4", "r2"},             {"u4 a4 u4 e", "r2"},            {"u4 a4", "p0"},
    {"u4 a4 *1 &2", "*3"},          {"u4 a4 *1 &2", "/1"},           {"u4 a4(y) =1:a4(y)", "r2"},
    {"u4 a9 u4 =1:a8 =1:a7 m\"a\":\"xxxx\" <2", "F2"},
    {"u4 a9 =1:a8 | m\"a\":1 #here", "F3"},
};

static void write_visible(FILE *out, const Conversation *chat) {
  fprintf(out, "stored %u\n", (unsigned)store_count(conversation_store(chat)));
  for (uint32_t i = 0; i < visible_count(chat); i++) {
    MessageId id = visible(chat, i);
    const Message *message = conversation_message(chat, id);
    Text raw = message_raw(message);
    fprintf(out, "%u of %u, %u tokens: %.*s\n", (unsigned)id, (unsigned)store_origin(conversation_store(chat), id),
            (unsigned)message_tokens(message), (int)raw.size, raw.bytes);
    for (uint32_t k = 0; k < message_result_count(message); k++) {
      CallLink link = store_answers(conversation_store(chat), id, k);
      fprintf(out, "  answers %u.%u\n", (unsigned)link.message, (unsigned)link.call);
    }
  }
}

static void append_text(FILE *out, const Conversation *chat) {
  char *text = snapshot(chat, false);      /* which calls wait in a table depends on forks */
  const History *history = conversation_history(chat);
  Text memory = history_policy_memory(history, history_current(history));
  uint32_t batch, length;
  bool named = history_find(history, text_of("here"), &batch, &length);
  write_visible(out, chat);
  fprintf(out, "%sremembers %.*s, %u windows, %u\n", text, (int)memory.size, memory.bytes,
          (unsigned)windows_count(conversation_windows(chat)), named ? (unsigned)length : 0);
  free(text);
}

static char *text_of_chat(const Conversation *chat) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  append_text(out, chat);
  fclose(out);
  return text;
}

static void assert_text(const Conversation *chat, const char *expected, const EditRow *row, size_t k) {
  char *now = text_of_chat(chat);
  if (strcmp(now, expected) != 0) fail_msg("%s: allocation %zu failed:\n%s\nand not\n%s", row->edit, k, now, expected);
  free(now);
}

/* `isolated`: in a branch of a conversation that was edited so. */
static bool edit_fails(const EditRow *row, bool isolated, size_t k, bool once, const char *after) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, ""), *root = NULL, *fork;
  const char *behind = edits(chat, row->before);
  if (isolated) {
    root = chat;
    assert_int_equal(conversation_fork(root, &chat), STATUS_OK);
    assert_int_equal(conversation_begin_branch(chat, root, merge_memories_by_name), STATUS_OK);
  }
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  char *forked = text_of_chat(chat);
  edits(chat, behind);
  char *before = text_of_chat(chat);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = edit(chat, row->edit);
  fail.fail_at = 0;
  if (status != STATUS_OK) {
    assert_int_equal(status, STATUS_MEMORY);
    assert_text(chat, before, row, k);
    assert_int_equal(edit(chat, row->edit), STATUS_OK);
  }
  assert_text(chat, after, row, k);
  bool shared = !isolated && (*row->edit == 'r' || *row->edit == 'F');      /* forks share what is overwritten */
  if (!shared) assert_text(fork, forked, row, k);
  conversation_check(chat);
  conversation_check(fork);
  conversation_free(fork);
  conversation_free(chat);
  conversation_free(root);
  free(before);
  free(forked);
  assert_int_equal(fail.in_use, 0);
  return fail.failed > 0;
}

static void edits_beside_a_fork_are_whole_or_none(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof EDITS / sizeof *EDITS; i++) {
    Fail fail = {0};
    Conversation *chat = chat_of(&fail, "");
    edits(chat, edits(chat, EDITS[i].before));
    assert_int_equal(edit(chat, EDITS[i].edit), STATUS_OK);
    char *after = text_of_chat(chat);
    conversation_free(chat);
    for (int isolated = 0; isolated <= 1; isolated++) {
      size_t k = 1;
      while (edit_fails(&EDITS[i], isolated, k, true, after) && edit_fails(&EDITS[i], isolated, k, false, after)) k++;
    }
    free(after);
  }
}

/* ---- a branch that fails to forget ---- */

/* Versions of a message and what is remembered; the branch merges by the lists, behind them, or beside them. */
static const char VERSIONS[] = "u4 a9 u3 =1:a8 =1:a7 m\"a\":\"xxxxx\"";

/* True if a stored version of message 2, or what the current batch remembers, has its text still. */
static bool tells(const Conversation *chat) {
  const Store *store = conversation_store(chat);
  Text memory = history_policy_memory(conversation_history(chat), history_current(conversation_history(chat)));
  bool told = memory.size > 2;
  for (MessageId id = store_next(store, 0); id != 0; id = store_next(store, id)) {
    Text raw = message_raw(store_message(store, id));
    if (store_origin(store, id) == 2) told |= memchr(raw.bytes, 'x', raw.size) != NULL;
  }
  return told;
}

/* `ours`: what the conversation does while the branch is open. */
static bool branch_fails_to_forget(const char *theirs, const char *ours, size_t k, bool once) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, ""), *fork, *branch;
  bool changed, forgets = strchr(ours, 'F') != NULL;
  edits(chat, VERSIONS);
  assert_int_equal(conversation_fork(chat, &fork), STATUS_OK);
  assert_int_equal(conversation_fork(chat, &branch), STATUS_OK);
  assert_int_equal(conversation_begin_branch(branch, chat, merge_memories_by_name), STATUS_OK);
  edits(branch, theirs);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = edit(branch, "F2");
  fail.fail_at = 0;
  if (status == STATUS_OK) assert_false(tells(branch));
  else assert_true(tells(branch));
  edits(chat, ours);
  assert_int_equal(tells(fork), !forgets);
  if (forgets) assert_false(tells(branch));      /* it shares the bytes again */
  assert_int_equal(conversation_merge_branch(chat, branch, &changed), STATUS_OK);
  assert_int_equal(tells(chat), status != STATUS_OK && !forgets);
  assert_int_equal(tells(fork), status != STATUS_OK && !forgets);
  conversation_free(branch);
  conversation_check(chat);
  conversation_check(fork);
  conversation_free(fork);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static void a_branch_that_fails_to_forget_has_not_forgotten(void **state) {
  (void)state;
  static const char *const theirs[] = {"", "+u5", "<2"}, *const ours[] = {"", "F2", "+a5", "F4 +a5"};
  for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
    for (size_t j = 0; j < sizeof ours / sizeof *ours; j++) {
      size_t k = 1;
      while (branch_fails_to_forget(theirs[i], ours[j], k, true) &&
             branch_fails_to_forget(theirs[i], ours[j], k, false)) {
        k++;
      }
      assert_true(k > 8);
    }
  }
}

/* ---- drafts ---- */

/*
** The edits of a draft are words, too; positions are those of its list:
**
**     d2  k2     drops, keeps message 2         o3        drops the oldest, down to a third of the tokens
**     =2:a4      replaces message 2             i2:u4     inserts at position 2; I2:u4 inserts two there
**     b3  B      binds the thinking of the first 3 messages, or none but behind edits
**     g  G       what is guarded, as it is sent and without     s    looks again at what is changed
**     n  l  t    numbers slots, gives the list, turns           y:u4 measures a message
**     W          window tokens          c  C     commits, C with what policies remember
**     e          chooses another counter, before any edit
*/
typedef struct DraftRow {
  const char *chat, *before, *edit;
  bool free;                 /* without guards */
} DraftRow;

static const DraftRow DRAFTS[] = {
    {LONG, "", "d8", false},        {LONG, "", "d2", false},           {LONG, "", "d9", true},
    {LONG, "d8", "d2", false},      {LONG, "", "k2", false},           {LONG, "k8", "k2", false},
    {LONG, "", "o3", false},        {LONG, "d8", "o3", false},         {LONG, "", "o3", true},
    {LONG, "", "=8:a2", false},     {LONG, "", "=3:t1(x)", false},     {LONG, "B", "=16:h9", false},
    {LONG, "", "i6:u4", false},     {LONG, "", "i2:a4(z)", false},     {LONG, "", "i19:u4", false},
    {LONG, "d8 d1", "i3:u4", true}, {LONG, "B", "i1:u4", false},       {LONG, "B", "i19:h4", false},
    {LONG, "", "I6:u4", false},     {LONG, "B d8", "I1:h4", false},    {LONG, "i1:u4", "n", false},
    {LONG, "i1:u4 d9", "n", false}, {LONG, "d8 d1", "l", false},       {LONG, "d8 d1 =1:a4(xy)", "l", false},
    {LONG, "", "n", false},         {LONG, "", "t", false},            {LONG, "i1:u4", "t", false},
    {LONG, "b19", "d8", false},     {LONG, "b3", "d1", false},         {LONG, "", "b19", false},
    {LONG, "B", "d8", false},       {LONG, "B", "g", false},           {LONG, "b19", "g", false},
    {LONG, "b9 d8", "g", false},    {LONG, "", "G", false},            {LONG, "B d8", "s", false},
    {LONG, "B i1:u4 d1", "s", false},                                  {LONG, "B d8 i2:u4", "g", true},
    {LONG, "", "y:u4", false},      {LONG, "B", "y:h4", false},        {"", "", "i0:u4", false},
    {"", "", "I0:u4", false},       {"", "i0:u4", "i0:u4", false},
    {"", "I0:u4", "i1:u4", false},  {LONG, "i6:u4", "i7:u4", false},   {LONG, "i6:u4", "i6:u4", false},
    {LONG, "", "C", false},         {LONG, "d8", "C", false},          {LONG, "", "o1", false},
    {LONG, "B i1:u4", "s", false},  {LONG, "B", "g", true},            {LONG, "b3", "l", false},
    {"u4 h4 h4 u4", "b2 k0 k1 k2", "g", false},                        {"u4 h4 h4 u4", "b3 k1 k2", "g", false},
    {"u4 h4 u4 h4 u4", "B", "d3", false},                              {"u4 h4 u4 h4 u4", "B d3", "d1", false},
    {"u4 h4 u4 h4 u4", "B d1", "d2", false},                           {"u4 h4 u4 h4 u4", "B i0:u4", "=4:h9", false},
    {"u4 h4 u4 h4 u4", "B d3", "=1:h9", false},                        {"u4 h4 u4 h4 u4", "B i4:h4", "i4:h4", false},
    {"u4 h4 u4 h4 u4", "B =3:h9", "=3:a4", false},                     {"u4 h4 u4 h4 u4", "b4", "=1:a4", false},
    {LONG, "d8 d1", "c", false},
    {"wx w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) " USERS, "", "d9", false},
    {"wx w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) w0(x) h9 u h9 u", "B", "d9", false},
    {LONG, "e d8 =1:u2", "c", false},
    {LONGEST, "", "d8", false},     {LONGEST, "d8", "l", false},       {LONGEST, "=8:a2", "l", false},
    {LONGEST, "d8 =1:u2 d9", "l", true},                               {LONGEST, "d18", "o3", true},
    {"u4 h4 u4 h4 u4", "B k3", "g", true},                             {"u4 h4 u4 h4 u4", "B i2:a4", "=2:a6", false},
    {"u4 h4 h4 h4 h4 h4 h4 h4 h4 a4 u4", "B", "=9:h4", false},
    {LONG, "k8 i1:u4", "c", false}, {LONG, "=8:a2 i1:u4 d9", "c", false},
    {"e u4 a4 u4 a4 u4", "", "d1", false},                             {"e u4 a4 u4 h4 u4", "B", "=3:h9", false},
    {"e u4 a4 u4 a4 u4", "d1 i1:u4", "c", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "", "W", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W", "W", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W d1", "o3", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W d1 i0:u4 n", "o3", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W d1 i0:u4 n", "d5", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4 vx", "W", "k1", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W", "d5", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W", "o3", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W", "k1", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) u4", "W k1", "k3", false},
    {"wx wy u4 w0(x) u4 w0(y) a4 w0(x) w0(x) u4", "W i1:u4", "d6", true},
};

static MessageId at_place(Draft *draft, uint32_t place) {
  const Sequence *list = NULL;
  assert_int_equal(draft_list(draft, &list), STATUS_OK);
  return sequence_at(list, place);
}

static Status insert_two(Draft *draft, uint32_t place, const char *text) {
  Words words;
  MessageId ids[2];
  const uint32_t places[] = {place, place};
  MessageSource source = {.next = words_next, .user = &words};
  Insertion insertion = {.count = 2, .places = places, .source = &source, .ids = ids};
  words_parse(&words, text);
  words_add(&words, words.list[0]);
  reader_init(&words.reader, memory_system());
  Status status = draft_insert_all(draft, &insertion, text_of("told twice"));
  reader_free(&words.reader);
  return status;
}

static Status measure(Draft *draft, const char *text) {
  Word word = word_parse(&text);
  Reader reader;
  MessageShape shape;
  char room[JSON_ROOM];
  uint32_t tokens = 0;
  reader_init(&reader, memory_system());
  Text raw = read_word(&reader, &word, room, &shape);
  Status status = draft_measure(draft, raw, &shape, &tokens);
  reader_free(&reader);
  assert_true(status != STATUS_OK || tokens > 0);
  return status;
}

/* `id`: of the message that the word names. */
static Status edit_draft(Draft *draft, const char *word, MessageId id) {
  uint32_t number = (uint32_t)strtoul(word + 1, NULL, 10), messages, batch;
  static const uint32_t tokens[] = {5, 7, 9, 11, 13};
  const char *message = strchr(word, ':');
  const Text memory = text_of("{\"a\":1}");
  const Counter claude = counter_of(ESTIMATE_CLAUDE);
  const Sequence *list;
  const uint32_t *turns;
  uint64_t freed;
  MessageId made;
  GuardedSum guarded;
  Hold hold;
  switch (*word) {
  case 'd': return draft_drop(draft, &id, 1, text_of("old"), &freed, &hold);
  case 'k': return draft_keep(draft, id, text_of("kept"));
  case 'o': return draft_drop_oldest(draft, draft_tokens_before(draft) / number, 1, text_of("old"), &messages, &freed);
  case '=': return draft_put(draft, true, id, message + 1, &made, &hold);
  case 'i': return draft_put(draft, false, number, message + 1, &made, &hold);
  case 'I': return insert_two(draft, number, message + 1);
  case 'b': return draft_bind_thinking(draft, 0, number, NULL);
  case 'B': return draft_bind_thinking(draft, 0, 0, NULL);
  case 'g': return draft_guarded_sent(draft, &guarded);
  case 'G': return draft_guarded(draft, &guarded);
  case 's': return draft_settle_thinking(draft);
  case 'n': return draft_number_slots(draft);
  case 'l': return draft_list(draft, &list);
  case 't': return draft_turns_after(draft, &turns);
  case 'y': return measure(draft, message + 1);
  case 'W': return draft_set_window_tokens(draft, tokens);
  case 'e': return draft_recount(draft, &claude, (Cost){0});
  case 'C': return draft_commit(draft, BATCH_TRIM, text_of("trimmed"), &memory, &batch);
  default: return draft_commit(draft, BATCH_TRIM, text_of("trimmed"), NULL, &batch);
  }
}

static bool names_message(const char *word) { return strchr("dk=", *word) != NULL; }

typedef struct DraftWorld {
  Fail fail;
  Conversation *chat;
  Draft *draft;
  MessageId id;
} DraftWorld;

static void open_draft(DraftWorld *world, const DraftRow *row) {
  *world = (DraftWorld){0};
  world->chat = chat_of(&world->fail, "");
  edits(world->chat, row->chat);
  assert_int_equal(draft_new(world->chat, !row->free, &world->draft), STATUS_OK);
  assert_int_equal(draft_set_author(world->draft, text_of("policy")), STATUS_OK);
  char word[32];
  const char *text = row->before;
  for (int length; sscanf(text, " %31[^ ]%n", word, &length) == 1; text += length) {
    world->id = names_message(word) ? at_place(world->draft, (uint32_t)strtoul(word + 1, NULL, 10)) : 0;
    assert_int_equal(edit_draft(world->draft, word, world->id), STATUS_OK);
  }
  if (!names_message(row->edit)) return;
  uint32_t place = (uint32_t)strtoul(row->edit + 1, NULL, 10);
  world->id = *row->before == '\0' ? visible(world->chat, place) : at_place(world->draft, place);
}

static void close_draft(DraftWorld *world) {
  draft_check(world->draft);
  draft_free(world->draft);
  conversation_check(world->chat);
  conversation_free(world->chat);
  assert_int_equal(world->fail.in_use, 0);
}

/* What of a draft can be read without a further step of it; once it is committed, its ledger alone. */
static char *text_of_draft(const DraftWorld *world, bool committed) {
  char *text, *ledger = ledger_written(draft_ledger(world->draft));
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!committed) {
    fprintf(out, "%u messages, %llu tokens, %llu of thinking left out, %u unchanged, %u kept\n",
            (unsigned)draft_count(world->draft), (unsigned long long)draft_tokens(world->draft),
            (unsigned long long)draft_thinking_left(world->draft), (unsigned)draft_unchanged_count(world->draft),
            (unsigned)ledger_keep_count(draft_ledger(world->draft)));
  }
  fprintf(out, "%s", ledger);
  append_text(out, world->chat);
  fclose(out);
  free(ledger);
  return text;
}

static bool commits(const DraftRow *row) { return *row->edit == 'c' || *row->edit == 'C'; }

static void write_tokens(FILE *out, const DraftWorld *world) {
  for (MessageId id = 1; id <= store_count(conversation_store(world->chat)); id++) {
    fprintf(out, "%u ", (unsigned)draft_message_tokens(world->draft, id));
  }
}

static void write_end(FILE *out, DraftWorld *world, const DraftRow *row) {
  if (commits(row)) return;
  write_tokens(out, world);
  const Sequence *list;
  GuardedSum guarded;
  assert_int_equal(draft_guarded_sent(world->draft, &guarded), STATUS_OK);
  fprintf(out, "%llu guarded tokens\n", (unsigned long long)guarded.tokens);
  assert_int_equal(draft_list(world->draft, &list), STATUS_OK);
  write_list(out, list);
  write_tokens(out, world);
}

/* All that became of a draft; ends its waiting edits. */
static char *end_of_draft(DraftWorld *world, const DraftRow *row) {
  char *text, *start = text_of_draft(world, commits(row));
  size_t size;
  FILE *out = open_memstream(&text, &size);
  fprintf(out, "%s", start);
  write_end(out, world, row);
  fclose(out);
  free(start);
  return text;
}

static bool draft_fails(const DraftRow *row, size_t k, bool once, const char *before, const char *after) {
  DraftWorld world;
  open_draft(&world, row);
  world.fail.fail_at = world.fail.calls + k;
  world.fail.once = once;
  Status status = edit_draft(world.draft, row->edit, world.id);
  world.fail.fail_at = 0;
  if (status != STATUS_OK) {
    char *now = text_of_draft(&world, false);
    assert_int_equal(status, STATUS_MEMORY);
    if (strcmp(now, before) != 0)
      fail_msg("%s, %s: allocation %zu failed:\n%s\nand before\n%s", row->before, row->edit, k, now, before);
    free(now);
    draft_check(world.draft);
    assert_int_equal(edit_draft(world.draft, row->edit, world.id), STATUS_OK);
  }
  char *now = end_of_draft(&world, row);
  if (strcmp(now, after) != 0)
    fail_msg("%s, %s: allocation %zu failed:\n%s\nand not\n%s", row->before, row->edit, k, now, after);
  free(now);
  close_draft(&world);
  return world.fail.failed > 0;
}

static void edits_of_drafts_are_whole_or_none(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof DRAFTS / sizeof *DRAFTS; i++) {
    DraftWorld world;
    const DraftRow *row = &DRAFTS[i];
    open_draft(&world, row);
    char *before = text_of_draft(&world, false);
    Status status = edit_draft(world.draft, row->edit, world.id);
    if (status != STATUS_OK) fail_msg("%s, %s: %s", row->before, row->edit, status_code(status));
    char *after = end_of_draft(&world, row);
    close_draft(&world);
    size_t k = 1;
    while (draft_fails(row, k, true, before, after) && draft_fails(row, k, false, before, after)) k++;
    free(before);
    free(after);
  }
}

/* ---- other calls ---- */

static void insertions_of_none_or_of_windows(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 a4 u4");
  Draft *draft;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  const Insertion none = {0};
  assert_int_equal(draft_insert_all(draft, &none, text_of("none")), STATUS_OK);
  assert_int_equal(draft_count(draft), 3);
  assert_int_equal(insert_two(draft, 0, "w0(x)"), STATUS_GUARDED);
  assert_int_equal(draft_count(draft), 3);
  assert_int_equal(ledger_count(draft_ledger(draft)), 0);
  assert_false(draft_is_obsolete(draft, 1));
  draft_free(draft);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void thinking_weighs_no_more_than_the_request(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 h4 u4");
  Draft *draft;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  uint64_t all = draft_tokens(draft), more = all + 1;
  assert_int_equal(draft_bind_thinking(draft, 0, 2, &more), STATUS_ARGUMENT);
  assert_false(draft_binds_thinking(draft));
  assert_int_equal(draft_bind_thinking(draft, 0, 2, &all), STATUS_OK);
  assert_true(draft_thinking_left(draft) == all);
  draft_free(draft);
  conversation_free(chat);
}

/* Of a stretch, and of a message of it, which is left out; those before it are sent with theirs. */
static void thinking_of_a_stretch_is_left_out(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 h40 u4 h60 u4 h80");
  Draft *draft;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  uint64_t tokens[7];
  for (MessageId id = 1; id <= 6; id++) tokens[id] = draft_message_tokens(draft, id);
  assert_int_equal(draft_bind_thinking(draft, 2, 5, NULL), STATUS_OK);
  for (MessageId id = 1; id <= 6; id++) {
    assert_int_equal(tokens[id] - draft_message_tokens(draft, id), id == 4 ? 15 : 0);
  }
  assert_int_equal(draft_thinking_left(draft), 15);
  draft_free(draft);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

/* A vocabulary needs memory to count a text. */
static void thinking_is_weighed_once_there_is_memory(void **state) {
  (void)state;
  Fail fail = {0}, counting = {0};
  const Memory memory = memory_system(), scarce = fail_memory(&counting);
  Buffer image;
  Vocab *vocab;
  Tokenizer *tokenizer;
  build_tiny(&image);
  assert_int_equal(vocab_of_bytes(&memory, image.bytes, image.size, &vocab), STATUS_OK);
  assert_int_equal(tokenizer_new(&scarce, vocab, &tokenizer), STATUS_OK);
  vocab_release(vocab);
  Conversation *chat = chat_of(&fail, "u4 h40 u4 h60 u4 h200 u4");
  const Counter counter = counter_of_tokenizer(tokenizer);
  Draft *draft;
  GuardedSum guarded;
  assert_int_equal(draft_new(chat, true, &draft), STATUS_OK);
  assert_int_equal(draft_recount(draft, &counter, (Cost){0}), STATUS_OK);
  counting.fail_at = 1;
  assert_int_equal(draft_bind_thinking(draft, 0, 7, NULL), STATUS_MEMORY);
  assert_false(draft_binds_thinking(draft));
  counting.fail_at = 0;
  assert_int_equal(draft_bind_thinking(draft, 0, 7, NULL), STATUS_OK);
  assert_true(draft_thinking_left(draft) > 0);
  counting.fail_at = 1;
  assert_int_equal(draft_guarded_sent(draft, &guarded), STATUS_MEMORY);
  counting.fail_at = 0;
  assert_int_equal(draft_guarded_sent(draft, &guarded), STATUS_OK);
  draft_free(draft);
  conversation_free(chat);
  tokenizer_free(tokenizer);
  buffer_free(&image);
  assert_int_equal(fail.in_use + counting.in_use, 0);
}

static void explanations_are_whole_or_none(void **state) {
  (void)state;
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4 a4 u4 a4 u4");
  edits(chat, "D <3 =1:a6 d0");
  size_t in_use = fail.in_use;
  for (MessageId id = 1; id <= store_count(conversation_store(chat)); id++) {
    Status status = STATUS_MEMORY;
    for (size_t k = 1; status != STATUS_OK; k++) {
      Explanation explanation = {.memory = fail_memory(&fail)};
      fail.fail_at = fail.calls + k;
      status = explain_message(chat, id, &explanation);
      fail.fail_at = 0;
      assert_true(status == STATUS_OK || status == STATUS_MEMORY);
      explanation_free(&explanation);
      assert_int_equal(fail.in_use, in_use);
    }
  }
  uint8_t appended[8] = {0};
  const Memory memory = fail_memory(&fail);
  fail.fail_at = fail.calls + 1;
  assert_int_equal(explain_appended(chat, 1, 5, &memory, appended), STATUS_MEMORY);
  fail.fail_at = 0;
  assert_int_equal(explain_appended(chat, 1, 5, &memory, appended), STATUS_OK);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void tools_are_described_once_there_is_memory(void **state) {
  (void)state;
  static const char raw[] = "{\"role\":\"system\",\"content\":\"Tools: none\"}";
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "u4");
  MessageShape shape;
  Reader reader;
  Json json;
  Text read;
  reader_init(&reader, memory_system());
  json_open(&json, raw, sizeof raw - 1);
  assert_true(reader_message(&reader, &json, &read, &shape));
  fail.fail_at = fail.calls + 1;
  assert_int_equal(conversation_set_tools(chat, text_of("Tools:"), read, &shape), STATUS_MEMORY);
  fail.fail_at = 0;
  assert_int_equal(conversation_set_tools(chat, text_of("Tools:"), read, &shape), STATUS_OK);
  size_t in_use = fail.in_use;
  Status status = STATUS_MEMORY;
  for (size_t k = 1; status != STATUS_OK; k++) {
    fail.fail_at = fail.calls + k;
    status = conversation_describe_tools(chat);
    fail.fail_at = 0;
    assert_int_equal(visible_count(chat), status == STATUS_OK ? 2 : 1);
  }
  assert_true(fail.in_use >= in_use);
  reader_free(&reader);
  conversation_check(chat);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
}

static void no_more_windows_than_their_limit(void **state) {
  (void)state;
  Memory memory = memory_system();
  Windows *windows;
  assert_int_equal(windows_new(&memory, (HashKey){{0}}, &windows), STATUS_OK);
  Window window = {.version = 1};
  char name[16];
  for (uint32_t i = 0; i <= WINDOW_COUNT_MAX; i++) {
    snprintf(name, sizeof name, "%u", (unsigned)i);
    window.texts[WINDOW_ID] = text_of(name);
    assert_int_equal(windows_put(&windows, &window), i < WINDOW_COUNT_MAX ? STATUS_OK : STATUS_LIMIT);
  }
  Windows *others = windows_share(windows);
  assert_int_equal(windows_put(&others, &window), STATUS_LIMIT);      /* of a share, which would be a copy */
  assert_ptr_equal(others, windows);
  windows_free(others);
  assert_int_equal(windows_count(windows), WINDOW_COUNT_MAX);
  assert_int_equal(windows_find(windows, text_of("7")), 7);
  windows_free(windows);
}

/* A message with two results takes the links that it is given, the second none, behind `pairs` calls with answers. */
static bool taking_links_fails(int pairs, size_t k) {
  Fail fail = {0};
  Conversation *chat = chat_of(&fail, "a4(xy) U4(xy)");
  for (int i = 0; i < pairs; i++) edits(chat, "+a4(z) +t4(z)");
  Reader reader;
  MessageShape shape;
  MessageId id = 0;
  CallIndex index;
  CallLink found, links[] = {{1, 0}, {0, 0}};
  char room[JSON_ROOM];
  const char *text = "U6(xy)";
  Word word = word_parse(&text);
  Sequence *list;
  assert_int_equal(sequence_share(conversation_list(chat), &list), STATUS_OK);
  reader_init(&reader, memory_system());
  call_index_init(&index, fail_memory(&fail));
  assert_int_equal(call_index_find(&index, list, 1, true, 2, 0, text_of("x"), &found), STATUS_OK);
  assert_int_equal(found.message, 1);
  Text raw = read_word(&reader, &word, room, &shape);
  Place place = {.list = list, .position = 1, .replaced = 2, .calls = &index, .links = links};
  fail.fail_at = fail.calls + k;
  Status status = conversation_store_one(chat, &place, raw, false, &shape, &id);
  fail.fail_at = 0;
  if (status == STATUS_OK) {
    assert_link(chat, id, 0, 1, 0);
    assert_int_equal(store_answers(conversation_store(chat), id, 1).message, 0);
  }
  call_index_free(&index);
  reader_free(&reader);
  sequence_release(list);
  conversation_free(chat);
  assert_int_equal(fail.in_use, 0);
  return status == STATUS_MEMORY;
}

/* The table of results grows with one of the two, or with none. */
static void links_are_taken_once_there_is_memory(void **state) {
  (void)state;
  for (int pairs = 0; pairs < 40; pairs++) {
    size_t k = 1;
    while (taking_links_fails(pairs, k)) k++;
    assert_true(k > 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(insertions_of_none_or_of_windows),
                                     cmocka_unit_test(thinking_weighs_no_more_than_the_request),
                                     cmocka_unit_test(thinking_of_a_stretch_is_left_out),
                                     cmocka_unit_test(thinking_is_weighed_once_there_is_memory),
                                     cmocka_unit_test(explanations_are_whole_or_none),
                                     cmocka_unit_test(tools_are_described_once_there_is_memory),
                                     cmocka_unit_test(no_more_windows_than_their_limit),
                                     cmocka_unit_test(links_are_taken_once_there_is_memory),
                                     cmocka_unit_test(a_branch_that_fails_to_forget_has_not_forgotten),
                                     cmocka_unit_test(edits_beside_a_fork_are_whole_or_none),
                                     cmocka_unit_test(edits_of_drafts_are_whole_or_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
