#define _DEFAULT_SOURCE 1
#include "journal.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const KINDS[INPUT_KINDS] = {"said",    "wondered", "left", "answered",
                                              "refused", "policy",   "chat", "digest"};

enum { TEXT_MAX = 64 << 20 };

static bool find_kind(const char *word, InputKind *kind) {
  for (int i = 0; i < INPUT_KINDS; i++) {
    if (strcmp(word, KINDS[i]) != 0) continue;
    *kind = (InputKind)i;
    return true;
  }
  return false;
}

bool journal_begin(FILE *file, uint64_t seed) {
  return fprintf(file, "recording of the inn, seed %llu\n", (unsigned long long)seed) > 0;
}

bool journal_open(FILE *file, uint64_t *seed) {
  unsigned long long number = 0;
  bool good = fscanf(file, "recording of the inn, seed %llu", &number) == 1;
  *seed = number;
  return good;
}

Reading journal_read(FILE *file, Input *input, char **buffer) {
  unsigned long long frame, size;
  char word[16];
  int got = fscanf(file, "%llu %15s %31s %llu", &frame, word, input->name, &size);
  if (got == EOF) return ferror(file) ? READ_DAMAGED : READ_END;
  if (got != 4 || size > TEXT_MAX || !find_kind(word, &input->kind) || fgetc(file) != '\n') return READ_DAMAGED;
  char *text = realloc(*buffer, size + 1);
  if (text == NULL) return READ_DAMAGED;
  *buffer = text;
  if (fread(text, 1, size, file) != size || fgetc(file) != '\n') return READ_DAMAGED;
  text[size] = '\0';
  input->frame = frame;
  input->text = text;
  input->size = size;
  return READ_INPUT;
}

bool journal_write(FILE *file, const Input *input) {
  fprintf(file, "%llu %s %s %zu\n", (unsigned long long)input->frame, KINDS[input->kind], input->name, input->size);
  fwrite(input->text, 1, input->size, file);
  fputc('\n', file);
  return !ferror(file);
}

char *file_read(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *bytes = NULL;
  size_t room = 0, got = 0;
  if (file == NULL) return NULL;
  while (!feof(file) && !ferror(file)) {
    char *more = got == room ? realloc(bytes, (room = room * 2 + 4096) + 1) : bytes;
    if (more == NULL) break;
    bytes = more;
    got += fread(bytes + got, 1, room - got, file);
  }
  bool good = bytes != NULL && feof(file);
  fclose(file);
  if (good) bytes[*size = got] = '\0';
  else free(bytes);
  return good ? bytes : NULL;
}

/* Syncs the folder, without which the new name of a file may be lost. */
static bool sync_folder(const char *path) {
  char copy[512];
  snprintf(copy, sizeof copy, "%s", path);
  int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool good = folder >= 0 && fsync(folder) == 0;
  if (folder >= 0) close(folder);
  return good;
}

/* The old file stays under its name until all of the new one is on the disk. */
bool file_replace(const char *path, bool (*write)(void *user, FILE *file), void *user) {
  char other[512];
  int size = snprintf(other, sizeof other, "%s.new", path);
  FILE *file = size > 0 && (size_t)size < sizeof other ? fopen(other, "wb") : NULL;
  if (file == NULL) return false;
  bool good = write(user, file) && fflush(file) == 0 && fsync(fileno(file)) == 0;
  if (fclose(file) != 0) good = false;
  if (good && rename(other, path) == 0) return sync_folder(path);
  remove(other);
  return false;
}
