/*
** Conversations for tests of the core: messages from words, a copy in writing of
** all that can be seen of a conversation, and the rule of links in its plainest
** form.
**
** A word is a kind, the size of its text, and ids in one letter each:
**
**     s4  system       a4    assistant                    f4(x)  legacy function_call of x
**     u4  user         a4(xy)  ... with calls x and y     g4(x)  legacy function's answer
**     t4(x)  tool, answers x                              U4(xy)  user, two tool results
**     w0(x)  item of window x            h4     assistant, with reasoning of that size, too
*/
#ifndef EBB_TESTS_CONVERSATION_KIT_H
#define EBB_TESTS_CONVERSATION_KIT_H

#include "check.h"

#include <ctype.h>
#include <string.h>

#include "core/operation.h"
#include "dialect/read/reader.h"

#define WORD_IDS 4

/* ---- words ---- */

typedef struct Word {
  char kind;
  uint32_t size;             /* of the text */
  char fill;                 /* the letter of which the text consists */
  char ids[WORD_IDS + 1];
} Word;

static bool word_calls(const Word *word) { return word->kind == 'a' || word->kind == 'f'; }

static UNUSED Role word_role(const Word *word) {
  switch (word->kind) {
  case 's': return ROLE_SYSTEM;
  case 'u':
  case 'U': return ROLE_USER;
  case 'a':
  case 'h':
  case 'f': return ROLE_ASSISTANT;
  case 'w': return ROLE_NONE;
  default: return ROLE_TOOL;
  }
}

static Word word_parse(const char **text) {
  Word word = {.kind = *(*text)++, .fill = 'x'};
  while (isdigit((unsigned char)**text)) word.size = word.size * 10 + (uint32_t)(*(*text)++ - '0');
  if (**text == '(') {
    ++*text;
    for (size_t i = 0; **text != ')'; i++) word.ids[i] = *(*text)++;
    ++*text;
  }
  while (**text == ' ') ++*text;
  return word;
}

#define JSON_ROOM 2048

static void word_json(const Word *word, char out[JSON_ROOM]) {
  char text[512] = "";
  assert_true(word->size < sizeof text);
  memset(text, word->fill, word->size);
  if (word->kind == 'w') {
    sprintf(out, "{\"type\":\"window\",\"window\":\"%s\"}", word->ids);
    return;
  }
  size_t at = (size_t)sprintf(out, "{\"role\":\"%s\",", word->kind == 'g' ? "function" : role_name(word_role(word)));
  if (word->kind == 't') at += (size_t)sprintf(out + at, "\"tool_call_id\":\"%c\",", word->ids[0]);
  if (word->kind == 'g') at += (size_t)sprintf(out + at, "\"name\":\"%c\",", word->ids[0]);
  if (word->kind == 'f') {
    at += (size_t)sprintf(out + at, "\"function_call\":{\"name\":\"%c\",\"arguments\":\"{}\"},", word->ids[0]);
  }
  if (word->kind == 'h') at += (size_t)sprintf(out + at, "\"reasoning_content\":\"%s\",", text);
  if (word->kind == 'a' && word->ids[0] != '\0') {
    at += (size_t)sprintf(out + at, "\"tool_calls\":[");
    for (const char *id = word->ids; *id != '\0'; id++) {
      at += (size_t)sprintf(out + at, "%s{\"id\":\"%c\",\"type\":\"function\",", id == word->ids ? "" : ",", *id);
      at += (size_t)sprintf(out + at, "\"function\":{\"name\":\"tool_%c\",\"arguments\":\"{}\"}}", *id);
    }
    at += (size_t)sprintf(out + at, "],");
  }
  at += (size_t)sprintf(out + at, "\"content\":");
  if (word->kind == 'U') {
    for (const char *id = word->ids; *id != '\0'; id++) {
      at += (size_t)sprintf(out + at, "%c{\"type\":\"tool_result\",\"tool_use_id\":\"%c\",\"content\":\"%s\"}",
                            id == word->ids ? '[' : ',', *id, text);
    }
    sprintf(out + at, "]}");
  } else {
    sprintf(out + at, "\"%s\"}", text);
  }
}

/* ---- where messages come from ---- */

/* Words, then `fail_with`, if that is not OK. */
typedef struct Words {
  Word list[32];
  uint32_t count, at;
  Status fail_with;
  Reader reader;
  char json[JSON_ROOM];
} Words;

static UNUSED void words_add(Words *words, Word word) { words->list[words->count++] = word; }

static UNUSED void words_parse(Words *words, const char *text) {
  *words = (Words){0};
  while (*text != '\0') words_add(words, word_parse(&text));
}

static bool read_json(Reader *reader, const char *text, Text *raw, MessageShape *shape) {
  Json json;
  json_open(&json, text, strlen(text));
  return reader_message(reader, &json, raw, shape);
}

static Text read_word(Reader *reader, const Word *word, char room[JSON_ROOM], MessageShape *shape) {
  Text raw;
  word_json(word, room);
  assert_true(read_json(reader, room, &raw, shape));
  return raw;
}

static Status words_next(void *user, bool *more, Text *raw, MessageShape *shape) {
  Words *words = user;
  *more = words->at < words->count;
  if (!*more) return words->fail_with;
  *raw = read_word(&words->reader, &words->list[words->at++], words->json, shape);
  return STATUS_OK;
}

typedef enum WordsCall { WORDS_APPEND, WORDS_INSERT, WORDS_REPLACE } WordsCall;

static Status put_source(Conversation *chat, WordsCall call, uint32_t position, MessageSource source) {
  if (call == WORDS_APPEND) return operation_append(chat, &source);
  if (call == WORDS_INSERT) return operation_insert(chat, position, &source, (Text){0});
  return operation_replace(chat, position, &source, (Text){0});
}

static Status put_words(Conversation *chat, WordsCall call, uint32_t position, Words *words) {
  words->at = 0;
  reader_init(&words->reader, memory_system());
  Status status = put_source(chat, call, position, (MessageSource){.next = words_next, .user = words});
  reader_free(&words->reader);
  return status;
}

static UNUSED Status put(Conversation *chat, WordsCall call, uint32_t position, const char *text) {
  Words words;
  words_parse(&words, text);
  return put_words(chat, call, position, &words);
}

typedef struct OneJson {
  const char *json;          /* NULL: it was read */
  Reader reader;
} OneJson;

static Status json_next(void *user, bool *more, Text *raw, MessageShape *shape) {
  OneJson *one = user;
  *more = one->json != NULL;
  if (!*more) return STATUS_OK;
  assert_true(read_json(&one->reader, one->json, raw, shape));
  one->json = NULL;
  return STATUS_OK;
}

/* A message that words do not tell of. */
static UNUSED Status put_json(Conversation *chat, WordsCall call, uint32_t position, const char *json) {
  OneJson one = {.json = json};
  reader_init(&one.reader, memory_system());
  Status status = put_source(chat, call, position, (MessageSource){.next = json_next, .user = &one});
  reader_free(&one.reader);
  return status;
}

/* ---- conversations ---- */

static int64_t no_time(void *user) {
  (void)user;
  return 1000;
}

static Status chat_new(Fail *fail, Conversation **chat) {
  ConversationConfig config = {.memory = fail_memory(fail), .clock = {.now_ms = no_time},
                               .counter = counter_of(ESTIMATE_BYTES4)};
  return conversation_new(&config, chat);
}

static UNUSED Conversation *chat_of(Fail *fail, const char *text) {
  Conversation *chat;
  assert_int_equal(chat_new(fail, &chat), STATUS_OK);
  if (*text != '\0') assert_int_equal(put(chat, WORDS_APPEND, 0, text), STATUS_OK);
  return chat;
}

static UNUSED MessageId visible(const Conversation *chat, uint32_t position) {
  return sequence_at(conversation_list(chat), position);
}

static UNUSED uint32_t visible_count(const Conversation *chat) { return sequence_count(conversation_list(chat)); }

static UNUSED void assert_link(const Conversation *chat, MessageId id, uint32_t result, MessageId message,
                               uint32_t call) {
  CallLink link = store_answers(conversation_store(chat), id, result);
  assert_int_equal(link.message, message);
  assert_int_equal(link.call, call);
}

/* ---- all that can be seen ---- */

static void write_messages(FILE *out, const Store *store) {
  fprintf(out, "stored %u\n", (unsigned)store_count(store));
  for (MessageId id = 1; id <= store_count(store); id++) {
    if (!store_has(store, id)) continue;
    const Message *message = store_message(store, id);
    Text raw = message_raw(message);
    fprintf(out, "%u of %u, %u tokens: %.*s\n", (unsigned)id, (unsigned)store_origin(store, id),
            (unsigned)message_tokens(message), (int)raw.size, raw.bytes);
    for (uint32_t i = 0; i < message_result_count(message); i++) {
      CallLink link = store_answers(store, id, i);
      fprintf(out, "  answers %u.%u\n", (unsigned)link.message, (unsigned)link.call);
    }
  }
  for (const char *id = "abcxyz"; *id != '\0'; id++) {
    CallLink link = store_waiting(store, text_plain(id, 1), UINT32_MAX);
    fprintf(out, "%c waits at %u.%u\n", *id, (unsigned)link.message, (unsigned)link.call);
  }
}

static void write_list(FILE *out, const Sequence *list) {
  for (uint32_t i = 0; i < sequence_count(list); i++) fprintf(out, " %u", (unsigned)sequence_at(list, i));
  fprintf(out, "\n");
}

static void write_batches(FILE *out, const History *history) {
  fprintf(out, "current %u\n", (unsigned)history_current(history));
  for (uint32_t i = 0; i < history_count(history); i++) {
    BatchInfo info = history_batch(history, i);
    fprintf(out, "batch %u of %u at %u, %s, born %u: %.*s (%.*s)\n", (unsigned)i, (unsigned)info.parent,
            (unsigned)info.parent_length, batch_kind_name(info.kind), (unsigned)info.born, (int)info.description.size,
            info.description.bytes, (int)info.name.size, info.name.bytes);
    if (!info.pruned) write_list(out, history_list(history, i));
  }
}

/* In one text, which the caller frees. `with_store`: also what only forks see. */
static UNUSED char *snapshot(const Conversation *chat, bool with_store) {
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (with_store) write_messages(out, conversation_store(chat));
  write_batches(out, conversation_history(chat));
  fprintf(out, "tokens %llu\n", (unsigned long long)conversation_tokens(chat));
  const Marks *marks = conversation_marks(chat);
  for (uint32_t i = 0; i < marks_name_count(marks); i++) {
    fprintf(out, "mark %s on %u\n", marks_name(marks, i).bytes, (unsigned)marks_size(marks, marks_name(marks, i)));
  }
  fclose(out);
  return text;
}

static UNUSED void assert_snapshot(const Conversation *chat, bool with_store, const char *expected) {
  char *now = snapshot(chat, with_store);
  assert_string_equal(now, expected);
  free(now);
}

/* ---- running out of memory ---- */

typedef struct Sweep {
  const char *name;
  Conversation *(*make)(Fail *fail);
  Status (*call)(Conversation *chat);  /* the same each time */
} Sweep;

/* One try in which the k-th allocation fails: all is as before, and the call
   then succeeds. False when the call needs fewer than k. */
static bool sweep_once(const Sweep *sweep, size_t k, bool once, const char *expected) {
  Fail fail = {0};
  Conversation *chat = sweep->make(&fail);
  char *before = snapshot(chat, true);
  fail.fail_at = fail.calls + k;
  fail.once = once;
  Status status = sweep->call(chat);
  fail.fail_at = 0;
  if (status != STATUS_OK) {
    assert_int_equal(status, STATUS_MEMORY);
    assert_snapshot(chat, true, before);
    assert_int_equal(sweep->call(chat), STATUS_OK);
  }
  assert_snapshot(chat, true, expected);
  conversation_free(chat);
  free(before);
  assert_int_equal(fail.in_use, 0);
  return status != STATUS_OK;
}

static UNUSED void sweep_run(const Sweep *sweep) {
  Fail fail = {0};
  Conversation *chat = sweep->make(&fail);
  assert_int_equal(sweep->call(chat), STATUS_OK);
  char *expected = snapshot(chat, true);
  conversation_free(chat);
  size_t k = 1;
  while (sweep_once(sweep, k, true, expected) && sweep_once(sweep, k, false, expected)) k++;
  printf("%s: %zu allocations failed in turn\n", sweep->name, k - 1);
  assert_true(k > 1);
  free(expected);
}

/* ---- the rule of links, by looking at everything ---- */

typedef struct Plain {
  Word word;
  MessageId origin;
  CallLink links[WORD_IDS];      /* of its results */
} Plain;

#define PLAIN_ROOM 2048

typedef struct PlainStore {
  uint32_t count;
  Plain messages[PLAIN_ROOM + 1];     /* by id */
} PlainStore;

static const char *plain_calls(const Plain *plain) { return word_calls(&plain->word) ? plain->word.ids : ""; }
static const char *plain_results(const Plain *plain) { return word_calls(&plain->word) ? "" : plain->word.ids; }

/* Does message `id` answer that call of `caller`? */
static bool plain_answers(const PlainStore *store, MessageId id, MessageId caller, uint32_t call) {
  const Plain *plain = &store->messages[id];
  for (size_t i = 0; i < strlen(plain_results(plain)); i++) {
    CallLink link = plain->links[i];
    if (link.message == 0 || link.call != call) continue;
    if (store->messages[link.message].origin != store->messages[caller].origin) continue;
    if (plain_calls(&store->messages[caller])[call] == plain_results(plain)[i]) return true;
  }
  return false;
}

static bool plain_answered(const PlainStore *store, const MessageId *list, uint32_t count, MessageId caller,
                           uint32_t call) {
  for (uint32_t i = 0; i < count; i++) {
    if (plain_answers(store, list[i], caller, call)) return true;
  }
  return false;
}

/* The nearest call before `position` that nothing in the list answers, nor `self`. */
static CallLink plain_find(const PlainStore *store, const MessageId *list, uint32_t count, uint32_t position,
                           MessageId self, char key) {
  while (position-- > 0) {
    const char *calls = plain_calls(&store->messages[list[position]]);
    for (uint32_t call = (uint32_t)strlen(calls); call-- > 0;) {
      if (calls[call] != key || plain_answers(store, self, list[position], call)) continue;
      if (!plain_answered(store, list, count, list[position], call)) return (CallLink){list[position], call};
    }
  }
  return (CallLink){0, 0};
}

/* A new message that will stand at `position` of the list, or takes the place of
   `replaced` (0: none) there. */
static UNUSED MessageId plain_add(PlainStore *store, const MessageId *list, uint32_t count, uint32_t position,
                                  Word word, MessageId replaced) {
  MessageId id = ++store->count, others[PLAIN_ROOM];
  assert_true(id <= PLAIN_ROOM);
  Plain *plain = &store->messages[id];
  *plain = (Plain){.word = word, .origin = replaced == 0 ? id : store->messages[replaced].origin};
  if (replaced != 0 && strcmp(plain_results(plain), plain_results(&store->messages[replaced])) == 0) {
    memcpy(plain->links, store->messages[replaced].links, sizeof plain->links);
    return id;
  }
  uint32_t other_count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (list[i] != replaced) others[other_count++] = list[i];
  }
  for (size_t i = 0; i < strlen(plain_results(plain)); i++) {
    plain->links[i] = plain_find(store, others, other_count, position, id, plain_results(plain)[i]);
  }
  return id;
}

/* The cuts of a truncate in their order (core/operation.h), on a list of positions. */
static UNUSED uint32_t cut_plain(const Truncate *cut, uint32_t *at, uint32_t n) {
  uint32_t first = 0;
  if (cut->has_keep_first && n > cut->keep_first) n = cut->keep_first;
  if (cut->has_keep_last && n > cut->keep_last) first = n - cut->keep_last;
  if (cut->has_remove_first) first = n - first > cut->remove_first ? first + cut->remove_first : n;
  if (cut->has_remove_last) n = n - first > cut->remove_last ? n - cut->remove_last : first;
  memmove(at, at + first, (n - first) * sizeof *at);
  n -= first;
  if (!cut->has_range) return n;
  uint32_t end = cut->end < n ? cut->end : n, start = cut->start < end ? cut->start : end;
  memmove(at, at + start, (end - start) * sizeof *at);
  return end - start;
}

#endif
