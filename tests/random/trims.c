/*
** trims.lua in a host of libebb: a deterministic runtime trims a conversation by each policy
** of a folder, and prints the same lines.
**
**     trims FOLDER COUNT BUDGET
*/
#include <stdio.h>
#include <stdlib.h>

#include <ebb.h>

#include "files.h"

static void print_line(void *user, ebb_log_level level, const char *line, size_t size) {
  (void)user, (void)level;
  printf("  %.*s\n", (int)size, line);
}

/* The code of a failed call, or "trimmed". */
static void trim(ebb_runtime *runtime, const File *policy, const char *name, const char *budget, ebb_chat *chat) {
  char options[100];
  int size = snprintf(options, sizeof options, "{\"budget\":%s}", budget);
  ebb_status status = ebb_policy_load(runtime, name, policy->text, policy->size);
  if (status == EBB_OK) status = ebb_chat_trim(chat, name, options, (size_t)size, NULL);
  printf("%s%s\n", status == EBB_OK ? "trimmed" : "failed ", status == EBB_OK ? "" : ebb_last_error(runtime)->code);
}

int main(int count, char **words) {
  static File conversation, policy;
  ebb_runtime *runtime;
  ebb_config config = {.size = sizeof config, .clock_ms = clock_ms, .deterministic = 1, .log = print_line};
  if (count != 4 || !read_file(words[1], "chat.json", &conversation)) return 2;
  if (ebb_runtime_new(&config, &runtime) != EBB_OK) return 1;
  for (int i = 1; i <= atoi(words[2]); i++) {
    char name[30], file[40];
    ebb_chat *chat;
    ebb_text text;
    snprintf(name, sizeof name, "policy-%d", i);
    snprintf(file, sizeof file, "%d.lua", i);
    if (!read_file(words[1], file, &policy)) return 2;
    if (ebb_chat_read(runtime, conversation.text, conversation.size, NULL, 0, &chat) != EBB_OK) return 1;
    printf("policy %d\n", i);
    trim(runtime, &policy, name, words[3], chat);
    if (ebb_chat_write(chat, NULL, 0, &text) != EBB_OK) return 1;
    printf("%s\n", text.bytes);
    ebb_chat_free(chat);
  }
  ebb_runtime_free(runtime);
  return 0;
}
