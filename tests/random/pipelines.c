/*
** pipelines.lua in a host of libebb: runs the agents of a folder, and prints the same lines.
**
**     pipelines FOLDER COUNT
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ebb.h>

#include "files.h"

/* The file of an agent: its number and what it is. */
static int read_part(const char *folder, int number, const char *kind, File *file) {
  char name[40];
  snprintf(name, sizeof name, "%d.%s", number, kind);
  return read_file(folder, name, file);
}

static void print_run(ebb_runtime *runtime, ebb_pipeline *pipeline, ebb_chat *chat, const char *options) {
  ebb_text body;
  if (ebb_pipeline_run(pipeline, chat, options, strlen(options), &body, NULL) == EBB_OK) {
    printf("%s\n", body.bytes);
  } else {
    printf("%s\t%s\n", ebb_last_error(runtime)->code, ebb_last_error(runtime)->message);
  }
}

static const char MORE[] =
  "[{\"role\":\"assistant\",\"content\":\"The dragon sings.\"},{\"role\":\"user\",\"content\":\"And then?\"}]";

int main(int count, char **words) {
  static File agent, options, saved;
  ebb_runtime *runtime;
  ebb_config config = {.size = sizeof config, .clock_ms = clock_ms};
  if (count != 3 || ebb_runtime_new(&config, &runtime) != EBB_OK) return 2;
  for (int i = 1; i <= atoi(words[2]); i++) {
    ebb_pipeline *pipeline;
    ebb_chat *chat;
    if (!read_part(words[1], i, "agent", &agent) || !read_part(words[1], i, "options", &options) ||
        !read_part(words[1], i, "chat", &saved)) return 2;
    printf("agent %d\n", i);
    if (ebb_chat_load(runtime, saved.text, saved.size, &chat) != EBB_OK ||
        ebb_pipeline_new(runtime, agent.text, agent.size, options.text, options.size, &pipeline) != EBB_OK) {
      printf("%s\n", ebb_last_error(runtime)->message);
      return 1;
    }
    print_run(runtime, pipeline, chat, "{\"preview\":true,\"now\":1700000000000,\"seed\":1}");
    print_run(runtime, pipeline, chat, "{\"now\":1700000000000,\"seed\":1}");
    if (ebb_chat_append(chat, MORE, sizeof MORE - 1) != EBB_OK) return 1;
    print_run(runtime, pipeline, chat, "{\"now\":1700000000000,\"seed\":2}");
    ebb_pipeline_free(pipeline);
    ebb_chat_free(chat);
  }
  ebb_runtime_free(runtime);
  return 0;
}
