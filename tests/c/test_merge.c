/*
** Merges of branches, row by row: what the merged conversation has, and that a merge without memory changes
** nothing and succeeds when it is made again. (test_operation.c compares random merges with a model of lists.)
** The edits of a side are words of edit_kit.h.
*/
#define _GNU_SOURCE /* open_memstream */
#include "edit_kit.h"

#include "core/merge_branch.h"
#include "state/policy_memory.h"

typedef struct Row {
  const char *name, *before, *ours, *theirs;
  const char *list;          /* the messages of the merged conversation's current batch */
  const char *memory;        /* its policy memory */
} Row;

/* Seqs 1 to 4 are from before the branch unless `before` says otherwise; then the conversation's come, then the
   branch's. */
static const Row ROWS[] = {
    {"nothing", "u4 a4 u4 a4", "+u4", "", "1 2 3 4 5", ""},
    {"both appended", "u4 a4 u4 a4", "+u4", "+a4", "1 2 3 4 6 5", ""},
    {"appended beside a cut", "u4 a4 u4 a4", "+u4", "<2 +a4", "3 4 6 5", ""},
    {"an addition and a cut of it", "u4 a4 u4 a4", "+u4", "+a4 <2 +u6", "4 6 7 5", ""},
    {"a cut alone", "u4 a4 u4 a4", "", "<2", "3 4", ""},
    {"a call and its result", "u4 a4(x) u4 a4", "+u4", "+t4(x) +a4(y) +t4(y) +a4(z)", "1 2 3 4 6 7 8 9 5", ""},
    {"waiting calls, alone", "u4 a4(x) u4 a4(y)", "", "+t4(x) +a4(ab) +t4(b) +a4(c)", "1 2 3 4 5 6 7 8", ""},
    {"a replaced call", "u4 a4(x) t4(x) a4", "+u4", "=1:a6(x) +u6", "1 6 3 4 7 5", ""},
    {"a message of the branch, replaced there", "u4 a4 u4 a4", "+u4", "+a4 =4:a6 =2:u6", "1 2 8 4 7 5", ""},
    {"a trim", "s4 u4 a4 u4", "+a4", "t1", "1 6 3 4 5", ""},
    {"a trim of what the branch added, too", "u4 a4 u4 a4", "+u4", "+u4 +a4 +u6 t5", "9 7 8 5", ""},
    {"a drop of old messages", "u4 a4 u4 a4", "+u4", "d0 d0", "3 4 5", ""},
    {"drops of old and new messages", "u4 a4 u4 a4", "+u4", "+a4 +u4 d0 d3", "2 3 4 7 5", ""},
    {"a drop of an old message, and a new one kept", "u4 a4 u4 a4", "+u4", "+u4 +a4 +u4 D", "2 3 4 6 7 8 5", ""},
    {"a drop of an old message, and another one kept", "u4 a4 a4 u4", "+u4", "D", "2 3 4 5", ""},
    {"an old message replaced by a draft", "u4 a4 u4 a4", "+u4", "R1", "1 6 3 4 5", ""},
    {"lists under three counters", "u4 a4 u4 a4", "+u4", "e <3 E <2 +a4", "3 4 6 5", ""},
    {"reports of both", "u4 a4 u4 a4 K60", "K70 +u4", "+a4 K60", "1 2 3 4 6 5", ""},
    {"a trim alone", "u4 a4 u4 a4", "", "+u4 +a4 +u6 t5", "8 6 7", ""},
    {"a trim under another counter", "u4 a4 u4 a4", "+u4", "e +u4 +a4 +u6 t5", "9 7 8 5", ""},
    {"another counter, and a cut", "u4 a4 u4 a4", "+u4 +a4", "<3 e +a4", "2 3 4 7 5 6", ""},
    {"another counter in the conversation", "u4 a4 u4 a4", "e +u4", "+a4 <3", "3 4 6 5", ""},
    {"marks of both", "u4 a4 u4 a4", "*1 *3 +u4", "*2 *3 /3 +a4 *5", "1 2 3 4 6 5", ""},
    {"marks alone", "u4 a4 u4 a4", "*1 +u4", "*2", "1 2 3 4 5", ""},
    {"windows", "u4 w0(x) u4 a4", "+u4", "wx +a4 wy wx <4", "2 3 4 6 5", ""},
    {"two marks", "u4 a4 u4 a4 *1 &2", "+u4 &3", "*2 &1 +a4 *5 &5", "1 2 3 4 6 5", ""},
    {"windows of both", "wx wz u4 w0(x) u4 a4", "+u4", "+a4 wx wy +a4 wy", "1 2 3 4 6 7 5", ""},
    {"windows beside names", "wx u4 w0(x) u4 a4", "#here +u4", "+a4 wx #there", "1 2 3 4 6 5", ""},
    {"windows alone", "u4 w0(x) u4 a4", "+u4", "wx wy", "1 2 3 4 5", ""},
    {"windows, as nothing is new", "u4 w0(x) u4 a4", "", "wx +a4", "1 2 3 4 5", ""},
    {"names of both", "u4 a4 u4 a4", "#here #both +u4", "#there #both +a4 #new <2 #cut", "4 6 5", ""},
    {"names beside an addition", "u4 a4 u4 a4", "+u4", "#there +a4 <1 #cut", "6 5", ""},
    {"names alone", "u4 a4 u4 a4", "+u4", "#there", "1 2 3 4 5", ""},
    {"names, as nothing is new", "u4 a4 u4 a4", "#here", "<3 #there", "2 3 4", ""},
    {"memories alone", "u4 a4 u4 a4", "m\"a\":1 +u4", "m\"b\":2", "1 2 3 4 5", "{\"a\":1,\"b\":2}"},
    {"a name that the branch forgot", "u4 m\"a\":1,\"b\":2", "m\"a\":1,\"b\":2,\"c\":3 +u4", "m\"a\":1", "1 2",
     "{\"a\":1,\"c\":3}"},
    {"names and memories", "u4 a4 u4 a4", "+u4 m\"a\":1", "#there m\"b\":2", "1 2 3 4 5", "{\"a\":1,\"b\":2}"},
    {"memories beside a cut", "u4 a4 u4 a4", "m\"a\":1 +u4", "<2 m\"b\":2 <1", "4 5", "{\"a\":1,\"b\":2}"},
    {"memories beside an addition", "u4 a4 u4 a4", "m\"a\":1 +u4", "+a4 m\"b\":2", "1 2 3 4 6 5", "{\"a\":1,\"b\":2}"},
    {"memories, as nothing is new", "u4 a4 u4 a4", "m\"a\":1", "<2 m\"b\":2", "3 4", "{\"a\":1,\"b\":2}"},
    {"a memory behind a return", "u4 a4 u4 a4", "m\"a\":1 +u4", "<2 !0 <3", "2 3 4 5", "{\"a\":1}"},
    {"returned to an older batch", "u4 a4 u4 a4 <3", "+u4", "!0 <2", "3 4 5", ""},
    {"grew in an older batch", "u4 a4 u4 a4 <3", "+u4", "!0 +a4", "1 2 3 4 6 5", ""},
    {"both grew, and the branch returned", "u4 a4 u4 a4 <3", "+u4 m\"a\":1", "+a4 !0 +a4", "1 2 3 4 7 5", ""},
    {"pruned", "u4 a4 u4 a4 <3", "+u4", "<2 p0", "3 4 5", ""},
    {"pruned alone, with marks of the branch", "u4 a4 u4 a4", "+u4", "*2 +a4 +u4 <1 p0", "7 5", ""},
    {"pruned twice", "u4 a4 u4 a4", "+u4 m\"a\":1", "<3 <2 p0", "3 4 5", "{\"a\":1}"},
    {"overwritten there", "u4 a4 u4 a4", "+u4", "r1 +a4", "1 2 3 4 6 5", ""},
    {"pruned with its own messages", "u4 a4 u4 a4", "+u4", "+a4 +u4 <1 p0", "7 5", ""},
    {"pruned, with marks and windows", "u4 a4 u4 a4", "*4 *1 +u4", "wx +a4 +u4 *2 <1 p0", "7 5", ""},
    {"pruned, memories", "u4 a4 u4 a4 <3", "+u4 m\"a\":1", "<2 p0 <1", "4 5", "{\"a\":1}"},
    {"pruned, as nothing is new", "u4 a4(x) u4 a4(y)", "", "+t4(x) <3 p0", "3 4 5", ""},
    {"batches under three counters", "u4 a4 u4 a4", "+u4", "e <3 <2 E +a4", "3 4 6 5", ""},
    {"a report of as much for less", "u400 u400 K300", "+u4", "<1 K300", "2 3", ""},
    {"many marks of two names", "u u u u u u u u u u u u *1 &2", "+u4", "*2 *3 *4 *5 *6 *7 *8 *9 *10 *11 *12 &3",
     "1 2 3 4 5 6 7 8 9 10 11 12 13", ""},
    {"returned to an older batch, with a memory", "u4 a4 u4 a4 <3", "m\"a\":1 +u4", "!0 <2", "3 4 5", ""},
    {"overwritten", "u4 a4 u4 a4", "+u4 r2", "r1 r4 +a4 r5", "1 2 3 4 6 5", ""},
    {"overwritten alone", "u4 a4 u4 a4", "+u4", "r1 r4", "1 2 3 4 5", ""},
    {"overwritten, as nothing is new", "u4 a4 u4 a4", "r2", "r1 <2 p0", "3 4", ""},
};

/* ---- a world ---- */

typedef struct World {
  Fail fail;
  Conversation *root;        /* of which `chat` is a branch; may be NULL */
  Conversation *chat, *branch;
} World;

static Status begin(Conversation *chat, Conversation **branch) {
  Status status = conversation_fork(chat, branch);
  if (status != STATUS_OK) return status;
  status = conversation_begin_branch(*branch, chat, merge_memories_by_name);
  if (status != STATUS_OK) conversation_free(*branch);
  return status;
}

static void open_world(World *world, const Row *row, bool nested) {
  *world = (World){0};
  world->chat = chat_of(&world->fail, "");
  edits(world->chat, row->before);
  if (nested) {
    world->root = world->chat;
    assert_int_equal(begin(world->root, &world->chat), STATUS_OK);
  }
  assert_int_equal(begin(world->chat, &world->branch), STATUS_OK);
  edits(world->branch, row->theirs);
  edits(world->chat, row->ours);
  assert_true(conversation_is_branch(world->branch, world->chat));
  assert_false(conversation_is_branch(world->chat, world->branch));
  assert_false(conversation_is_branch(world->branch, world->branch));
}

static void close_world(World *world) {
  conversation_free(world->branch);
  conversation_check(world->chat);
  conversation_free(world->chat);
  if (world->root != NULL) conversation_check(world->root);
  conversation_free(world->root);
  assert_int_equal(world->fail.in_use, 0);
}

static Status merge(World *world) {
  bool changed;
  return conversation_merge_branch(world->chat, world->branch, &changed);
}

static void write_ledgers(FILE *out, const History *history) {
  for (uint32_t i = 0; i < history_count(history); i++) {
    const Ledger *ledger = history_ledger(history, i);
    Text memory = history_policy_memory(history, i), author, note;
    fprintf(out, "batch %u remembers %.*s\n", (unsigned)i, (int)memory.size, memory.bytes);
    if (ledger == NULL) continue;
    write_ledger(out, ledger);
    for (uint32_t k = 0; k < ledger_keep_count(ledger); k++) {
      fprintf(out, "kept seq %u\n", (unsigned)ledger_keep_at(ledger, k).id);
    }
    for (uint32_t k = 0; k < ledger_note_count(ledger); k++) {
      ledger_note_at(ledger, k, &author, &note);
      fprintf(out, "%.*s says %.*s\n", (int)author.size, author.bytes, (int)note.size, note.bytes);
    }
  }
}

/* All that can be seen of the conversation, in one text, which the caller frees. */
static char *seen(const World *world, bool with_store) {
  char *text, *rest = snapshot(world->chat, with_store);
  size_t size;
  FILE *out = open_memstream(&text, &size);
  fprintf(out, "%s", rest);
  write_ledgers(out, conversation_history(world->chat));
  const Windows *windows = conversation_windows(world->chat);
  for (uint32_t i = 0; i < windows_count(windows); i++) {
    const Window *window = windows_at(windows, i);
    fprintf(out, "window %.*s of seq %u, changed at seq %u\n", (int)window->texts[WINDOW_ID].size,
            window->texts[WINDOW_ID].bytes, (unsigned)window->created, (unsigned)window->updated);
  }
  const Marks *marks = conversation_marks(world->chat);
  size_t at = 0;
  MessageId origin;
  while (marks_next(marks, text_of("pinned"), &at, &origin)) fprintf(out, "pinned seq %u\n", (unsigned)origin);
  fclose(out);
  free(rest);
  return text;
}

/* ---- what comes out ---- */

static void assert_row(const World *world, const Row *row) {
  char *list = NULL;
  size_t size;
  FILE *out = open_memstream(&list, &size);
  for (uint32_t i = 0; i < visible_count(world->chat); i++) {
    fprintf(out, "%s%u", i > 0 ? " " : "", (unsigned)visible(world->chat, i));
  }
  fclose(out);
  const History *history = conversation_history(world->chat);
  Text memory = history_policy_memory(history, history_current(history));
  if (strcmp(list, row->list) != 0) fail_msg("%s: the list is %s, not %s", row->name, list, row->list);
  if (row->memory[0] != '\0' && !text_equal(memory, text_of(row->memory)))
    fail_msg("%s: it remembers %.*s, not %s", row->name, (int)memory.size, memory.bytes, row->memory);
  free(list);
}

/* The k-th allocation of the merge fails. False: nothing was left to fail. */
static bool merge_fails(const Row *row, bool nested, size_t k, bool once, const char *whole, const char *plain) {
  World world;
  open_world(&world, row, nested);
  char *before = seen(&world, true);
  world.fail.fail_at = world.fail.calls + k;
  world.fail.once = once;
  Status status = merge(&world);
  world.fail.fail_at = 0;
  bool hit = world.fail.failed > 0;
  if (status != STATUS_OK) {
    char *now = seen(&world, true);
    assert_int_equal(status, STATUS_MEMORY);
    if (strcmp(now, before) != 0) fail_msg("%s: allocation %zu failed:\n%s\nand before\n%s", row->name, k, now, before);
    free(now);
    assert_int_equal(merge(&world), STATUS_OK);
  }
  /* Where the table of waiting calls found no room, later results look through lists. */
  char *now = seen(&world, status != STATUS_OK);
  if (strcmp(now, status == STATUS_OK ? plain : whole) != 0)
    fail_msg("%s: allocation %zu failed:\n%s\nand not\n%s", row->name, k, now, status == STATUS_OK ? plain : whole);
  free(now);
  free(before);
  close_world(&world);
  return hit;
}

static void merge_row(const Row *row, bool nested) {
  World world;
  open_world(&world, row, nested);
  assert_int_equal(merge(&world), STATUS_OK);
  assert_row(&world, row);
  char *whole = seen(&world, true), *plain = seen(&world, false);
  close_world(&world);
  size_t k = 1;
  while (merge_fails(row, nested, k, true, whole, plain) && merge_fails(row, nested, k, false, whole, plain)) k++;
  free(whole);
  free(plain);
}

static void rows_are_merged_whole_or_not_at_all(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    merge_row(&ROWS[i], false);
    merge_row(&ROWS[i], true);
  }
}

/* ---- the ledger of a merged trim ---- */

static void a_ledger_names_the_new_seqs(void **state) {
  (void)state;
  static const Row row = {.before = "u4 a4 u4 a4", .ours = "+u4", .theirs = "+u4 +a4 +u6 t5"};
  World world;
  open_world(&world, &row, false);
  int64_t freed = ledger_freed(history_ledger(conversation_history(world.branch), 1));
  assert_int_equal(merge(&world), STATUS_OK);
  const History *history = conversation_history(world.chat);
  const Ledger *ledger = history_ledger(history, history_current(history));
  char *text = ledger_written(ledger);
  assert_non_null(strstr(text, "dropped user seq 1 + 4 by seq 0, trimmer, old: "));
  assert_non_null(strstr(text, "dropped user seq 6 + 1 by seq 0, trimmer, old: "));
  assert_int_equal(ledger_freed(ledger), freed);
  assert_int_equal(ledger_keep_at(ledger, 0).id, 7);
  free(text);
  close_world(&world);
}

/* ---- conflicts ---- */

static void conflicts_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *before, *ours, *theirs;
    MergeConflict conflict;
  } rows[] = {
      {"u4 a4 u4 a4", "<2", "+u4", MERGE_CONFLICT_LISTS},
      {"u4 a4 u4 a4", "wx", "wy", MERGE_CONFLICT_WINDOWS},
      {"u4 a4 u4 a4", "m\"a\":1", "m\"a\":2", MERGE_CONFLICT_MEMORY},
      {"u4 a4 u4 a4", "m\"a\":1", "m\"a\":1", MERGE_CONFLICT_NONE},
      {"u4 a4 u4 a4 <3", "#here", "p0", MERGE_CONFLICT_LISTS},
      {"u4 a4 u4 a4 <3", "p0", "#here", MERGE_CONFLICT_LISTS},
      {"u4 a4 u4 a4 <3", "!0", "m\"a\":1", MERGE_CONFLICT_LISTS},
      {"u4 a4 u4 a4 <3", "p0", "*2", MERGE_CONFLICT_NONE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    World world;
    Row row = {.before = rows[i].before, .ours = rows[i].ours, .theirs = rows[i].theirs};
    open_world(&world, &row, false);
    char *before = seen(&world, true);
    if (conversation_merge_conflict(world.chat, world.branch) != rows[i].conflict)
      fail_msg("%s beside %s: %d", row.ours, row.theirs, (int)conversation_merge_conflict(world.chat, world.branch));
    if (rows[i].conflict != MERGE_CONFLICT_NONE) {
      assert_int_equal(merge(&world), STATUS_ARGUMENT);
      char *now = seen(&world, true);
      assert_string_equal(now, before);
      free(now);
    } else {
      assert_int_equal(merge(&world), STATUS_OK);
    }
    free(before);
    close_world(&world);
  }
}

/* An object with too many names, or another kind of value, is merged as one value. */
static void memories_are_one_value_where_names_are_too_many(void **state) {
  (void)state;
  char many[2048] = "{\"z\":0";
  size_t size = strlen(many);
  for (int i = 0; i <= MEMORY_NAMES_MAX; i++) size += (size_t)sprintf(many + size, ",\"%d\":1", i);
  strcpy(many + size, "}");
  const char *rows[][3] = {{"{}", "{\"a\":1}", many}, {many, "{\"a\":1}", "{}"}, {"{}", many, "{\"a\":1}"},
                           {"{}", "{\"a\":1}", "[1]"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Buffer merged;
    bool conflict;
    buffer_init(&merged, memory_system());
    assert_int_equal(merge_memories_by_name(text_of(rows[i][0]), text_of(rows[i][1]), text_of(rows[i][2]), &merged,
                                            &conflict), STATUS_OK);
    assert_true(conflict);
    assert_true(text_equal(text_plain(merged.bytes, merged.size), text_of(rows[i][2])));
    buffer_free(&merged);
  }
}

static void names_of_both_stand_in_their_order(void **state) {
  (void)state;
  Buffer merged;
  bool conflict;
  buffer_init(&merged, memory_system());
  assert_int_equal(merge_memories_by_name(text_of("{}"), text_of("{\"b\":1,\"d\":2}"),
                                          text_of("{\"c\":3,\"a\":4,\"e\":5}"), &merged, &conflict), STATUS_OK);
  assert_false(conflict);
  assert_true(text_equal(text_plain(merged.bytes, merged.size),
                         text_of("{\"a\":4,\"b\":1,\"c\":3,\"d\":2,\"e\":5}")));
  buffer_free(&merged);
}

static void a_branch_begins_whole_or_not_at_all(void **state) {
  (void)state;
  static const Row row = {.before = "u4 a4(x) u4 a4 #here wx *2 m\"a\":1 e <3", .ours = "", .theirs = ""};
  Status status = STATUS_MEMORY;
  for (size_t k = 1; status != STATUS_OK; k++) {
    World world;
    Conversation *other;
    open_world(&world, &row, false);
    char *before = seen(&world, true);
    world.fail.fail_at = world.fail.calls + k;
    status = begin(world.chat, &other);
    world.fail.fail_at = 0;
    char *now = seen(&world, true);
    assert_string_equal(now, before);
    assert_true(status == STATUS_OK || status == STATUS_MEMORY);
    if (status == STATUS_OK) conversation_free(other);
    free(now);
    free(before);
    close_world(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_merged_whole_or_not_at_all), cmocka_unit_test(a_ledger_names_the_new_seqs),
      cmocka_unit_test(conflicts_are_refused),
      cmocka_unit_test(memories_are_one_value_where_names_are_too_many),
      cmocka_unit_test(names_of_both_stand_in_their_order),
      cmocka_unit_test(a_branch_begins_whole_or_not_at_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
