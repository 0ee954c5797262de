/*
** Trims a request body to a budget of tokens: trim BUDGET [FILE] < body.json > trimmed.json
**
** A body ({"model": .., "messages": [..], ..}), an array of messages or JSONL; what stands around
** the messages, and each message that stays, is written byte for byte as it came.
*/
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <ebb.h>

static const char POLICIES[] = "[\"clear_tool_uses\", \"keep_recent\"]";

/* All of a file, which the caller frees; NULL when it cannot be read. */
static char *read_all(FILE *file, size_t *size) {
  size_t room = 0;
  char *text = NULL, *larger;
  for (*size = 0; file != NULL && !feof(file) && !ferror(file); *size += fread(text + *size, 1, room - *size, file)) {
    if (*size < room) continue;
    if ((larger = realloc(text, room = room * 2 + 65536)) == NULL) break;
    text = larger;
  }
  if (file != NULL && feof(file) && !ferror(file)) return text;
  free(text);
  return NULL;
}

static ebb_status write_out(void *user, const void *bytes, size_t size) {
  return fwrite(bytes, 1, size, user) == size ? EBB_OK : EBB_IO;
}

static ebb_status trim(ebb_runtime *runtime, const char *body, size_t size, uint64_t budget) {
  char options[64];
  ebb_chat *chat;
  int used = snprintf(options, sizeof options, "{\"budget\":%" PRIu64 "}", budget);
  ebb_status status = ebb_chat_read(runtime, body, size, NULL, 0, &chat);
  if (status == EBB_OK) status = ebb_chat_trim(chat, POLICIES, options, (size_t)used, NULL);
  if (status == EBB_OK) status = ebb_chat_write_to(chat, NULL, 0, write_out, stdout);
  if (status != EBB_OK) fprintf(stderr, "trim: %s\n", ebb_last_error(runtime)->message);
  return status;
}

int main(int count, char **words) {
  char *end = "no number", *body;
  size_t size;
  ebb_runtime *runtime = NULL;
  uint64_t budget = count > 1 ? strtoull(words[1], &end, 10) : 0;
  if (count < 2 || count > 3 || *end != '\0' || budget == 0) {
    fputs("usage: trim BUDGET [FILE]\n", stderr);
    return 2;
  }
  FILE *file = count == 3 ? fopen(words[2], "rb") : stdin;
  if ((body = read_all(file, &size)) == NULL) {
    perror(count == 3 ? words[2] : "stdin");
    return 1;
  }
  ebb_status status = ebb_runtime_new(NULL, &runtime);
  if (status == EBB_OK) status = trim(runtime, body, size, budget);
  else fputs("trim: not enough memory\n", stderr);
  if (status == EBB_OK && fflush(stdout) != 0) {
    perror("stdout");
    status = EBB_IO;
  }
  ebb_runtime_free(runtime);
  free(body);
  return status == EBB_OK ? 0 : 1;
}
