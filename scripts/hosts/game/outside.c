#define _DEFAULT_SOURCE 1
#include "outside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
  LOOK_FRAMES = 30,          /* between two looks at the files */
  ANSWER_FRAMES = 60         /* the model answers after 60 to 120 frames */
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

/* A random line of `who`; "..." if the file has no line of that speaker. */
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
  outside->model = model_open(outside->lines, outside->line_count);
  return outside->model != NULL;
}

void outside_close(Outside *outside) {
  model_close(outside->model);
  free(outside->talk);
}

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

/* True if the file has changed since its text was read; notes the new time. */
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
    if (!all) return;        /* one file a frame */
  }
}

/* ---- visitors ---- */

/* A visitor speaks in nearly every frame; some only wonder what the answer would be, some walk away. */
static void visit(Outside *outside, const World *world) {
  char text[600], json[700];
  const Character *character = &world->characters[roll(outside, CHARACTERS)];
  uint64_t does = roll(outside, 40);
  if (does == 0) {
    hand_out(outside, world->frame, INPUT_LEFT, character->name, "", 0);
    return;
  }
  quote(text, sizeof text, pick(outside, "visitor"));
  int size = snprintf(json, sizeof json, "{\"role\":\"user\",\"content\":%s}", text);
  hand_out(outside, world->frame, does == 1 ? INPUT_WONDERED : INPUT_SAID, character->name, json, (size_t)size);
}

/* ---- the model ---- */

void outside_ask(Outside *outside, const World *world, const Character *character, ebb_text messages) {
  static const char busy[] = "too many questions wait";
  int number = (int)(character - world->characters);
  const char *trade = strchr(character->name, '-') + 1;
  outside->asked[number] = model_ask(outside->model, number, trade, messages.bytes, messages.size);
  outside->due[number] = world->frame + ANSWER_FRAMES + roll(outside, ANSWER_FRAMES);
  if (outside->asked[number] != 0) return;
  hand_out(outside, world->frame, INPUT_REFUSED, character->name, busy, sizeof busy - 1);
}

/* True if the answer to a character's open question has arrived; answers to abandoned questions are dropped. */
static bool has_answer(Outside *outside, int number) {
  Answer answer;
  while (outside->answers[number].number != outside->asked[number] &&
         model_next(outside->model, outside->patient, &answer))
    outside->answers[answer.character] = answer;
  return outside->answers[number].number == outside->asked[number];
}

static void let_in(Outside *outside, const Character *character, uint64_t frame, const Answer *answer) {
  char text[MODEL_TEXT * 2];
  if (answer->refused) snprintf(text, sizeof text, "%s", answer->text);
  else quote(text, sizeof text, answer->text);
  hand_out(outside, frame, answer->refused ? INPUT_REFUSED : INPUT_ANSWERED, character->name, text, strlen(text));
}

void outside_frame(Outside *outside, World *world) {
  visit(outside, world);
  for (int i = 0; i < CHARACTERS; i++) {
    if (outside->asked[i] == 0 || outside->due[i] > world->frame || !has_answer(outside, i)) continue;
    outside->asked[i] = 0;
    let_in(outside, &world->characters[i], world->frame, &outside->answers[i]);
  }
  if (world->frame % LOOK_FRAMES == 0) outside_look(outside, world->frame, false);
}
