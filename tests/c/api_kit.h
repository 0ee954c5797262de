/*
** For tests of the C API: a host whose memory is counted and may fail, and whose
** log and files are kept.
*/
#ifndef EBB_TESTS_API_KIT_H
#define EBB_TESTS_API_KIT_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "include/ebb.h"

typedef struct Host {
  Fail heap;
  int64_t now;
  bool still;                        /* its clock does not go on by itself */
  char log[4096];
} Host;

/* Lua requires that shrinking succeeds. */
static inline void *host_allocate(void *user, void *block, size_t old_size, size_t new_size) {
  Host *host = user;
  host->heap.shrinks = true;
  return fail_allocate(&host->heap, block, old_size, new_size);
}

static inline int64_t host_clock(void *user) {
  Host *host = user;
  return host->still ? host->now : host->now++;
}

static inline void host_log(void *user, ebb_log_level level, const char *line, size_t size) {
  Host *host = user;
  size_t used = strlen(host->log);
  (void)level;
  snprintf(host->log + used, sizeof host->log - used, "%.*s\n", (int)size, line);
}

static inline ebb_status host_read(void *user, const char *name, ebb_sink *sink) {
  static const char module[] = "return { limit = function() return 3 end }";
  static const char policy[] = "return function(draft, budget) draft:drop_oldest { to = budget } end";
  (void)user;
  if (strcmp(name, "my/tools.lua") == 0) return ebb_sink_add(sink, module, sizeof module - 1);
  if (strcmp(name, "mods/oldest.lua") == 0) return ebb_sink_add(sink, policy, sizeof policy - 1);
  return EBB_ABSENT;
}

static inline ebb_config host_config(Host *host) {
  return (ebb_config){.size = sizeof(ebb_config), .allocate = host_allocate, .user = host, .clock_ms = host_clock,
                      .log = host_log, .read = host_read, .deterministic = 1};
}

static inline void host_open(Host *host, ebb_runtime **runtime) {
  *host = (Host){.now = 1700000000000};
  ebb_config config = host_config(host);
  assert_int_equal(ebb_runtime_new(&config, runtime), EBB_OK);
}

static inline void host_close(Host *host, ebb_runtime *runtime) {
  ebb_runtime_free(runtime);
  if (host->heap.in_use != 0) fail_msg("%zu bytes were never freed", host->heap.in_use);
}

#define must(call) \
  do { \
    ebb_status status_ = (call); \
    if (status_ != EBB_OK) fail_msg("%s: %s: %s", #call, ebb_status_name(status_), ebb_last_error(runtime)->message); \
  } while (0)

/* That the call is refused so, and that the message says this. */
#define refused(call, wanted, text)                                                              \
  do {                                                                                           \
    ebb_status status_ = (call);                                                                 \
    if (status_ != (wanted))                                                                     \
      fail_msg("%s: %s: %s", #call, ebb_status_name(status_), ebb_last_error(runtime)->message); \
    if (strstr(ebb_last_error(runtime)->message, text) == NULL)                                  \
      fail_msg("%s: %s", #call, ebb_last_error(runtime)->message);                               \
  } while (0)

static inline ebb_status append(ebb_chat *chat, const char *json) { return ebb_chat_append(chat, json, strlen(json)); }
static inline ebb_status load_policy(ebb_runtime *runtime, const char *name, const char *source) {
  return ebb_policy_load(runtime, name, source, strlen(source));
}
static inline ebb_status trim(ebb_chat *chat, const char *policy, const char *options, ebb_text *report) {
  return ebb_chat_trim(chat, policy, options, strlen(options), report);
}
static inline ebb_status apply(ebb_chat *chat, const char *operations) {
  return ebb_chat_apply(chat, operations, strlen(operations), NULL);
}

/* A conversation with a tool call in it. */
static inline void talk(ebb_runtime *runtime, ebb_chat *chat, int rounds) {
  must(append(chat, "{\"role\":\"system\",\"content\":\"You keep an inn.\"}"));
  for (int i = 0; i < rounds; i++) {
    char text[512];
    snprintf(
        text, sizeof text,
        "[{\"role\":\"user\",\"content\":\"Is there room %d for us, and a stable for three horses?\"},"
        "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c%d\",\"type\":\"function\",\"function\":"
        "{\"name\":\"rooms\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"room %d is free\"},"
        "{\"role\":\"assistant\",\"content\":\"Room %d, up the stairs.\"}]",
        i, i % 3, i % 3, i, i);
    must(append(chat, text));
  }
}

/* A runtime in a host of its own, and a chat in it. */
typedef struct Fixture {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;
} Fixture;

/* With a chat of so many rounds; 0: an empty one. */
static inline void fixture_open(Fixture *fixture, int rounds) {
  host_open(&fixture->host, &fixture->runtime);
  ebb_runtime *runtime = fixture->runtime;
  must(ebb_chat_new(runtime, NULL, 0, &fixture->chat));
  if (rounds > 0) talk(runtime, fixture->chat, rounds);
}

static inline void fixture_close(Fixture *fixture) { host_close(&fixture->host, fixture->runtime); }

/* Runs a script with the arguments 0.75 and 0.001 to its end; the JSON of the event that it ends with. */
static inline const char *fixture_run(Fixture *fixture, const char *source) {
  static const char arguments[] = "[0.75,1e-3]";
  static char result[1000];
  ebb_runtime *runtime = fixture->runtime;
  ebb_task *task;
  ebb_event event = {.size = sizeof event};
  must(ebb_task_script(fixture->chat, "script", source, strlen(source), arguments, sizeof arguments - 1, &task));
  must(ebb_step(runtime, EBB_NO_LIMIT, EBB_NO_LIMIT));
  must(ebb_next_event(runtime, &event));
  snprintf(result, sizeof result, "%s", event.json.bytes);
  ebb_task_free(task);
  return result;
}

/* Opens a host and a chat of so many rounds. */
static inline void open_talk(Host *host, ebb_runtime **opened, ebb_chat **chat, int rounds) {
  host_open(host, opened);
  ebb_runtime *runtime = *opened;
  must(ebb_chat_new(runtime, NULL, 0, chat));
  talk(runtime, *chat, rounds);
}

#endif
