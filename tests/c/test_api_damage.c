/*
** Saved chats prove themselves: whichever byte was changed, lost or added since, a load is
** refused with a place, or the chat is equal to the one that was saved.
*/
#include "api_kit.h"

/* ---- a chat with something of everything ---- */

static ebb_chat *rich_chat(ebb_runtime *runtime) {
  static const char options[] = "{\"encoding\":\"bytes4\",\"tools\":[{\"name\":\"rooms\","
                                "\"description\":\"free ones\"}]}";
  static const char window[] = "{\"content\":\"sweep the floor\",\"pinned\":true}";
  static const char script[] = "local chat = ... chat:append { role = 'user', content = 'from a task' }";
  ebb_chat *chat, *fork;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  must(load_policy(runtime, "counts", "return function(draft, budget) draft.memory.n = (draft.memory.n or 0) + 1\n"
                                      "draft:note 'once more' draft:drop_oldest { to = budget } end"));
  must(ebb_chat_new(runtime, options, sizeof options - 1, &chat));
  talk(runtime, chat, 3);
  must(ebb_window_open(chat, "todo", window, sizeof window - 1));
  must(ebb_chat_mark(chat, 1, "pinned"));
  must(ebb_chat_checkpoint(chat, "be\"fore"));
  must(apply(chat, "{\"operation\":\"insert\",\"position\":1,"
                   "\"messages\":[{\"role\":\"user\",\"content\":\"\\u00e4\"}]}"));
  must(apply(chat, "{\"operation\":\"replace\",\"index\":1,\"message\":{\"role\":\"user\",\"content\":\"1e3\"}}"));
  must(trim(chat, "counts", "{\"budget\":120}", NULL));
  must(ebb_chat_fork(chat, &fork));
  must(ebb_task_script(fork, "adds", script, sizeof script - 1, NULL, 0, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  assert_int_equal(event.kind, EBB_EVENT_DONE);
  ebb_task_free(task);
  must(ebb_chat_forget(fork, 3));
  return fork;
}

typedef struct Saved {
  Host host;
  ebb_runtime *runtime;
  char *bytes;
  size_t size;
  char digest[65];
  size_t refused, equal;     /* loads */
} Saved;

static void saved_open(Saved *saved) {
  ebb_text text;
  *saved = (Saved){0};
  host_open(&saved->host, &saved->runtime);
  ebb_runtime *runtime = saved->runtime;
  ebb_chat *chat = rich_chat(runtime);
  must(ebb_chat_save(chat, &text));
  must(ebb_chat_digest(chat, saved->digest));
  saved->size = text.size;
  saved->bytes = malloc(text.size);
  memcpy(saved->bytes, text.bytes, text.size);
}

static void saved_close(Saved *saved) {
  free(saved->bytes);
  host_close(&saved->host, saved->runtime);
}

/* ---- any byte ---- */

/* Loads damaged bytes: refused with a place, or equal. */
static void load_damaged(Saved *saved, const char *bytes, size_t size, const char *damage, size_t at) {
  ebb_runtime *runtime = saved->runtime;
  ebb_chat *chat;
  char digest[65];
  if (ebb_chat_load(runtime, bytes, size, &chat) != EBB_OK) {
    saved->refused++;
    const char *said = ebb_last_error(runtime)->message;
    bool placed = strncmp(said, "load: byte ", 11) == 0 && strstr(said, ": expected ") != NULL;
    if (!placed) fail_msg("%s %zu: %s", damage, at, said);
    return;
  }
  saved->equal++;
  must(ebb_chat_digest(chat, digest));
  bool equal = strcmp(digest, saved->digest) == 0;
  if (!equal) fail_msg("%s %zu: loaded as another chat:\n%.*s", damage, at, (int)size, bytes);
  ebb_chat_free(chat);
}

static void flip_every_bit(Saved *saved, char *copy) {
  for (size_t bit = 0; bit < 8 * saved->size; bit++) {
    copy[bit / 8] ^= (char)(1u << bit % 8);
    load_damaged(saved, copy, saved->size, "bit", bit);
    copy[bit / 8] ^= (char)(1u << bit % 8);
  }
}

/* Every byte becomes each of those that mean something in JSON. */
static void replace_every_byte(Saved *saved, char *copy) {
  static const char pieces[] = "0123456789[]{},:\"\\-+.eE \t\ntfnu";
  for (size_t at = 0; at < saved->size; at++) {
    for (const char *piece = pieces; *piece != '\0'; piece++) {
      if (*piece == saved->bytes[at]) continue;
      copy[at] = *piece;
      load_damaged(saved, copy, saved->size, "byte replaced:", at);
    }
    copy[at] = saved->bytes[at];
  }
}

/* A byte is lost, or doubled; the copy is as the original up to it. */
static void shift_every_byte(Saved *saved, char *copy) {
  size_t size = saved->size;
  for (size_t at = 0; at < size; at++) {
    memcpy(copy + at, saved->bytes + at + 1, size - at - 1);
    load_damaged(saved, copy, size - 1, "byte lost:", at);
    memcpy(copy + at, saved->bytes + at, size - at);
    memcpy(copy + at + 1, saved->bytes + at, size - at);
    load_damaged(saved, copy, size + 1, "byte doubled:", at);
    load_damaged(saved, saved->bytes, at, "cut at", at);
    copy[at] = saved->bytes[at];
  }
}

static void no_damaged_byte_loads_as_another_chat(void **state) {
  (void)state;
  Saved saved;
  saved_open(&saved);
  char *copy = malloc(saved.size + 1);
  memcpy(copy, saved.bytes, saved.size);
  flip_every_bit(&saved, copy);
  replace_every_byte(&saved, copy);
  shift_every_byte(&saved, copy);
  print_message("%zu bytes, %zu files: %zu refused, %zu equal\n", saved.size, saved.refused + saved.equal,
                saved.refused, saved.equal);
  assert_true(saved.size > 2500 && saved.refused + saved.equal > 100000);
  assert_true(saved.equal > 0 && saved.equal < 10);      /* the white space behind the digest */
  free(copy);
  saved_close(&saved);
}

/* ---- the digest itself ---- */

/* The saved bytes with `is` in the place of `was`; the caller frees it. */
static char *edited(const Saved *saved, const char *was, const char *is) {
  char *text = calloc(saved->size + strlen(is) + 1, 1);
  memcpy(text, saved->bytes, saved->size);
  char *at = strstr(text, was);
  assert_non_null(at);
  size_t tail = strlen(at + strlen(was)) + 1;
  memmove(at + strlen(is), at + strlen(was), tail);
  memcpy(at, is, strlen(is));
  return text;
}

static void check_edited(Saved *saved, const char *was, const char *is, ebb_status status, const char *says) {
  ebb_runtime *runtime = saved->runtime;
  ebb_chat *chat;
  char *text = edited(saved, was, is);
  refused(ebb_chat_load(runtime, text, strlen(text), &chat), status, says);
  free(text);
}

/* The member of the digest, with the comma before it. */
static const char *digest_of(const Saved *saved, char member[48]) {
  static const char name[] = ",\n\"digest\":\"xxh64:";
  const char *at = strstr(saved->bytes, name);
  assert_non_null(at);
  snprintf(member, 48, "%.*s", (int)(sizeof name - 1 + 17), at);
  return member;
}

static void a_digest_is_needed_and_the_last_member(void **state) {
  (void)state;
  Saved saved;
  static const char before[] = ",\n\"calibration\":[0,0]";
  char member[48], ordered[120], other[120];
  saved_open(&saved);
  saved.bytes[saved.size - 1] = '\0';        /* the newline */
  digest_of(&saved, member);
  check_edited(&saved, member, "", EBB_DAMAGED, "load: byte 1: expected a digest");
  check_edited(&saved, "{\"ebb\":2", "{\"ebb\":1", EBB_DAMAGED, "expected the digest of the bytes before it");
  check_edited(&saved, "{\"ebb\":2", "{\"ebb\":3", EBB_UNKNOWN_VERSION, "load: byte 8: expected version 1 or 2");
  check_edited(&saved, "xxh64:", "crc64:", EBB_DAMAGED, "expected the digest of the bytes before it");
  snprintf(ordered, sizeof ordered, "%s%s", before, member);
  snprintf(other, sizeof other, "%s%s", member, before);
  check_edited(&saved, ordered, other, EBB_DAMAGED, "expected the digest, a string, as the last member");
  snprintf(other, sizeof other, "%s%s", member, member);
  check_edited(&saved, member, other, EBB_DAMAGED, "each member once");
  check_edited(&saved, member, ",\"digest\":5", EBB_DAMAGED, "expected the digest, a string, as the last member");
  saved_close(&saved);
}

/* A chat of an earlier version has no digest; saved again, it has one. */
static void chats_of_earlier_versions_load(void **state) {
  (void)state;
  Saved saved;
  ebb_chat *chat;
  char member[48], digest[65];
  saved_open(&saved);
  ebb_runtime *runtime = saved.runtime;
  saved.bytes[saved.size - 1] = '\0';
  char *text = edited(&saved, digest_of(&saved, member), "");
  text[strlen("{\"ebb\":")] = '1';
  must(ebb_chat_load(runtime, text, strlen(text), &chat));
  must(ebb_chat_digest(chat, digest));
  assert_string_equal(digest, saved.digest);
  free(text);
  saved_close(&saved);
}

static void damaged_chats_are_salvaged(void **state) {
  (void)state;
  Saved saved;
  ebb_chat *chat;
  ebb_message message = {.size = sizeof message};
  saved_open(&saved);
  ebb_runtime *runtime = saved.runtime;
  saved.bytes[saved.size - 1] = '\0';
  char *text = edited(&saved, "You keep an inn.", "You keep an ink.");
  refused(ebb_chat_load(runtime, text, strlen(text), &chat), EBB_DAMAGED, "expected the digest of the bytes before it");
  must(ebb_chat_salvage(runtime, text, strlen(text), &chat));
  must(ebb_chat_message(chat, 1, &message));
  assert_string_equal(message.text.bytes, "You keep an ink.");
  refused(ebb_chat_salvage(runtime, text, strlen(text) - 1, &chat), EBB_SYNTAX, "load: byte ");
  refused(ebb_chat_salvage(runtime, NULL, 1, &chat), EBB_ARGUMENT, "NULL");
  refused(ebb_chat_salvage(runtime, NULL, 0, &chat), EBB_SYNTAX, "");
  free(text);
  saved_close(&saved);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_damaged_byte_loads_as_another_chat),
    cmocka_unit_test(a_digest_is_needed_and_the_last_member),
    cmocka_unit_test(chats_of_earlier_versions_load),
    cmocka_unit_test(damaged_chats_are_salvaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
