/*
** Exact counts in a host whose `read` knows the installed vocabularies:
**
**     count FOLDER ENCODING TEXT     FOLDER: PREFIX/share/ebb
**
** Prints how many tokens a message with that text has.
*/
#include <stdio.h>
#include <string.h>

#include <ebb.h>

static ebb_status read_file(void *folder, const char *name, ebb_sink *sink) {
  static char block[1 << 16];
  char path[1000];
  ebb_status status = EBB_OK;
  size_t got;
  snprintf(path, sizeof path, "%s/%s", (const char *)folder, name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return EBB_ABSENT;
  while (status == EBB_OK && (got = fread(block, 1, sizeof block, file)) > 0) status = ebb_sink_add(sink, block, got);
  if (status == EBB_OK && ferror(file)) status = EBB_IO;
  fclose(file);
  return status;
}

int main(int count, char **words) {
  char text[1000];
  ebb_runtime *runtime;
  ebb_chat *chat;
  ebb_message message = {.size = sizeof message};
  if (count != 4) return 2;
  ebb_config config = {.size = sizeof config, .user = words[1], .read = read_file};
  if (ebb_runtime_new(&config, &runtime) != EBB_OK) return 1;
  int size = snprintf(text, sizeof text, "{\"encoding\":\"%s\"}", words[2]);
  ebb_status status = ebb_chat_new(runtime, text, (size_t)size, &chat);
  size = snprintf(text, sizeof text, "{\"role\":\"user\",\"content\":\"%s\"}", words[3]);
  if (status == EBB_OK) status = ebb_chat_append(chat, text, (size_t)size);
  if (status == EBB_OK) status = ebb_chat_message(chat, 0, &message);
  if (status == EBB_OK) printf("%u\n", (unsigned)message.tokens);
  else printf("%s\n", ebb_last_error(runtime)->message);
  ebb_runtime_free(runtime);
  return status != EBB_OK;
}
