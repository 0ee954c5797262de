/*
** Saved chats by the C library, to be compared with those of the command:
**
**     saved load FILE OPERATIONS     a saved chat
**     saved read FILE OPERATIONS     an array, JSONL or a body
**
** Applies the operations ("": none) and writes the save to stdout, its SHA-256 to stderr.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ebb.h>

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  *size = (size_t)ftell(file);
  char *bytes = malloc(*size + 1);
  rewind(file);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size) return NULL;
  fclose(file);
  return bytes;
}

int main(int count, char **words) {
  ebb_runtime *runtime;
  ebb_chat *chat = NULL;
  ebb_text saved, results;
  char digest[65];
  size_t size;
  char *bytes = count == 4 ? read_file(words[2], &size) : NULL;
  if (bytes == NULL || ebb_runtime_new(NULL, &runtime) != EBB_OK) return 2;
  ebb_status status = strcmp(words[1], "load") == 0 ? ebb_chat_load(runtime, bytes, size, &chat)
                                                    : ebb_chat_read(runtime, bytes, size, NULL, 0, &chat);
  free(bytes);
  if (status == EBB_OK && words[3][0] != '\0') status = ebb_chat_apply(chat, words[3], strlen(words[3]), &results);
  if (status == EBB_OK) status = ebb_chat_digest(chat, digest);
  if (status == EBB_OK) status = ebb_chat_save(chat, &saved);
  if (status == EBB_OK) {
    fwrite(saved.bytes, 1, saved.size, stdout);
    fprintf(stderr, "%s\n", digest);
  } else {
    fprintf(stderr, "%s: %s\n", ebb_last_error(runtime)->code, ebb_last_error(runtime)->message);
  }
  ebb_runtime_free(runtime);
  return status != EBB_OK;
}
