/*
** The inn: a game loop at 60 frames a second with fifty characters who talk, each
** with its own chat, trimmed by its own policy. All scripts together get 1 ms of
** each frame; policies may be edited while it runs. `./game --help`; README.md.
*/
#define _DEFAULT_SOURCE 1
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "outside.h"
#include "times.h"

enum { FRAME_US = 16667, SCRIPTS_US = 1000, HUD_FRAMES = 30, DIGEST_FRAMES = 600, OWN_MAX = 8 };

static const char HELP[] =
  "Usage: game [options]\n"
  "\n"
  "  --frames N          play so many frames, as fast as they go; else at 60 Hz until Ctrl-C\n"
  "  --live              at 60 Hz with --frames too\n"
  "  --seed N            of the visitors, the model and scripts (default 1)\n"
  "  --deterministic     slices end by fuel, not by the clock: the same seed, the same digest\n"
  "  --record FILE       write down all inputs; deterministic\n"
  "  --replay FILE       play what was recorded, and compare the digests\n"
  "  --save FILE         write all chats there at the end\n"
  "  --load FILE         begin with those\n"
  "  --policy WHO=FILE   a policy for one character alone: Mara-innkeeper=trials/slow.lua\n"
  "  --data FOLDER       where talk.txt and policies/ lie (default: here)\n";

typedef struct Options {
  uint64_t frames, seed;     /* frames 0: for ever */
  bool live, deterministic, help;
  const char *record, *replay, *save, *load, *data;
  char *own[OWN_MAX];        /* WHO=FILE */
  int own_count;
} Options;

typedef struct Game {
  Options options;
  World world;
  Outside outside;
  FILE *recording, *replaying;
  char *buffer;              /* of the input that is read */
  Input next;                /* of the replay */
  Reading reading;
  uint64_t loaded, refused;  /* policies, counted */
  uint64_t compared;         /* digests that the replay confirmed */
  const char *failed;        /* the error with which the game ends; NULL: none */
  Times cpu, wall;
} Game;

static volatile sig_atomic_t stopped;

static void stop(int number) {
  (void)number;
  stopped = 1;
}

/* ---- inputs ---- */

/* Applies one input, live or replayed, and records it. */
static void take(void *user, const Input *input) {
  Game *game = user;
  bool taken = world_take(&game->world, input);
  if (input->kind == INPUT_POLICY) *(taken ? &game->loaded : &game->refused) += 1;
  if (game->recording != NULL && !journal_write(game->recording, input))
    game->failed = "the recording cannot be written";
}

static void ask(void *user, const Character *character, ebb_text messages) {
  Game *game = user;
  if (game->replaying == NULL) outside_ask(&game->outside, &game->world, character, messages);
}

static void note_digest(Game *game) {
  char digest[17];
  Input input = {.frame = game->world.frame, .kind = INPUT_DIGEST, .name = "world", .text = digest, .size = 16};
  if (!world_digest(&game->world, digest)) game->failed = "no digest";
  else if (!journal_write(game->recording, &input)) game->failed = "the recording cannot be written";
}

static void compare_digest(Game *game) {
  char digest[17];
  bool same = world_digest(&game->world, digest) && strcmp(digest, game->next.text) == 0;
  if (same) game->compared++;
  else game->failed = "the replay is different";
}

static void read_next(Game *game) {
  game->reading = journal_read(game->replaying, &game->next, &game->buffer);
  if (game->reading == READ_DAMAGED) game->failed = "the recording is damaged";
}

static bool is_due(const Game *game, bool digest) {
  bool due = game->reading == READ_INPUT && game->next.frame <= game->world.frame && game->failed == NULL;
  return due && (game->next.kind == INPUT_DIGEST) == digest;
}

/* Compares digests: each stands before the inputs of its frame. */
static void replay_digests(Game *game) {
  while (is_due(game, true)) {
    compare_digest(game);
    read_next(game);
  }
}

static void replay_inputs(Game *game) {
  while (is_due(game, false)) {
    take(game, &game->next);
    read_next(game);
  }
}

static void load_game(Game *game) {
  FILE *file = fopen(game->options.load, "rb");
  Input input;
  Reading reading = READ_DAMAGED;
  while (file != NULL && (reading = journal_read(file, &input, &game->buffer)) == READ_INPUT) take(game, &input);
  if (file != NULL) fclose(file);
  if (reading != READ_END) game->failed = "the saved game cannot be read";
}

static void save_game(Game *game) {
  if (!file_replace(game->options.save, world_save, &game->world)) game->failed = "the game cannot be saved";
}

/* ---- what is seen ---- */

static void show_hud(const Game *game) {
  const World *world = &game->world;
  printf("\r\033[Kframe %llu  scripts %.2f ms (longest %.2f)  %u talk, %u trim  %s",
         (unsigned long long)world->frame, (double)game->wall.last / 1000, (double)game->wall.longest / 1000,
         world_count(world, TALKING), world_count(world, TRIMMING), world->problem);
  fflush(stdout);
}

static void report_times(const char *clock, const Times *times) {
  printf("scripts by %s: half below %.2f ms, 99.9 %% below %.2f ms, longest %.2f ms;"
         " %llu frames above 1.2 ms, %llu lost\n",
         clock, (double)times_share(times, 0.5) / 1000, (double)times_share(times, 0.999) / 1000,
         (double)times->longest / 1000, (unsigned long long)times_above(times, 1200),
         (unsigned long long)times_above(times, FRAME_US));
}

static void report(Game *game) {
  World *world = &game->world;
  char digest[17] = "none";
  printf("%llu frames, %d characters: %llu talks, %llu trims, %llu failed; the longest trim took %llu frames%s%s\n",
         (unsigned long long)world->frame, CHARACTERS, (unsigned long long)world->talks,
         (unsigned long long)world->trims, (unsigned long long)world->failures, (unsigned long long)world->longest,
         world->longest > 0 ? ", of " : "", world->longest_name);
  printf("model: %llu answers were refused, %llu visitors left before theirs, %llu only wondered%s%s\n",
         (unsigned long long)world->refusals, (unsigned long long)world->left, (unsigned long long)world->wonders,
         world->wonders > 0 ? "; " : "", world->wondered);
  report_times("cpu", &game->cpu);
  report_times("wall", &game->wall);
  printf("policies: %llu loaded, %llu refused\n", (unsigned long long)game->loaded, (unsigned long long)game->refused);
  printf("memory: runtime %.1f KB and each chat %.1f KB when idle, now %.1f KB in all\n", (double)world->idle / 1000,
         (double)world->idle_chat / 1000, (double)ebb_runtime_memory(world->runtime) / 1000);
  if (game->replaying != NULL) printf("replay: %llu digests were the same\n", (unsigned long long)game->compared);
  if (world->problem[0] != '\0') printf("last problem: %s\n", world->problem);
  if (!world_digest(world, digest)) game->failed = "no digest";
  printf("digest %s\n", digest);
}

/* ---- playing ---- */

static void play_frame(Game *game) {
  uint64_t cpu = times_cpu(), wall = times_wall();
  world_events(&game->world);
  if (game->replaying != NULL) replay_inputs(game);
  else outside_frame(&game->outside, &game->world);
  uint64_t spent = times_wall() - wall;
  world_frame(&game->world, spent < SCRIPTS_US ? SCRIPTS_US - spent : 0);
  times_add(&game->cpu, times_cpu() - cpu);
  times_add(&game->wall, times_wall() - wall);
}

/* Sleeps until the next frame; a game would draw the last one. */
static void wait_for(uint64_t frame_end) {
  uint64_t now = times_wall();
  if (now < frame_end) usleep((useconds_t)(frame_end - now));
}

static bool goes_on(const Game *game) {
  uint64_t frames = game->options.frames;
  if (stopped || game->failed != NULL) return false;
  if (game->replaying != NULL && game->reading == READ_END) return false;
  return frames == 0 || game->world.frame < frames;
}

static void play(Game *game) {
  bool live = game->options.live || (game->options.frames == 0 && game->replaying == NULL);
  uint64_t frame_end = times_wall();
  while (goes_on(game)) {
    play_frame(game);
    if (game->recording != NULL && game->world.frame % DIGEST_FRAMES == 0) note_digest(game);
    if (game->replaying != NULL) replay_digests(game);
    if (!live) continue;
    if (game->world.frame % HUD_FRAMES == 0) show_hud(game);
    wait_for(frame_end += FRAME_US);
  }
  if (live) putchar('\n');
  if (game->recording != NULL && game->world.frame % DIGEST_FRAMES != 0) note_digest(game);
}

/* ---- opening and closing ---- */

static void watch_policies(Game *game) {
  static const char *const trades[TRADES] = {"innkeeper", "guard", "trader", "bard", "sage"};
  char path[256];
  for (int i = 0; i < TRADES; i++) {
    snprintf(path, sizeof path, "%s/policies/%s.lua", game->options.data, trades[i]);
    outside_watch(&game->outside, trades[i], path);
  }
  for (int i = 0; i < game->options.own_count; i++) {
    char *file = strchr(game->options.own[i], '=');
    *file = '\0';
    if (world_find(&game->world, game->options.own[i]) == NULL) game->failed = "--policy: no character has this name";
    outside_watch(&game->outside, game->options.own[i], file + 1);
  }
  outside_look(&game->outside, 0, true);
}

static void open_live(Game *game) {
  if (!outside_open(&game->outside, game->options.data, game->options.seed)) {
    game->failed = game->outside.talk == NULL ? "talk.txt cannot be read; --data says where it lies" : "no thread";
    return;
  }
  game->outside.patient = game->world.deterministic;
  game->outside.take = take;
  game->outside.user = game;
  watch_policies(game);
  if (game->options.load != NULL) load_game(game);
  if (game->recording != NULL && game->failed == NULL) note_digest(game);
}

/* Policies and chats, and the digest of how the game began. */
static void open_replay(Game *game) {
  read_next(game);
  replay_inputs(game);
  replay_digests(game);
}

static void open_recordings(Game *game) {
  Options *options = &game->options;
  if (options->replay != NULL) {
    game->replaying = fopen(options->replay, "rb");
    if (game->replaying == NULL || !journal_open(game->replaying, &options->seed))
      game->failed = "this is no recording";
  }
  if (options->record != NULL) {
    game->recording = fopen(options->record, "wb");
    if (game->recording == NULL || !journal_begin(game->recording, options->seed))
      game->failed = "the recording cannot be written";
  }
}

static void open_game(Game *game) {
  Options *options = &game->options;
  bool deterministic = options->deterministic || options->record != NULL || options->replay != NULL;
  open_recordings(game);
  if (game->failed != NULL) return;
  if (world_open(&game->world, options->seed, deterministic) != EBB_OK) {
    game->failed = "not enough memory";
    return;
  }
  game->world.ask = ask;
  game->world.user = game;
  if (options->replay != NULL) open_replay(game);
  else open_live(game);
}

static void close_game(Game *game) {
  if (game->recording != NULL && fclose(game->recording) != 0) game->failed = "the recording cannot be written";
  if (game->replaying != NULL) fclose(game->replaying);
  outside_close(&game->outside);
  world_close(&game->world);
  free(game->buffer);
}

/* ---- options ---- */

static bool read_number(const char *text, uint64_t *number) {
  char *end;
  *number = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0';
}

/* Reads one option and its value; false if the option is unknown. */
static bool read_option(Options *options, const char *name, char *value) {
  const struct { const char *name, **place; } texts[] = {
    {"--record", &options->record}, {"--replay", &options->replay}, {"--save", &options->save},
    {"--load", &options->load},     {"--data", &options->data}};
  if (strcmp(name, "--frames") == 0) return read_number(value, &options->frames) && options->frames > 0;
  if (strcmp(name, "--seed") == 0) return read_number(value, &options->seed);
  if (strcmp(name, "--policy") == 0 && options->own_count < OWN_MAX && strchr(value, '=') != NULL) {
    options->own[options->own_count++] = value;
    return true;
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (strcmp(name, texts[i].name) != 0) continue;
    *texts[i].place = value;
    return true;
  }
  return false;
}

static bool read_options(Options *options, int count, char **words) {
  *options = (Options){.seed = 1, .data = "."};
  for (int i = 1; i < count; i++) {
    if (strcmp(words[i], "--help") == 0) options->help = true;
    else if (strcmp(words[i], "--live") == 0) options->live = true;
    else if (strcmp(words[i], "--deterministic") == 0) options->deterministic = true;
    else if (i + 1 < count && read_option(options, words[i], words[i + 1])) i++;
    else return false;
  }
  return true;
}

int main(int count, char **words) {
  static Game game;
  if (!read_options(&game.options, count, words)) {
    fputs(HELP, stderr);
    return 2;
  }
  if (game.options.help) {
    fputs(HELP, stdout);
    return 0;
  }
  signal(SIGINT, stop);
  open_game(&game);
  if (game.failed == NULL) play(&game);
  if (game.failed == NULL && game.options.save != NULL) save_game(&game);
  if (game.world.runtime != NULL && game.world.frame > 0) report(&game);
  close_game(&game);
  if (game.failed != NULL) fprintf(stderr, "game: %s\n", game.failed);
  return game.failed != NULL;
}
