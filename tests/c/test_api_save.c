/*
** Saving: what is read back is what was saved, whatever had been done; what is
** damaged is refused. SEED=n repeats a run, LIVES=n (1) makes it so many times as long.
*/
#include "api_lives.h"

/* Reads back what is saved: digest and bytes are equal, and both go on alike. */
static ebb_chat *check_saved(ebb_runtime *runtime, ebb_chat *chat) {
  char one[65], other[65];
  ebb_text saved;
  ebb_chat *loaded;
  must(ebb_chat_save(chat, &saved));
  char *copy = malloc(saved.size);
  size_t size = saved.size;
  memcpy(copy, saved.bytes, size);
  must(ebb_chat_load(runtime, copy, size, &loaded));
  must(ebb_chat_save(loaded, &saved));
  if (saved.size != size || memcmp(saved.bytes, copy, size) != 0)
    fail_msg("%.*s\nis not\n%s", (int)size, copy, saved.bytes);
  must(ebb_chat_digest(chat, one));
  must(ebb_chat_digest(loaded, other));
  assert_string_equal(one, other);
  assert_int_equal(ebb_chat_tokens(chat), ebb_chat_tokens(loaded));
  free(copy);
  return loaded;
}

static int lives(void) { return getenv("LIVES") != NULL ? atoi(getenv("LIVES")) : 1; }

/* Edits a chat, and now and then goes on with what was saved of it. */
static void live(ebb_runtime *runtime) {
  const char *options = "{\"encoding\":\"bytes4\",\"tools\":[{\"name\":\"rooms\",\"description\":\"free rooms\"}]}";
  ebb_chat *chat;
  must(ebb_chat_new(runtime, options, strlen(options), &chat));
  for (int i = 0; i < 400; i++) {
    edit(runtime, chat);
    if (i % 10 != 9) continue;
    ebb_chat *loaded = check_saved(runtime, chat);
    ebb_chat_free(chat);
    chat = loaded;
  }
  ebb_chat_free(chat);
}

static void chats_come_back_as_they_were(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  if (getenv("SEED") != NULL) seed = (uint32_t)atoi(getenv("SEED"));
  print_message("SEED=%u\n", (unsigned)seed);
  host_open(&host, &runtime);
  must(load_policy(runtime, "remembers", REMEMBERS));
  for (int i = 0; i < lives(); i++) live(runtime);
  host_close(&host, runtime);
}

/* Goes on with the loaded one and the saved one alike: their digests stay equal. */
static void what_comes_back_goes_on_alike(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  host_open(&host, &runtime);
  must(load_policy(runtime, "remembers", REMEMBERS));
  for (int round = 0; round < 20 * lives(); round++) {
    ebb_chat *chat;
    char one[65], other[65];
    must(ebb_chat_new(runtime, NULL, 0, &chat));
    for (int i = 0; i < 40; i++) edit(runtime, chat);
    ebb_chat *loaded = check_saved(runtime, chat);
    uint32_t again = seed;
    int64_t time = host.now;
    for (int i = 0; i < 20; i++) edit(runtime, chat);
    seed = again;
    host.now = time;
    for (int i = 0; i < 20; i++) edit(runtime, loaded);
    must(ebb_chat_digest(chat, one));
    must(ebb_chat_digest(loaded, other));
    assert_string_equal(one, other);
    ebb_chat_free(chat);
    ebb_chat_free(check_saved(runtime, loaded));
    ebb_chat_free(loaded);
  }
  host_close(&host, runtime);
}

static const char *const SMALL = "{\"ebb\":1,\"options\":{},\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{"
                                 "\"role\":\"user\",\"content\":\"b\"}],"
                                 "\"origins\":[],\"moved\":[],\"answers\":[],\"batches\":[{\"parent\":-1,"
                                 "\"parentLength\":0,\"operation\":\"create\","
                                 "\"description\":\"\",\"timestamp\":5,\"born\":0,\"count\":2,\"put\":[0,1,2]},"
                                 "{\"parent\":0,\"parentLength\":2,\"operation\":\"truncate\",\"description\":\"\","
                                 "\"timestamp\":6,\"born\":1,\"count\":1,"
                                 "\"keep\":[1,1],\"put\":[],\"ledger\":{\"runs\":[[\"dropped\",\"p\",\"r\",1,1,0,"
                                 "\"user\",4]],\"keeps\":[],\"notes\":[]},"
                                 "\"memory\":{\"p\":{\"cut\":1}}}],"
                                 "\"current\":1,\"checkpoints\":[[\"c\",0,1]],\"marks\":{\"pinned\":[2]},"
                                 "\"calibration\":[0,0]}";

/* One piece of the text in another's place. */
static void damages_are_found(void **state) {
  (void)state;
  static const struct { const char *was, *is; ebb_status status;
  } damages[] = {
      {"\"ebb\":1", "\"ebb\":3", EBB_UNKNOWN_VERSION},
      {"\"ebb\":1", "\"ebb\":2", EBB_DAMAGED},      /* without a digest */
      {"\"ebb\":1", "\"ebb\":0", EBB_DAMAGED},
      {"\"ebb\":1", "\"ebc\":1", EBB_DAMAGED},
      {"\"origins\":[]", "\"origins\":[[2,2]]", EBB_DAMAGED},
      {"\"origins\":[]", "\"origins\":[[3,1]]", EBB_DAMAGED},
      {"\"origins\":[]", "\"origins\":[[2,1,1]]", EBB_DAMAGED},
      {"\"moved\":[]", "\"moved\":[[2,1,0,0]]", EBB_DAMAGED},
      {"\"moved\":[]", "\"moved\":[[2,2,1,0]]", EBB_DAMAGED},
      {"\"answers\":[]", "\"answers\":[[1,0,0]]", EBB_DAMAGED},
      {"\"role\":\"user\"", "\"role\":\"usr\"", EBB_ROLE},
      {"\"parent\":-1", "\"parent\":0", EBB_DAMAGED},
      {"\"parent\":0", "\"parent\":1", EBB_DAMAGED},
      {"\"parentLength\":2", "\"parentLength\":3", EBB_DAMAGED},
      {"\"truncate\"", "\"trunkate\"", EBB_DAMAGED},
      {"\"born\":1", "\"born\":2", EBB_DAMAGED},
      {"\"count\":1", "\"count\":2", EBB_DAMAGED},
      {"\"keep\":[1,1]", "\"keep\":[1,2]", EBB_DAMAGED},
      {"\"keep\":[1,1]", "\"keep\":[1,1,0,1]", EBB_DAMAGED},
      {"\"put\":[0,1,2]", "\"put\":[0,1,3]", EBB_DAMAGED},
      {"\"put\":[0,1,2]", "\"put\":[0,1,1,1,1,1]", EBB_DAMAGED},
      {"\"put\":[0,1,2]", "\"put\":[1,1,2]", EBB_DAMAGED},
      {"\"put\":[]", "\"put\":[0,2,1]", EBB_DAMAGED},
      {"\"dropped\"", "\"lost\"", EBB_DAMAGED},
      {",1,1,0,\"user\"", ",2,2,0,\"user\"", EBB_DAMAGED},
      {",1,1,0,\"user\"", ",1,1,1,\"user\"", EBB_DAMAGED},
      {"\"current\":1", "\"current\":2", EBB_DAMAGED},
      {"[\"c\",0,1]", "[\"c\",0,3]", EBB_DAMAGED},
      {"[\"c\",0,1]", "[\"c\",2,1]", EBB_DAMAGED},
      {"[\"c\",0,1]", "[\"c\",0,1],[\"c\",0,2]", EBB_DAMAGED},
      {"\"pinned\":[2]", "\"pinned\":[3]", EBB_DAMAGED},
      {"{\"p\":{\"cut\":1}}", "[]", EBB_DAMAGED},
      {"{\"p\":{\"cut\":1}}", "{\"p\":1}", EBB_DAMAGED},
      {"{\"p\":{\"cut\":1}}", "{\"p\":{\"cut\":1}", EBB_SYNTAX},
      {"\"calibration\":[0,0]", "\"calibration\":[0,0],\"memory\":{}", EBB_DAMAGED},
      {"\"options\":{}", "\"options\":{\"x\":1}", EBB_UNKNOWN_NAME},
      {"\"options\":{}", "\"options\":[]", EBB_DAMAGED},
      {"[0,0]}", "[0,0]", EBB_SYNTAX},
      {"[0,0]}", "[0,0]}x", EBB_SYNTAX},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  host_open(&host, &runtime);
  must(ebb_chat_load(runtime, SMALL, strlen(SMALL), &chat));
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    char text[1200];
    const char *at = strstr(SMALL, damages[i].was);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - SMALL), SMALL, damages[i].is, at + strlen(damages[i].was));
    ebb_status status = ebb_chat_load(runtime, text, strlen(text), &chat);
    if (status != damages[i].status) {
      fail_msg("%s for %s: %s (%s)", damages[i].is, damages[i].was, ebb_status_name(status),
               ebb_last_error(runtime)->message);
    }
  }
  host_close(&host, runtime);
}

/* Whatever stands there instead: it is refused, or it is a chat that can be used. */
static void mutations_are_refused_or_harmless(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text saved;
  host_open(&host, &runtime);
  must(load_policy(runtime, "remembers", REMEMBERS));
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  for (int i = 0; i < 60; i++) edit(runtime, chat);
  must(ebb_chat_save(chat, &saved));
  size_t size = saved.size, loaded_count = 0;
  char *original = malloc(size), *text = malloc(size);
  memcpy(original, saved.bytes, size);
  int steps = 3000 * lives();
  for (int i = 0; i < steps; i++) {
    static const char pieces[] = "0123456789[]{},:\"-e ";
    ebb_chat *loaded;
    memcpy(text, original, size);
    for (uint32_t n = 1 + any(2); n > 0; n--) text[any((uint32_t)size)] = pieces[any(sizeof pieces - 1)];
    size_t cut = any(8) == 0 ? any((uint32_t)size) : size;
    if (ebb_chat_salvage(runtime, text, cut, &loaded) != EBB_OK) continue;
    loaded_count++;
    for (int k = 0; k < 5; k++) edit(runtime, loaded);
    ebb_chat_free(check_saved(runtime, loaded));
    ebb_chat_free(loaded);
  }
  print_message("%zu of %d mutations were chats still\n", loaded_count, steps);
  free(original);
  free(text);
  host_close(&host, runtime);
}

static uint32_t count_in(ebb_text text, const char *piece) {
  uint32_t count = 0;
  for (const char *at = text.bytes; (at = strstr(at, piece)) != NULL; at++) count++;
  return count;
}

static void memories_of_policies_are_saved(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *loaded;
  ebb_text saved;
  open_talk(&host, &runtime, &chat, 5);
  must(load_policy(runtime, "counts",
                   "return function(draft, budget) local m = draft.memory m.runs = (m.runs or 0) + 1\n"
                   "print(m.runs) draft:note 'a note' draft:drop_oldest { to = budget } end"));
  must(trim(chat, "counts", "{\"budget\":150}", NULL));
  must(ebb_chat_save(chat, &saved));
  assert_non_null(strstr(saved.bytes, "\"memory\":{\"counts\":{\"runs\":1}}"));
  loaded = check_saved(runtime, chat);
  must(trim(loaded, "counts", "{\"budget\":100}", NULL));
  assert_string_equal(host.log, "1\n2\n");
  must(trim(loaded, "counts", "{\"budget\":100}", NULL));      /* drops nothing, and remembers that it ran */
  assert_int_equal(ebb_chat_batch_count(loaded), ebb_chat_batch_count(chat) + 1);
  must(ebb_chat_save(loaded, &saved));
  assert_non_null(strstr(saved.bytes, "{\"counts\":{\"runs\":3}}"));
  ebb_chat_free(check_saved(runtime, loaded));
  host_close(&host, runtime);
}

/* A batch says what is remembered there only where its parent does not. */
static void memories_are_saved_once(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat, *fork;
  ebb_text saved;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  must(load_policy(runtime, "name", "return function(draft, budget) draft.memory.name = 'THE NAME'\n"
                                    "draft:drop_oldest { to = budget } end"));
  must(load_policy(runtime, "nothing", "return function(draft, budget) draft:drop_oldest { to = budget } end"));
  must(load_policy(runtime, "forgets", "return { name = 'name', trim = function(draft, budget)\n"
                                       "draft:run { name = 'name', trim = function(d) d.memory = {} end }\n"
                                       "draft:drop_oldest { to = budget } end }"));
  for (int i = 0; i < 20; i++) {
    talk(runtime, chat, 1);
    must(trim(chat, i % 2 == 0 ? "name" : "nothing", "{\"budget\":70}", NULL));
    must(apply(chat, "{\"operation\":\"truncate\",\"removeFirst\":1}"));
  }
  assert_true(ebb_chat_batch_count(chat) > 30);
  must(ebb_chat_save(chat, &saved));
  assert_int_equal(count_in(saved, "THE NAME"), 1);
  must(ebb_chat_fork(chat, &fork));
  talk(runtime, fork, 1);
  must(trim(fork, "forgets", "{\"budget\":60}", NULL));
  must(ebb_chat_save(fork, &saved));
  assert_int_equal(count_in(saved, "THE NAME"), 1);
  assert_int_equal(count_in(saved, "\"memory\":{}"), 1);
  ebb_chat_free(check_saved(runtime, fork));
  ebb_chat_free(check_saved(runtime, chat));
  host_close(&host, runtime);
}

/* What cannot be saved is refused where it is remembered, and the chat stays as it was. */
static void what_cannot_be_saved_is_not_remembered(void **state) {
  (void)state;
  static const struct { const char *body, *says; } rows[] = {
      {"draft.memory[print] = 1", "draft.memory cannot be kept: a table is a list (1 to n) or has string keys"},
      {"draft.memory.a = { b = { 1, print } }", "draft.memory.a.b[2] cannot be kept: a function has no JSON form"},
      {"draft.memory.x = 0/0", "draft.memory.x cannot be kept: JSON has no"},
      {"draft.memory.x = '\\xff'", "draft.memory.x cannot be kept: a string is not UTF-8"},
      {"draft.memory.x = { [7] = 1 }", "draft.memory.x cannot be kept: a table is a list"},
      {"draft.memory.x = draft.memory", "draft.memory cannot be kept: more than 256 levels"},
      {"draft.memory.x = ('x'):rep(1 << 20)", "draft.memory cannot be kept: more than 1048576 bytes"},
      {"local t = {} for i = 1, 60 do t = { t, t } end draft.memory.t = t", "more than 1048576 bytes"},
  };
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  char before[65], after[65], source[300];
  open_talk(&host, &runtime, &chat, 5);
  must(ebb_chat_digest(chat, before));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(source, sizeof source, "return function(draft, budget) %s draft:drop_oldest { to = budget } end",
             rows[i].body);
    must(load_policy(runtime, "odd", source));
    refused(trim(chat, "odd", "{\"budget\":80}", NULL), EBB_POLICY, rows[i].says);
    refused(trim(chat, "odd", "{\"budget\":80,\"dryRun\":true}", NULL), EBB_POLICY, "policy odd: ");
    must(ebb_chat_digest(chat, after));
    assert_string_equal(before, after);
  }
  host_close(&host, runtime);
}

/* As deep and as big as may be: what was acknowledged is saved and loads. */
static void the_most_that_is_remembered_loads(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "local t = {} for i = 1, 250 do t = { a = t } end draft.memory.t = t",
      "draft.memory.x = ('x'):rep((1 << 20) - 16)",
  };
  Host host;
  ebb_runtime *runtime;
  char source[300];
  host_open(&host, &runtime);
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    ebb_chat *chat;
    must(ebb_chat_new(runtime, NULL, 0, &chat));
    talk(runtime, chat, 5);
    snprintf(source, sizeof source, "return function(draft, budget) %s draft:drop_oldest { to = budget } end",
             bodies[i]);
    must(load_policy(runtime, "p", source));
    must(trim(chat, "p", "{\"budget\":80}", NULL));
    must(trim(chat, "p", "{\"budget\":80}", NULL));
    ebb_chat_free(check_saved(runtime, chat));
  }
  host_close(&host, runtime);
}

/* Whichever allocation fails, a save is whole or EBB_MEMORY, and so is a digest. */
static void a_save_without_memory_leaves_nothing_out(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text saved;
  char whole[65], digest[65];
  open_talk(&host, &runtime, &chat, 5);
  must(load_policy(runtime, "p", "return function(draft, budget) draft.memory.x = ('THE END'):rep(100)\n"
                                 "draft:drop_oldest { to = budget } end"));
  must(trim(chat, "p", "{\"budget\":80}", NULL));
  must(ebb_chat_digest(chat, whole));
  size_t failures = 0;
  for (size_t k = 1, hit = 1; hit > 0; k++) {
    host.heap.calls = host.heap.failed = 0, host.heap.once = true, host.heap.fail_at = k;
    ebb_status status = ebb_chat_save(chat, &saved);
    if (status == EBB_OK) assert_int_equal(count_in(saved, "THE END"), 100);
    else assert_int_equal(status, EBB_MEMORY);
    hit = host.heap.failed;
    host.heap.calls = host.heap.failed = 0, host.heap.fail_at = k;
    status = ebb_chat_digest(chat, digest);
    if (status == EBB_OK) assert_string_equal(digest, whole);
    else assert_int_equal(status, EBB_MEMORY);
    hit += host.heap.failed;
    failures += hit;
    host.heap.fail_at = 0;
  }
  assert_true(failures >= 2);
  host_close(&host, runtime);
}

/* ---- levels ---- */

static char *deep_message(int levels, size_t *size) {
  static const char head[] = "{\"role\":\"user\",\"content\":\"a\",\"x\":";
  size_t nested = (size_t)levels - 1;
  char *text = malloc(sizeof head + 2 * nested + 1);
  memcpy(text, head, sizeof head - 1);
  memset(text + sizeof head - 1, '[', nested);
  memset(text + sizeof head - 1 + nested, ']', nested);
  text[sizeof head - 1 + 2 * nested] = '}';
  *size = sizeof head + 2 * nested;
  return text;
}

static struct { char bytes[8000]; size_t size; } records;

static ebb_status keep_record(void *user, const void *record, size_t size) {
  (void)user;
  assert_true(size <= sizeof records.bytes - records.size);
  memcpy(records.bytes + records.size, record, size);
  records.size += size;
  return EBB_OK;
}

static void check_journal(ebb_runtime *runtime, ebb_chat *chat) {
  size_t whole;
  ebb_chat *read;
  must(ebb_chat_read_journal(runtime, records.bytes, records.size, &whole, &read));
  assert_int_equal(whole, records.size);
  assert_int_equal(ebb_chat_count(read), ebb_chat_count(chat));
  ebb_chat_free(read);
}

/* Saves, salvages and journals a chat with its deepest message, also when it is compacted. */
static void keep_deep(ebb_runtime *runtime, ebb_chat *chat) {
  ebb_text saved;
  ebb_chat *salvaged;
  records.size = 0;
  must(ebb_chat_journal(chat, keep_record, NULL, 0));
  must(append(chat, "{\"role\":\"user\",\"content\":\"b\"}"));
  must(ebb_chat_compact(chat, 1, NULL));
  check_journal(runtime, chat);
  ebb_chat_free(check_saved(runtime, chat));
  must(ebb_chat_save(chat, &saved));
  char *copy = malloc(saved.size);
  size_t size = saved.size;
  memcpy(copy, saved.bytes, size);
  must(ebb_chat_salvage(runtime, copy, size, &salvaged));
  ebb_chat_free(salvaged);
  free(copy);
}

static void what_is_taken_is_kept_however_deep(void **state) {
  (void)state;
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_text json;
  size_t size;
  host_open(&host, &runtime);
  must(ebb_chat_new(runtime, NULL, 0, &chat));
  char *text = deep_message(256, &size);
  assert_int_equal(ebb_chat_append(chat, text, size), EBB_LIMIT);
  free(text);
  text = deep_message(255, &size);
  must(ebb_chat_append(chat, text, size));
  must(ebb_chat_json(chat, &json));
  keep_deep(runtime, chat);
  free(text);
  text = deep_message(256, &size);
  must(ebb_chat_read(runtime, text, size, NULL, 0, &chat));      /* a line of JSONL */
  assert_int_equal(ebb_chat_json(chat, &json), EBB_LIMIT);
  assert_non_null(strstr(ebb_last_error(runtime)->message, "256 levels"));
  keep_deep(runtime, chat);
  free(text);
  host_close(&host, runtime);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(chats_come_back_as_they_were), cmocka_unit_test(what_comes_back_goes_on_alike),
    cmocka_unit_test(damages_are_found), cmocka_unit_test(mutations_are_refused_or_harmless),
    cmocka_unit_test(memories_of_policies_are_saved), cmocka_unit_test(memories_are_saved_once),
    cmocka_unit_test(what_cannot_be_saved_is_not_remembered), cmocka_unit_test(the_most_that_is_remembered_loads),
    cmocka_unit_test(a_save_without_memory_leaves_nothing_out),
    cmocka_unit_test(what_is_taken_is_kept_however_deep),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
