/*
** What a library costs the program that embeds it: Ebb, SQLite, Lua and, compiled with
** WITH_QUICKJS, QuickJS, in turns, in one process. CPU time, medians; the ratio is Ebb's
** figure to the other's.
**
**     embedding [FOLDER]     FOLDER: where o200k_base.vocab lies; without it no counts
*/
#define _GNU_SOURCE 1
#include <ebb.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#ifdef WITH_QUICKJS
#include <quickjs.h>
#endif
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 31, LIVES = 20, MESSAGES = 20000, THREADS = 8 };

static const char MESSAGE[] = "{\"role\":\"user\",\"content\":\"Is there room for us tonight, and a stable for three "
                              "horses? We came a long way.\"}";

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "embedding: %s\n", what);
  exit(1);
}

static double clock_us(clockid_t which) {
  struct timespec t;
  clock_gettime(which, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return values[count / 2];
}

/* ---- lives: opened, perhaps used, closed ---- */

typedef struct Used {
  size_t opened, per_message;    /* bytes */
  double append;                 /* microseconds, each */
} Used;

/* Records the figures of one runtime; `used` may be NULL. */
static void note_use(Used *used, size_t before, size_t after, double microseconds, int messages) {
  if (used == NULL) return;
  *used = (Used){.opened = before};
  if (messages == 0) return;
  used->per_message = (after - before) / (size_t)messages;
  used->append = microseconds / messages;
}

static void ebb_life(int messages, Used *used) {
  ebb_runtime *runtime;
  ebb_chat *chat;
  check(ebb_runtime_new(NULL, &runtime) == EBB_OK, "ebb_runtime_new");
  if (messages > 0) check(ebb_chat_new(runtime, NULL, 0, &chat) == EBB_OK, "ebb_chat_new");
  size_t before = ebb_runtime_memory(runtime);
  double start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < messages; i++)
    check(ebb_chat_append(chat, MESSAGE, sizeof MESSAGE - 1) == EBB_OK, "ebb_chat_append");
  double end = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  note_use(used, before, ebb_runtime_memory(runtime), end - start, messages);
  ebb_runtime_free(runtime);
}

static void sqlite_life(int messages, Used *used) {
  sqlite3 *db;
  sqlite3_stmt *insert = NULL;
  check(sqlite3_open(":memory:", &db) == SQLITE_OK, "sqlite3_open");
  check(sqlite3_exec(db, "CREATE TABLE message (seq INTEGER PRIMARY KEY, role TEXT, json TEXT); BEGIN", NULL, NULL,
                     NULL) == SQLITE_OK, "CREATE TABLE");
  if (messages > 0)
    check(sqlite3_prepare_v2(db, "INSERT INTO message (role, json) VALUES ('user', ?)", -1, &insert, NULL) == SQLITE_OK,
          "INSERT");
  size_t before = (size_t)sqlite3_memory_used();
  double start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < messages; i++) {
    sqlite3_bind_text(insert, 1, MESSAGE, sizeof MESSAGE - 1, SQLITE_STATIC);
    check(sqlite3_step(insert) == SQLITE_DONE, "step");
    sqlite3_reset(insert);
  }
  double end = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  note_use(used, before, (size_t)sqlite3_memory_used(), end - start, messages);
  sqlite3_finalize(insert);
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  sqlite3_close(db);
}

static size_t lua_bytes(lua_State *L) {
  return (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB);
}

static void lua_life(int messages, Used *used) {
  lua_State *L = luaL_newstate();
  check(L != NULL, "luaL_newstate");
  luaL_openlibs(L);
  lua_newtable(L);
  size_t before = lua_bytes(L);
  double start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 1; i <= messages; i++) {
    lua_createtable(L, 0, 2);
    lua_pushliteral(L, "user");
    lua_setfield(L, -2, "role");
    lua_pushlstring(L, MESSAGE, sizeof MESSAGE - 1);
    lua_setfield(L, -2, "json");
    lua_rawseti(L, -2, i);
  }
  double end = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  note_use(used, before, lua_bytes(L), end - start, messages);
  lua_close(L);
}

#ifdef WITH_QUICKJS
static size_t quickjs_bytes(JSRuntime *runtime) {
  JSMemoryUsage usage;
  JS_ComputeMemoryUsage(runtime, &usage);
  return (size_t)usage.malloc_size;
}

static void quickjs_life(int messages, Used *used) {
  JSRuntime *runtime = JS_NewRuntime();
  check(runtime != NULL, "JS_NewRuntime");
  JSContext *context = JS_NewContext(runtime);
  check(context != NULL, "JS_NewContext");
  JSValue list = JS_NewArray(context);
  size_t before = used != NULL ? quickjs_bytes(runtime) : 0;
  double start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < messages; i++) {
    JSValue message = JS_NewObject(context);
    JS_SetPropertyStr(context, message, "role", JS_NewStringLen(context, "user", 4));
    JS_SetPropertyStr(context, message, "json", JS_NewStringLen(context, MESSAGE, sizeof MESSAGE - 1));
    JS_SetPropertyUint32(context, list, (uint32_t)i, message);
  }
  double end = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  note_use(used, before, used != NULL ? quickjs_bytes(runtime) : 0, end - start, messages);
  JS_FreeValue(context, list);
  JS_FreeContext(context);
  JS_FreeRuntime(runtime);
}
#endif

typedef struct Library {
  const char *name;
  void (*life)(int messages, Used *used);
} Library;

static const Library LIBRARIES[] = {
    {"Ebb", ebb_life}, {"SQLite", sqlite_life}, {"Lua", lua_life},
#ifdef WITH_QUICKJS
    {"QuickJS", quickjs_life},
#endif
};
enum { COUNT = sizeof LIBRARIES / sizeof *LIBRARIES };

static void print_head(void) {
  printf("%-34s", "");
  for (int i = 0; i < COUNT; i++) printf(" %10s", LIBRARIES[i].name);
  printf("  %-6s", "");
  for (int i = 1; i < COUNT; i++) printf(" /%s", LIBRARIES[i].name);
  printf("\n");
}

static void print_row(const char *what, const char *unit, int digits, const double *values) {
  printf("%-34s", what);
  for (int i = 0; i < COUNT; i++) printf(" %10.*f", digits, values[i]);
  printf("  %-6s", unit);
  for (int i = 1; i < COUNT; i++) printf(" %*.2f", (int)strlen(LIBRARIES[i].name) + 1, values[0] / values[i]);
  printf("\n");
}

static void measure_lives(const char *what, int messages) {
  static double times[COUNT][ROUNDS];
  double medians[COUNT];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < COUNT; i++) {
      double start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
      for (int k = 0; k < LIVES; k++) LIBRARIES[i].life(messages, NULL);
      times[i][round] = (clock_us(CLOCK_PROCESS_CPUTIME_ID) - start) / LIVES;
    }
  }
  for (int i = 0; i < COUNT; i++) medians[i] = median(times[i], ROUNDS);
  print_row(what, "us", 0, medians);
}

static void measure_use(void) {
  static double appends[COUNT][ROUNDS];
  double opened[COUNT], used_by[COUNT], per[COUNT], append[COUNT];
  for (int i = 0; i < COUNT; i++) {
    Used used;
    LIBRARIES[i].life(0, &used);
    opened[i] = (double)used.opened / 1000;
    LIBRARIES[i].life(1, &used);
    used_by[i] = (double)used.opened / 1000;
    for (int round = 0; round < ROUNDS; round++) {
      LIBRARIES[i].life(MESSAGES, &used);
      appends[i][round] = used.append;
    }
    per[i] = (double)used.per_message;
    append[i] = median(appends[i], ROUNDS);
  }
  print_row("memory, opened", "KB", 1, opened);
  print_row("memory, ready for a message", "KB", 1, used_by);
  print_row("memory of a message of 107 bytes", "bytes", 0, per);
  print_row("append, insert, rawseti", "us", 2, append);
}

/* ---- vocabularies ---- */

typedef struct Image {
  const char *folder;
  void *bytes;
  size_t size;
} Image;

static int map(Image *image) {
  char path[1000];
  struct stat info;
  snprintf(path, sizeof path, "%s/o200k_base.vocab", image->folder);
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &info) != 0) return 0;
  image->size = (size_t)info.st_size;
  image->bytes = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  return image->bytes != MAP_FAILED;
}

static void unmap(void *user, const void *bytes, size_t size) {
  (void)user;
  munmap((void *)(uintptr_t)bytes, size);
}

static ebb_status give(void *user, const char *name, ebb_sink *sink) {
  const Image *image = user;
  return strcmp(name, "vocab/o200k_base.vocab") == 0 ? ebb_sink_add(sink, image->bytes, image->size) : EBB_ABSENT;
}

typedef struct Counting {
  const Image *image;        /* NULL: the vocabulary is shared */
  ebb_vocab *vocab;
  uint64_t tokens;
  size_t memory;
} Counting;

/* A runtime from opening to its first count. */
static void *count_once(void *user) {
  Counting *counting = user;
  ebb_config config = {.size = sizeof config, .user = (void *)(uintptr_t)counting->image};
  ebb_runtime *runtime;
  ebb_chat *chat;
  if (counting->image != NULL) config.read = give;
  check(ebb_runtime_new(&config, &runtime) == EBB_OK, "ebb_runtime_new");
  if (counting->vocab != NULL)
    check(ebb_runtime_add_vocab(runtime, NULL, counting->vocab) == EBB_OK, "ebb_runtime_add_vocab");
  check(ebb_chat_new(runtime, "{\"encoding\":\"o200k_base\"}", 25, &chat) == EBB_OK, "ebb_chat_new");
  check(ebb_chat_append(chat, MESSAGE, sizeof MESSAGE - 1) == EBB_OK, "ebb_chat_append");
  counting->tokens = ebb_chat_tokens(chat);
  counting->memory = ebb_runtime_memory(runtime);
  ebb_runtime_free(runtime);
  return NULL;
}

static double in_threads(const Counting *how, size_t *memory) {
  pthread_t threads[THREADS];
  Counting countings[THREADS];
  double start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < THREADS; i++) {
    countings[i] = *how;
    check(pthread_create(&threads[i], NULL, count_once, &countings[i]) == 0, "pthread_create");
  }
  *memory = 0;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    check(countings[i].tokens == countings[0].tokens && countings[i].tokens > 0, "counts differ");
    *memory += countings[i].memory;
  }
  return (clock_us(CLOCK_PROCESS_CPUTIME_ID) - start) / 1000;
}

static void measure_vocab(const char *folder) {
  double opens[ROUNDS], shared[ROUNDS], copied[ROUNDS];
  size_t shared_memory = 0, copied_memory = 0;
  Image image = {.folder = folder};
  for (int round = 0; round < ROUNDS; round++) {
    ebb_vocab *vocab;
    double start = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    if (!map(&image)) {
      printf("\nno o200k_base.vocab in %s\n", folder);
      return;
    }
    check(ebb_vocab_new(NULL, image.bytes, image.size, unmap, &vocab) == EBB_OK, "ebb_vocab_new");
    opens[round] = clock_us(CLOCK_PROCESS_CPUTIME_ID) - start;
    shared[round] = in_threads(&(Counting){.vocab = vocab}, &shared_memory);
    if (round % 4 == 0) copied[round / 4] = in_threads(&(Counting){.image = &image}, &copied_memory);
    ebb_vocab_free(vocab);
  }
  printf("\no200k_base, %.1f MB: mmap and ebb_vocab_new %.0f us\n", (double)image.size / 1e6, median(opens, ROUNDS));
  double one = median(shared, ROUNDS), each = median(copied, (ROUNDS + 3) / 4);
  printf("%d threads, a runtime and its first count in each:\n", THREADS);
  printf("  one ebb_vocab        %8.2f ms CPU %8.2f MB\n", one, (double)shared_memory / 1e6);
  printf("  each through `read`  %8.2f ms CPU %8.2f MB\n", each, (double)copied_memory / 1e6);
}

int main(int count, char **words) {
  print_head();
  measure_lives("open + close", 0);
  measure_lives("open, store one message, close", 1);
  measure_use();
  if (count > 1) measure_vocab(words[1]);
  return 0;
}
