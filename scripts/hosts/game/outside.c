#define _DEFAULT_SOURCE 1
#include "outside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  LOOK_FRAMES = 30,          /* between two looks at the files */
  ANSWER_FRAMES = 60         /* the model takes so long, and up to as much again */
};

/* splitmix64 */
static uint64_t roll(Outside *outside, uint64_t sides) {
  uint64_t z = outside->random += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (z ^ z >> 31) % sides;
}

/* ---- talk.txt: "who: text", a line each ---- */

static void read_lines(Outside *outside) {
  for (char *line = strtok(outside->talk, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char *colon = strstr(line, ": ");
    if (line[0] == '#' || colon == NULL || outside->line_count == LINES_MAX) continue;
    *colon = '\0';
    outside->lines[outside->line_count++] = (Line){.who = line, .text = colon + 2};
  }
}

/* One of the lines of `who`; "..." of somebody who has none. */
static const char *pick(Outside *outside, const char *who) {
  uint64_t found = 0;
  const char *picked = "...";
  for (int i = 0; i < outside->line_count; i++) {
    if (strcmp(outside->lines[i].who, who) == 0 && roll(outside, ++found) == 0) picked = outside->lines[i].text;
  }
  return picked;
}

/* Adds `text` as a JSON string at `to`, cut off where the room ends. */
static void quote(char *to, size_t room, const char *text) {
  size_t at = 0;
  to[at++] = '"';
  for (; *text != '\0' && at + 4 < room; text++) {
    if (*text == '"' || *text == '\\') to[at++] = '\\';
    to[at++] = (unsigned char)*text < ' ' ? ' ' : *text;
  }
  to[at++] = '"';
  to[at] = '\0';
}

bool outside_open(Outside *outside, const char *folder, uint64_t seed) {
  char path[256];
  size_t size;
  *outside = (Outside){.random = seed};
  snprintf(path, sizeof path, "%s/talk.txt", folder);
  outside->talk = file_read(path, &size);
  if (outside->talk == NULL) return false;
  read_lines(outside);
  return true;
}

void outside_close(Outside *outside) { free(outside->talk); }

static void hand_out(Outside *outside, uint64_t frame, InputKind kind, const char *name, const char *text,
                     size_t size) {
  Input input = {.frame = frame, .kind = kind, .text = text, .size = size};
  snprintf(input.name, sizeof input.name, "%s", name);
  outside->take(outside->user, &input);
}

/* ---- policies ---- */

bool outside_watch(Outside *outside, const char *name, const char *path) {
  if (outside->file_count == FILES_MAX) return false;
  PolicyFile *file = &outside->files[outside->file_count++];
  *file = (PolicyFile){.bytes = -1};
  snprintf(file->name, sizeof file->name, "%s", name);
  snprintf(file->path, sizeof file->path, "%s", path);
  return true;
}

/* Has the file another text than the one that was taken? Notes it. */
static bool is_new(PolicyFile *file) {
  struct stat info;
  if (stat(file->path, &info) != 0) return false;     /* an editor is replacing it, or it is gone: the policy stays */
  bool same = info.st_size == file->bytes && info.st_mtim.tv_sec == file->changed.tv_sec &&
              info.st_mtim.tv_nsec == file->changed.tv_nsec;
  file->bytes = info.st_size;
  file->changed = info.st_mtim;
  return !same;
}

void outside_look(Outside *outside, uint64_t frame, bool all) {
  for (int i = 0; i < outside->file_count; i++) {
    PolicyFile *file = &outside->files[i];
    size_t size;
    char *text = is_new(file) ? file_read(file->path, &size) : NULL;
    if (text == NULL) continue;
    hand_out(outside, frame, INPUT_POLICY, file->name, text, size);
    free(text);
    if (!all) return;        /* the next one in another frame */
  }
}

/* ---- visitors and the model ---- */

static void visit(Outside *outside, World *world) {
  char text[600], json[700];
  const Character *character = &world->characters[roll(outside, CHARACTERS)];
  quote(text, sizeof text, pick(outside, "visitor"));
  int size = snprintf(json, sizeof json, "{\"role\":\"user\",\"content\":%s}", text);
  hand_out(outside, world->frame, INPUT_SAID, character->name, json, (size_t)size);
}

static void answer(Outside *outside, const Character *character, uint64_t frame) {
  char text[600];
  quote(text, sizeof text, pick(outside, strchr(character->name, '-') + 1));
  hand_out(outside, frame, INPUT_ANSWERED, character->name, text, strlen(text));
}

void outside_ask(Outside *outside, int character, uint64_t frame) {
  outside->due[character] = frame + ANSWER_FRAMES + roll(outside, ANSWER_FRAMES);
}

void outside_frame(Outside *outside, World *world) {
  visit(outside, world);   /* somebody speaks in every frame */
  for (int i = 0; i < CHARACTERS; i++) {
    if (outside->due[i] != world->frame) continue;
    outside->due[i] = 0;
    if (world->frame != 0) answer(outside, &world->characters[i], world->frame);
  }
  if (world->frame % LOOK_FRAMES == 0) outside_look(outside, world->frame, false);
}
