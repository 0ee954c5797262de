/*
** A host compiled with the first version of ebb.h: these are its declarations, which
** never change, and nothing is included from the install. It runs with every later
** library: what that adds to a struct is neither read nor written here.
**
** Prints "first header: fine".
*/
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct ebb_runtime ebb_runtime;
typedef struct ebb_chat ebb_chat;
typedef struct ebb_task ebb_task;
typedef struct ebb_sink ebb_sink;

typedef struct ebb_text {
  const char *bytes;
  size_t size;
} ebb_text;

enum { FIRST_OK = 0, FIRST_NONE = 2, FIRST_REQUEST = 1, FIRST_DONE = 2 };
#define FIRST_NO_LIMIT ((uint64_t)-1)

typedef struct first_config {
  size_t size;
  void *(*allocate)(void *user, void *block, size_t old_size, size_t new_size);
  void *user;
  int64_t (*clock_ms)(void *user);
  void (*log)(void *user, int level, const char *line, size_t size);
  int (*read)(void *user, const char *name, ebb_sink *sink);
  uint64_t seed;
  int deterministic;
  size_t memory_limit, script_memory, chat_memory;
  uint64_t fuel, deadline_us;
} first_config;

typedef struct first_message {
  size_t size;
  uint32_t seq, tokens;
  const char *role;
  int has_timestamp;
  int64_t timestamp;
  ebb_text text, json;
} first_message;

typedef struct first_event {
  size_t size;
  int kind;
  ebb_task *task;
  ebb_chat *chat;
  int status;
  ebb_text json;
} first_event;

int      ebb_runtime_new(const first_config *config, ebb_runtime **runtime);
void     ebb_runtime_free(ebb_runtime *runtime);
uint32_t ebb_api_version(void);
int      ebb_chat_new(ebb_runtime *runtime, const char *options, size_t size, ebb_chat **chat);
int      ebb_chat_append(ebb_chat *chat, const char *json, size_t size);
int      ebb_chat_message(ebb_chat *chat, uint32_t index, first_message *message);
uint32_t ebb_chat_count(const ebb_chat *chat);
int      ebb_task_script(ebb_chat *chat, const char *name, const char *source, size_t size, const char *arguments,
                         size_t arguments_size, ebb_task **task);
void     ebb_task_free(ebb_task *task);
int      ebb_step(ebb_runtime *runtime, uint64_t microseconds, uint64_t fuel);
int      ebb_next_event(ebb_runtime *runtime, first_event *event);
int      ebb_answer(ebb_task *task, const char *json, size_t size);

enum { GUARD = 64 };

/* Structs followed by guard bytes, which the library must not write. */
static struct {
  first_message message;
  unsigned char guard[GUARD];
} one;
static struct {
  first_event event;
  unsigned char guard[GUARD];
} next;

static int failed(int line) {
  printf("first header: line %d\n", line);
  return 1;
}
#define TRY(condition) \
  do { \
    if (!(condition)) return failed(__LINE__); \
  } while (0)

static int untouched(const unsigned char *guard) {
  int i;
  for (i = 0; i < GUARD && guard[i] == 0xA5; i++) continue;
  return i == GUARD;
}

static int talk(ebb_runtime *runtime, ebb_chat *chat) {
  static const char hello[] = "{\"role\":\"user\",\"content\":\"Is there a room?\"}";
  static const char script[] = "local chat = ...\n"
                               "chat:append { role = 'assistant', content = request { what = 'word' } }";
  ebb_task *task;
  TRY(ebb_chat_append(chat, hello, strlen(hello)) == FIRST_OK);
  TRY(ebb_task_script(chat, "talk", script, strlen(script), NULL, 0, &task) == FIRST_OK);
  TRY(ebb_step(runtime, FIRST_NO_LIMIT, FIRST_NO_LIMIT) == FIRST_OK);
  TRY(ebb_next_event(runtime, &next.event) == FIRST_OK && next.event.kind == FIRST_REQUEST);
  TRY(strcmp(next.event.json.bytes, "{\"what\":\"word\"}") == 0 && untouched(next.guard));
  TRY(ebb_answer(next.event.task, "\"Up.\"", 5) == FIRST_OK);
  TRY(ebb_step(runtime, FIRST_NO_LIMIT, FIRST_NO_LIMIT) == FIRST_OK);
  TRY(ebb_next_event(runtime, &next.event) == FIRST_OK && next.event.kind == FIRST_DONE);
  TRY(next.event.chat == chat && next.event.task == task && untouched(next.guard));
  TRY(ebb_next_event(runtime, &next.event) == FIRST_NONE);
  ebb_task_free(task);
  TRY(ebb_chat_count(chat) == 2 && ebb_chat_message(chat, 1, &one.message) == FIRST_OK);
  TRY(one.message.seq == 2 && strcmp(one.message.role, "assistant") == 0 && one.message.text.size == 3);
  TRY(strcmp(one.message.json.bytes + one.message.json.size, "") == 0 && untouched(one.guard));
  return 0;
}

int main(void) {
  struct {
    first_config config;
    unsigned char guard[GUARD];              /* a config that ends where the first one did */
  } made;
  ebb_runtime *runtime;
  ebb_chat *chat;
  memset(&made, 0, sizeof made);
  memset(made.guard, 0xA5, GUARD);
  memset(one.guard, 0xA5, GUARD);
  memset(next.guard, 0xA5, GUARD);
  made.config.size = sizeof made.config;
  one.message.size = sizeof one.message;
  next.event.size = sizeof next.event;
  TRY(ebb_api_version() >= 1 && ebb_runtime_new(&made.config, &runtime) == FIRST_OK);
  TRY(ebb_chat_new(runtime, NULL, 0, &chat) == FIRST_OK);
  if (talk(runtime, chat) != 0) return 1;
  ebb_runtime_free(runtime);
  puts("first header: fine");
  return 0;
}
