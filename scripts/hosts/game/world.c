#include "world.h"

#include <stdlib.h>
#include <string.h>

enum {
  BUDGET = 500,              /* tokens that a chat may have; a trim leaves two thirds */
  ROOM_FRAMES = 900,         /* frames for which a room stays free or taken: 15 s */
  FRAME_FUEL = 60000,        /* of a frame where nothing may depend on the machine: some 0.3 to 0.9 ms */
  TASK_FUEL = 20000000       /* of one talk or trim: some 100 ms, over as many frames */
};

/* The script of a character that was spoken to; it returns false if the model gave no answer. */
static const char TALK[] =
  "local chat, name = ...\n"
  "local answered, answer = pcall(request, { type = 'model', character = name })\n"
  "chat:append { role = 'assistant', content = answered and answer or '(shrugs)' }\n"
  "return answered\n";

/* What the model reads of a bard's chat: an author's note stands before the last two messages, and before the whole
   history what the lorebook tells of the things that these mention: of the bell for two messages more, which the chat
   remembers (a talk that waits meanwhile is not disturbed). */
static const char BARD[] =
  "{\"presets\":[{\"type\":\"chat_history\"},{\"role\":\"system\",\"injectionStrategy\":{\"depth\":2},"
  "\"content\":\"[Author's note: it is late, and the fire burns low. Answer with a song or a rumour.]\"}],"
  "\"lorebooks\":[{\"name\":\"inn\",\"scanDepth\":4,\"entries\":["
  "{\"keys\":[\"bell\"],\"content\":\"It rang under the sea when the old harbour drowned. Verses: 9\","
  "\"sticky\":2},"
  "{\"keys\":[\"mill\",\"miller\"],\"content\":\"Only the miller's daughter lives in the mill since the flood.\"},"
  "{\"keys\":[\"/man by the fire/i\"],\"content\":\"The man by the fire was the ferryman.\"},"
  "{\"keys\":[\"ferry\",\"ferryman\"],\"content\":\"The ferry goes when the water falls, every ninth year.\"}]}]}";

static const char ROOMS_WINDOW[] = "{\"description\":\"The rooms of the inn, as they are now\",\"pinned\":true}";

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

/* ---- rooms: what policies ask, and what the model reads ---- */

/* Guests come and go; no input says so, as it follows from the frame. */
static bool is_free(const World *world, long room) {
  return (world->frame / ROOM_FRAMES + (uint64_t)room * 7) % 5 < 2;
}

/* inn.free(7) */
static ebb_status tell_free(void *user, const char *arguments, size_t size, ebb_sink *result) {
  static const char wrong[] = "inn.free: expected a room from 1 to 9";
  char *end;
  long room = size > 2 ? strtol(arguments + 1, &end, 10) : 0;
  if (room < 1 || room > ROOMS || *end != ']') {
    ebb_status status = ebb_sink_add(result, wrong, sizeof wrong - 1);
    return status == EBB_OK ? EBB_ARGUMENT : status;
  }
  bool answer = is_free(user, room);
  return ebb_sink_add(result, answer ? "true" : "false", answer ? 4 : 5);
}

static bool has_rooms(const Character *character) { return strstr(character->name, "-innkeeper") != NULL; }
static bool has_note(const Character *character) { return strstr(character->name, "-bard") != NULL; }

/* {"content":"Free: 2 4"}: an update changes no message, and makes no conflict for the task that runs. */
static ebb_status update_rooms(const World *world, const Character *character) {
  char fields[100];
  int size = snprintf(fields, sizeof fields, "{\"content\":\"Free:");
  for (int room = 1; room <= ROOMS; room++) {
    if (is_free(world, room)) size += snprintf(fields + size, sizeof fields - (size_t)size, " %d", room);
  }
  size += snprintf(fields + size, sizeof fields - (size_t)size, "\"}");
  return ebb_window_update(character->chat, "rooms", fields, (size_t)size);
}

static ebb_status introduce(World *world, int number) {
  Character *character = &world->characters[number];
  const char *trade = TRADE_NAMES[number % TRADES];
  char first[200];
  snprintf(character->name, sizeof character->name, "%s-%s", NAMES[number / TRADES], trade);
  snprintf(character->policy, sizeof character->policy, "%s", trade);
  int size = snprintf(first, sizeof first, "{\"role\":\"system\",\"content\":\"You are %s, the %s of the inn.\"}",
                      NAMES[number / TRADES], trade);
  ebb_status status = ebb_chat_append(character->chat, first, (size_t)size);
  if (status == EBB_OK && has_rooms(character))
    status = ebb_window_open(character->chat, "rooms", ROOMS_WINDOW, sizeof ROOMS_WINDOW - 1);
  return status == EBB_OK && has_rooms(character) ? update_rooms(world, character) : status;
}

/* What the first request loads need not be loaded in a frame. */
static ebb_status open_bards(World *world) {
  ebb_text ignored;
  ebb_status status = ebb_pipeline_new(world->runtime, BARD, sizeof BARD - 1, NULL, 0, &world->bard);
  if (status == EBB_OK) status = ebb_chat_render(world->characters[0].chat, NULL, 0, &ignored);
  if (status == EBB_OK) status = ebb_pipeline_run(world->bard, world->characters[0].chat, NULL, 0, &ignored, NULL);
  return status;
}

ebb_status world_open(World *world, uint64_t seed, bool deterministic) {
  ebb_config config = {.size = sizeof config, .user = world, .clock_ms = clock_ms, .log = hear, .seed = seed,
                       .deterministic = deterministic, .fuel = TASK_FUEL};
  *world = (World){.deterministic = deterministic};
  ebb_status status = ebb_runtime_new(&config, &world->runtime);
  if (status == EBB_OK) status = ebb_collect(world->runtime, EBB_NO_LIMIT, NULL);
  if (status == EBB_OK) status = open_chats(world);
  if (status == EBB_OK) status = ebb_register(world->runtime, "inn.free", tell_free, world, 0);
  for (int i = 0; i < CHARACTERS && status == EBB_OK; i++) status = introduce(world, i);
  return status == EBB_OK ? open_bards(world) : status;
}

void world_close(World *world) { ebb_runtime_free(world->runtime); }   /* frees all chats, tasks, pipelines too */

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

/* Adds a message to the chat, or a fork of it, and has an idle character answer it there. */
static ebb_status begin_talk(World *world, Character *character, ebb_chat *chat, const Input *input, Doing doing) {
  char name[NAME_ROOM + 2];
  ebb_task *task;
  int size = snprintf(name, sizeof name, "\"%s\"", character->name);
  ebb_status status = ebb_chat_append(chat, input->text, input->size);
  if (status != EBB_OK || character->task != NULL) return status;
  status = ebb_task_script(chat, "talk", TALK, sizeof TALK - 1, name, (size_t)size, &task);
  if (status == EBB_OK) begin(world, character, task, doing);
  return status;
}

static bool take_speech(World *world, Character *character, const Input *input) {
  ebb_status status = begin_talk(world, character, character->chat, input, TALKING);
  if (status != EBB_OK) report(world, character->name);
  return status == EBB_OK;
}

/* What would the answer be? The fork shares all messages; nothing that is said there comes back. */
static bool take_wonder(World *world, Character *character, const Input *input) {
  if (character->task != NULL) return false;
  ebb_status status = ebb_chat_fork(character->chat, &character->fork);
  if (status == EBB_OK) status = begin_talk(world, character, character->fork, input, WONDERING);
  if (status == EBB_OK) return true;
  report(world, character->name);
  ebb_chat_free(character->fork);
  character->fork = NULL;
  return false;
}

/* The event of its end comes with the next frame. */
static bool take_leave(World *world, Character *character) {
  if (character->doing != TALKING) return false;
  if (ebb_task_cancel(character->task) != EBB_OK) {
    report(world, character->name);
    return false;
  }
  ebb_task_free(character->request);
  character->request = NULL;
  character->waits = false;
  return true;
}

/* Hands out what the model is to read, and waits for its answer. */
static void hand_out(World *world, Character *character, ebb_text messages) {
  character->waits = true;
  world->ask(world->user, character, messages);
}

/* A task makes the request of a bard, in slices, while the one that talks waits. */
static ebb_status begin_request(World *world, Character *character, ebb_chat *chat) {
  ebb_status status = ebb_task_pipeline(world->bard, chat, NULL, 0, &character->request);
  if (status == EBB_OK) ebb_task_set_user(character->request, character);
  return status;
}

static void end_request(World *world, Character *character, const ebb_event *event) {
  if (event->kind == EBB_EVENT_DONE) {
    hand_out(world, character, event->json);
  } else {
    snprintf(world->problem, sizeof world->problem, "%s: %.200s", character->name, event->json.bytes);
    ebb_refuse(character->task, world->problem);
  }
  ebb_task_free(event->task);
  character->request = NULL;
}

/* Renders what the model is to read, the windows as they are now, and hands it out. */
static void ask_model(World *world, Character *character, const ebb_event *event) {
  ebb_text messages = {0};
  ebb_status status = has_note(character) ? begin_request(world, character, event->chat)
                                          : ebb_chat_render(event->chat, NULL, 0, &messages);
  if (status == EBB_OK) {
    if (!has_note(character)) hand_out(world, character, messages);
    return;
  }
  report(world, character->name);
  ebb_refuse(event->task, world->problem);
}

static void end_wonder(World *world, Character *character, bool answered) {
  ebb_message last = {.size = sizeof last};
  uint32_t count = ebb_chat_count(character->fork);
  world->wonders += answered;
  if (answered && ebb_chat_message(character->fork, count - 1, &last) == EBB_OK)
    snprintf(world->wondered, sizeof world->wondered, "%s would say: %.160s", character->name, last.text.bytes);
  ebb_chat_free(character->fork);
  character->fork = NULL;
}

static void end_task(World *world, Character *character, const ebb_event *event) {
  uint64_t frames = world->frame - character->began + 1;
  bool trimmed = character->doing == TRIMMING;
  if (event->kind == EBB_EVENT_FAILED && event->status == EBB_CANCELLED) {
    world->left++;
  } else if (event->kind == EBB_EVENT_FAILED) {
    world->failures++;
    character->failed = character->failed || trimmed;
    snprintf(world->problem, sizeof world->problem, "%s: %.200s", character->name, event->json.bytes);
  } else if (trimmed) {
    world->trims++;
    if (frames > world->longest) snprintf(world->longest_name, sizeof world->longest_name, "%s", character->name);
    if (frames > world->longest) world->longest = frames;
  } else {
    world->talks += character->doing == TALKING;
    world->refusals += strcmp(event->json.bytes, "false") == 0;
  }
  ebb_task_free(event->task);
  if (character->doing == WONDERING) end_wonder(world, character, event->kind == EBB_EVENT_DONE);
  character->task = NULL;
  character->doing = IDLE;
  character->waits = false;
  if (ebb_chat_tokens(character->chat) > BUDGET) begin_trim(world, character);
}

/* ---- inputs ---- */

static bool take_answer(World *world, Character *character, const Input *input) {
  if (!character->waits) return false;       /* the one who asked is gone */
  ebb_status status = input->kind == INPUT_REFUSED ? ebb_refuse(character->task, input->text)
                                                   : ebb_answer(character->task, input->text, input->size);
  if (status != EBB_OK) report(world, character->name);
  else character->waits = false;
  return status == EBB_OK;
}

/* The new text counts from the next trim on; a text that does not compile changes nothing. */
static bool take_policy(World *world, const Input *input) {
  if (ebb_policy_load(world->runtime, input->name, input->text, input->size) != EBB_OK) {
    report(world, "policy");
    return false;
  }
  world->problem[0] = '\0';
  for (int i = 0; i < CHARACTERS; i++) {
    Character *character = &world->characters[i];
    if (strcmp(character->name, input->name) == 0) strcpy(character->policy, character->name);   /* its own */
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
  ebb_chat_free(character->chat);            /* its tasks too */
  ebb_chat_free(character->fork);
  character->chat = chat;
  character->fork = NULL;
  character->task = character->request = NULL;
  character->doing = IDLE;
  character->waits = false;
  return true;
}

bool world_take(World *world, const Input *input) {
  if (input->kind == INPUT_POLICY) return take_policy(world, input);
  Character *character = world_find(world, input->name);
  if (character == NULL) {
    snprintf(world->problem, sizeof world->problem, "no character is called %s", input->name);
    return false;
  }
  switch (input->kind) {
    case INPUT_SAID: return take_speech(world, character, input);
    case INPUT_WONDERED: return take_wonder(world, character, input);
    case INPUT_LEFT: return take_leave(world, character);
    case INPUT_ANSWERED:
    case INPUT_REFUSED: return take_answer(world, character, input);
    case INPUT_CHAT: return take_chat(world, character, input);
    default: return false;
  }
}

/* ---- frames ---- */

/* When guests have come and gone: an innkeeper per frame. */
static void change_rooms(World *world) {
  uint64_t number = world->frame % ROOM_FRAMES;
  if (number >= CHARACTERS / TRADES) return;
  Character *innkeeper = &world->characters[number * TRADES];
  if (update_rooms(world, innkeeper) != EBB_OK) report(world, innkeeper->name);
}

void world_events(World *world) {
  ebb_event event = {.size = sizeof event};
  change_rooms(world);
  while (ebb_next_event(world->runtime, &event) == EBB_OK) {
    Character *character = ebb_task_user(event.task);
    if (event.task == character->request) end_request(world, character, &event);
    else if (event.kind == EBB_EVENT_REQUEST) ask_model(world, character, &event);
    else end_task(world, character, &event);
  }
}

void world_frame(World *world, uint64_t microseconds) {
  ebb_step(world->runtime, microseconds, world->deterministic ? FRAME_FUEL : EBB_NO_LIMIT);
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

bool world_save(void *user, FILE *file) {
  World *world = user;
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
