#include "world.h"

#include <stdlib.h>
#include <string.h>

enum {
  BUDGET = 500,              /* tokens that a chat may have; a trim leaves two thirds */
  FRAME_FUEL = 60000,        /* of a frame where nothing may depend on the machine: some 0.3 to 0.9 ms */
  TASK_FUEL = 20000000       /* of one talk or trim: some 100 ms, over as many frames */
};

/* What a character does when somebody has spoken. */
static const char TALK[] =
  "local chat, name = ...\n"
  "local answer = request { type = 'model', character = name }\n"
  "chat:append { role = 'assistant', content = answer }\n";

static const char *const NAMES[CHARACTERS / TRADES] = {"Mara", "Odo",   "Ysolde", "Brann", "Tilda",
                                                       "Finn", "Hedda", "Ruben",  "Silke", "Arvid"};
static const char *const TRADE_NAMES[TRADES] = {"innkeeper", "guard", "trader", "bard", "sage"};

/* ---- opening ---- */

static void report(World *world, const char *what) {
  snprintf(world->problem, sizeof world->problem, "%s: %s", what, ebb_last_error(world->runtime)->message);
}

/* Time in the world goes by frames. */
static int64_t clock_ms(void *user) { return (int64_t)(((World *)user)->frame * 1000 / 60); }

static void hear(void *user, ebb_log_level level, const char *line, size_t size) {
  World *world = user;
  if (level == EBB_LOG_PRINT) snprintf(world->problem, sizeof world->problem, "%.*s", (int)size, line);
}

/* A runtime loads with its first chat what all of them need: that counts as the runtime's. */
static ebb_status open_chats(World *world) {
  ebb_status status = EBB_OK;
  for (int i = 0; i < CHARACTERS && status == EBB_OK; i++) {
    status = ebb_chat_new(world->runtime, NULL, 0, &world->characters[i].chat);
    if (status == EBB_OK && i == 0) status = ebb_collect(world->runtime, EBB_NO_LIMIT, NULL);
    if (i == 0) world->idle = ebb_runtime_memory(world->runtime);
  }
  if (status == EBB_OK) status = ebb_collect(world->runtime, EBB_NO_LIMIT, NULL);
  world->idle_chat = (ebb_runtime_memory(world->runtime) - world->idle) / (CHARACTERS - 1);
  return status;
}

static ebb_status introduce(World *world, int number) {
  Character *character = &world->characters[number];
  const char *trade = TRADE_NAMES[number % TRADES];
  char first[200];
  snprintf(character->name, sizeof character->name, "%s-%s", NAMES[number / TRADES], trade);
  snprintf(character->policy, sizeof character->policy, "%s", trade);
  int size = snprintf(first, sizeof first, "{\"role\":\"system\",\"content\":\"You are %s, the %s of the inn.\"}",
                      NAMES[number / TRADES], trade);
  return ebb_chat_append(character->chat, first, (size_t)size);
}

ebb_status world_open(World *world, uint64_t seed, bool deterministic) {
  ebb_config config = {.size = sizeof config, .user = world, .clock_ms = clock_ms, .log = hear, .seed = seed,
                       .deterministic = deterministic, .fuel = TASK_FUEL};
  *world = (World){.deterministic = deterministic};
  ebb_status status = ebb_runtime_new(&config, &world->runtime);
  if (status == EBB_OK) status = ebb_collect(world->runtime, EBB_NO_LIMIT, NULL);
  if (status == EBB_OK) status = open_chats(world);
  for (int i = 0; i < CHARACTERS && status == EBB_OK; i++) status = introduce(world, i);
  return status;
}

void world_close(World *world) { ebb_runtime_free(world->runtime); }   /* with all chats and tasks */

Character *world_find(World *world, const char *name) {
  for (int i = 0; i < CHARACTERS; i++) {
    if (strcmp(world->characters[i].name, name) == 0) return &world->characters[i];
  }
  return NULL;
}

/* ---- talking and trimming ---- */

static void begin(World *world, Character *character, ebb_task *task, Doing doing) {
  character->task = task;
  character->doing = doing;
  character->began = world->frame;
  ebb_task_set_user(task, character);
}

static void begin_trim(World *world, Character *character) {
  char options[40];
  ebb_task *task;
  int size = snprintf(options, sizeof options, "{\"budget\":%d}", BUDGET * 2 / 3);
  const char *policy = character->failed ? NULL : character->policy;
  ebb_status status = ebb_task_trim(character->chat, policy, options, (size_t)size, &task);
  if (status == EBB_OK) begin(world, character, task, TRIMMING);
  else report(world, character->name);
  if (status == EBB_UNKNOWN_NAME) character->failed = true;      /* no such policy was loaded */
}

/* Adds a message and has the character answer it. */
static bool take_speech(World *world, Character *character, const Input *input) {
  char name[NAME_ROOM + 2];
  ebb_task *task;
  int size = snprintf(name, sizeof name, "\"%s\"", character->name);
  ebb_status status = ebb_chat_append(character->chat, input->text, input->size);
  if (status == EBB_OK && character->task == NULL) {
    status = ebb_task_script(character->chat, "talk", TALK, sizeof TALK - 1, name, (size_t)size, &task);
    if (status == EBB_OK) begin(world, character, task, TALKING);
  }
  if (status != EBB_OK) report(world, character->name);
  return status == EBB_OK;
}

static void end_task(World *world, Character *character, const ebb_event *event) {
  uint64_t frames = world->frame - character->began + 1;
  bool trimmed = character->doing == TRIMMING;
  if (event->kind == EBB_EVENT_FAILED) {
    world->failures++;
    character->failed = character->failed || trimmed;
    snprintf(world->problem, sizeof world->problem, "%s: %.200s", character->name, event->json.bytes);
  } else if (trimmed) {
    world->trims++;
    if (frames > world->longest) snprintf(world->longest_name, sizeof world->longest_name, "%s", character->name);
    if (frames > world->longest) world->longest = frames;
  } else {
    world->talks++;
  }
  ebb_task_free(event->task);
  character->task = NULL;
  character->doing = IDLE;
  if (ebb_chat_tokens(character->chat) > BUDGET) begin_trim(world, character);
}

/* ---- inputs ---- */

static bool take_answer(World *world, Character *character, const Input *input) {
  if (character->doing != TALKING) return false;      /* the one who asked is gone */
  ebb_status status = ebb_answer(character->task, input->text, input->size);
  if (status != EBB_OK) report(world, character->name);
  return status == EBB_OK;
}

/* The new text counts from the next trim on; one that is no good changes nothing. */
static bool take_policy(World *world, const Input *input) {
  if (ebb_policy_load(world->runtime, input->name, input->text, input->size) != EBB_OK) {
    report(world, "policy");
    return false;
  }
  world->problem[0] = '\0';
  for (int i = 0; i < CHARACTERS; i++) {
    Character *character = &world->characters[i];
    if (strcmp(character->name, input->name) == 0) strcpy(character->policy, character->name);   /* one of its own */
    if (strcmp(character->policy, input->name) == 0) character->failed = false;
  }
  return true;
}

static bool take_chat(World *world, Character *character, const Input *input) {
  ebb_chat *chat;
  if (ebb_chat_load(world->runtime, input->text, input->size, &chat) != EBB_OK) {
    report(world, character->name);
    return false;
  }
  ebb_chat_free(character->chat);            /* its task too */
  character->chat = chat;
  character->task = NULL;
  character->doing = IDLE;
  return true;
}

bool world_take(World *world, const Input *input) {
  if (input->kind == INPUT_POLICY) return take_policy(world, input);
  Character *character = world_find(world, input->name);
  if (character == NULL) {
    snprintf(world->problem, sizeof world->problem, "nobody is called %s", input->name);
    return false;
  }
  switch (input->kind) {
    case INPUT_SAID: return take_speech(world, character, input);
    case INPUT_ANSWERED: return take_answer(world, character, input);
    case INPUT_CHAT: return take_chat(world, character, input);
    default: return false;
  }
}

/* ---- frames ---- */

void world_frame(World *world, uint64_t microseconds) {
  ebb_event event = {.size = sizeof event};
  ebb_step(world->runtime, microseconds, world->deterministic ? FRAME_FUEL : EBB_NO_LIMIT);
  while (ebb_next_event(world->runtime, &event) == EBB_OK) {
    Character *character = ebb_task_user(event.task);
    if (event.kind == EBB_EVENT_REQUEST) world->ask(world->user, character, world->frame);
    else end_task(world, character, &event);
  }
  world->frame++;
}

unsigned world_count(const World *world, Doing doing) {
  unsigned count = 0;
  for (int i = 0; i < CHARACTERS; i++) count += world->characters[i].doing == doing;
  return count;
}

/* ---- digests, saving ---- */

bool world_digest(World *world, char digest[17]) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  for (int i = 0; i < CHARACTERS; i++) {
    char hex[65];
    if (ebb_chat_digest(world->characters[i].chat, hex) != EBB_OK) return false;
    for (int at = 0; at < 64; at++) sum = (sum ^ (unsigned char)hex[at]) * UINT64_C(0x100000001b3);
  }
  snprintf(digest, 17, "%016llx", (unsigned long long)sum);
  return true;
}

bool world_save(World *world, FILE *file) {
  for (int i = 0; i < CHARACTERS; i++) {
    Character *character = &world->characters[i];
    ebb_text saved;
    Input input = {.kind = INPUT_CHAT};
    if (ebb_chat_save(character->chat, &saved) != EBB_OK) {
      report(world, character->name);
      return false;
    }
    snprintf(input.name, sizeof input.name, "%s", character->name);
    input.text = saved.bytes;
    input.size = saved.size;
    if (!journal_write(file, &input)) return false;
  }
  return true;
}
