/*
** What one turn of a chat costs through libebb (an append of two messages and a trim) as
** its batches grow, then what saving, loading and the digest cost.
**
** TURNS  of a chat (10000)
*/
#define _DEFAULT_SOURCE
#include <string.h>

#include "host_kit.h"

static void turn(ebb_chat *chat, const char *policy, int i) {
  static const char options[] = "{\"budget\":400}";
  char text[200];
  snprintf(text, sizeof text,
           "[{\"role\":\"user\",\"content\":\"question %d\"},{\"role\":\"assistant\",\"content\":\"answer\"}]", i);
  must(ebb_chat_append(chat, text, strlen(text)), "append");
  must(ebb_chat_trim(chat, policy, options, strlen(options), NULL), "trim");
}

static void measure(const char *label, const char *policy, int turns) {
  double first = 0, last = 0;
  ebb_chat *chat, *loaded;
  ebb_text saved;
  char digest[65];
  must(ebb_chat_new(runtime, NULL, 0, &chat), "chat");
  for (int i = 0; i < 100; i++) turn(chat, policy, i);
  for (int tenth = 0; tenth < 10; tenth++) {
    double start = cpu_us();
    for (int i = 0; i < turns / 10; i++) turn(chat, policy, i);
    last = (cpu_us() - start) / (turns / 10);
    if (tenth == 0) first = last;
  }
  double start = cpu_us();
  must(ebb_chat_save(chat, &saved), "save");
  double save = cpu_us();
  must(ebb_chat_load(runtime, saved.bytes, saved.size, &loaded), "load");
  double load = cpu_us();
  must(ebb_chat_digest(loaded, digest), "digest");
  double end = cpu_us();
  printf("%-28s %10.1f %10.1f %8.2f    %zu bytes, save %.2f, load %.2f, digest %.2f us per batch\n", label, first, last,
         last / first, saved.size, (save - start) / turns, (load - save) / turns, (end - load) / turns);
  ebb_chat_free(loaded);
  ebb_chat_free(chat);
}

int main(void) {
  static const char counts[] = "return function(draft, budget) draft.memory.turns = (draft.memory.turns or 0) + 1\n"
                               "draft:drop_oldest { to = budget } end";
  int turns = getenv("TURNS") != NULL ? atoi(getenv("TURNS")) : 10000;
  if (turns < 10) turns = 10;
  must(ebb_runtime_new(NULL, &runtime), "runtime");
  must(ebb_policy_load(runtime, "counts", counts, sizeof counts - 1), "policy");
  printf("%-28s %10s %10s %8s\n", "libebb, us per turn, CPU", "first 10%", "last 10%", "ratio");
  measure("keep_recent", "keep_recent", turns);
  measure("a policy that remembers", "counts", turns);
  ebb_runtime_free(runtime);
  return 0;
}
