/*
** A host in C: compiled against the installed header with pkg-config alone.
** Prints the library's version, what a policy left, and a digest that a second
** runtime, which loads what the first saved, must have too.
*/
#include <stdio.h>
#include <string.h>

#include <ebb.h>

static const char POLICY[] = "return function(draft, budget) draft:drop_oldest { to = budget, keep = 1 } end";

static int fail(const ebb_runtime *runtime, const char *what) {
  printf("%s: %s\n", what, ebb_last_error(runtime)->message);
  return 1;
}

static int talk(ebb_runtime *runtime, ebb_chat *chat) {
  int i;
  for (i = 0; i < 40; i++) {
    char json[120];
    snprintf(json, sizeof json, "{\"role\":\"%s\",\"content\":\"line %d of a long talk at the inn\"}",
             i % 2 ? "assistant" : "user", i);
    if (ebb_chat_append(chat, json, strlen(json)) != EBB_OK) return fail(runtime, "append");
  }
  if (ebb_policy_load(runtime, "short", POLICY, sizeof POLICY - 1) != EBB_OK) return fail(runtime, "policy");
  if (ebb_chat_trim(chat, "short", "{\"budget\":200}", 14, NULL) != EBB_OK) return fail(runtime, "trim");
  printf("%u messages, %s\n", (unsigned)ebb_chat_count(chat),
         ebb_chat_tokens(chat) <= 200 ? "within budget" : "over it");
  return 0;
}

static int copy(ebb_chat *chat, ebb_runtime *other) {
  ebb_text saved;
  ebb_chat *loaded;
  char one[65], two[65];
  if (ebb_chat_save(chat, &saved) != EBB_OK || ebb_chat_load(other, saved.bytes, saved.size, &loaded) != EBB_OK)
    return 1;
  if (ebb_chat_digest(chat, one) != EBB_OK || ebb_chat_digest(loaded, two) != EBB_OK) return 1;
  printf("digests are %s\n", strcmp(one, two) == 0 ? "equal" : "different");
  return 0;
}

int main(void) {
  ebb_runtime *runtime = NULL, *other = NULL;
  ebb_chat *chat = NULL;
  int bad = ebb_api_version() < EBB_API_VERSION || ebb_runtime_new(NULL, &runtime) != EBB_OK ||
            ebb_runtime_new(NULL, &other) != EBB_OK;
  bad = bad || ebb_chat_new(runtime, NULL, 0, &chat) != EBB_OK || talk(runtime, chat) || copy(chat, other);
  ebb_runtime_free(runtime);
  ebb_runtime_free(other);
  return bad;
}
