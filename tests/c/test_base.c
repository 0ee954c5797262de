/*
** The base layer: each module by its header, at its edges, and out of memory.
*/
#define _DEFAULT_SOURCE 1
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "os/os.h"
#include "base/map.h"
#include "base/text.h"
#include "base/utf8.h"

/*
** status, memory, clock
*/

static void codes_are_what_users_see(void **state) {
  (void)state;
  static const char *const codes[] = {
    "ok", "memory", "out_of_range", "argument", "limit", "syntax", "encoding", "shape", "role", "duplicate", "guarded",
    "absent", "io", "forbidden", "conflict", "host",
  };
  for (int i = STATUS_OK; i <= STATUS_HOST; i++) assert_string_equal(status_code((Status)i), codes[i]);
  assert_non_null(status_code((Status)(STATUS_HOST + 1)));
}

static void memory_passes_true_sizes_and_checks_products(void **state) {
  (void)state;
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  char *block = memory_new_array(&memory, 10, 7);
  assert_int_equal(fail.in_use, 70);
  memset(block, 'x', 70);
  block = memory_resize_array(&memory, block, 10, 1000, 7);
  assert_int_equal(fail.in_use, 7000);
  assert_memory_equal(block, "xxxxxxxxxx", 10);
  assert_null(memory_resize_array(&memory, block, 1000, SIZE_MAX / 7 + 1, 7));
  assert_null(memory_new_array(&memory, SIZE_MAX / 2, 3));
  assert_int_equal(fail.in_use, 7000);
  memory_free(&memory, block, 7000);
  memory_free(&memory, NULL, 0);
  assert_int_equal(fail.in_use, 0);
  Memory system = memory_system();
  block = memory_new(&system, 5);
  block = memory_resize_array(&system, block, 5, 500, 1);
  assert_non_null(block);
  memory_free(&system, block, 500);
}

static void the_system_clock_is_in_this_century(void **state) {
  (void)state;
  Clock clock = clock_system();
  assert_true(clock_now(&clock) > 1600000000000 && clock_now(&clock) < 4102444800000);
}

/*
** buffer
*/

static void buffers_grow_and_reset(void **state) {
  (void)state;
  Fail fail = {0};
  Buffer buffer;
  buffer_init(&buffer, fail_memory(&fail));
  assert_null(buffer.bytes);
  assert_int_equal(buffer_add(&buffer, NULL, 0), STATUS_OK);
  for (int i = 0; i < 1000; i++) assert_int_equal(buffer_add_byte(&buffer, (char)i), STATUS_OK);
  assert_int_equal(buffer_add_string(&buffer, "end"), STATUS_OK);
  assert_int_equal(buffer.size, 1003);
  assert_true(fail.calls < 10);
  for (int i = 0; i < 1000; i++) assert_int_equal(buffer.bytes[i], (char)i);
  assert_memory_equal(buffer.bytes + 1000, "end", 3);
  assert_int_equal(buffer_reserve(&buffer, SIZE_MAX - 5), STATUS_MEMORY);
  buffer_reset(&buffer);
  assert_int_equal(buffer.size, 0);
  assert_int_equal(fail.in_use, buffer.capacity);
  buffer_free(&buffer);
  buffer_free(&buffer);
  assert_int_equal(fail.in_use, 0);
}

static void a_buffer_without_memory_stays_as_it_was(void **state) {
  (void)state;
  Fail fail = {.fail_at = 2};
  Buffer buffer;
  buffer_init(&buffer, fail_memory(&fail));
  assert_int_equal(buffer_add(&buffer, "abc", 3), STATUS_OK);
  Buffer before = buffer;
  assert_int_equal(buffer_reserve(&buffer, 1000), STATUS_MEMORY);
  char big[1000] = {0};
  assert_int_equal(buffer_add(&buffer, big, sizeof big), STATUS_MEMORY);
  assert_memory_equal(&buffer, &before, sizeof buffer);
  fail.fail_at = 0;
  assert_int_equal(buffer_add(&buffer, big, sizeof big), STATUS_OK);
  assert_memory_equal(buffer.bytes, "abc", 4);
  buffer_free(&buffer);
  assert_int_equal(fail.in_use, 0);
}

/*
** utf8
*/

static void every_code_point_goes_there_and_back(void **state) {
  (void)state;
  for (uint32_t point = 0; point <= 0x10FFFF; point++) {
    if (point == 0xD800) point = 0xE000;
    char bytes[4];
    size_t size = utf8_encode(point, bytes);
    size_t wanted = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    uint32_t back = 0;
    if (size != wanted || utf8_decode(bytes, bytes + size, &back) != size || back != point) fail_msg("U+%04X", point);
    for (size_t cut = 1; cut < size; cut++) {
      if (utf8_decode(bytes, bytes + cut, &back) != 0) fail_msg("U+%04X cut", point);
    }
  }
}

/* All 2^24 beginnings of three bytes, each with a good fourth: as many are valid as there are code points. */
static void nothing_else_is_utf8(void **state) {
  (void)state;
  size_t of_size[5] = {0};
  for (uint32_t i = 0; i < 1u << 24; i++) {
    const char bytes[4] = {(char)(i >> 16), (char)(i >> 8), (char)i, (char)0x80};
    of_size[utf8_decode(bytes, bytes + 4, NULL)]++;
  }
  assert_int_equal(of_size[1], 0x80u << 16);
  assert_int_equal(of_size[2], (0x800u - 0x80) << 8);
  assert_int_equal(of_size[3], 0x10000 - 0x800 - 0x800);
  assert_int_equal(of_size[4], 0x100000 / 64);
}

static void utf8_check_finds_the_first_bad_byte(void **state) {
  (void)state;
  static const struct { const char *text; size_t offset; } cases[] = {
    {"", 0}, {"plain ascii, longer than eight", 30}, {"12345678\xff", 8}, {"1234567\xc3\xa9 and \xe4\xb8", 14},
    {"\xe4\xb8\xad\xf0\x9f\x98\x80", 7}, {"a\xed\xa0\x80", 1}, {"\xc0\x80", 0}, {"12345678901\x80" "2345678", 11},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(utf8_check(cases[i].text, strlen(cases[i].text)), cases[i].offset);
  }
}

static void utf8_copy_mends_and_cuts_at_characters(void **state) {
  (void)state;
  static const struct { const char *text; size_t room; const char *copy; } cases[] = {
    {"", 1, ""}, {"abc", 4, "abc"}, {"abc", 3, "ab"}, {"abc", 1, ""}, {"a\xff", 5, "a\xef\xbf\xbd"},
    {"a\xff", 4, "a"}, {"\xe2\x82\xac!", 4, "\xe2\x82\xac"}, {"\xe2\x82\xac", 3, ""}, {"\xe2\x82", 9, "\xef\xbf\xbd"},
    {"\xff\xfe", 9, "\xef\xbf\xbd\xef\xbf\xbd"}, {"\xf0\x9f\x98\x80" "b", 6, "\xf0\x9f\x98\x80" "b"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char copy[16];
    size_t size = utf8_copy(copy, cases[i].room, cases[i].text, strlen(cases[i].text));
    assert_string_equal(copy, cases[i].copy);
    assert_int_equal(size, strlen(copy));
  }
}

/*
** text
*/

static Text escaped(const char *string) {
  return (Text){.bytes = string, .size = strlen(string), .escaped = true};
}

static const struct { const char *escaped, *plain; size_t size; } spellings[] = {
  {"", "", 0},
  {"plain", "plain", 5},
  {"one\\ntwo\\u00e9", "one\ntwo\xc3\xa9", 9},
  {"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 8},
  {"\\ud83d\\ude00\\uD83D\\uDE00!", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80!", 9},
  {"a\\u0000b", "a\0b", 3},
  {"\\u4e2d\\uFFFF\\u07ff", "\xe4\xb8\xad\xef\xbf\xbf\xdf\xbf", 8},
  {"\\ud800", "\xef\xbf\xbd", 3},                      /* half a pair, as lenient readings meet it */
  {"\\ude00\\ud83d!", "\xef\xbf\xbd\xef\xbf\xbd!", 7},
  {"\\ud83d\\ud83d\\ude00\\ud83d\\u0041", "\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd" "A", 11},
  {"\\u0061\\u0062c\\u0064efghijklmnop\\u0071", "abcdefghijklmnopq", 17},
};

static void escaped_and_plain_spellings_are_one_text(void **state) {
  (void)state;
  Buffer out;
  buffer_init(&out, memory_system());
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    Text a = escaped(spellings[i].escaped), b = text_plain(spellings[i].plain, spellings[i].size);
    assert_int_equal(text_plain_size(a), b.size);
    assert_true(text_equal(a, b) && text_equal(b, a) && text_equal(a, a) && text_equal(b, b));
    assert_true(text_starts_with(a, b) && text_starts_with(a, text_plain(b.bytes, b.size / 2)));
    assert_false(text_starts_with(text_plain(b.bytes, b.size), text_plain("#", 1)));
    buffer_reset(&out);
    assert_int_equal(text_decode(a, &out), STATUS_OK);
    assert_int_equal(out.size, b.size);
    if (b.size > 0) assert_memory_equal(out.bytes, b.bytes, b.size);
    buffer_reset(&out);
    assert_int_equal(text_escape(b, &out), STATUS_OK);
    Text again = {.bytes = out.bytes, .size = out.size, .escaped = true};
    assert_true(text_equal(again, a));
  }
  buffer_free(&out);
}

static void different_texts_are_not_equal(void **state) {
  (void)state;
  static const struct { const char *a, *b; } pairs[] = {
    {"a", ""}, {"ab", "a"}, {"\\n", "n"}, {"\\u00e9", "e"}, {"a\\tb", "a\\nb"}, {"abc\\u0064", "abce"},
    {"\\\\n", "\\n"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    Text a = escaped(pairs[i].a), b = escaped(pairs[i].b);
    assert_false(text_equal(a, b) || text_equal(b, a));
  }
  assert_false(text_equal(escaped("\\n"), text_of("\\n")));   /* the same bytes mean different things */
  assert_false(text_equal(text_of("abc"), text_of("abd")));
  assert_false(text_starts_with(text_of("ab"), text_of("abc")));
  assert_true(text_starts_with(escaped("\\u0061bc"), text_of("ab")));
}

static void escaping_writes_json(void **state) {
  (void)state;
  Fail fail = {0};
  Buffer out;
  buffer_init(&out, fail_memory(&fail));
  assert_int_equal(text_escape(text_plain("\0\x01\b\t\n\v\f\r\x1f \"\\/\x7f\xc3\xa9", 16), &out), STATUS_OK);
  const char *wanted = "\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f \\\"\\\\/\x7f\xc3\xa9";
  assert_int_equal(out.size, strlen(wanted));
  assert_memory_equal(out.bytes, wanted, out.size);
  buffer_reset(&out);
  assert_int_equal(text_escape(text_plain("a\xff\"\xe2\x82", 5), &out), STATUS_OK);
  assert_int_equal(out.size, 9);
  assert_memory_equal(out.bytes, "a\xef\xbf\xbd\\\"\xef\xbf\xbd", 9);
  buffer_reset(&out);
  assert_int_equal(text_escape(escaped("\\u00e9\\/"), &out), STATUS_OK);
  assert_memory_equal(out.bytes, "\\u00e9\\/", 8);

  size_t before = out.size;
  char many[500];
  memset(many, 1, sizeof many);
  fail.fail_at = fail.calls + 2;   /* the room for the plain size is given, the room for its escapes is not */
  assert_int_equal(text_escape(text_plain(many, sizeof many), &out), STATUS_MEMORY);
  assert_int_equal(out.size, before);
  assert_int_equal(text_decode((Text){.bytes = many, .size = sizeof many}, &out), STATUS_OK);
  buffer_free(&out);
  assert_int_equal(text_decode(text_of("x"), &out), STATUS_MEMORY);
  assert_int_equal(fail.in_use, 0);
}

/*
** map
*/

static void random_edits_agree_with_an_array(void **state) {
  (void)state;
  enum { KEYS = 300, ROUNDS = 100000 };
  uint64_t random = test_seed();
  uint64_t value_of[KEYS] = {0};
  bool there[KEYS] = {false};
  size_t count = 0;
  Fail fail = {0};
  Map map;
  map_init(&map, fail_memory(&fail));
  assert_null(map_find(&map, 0));
  assert_false(map_remove(&map, 0));
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t draw = test_random(&random), key = draw % KEYS;
    uint64_t at = key * 4096;   /* equal low bits, 0 among them */
    bool filling = round / 1000 % 2 == 0;
    if (draw >> 32 & 1 || (filling && draw >> 33 & 1)) {
      assert_int_equal(map_put(&map, at, draw), STATUS_OK);
      count += !there[key];
      there[key] = true;
      value_of[key] = draw;
    } else {
      assert_int_equal(map_remove(&map, at), there[key]);
      count -= there[key];
      there[key] = false;
    }
    assert_int_equal(map.count, count);
    if (round % 64 != 0) continue;
    for (uint64_t k = 0; k < KEYS; k++) {
      uint64_t *found = map_find(&map, k * 4096);
      if ((found != NULL) != there[k] || (found != NULL && *found != value_of[k])) fail_msg("round %d", round);
    }
  }
  size_t at = 0, walked = 0;
  for (uint64_t key, value; map_next(&map, &at, &key, &value); walked++) {
    assert_true(there[key / 4096] && value_of[key / 4096] == value);
  }
  assert_int_equal(walked, count);
  map_free(&map);
  assert_int_equal(fail.in_use, 0);
}

static void the_ends_of_the_key_range_are_keys(void **state) {
  (void)state;
  static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63};
  Map map;
  map_init(&map, memory_system());
  for (size_t i = 0; i < 4; i++) assert_int_equal(map_put(&map, keys[i], 0), STATUS_OK);
  for (size_t i = 0; i < 4; i++) assert_true(map_find(&map, keys[i]) != NULL && *map_find(&map, keys[i]) == 0);
  for (uint64_t key = 100; key < 200; key++) assert_int_equal(map_put(&map, key, 1), STATUS_OK);   /* all move */
  for (size_t i = 0; i < 4; i++) assert_true(map_find(&map, keys[i]) != NULL && *map_find(&map, keys[i]) == 0);
  for (uint64_t key = 100; key < 200; key++) assert_true(map_remove(&map, key));
  for (size_t i = 0; i < 4; i++) assert_true(map_remove(&map, keys[i]) && map_find(&map, keys[i]) == NULL);
  size_t at = 0;
  uint64_t key, value;
  assert_false(map_next(&map, &at, &key, &value));
  map_free(&map);
}

static void a_map_without_memory_stays_as_it_was(void **state) {
  (void)state;
  Fail fail = {.fail_at = 1};
  Map map;
  map_init(&map, fail_memory(&fail));
  assert_int_equal(map_put(&map, 5, 5), STATUS_MEMORY);
  assert_int_equal(map.count, 0);
  fail.fail_at = 2 + 1;
  uint64_t key = 0;
  while (map_put(&map, key, key) == STATUS_OK) key++;
  assert_int_equal(map.count, key);
  for (uint64_t k = 0; k < key; k++) assert_true(*map_find(&map, k) == k);
  assert_int_equal(map_put(&map, 3, 4), STATUS_OK);   /* replacing needs no memory */
  fail.fail_at = 0;
  assert_int_equal(map_put(&map, key, key), STATUS_OK);
  map_free(&map);
  assert_int_equal(fail.in_use, 0);
}

/*
** file
*/

static char folder[] = P_tmpdir "/ebb-test-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int drop_folder(void **state) {
  (void)state;
  return chdir("/") != 0 || rmdir(folder) != 0;   /* fails where a test, or a writer, left something behind */
}

static int files_here(void) {
  DIR *listing = opendir(".");
  int count = -2;   /* "." and ".." */
  while (readdir(listing) != NULL) count++;
  closedir(listing);
  return count;
}

static void put_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  if (size > 0) assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* Reads `path` with a cap and compares; NULL: the status is all that counts. */
static Status check_read(const char *path, size_t cap, const char *wanted, size_t wanted_size) {
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  char *bytes = NULL;
  size_t size = 0, capacity = 0;
  Status status = file_read(&memory, path, cap, &bytes, &size, &capacity);
  int error = errno;
  assert_int_equal(fail.in_use, capacity);
  if (status == STATUS_OK) {
    assert_int_equal(size, wanted_size);
    assert_true((bytes == NULL) == (size == 0));
    if (size > 0) assert_memory_equal(bytes, wanted, size);
    memory_free(&memory, bytes, capacity);
  }
  errno = error;
  return status;
}

static void files_are_read_whole_within_the_cap(void **state) {
  (void)state;
  put_file("f", "hello", 5);
  assert_int_equal(check_read("f", 100, "hello", 5), STATUS_OK);
  assert_int_equal(check_read("f", 5, "hello", 5), STATUS_OK);
  assert_int_equal(check_read("f", 4, NULL, 0), STATUS_LIMIT);
  put_file("f", NULL, 0);
  assert_int_equal(check_read("f", 0, "", 0), STATUS_OK);
  assert_int_equal(check_read("none", 5, NULL, 0), STATUS_ABSENT);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(check_read(".", 5, NULL, 0), STATUS_IO);
  assert_int_equal(errno, EISDIR);
  size_t big = 9u << 20;   /* large enough for huge pages */
  char *bytes = malloc(big);
  for (size_t i = 0; i < big; i++) bytes[i] = (char)(i * 7 >> 3);
  put_file("f", bytes, big);
  assert_int_equal(check_read("f", big, bytes, big), STATUS_OK);
  free(bytes);
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  char *content;
  size_t size, capacity;
  assert_int_equal(file_read(&memory, "f", big - 1, &content, &size, &capacity), STATUS_LIMIT);
  assert_int_equal(fail.calls, 0);   /* refused before anything is allocated */
  unlink("f");
  assert_int_equal(file_read(&memory, "/proc/self/status", 1 << 20, &content, &size, &capacity), STATUS_OK);
  assert_true(size > 0);   /* a regular file that says its size is 0 */
  memory_free(&memory, content, capacity);
  assert_int_equal(fail.in_use, 0);
}

/* Runs check_read("-") while a child writes `size` bytes, in pieces, to a pipe that is our standard input. */
static Status read_pipe(size_t size, size_t cap) {
  char *bytes = malloc(size + 1);
  for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * 13 >> 2);
  int ends[2], input = dup(0);
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (size_t at = 0, step; at < size; at += step) {
      step = size - at < 5000 ? size - at : 5000;
      if (write(ends[1], bytes + at, step) != (ssize_t)step) _exit(0);
    }
    _exit(0);
  }
  close(ends[1]);
  dup2(ends[0], 0);
  close(ends[0]);
  fcntl(0, F_SETFL, O_NONBLOCK);   /* waits all the same */
  Status status = check_read("-", cap, bytes, size);
  dup2(input, 0);
  close(input);
  waitpid(child, NULL, 0);
  free(bytes);
  return status;
}

static void pipes_are_read_whole_within_the_cap(void **state) {
  (void)state;
  assert_int_equal(read_pipe(0, 10), STATUS_OK);
  assert_int_equal(read_pipe(10, 10), STATUS_OK);
  assert_int_equal(read_pipe(11, 10), STATUS_LIMIT);
  assert_int_equal(read_pipe(300000, 300000), STATUS_OK);
  assert_int_equal(read_pipe(300000, SIZE_MAX), STATUS_OK);
  assert_int_equal(read_pipe(300000, 299999), STATUS_LIMIT);
}

static Status write_file(const char *path, const char *text, Fail *fail) {
  Memory memory = fail_memory(fail);
  FileWriter writer;
  Status status = file_create(&writer, &memory, path);
  if (status != STATUS_OK) return status;
  status = file_write(&writer, text, strlen(text));
  if (status == STATUS_OK) return file_commit(&writer);
  file_abandon(&writer);
  return status;
}

static void files_appear_whole_or_not_at_all(void **state) {
  (void)state;
  Fail fail = {0};
  Memory memory = fail_memory(&fail);
  FileWriter writer;
  put_file("f", "old", 3);
  assert_int_equal(file_create(&writer, &memory, "f"), STATUS_OK);
  assert_int_equal(file_write(&writer, "new text", 8), STATUS_OK);
  assert_int_equal(check_read("f", 10, "old", 3), STATUS_OK);
  file_abandon(&writer);
  file_abandon(&writer);
  assert_int_equal(check_read("f", 10, "old", 3), STATUS_OK);
  assert_int_equal(files_here(), 1);
  assert_int_equal(write_file("f", "new text", &fail), STATUS_OK);
  assert_int_equal(check_read("f", 10, "new text", 8), STATUS_OK);
  assert_int_equal(files_here(), 1);
  unlink("f");
  assert_int_equal(fail.in_use, 0);
}

static mode_t mode_of(const char *path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return info.st_mode & 07777;
}

static void modes_and_links_stay(void **state) {
  (void)state;
  Fail fail = {0};
  mode_t mask = umask(027);
  assert_int_equal(write_file("f", "1", &fail), STATUS_OK);
  assert_int_equal(mode_of("f"), 0640);
  umask(mask);
  assert_int_equal(chmod("f", 0606), 0);
  assert_int_equal(symlink("f", "link"), 0);
  assert_int_equal(write_file("link", "2", &fail), STATUS_OK);
  assert_int_equal(mode_of("f"), 0606);
  struct stat info;
  assert_int_equal(lstat("link", &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(check_read("f", 10, "2", 1), STATUS_OK);
  unlink("f");
  assert_int_equal(write_file("link", "3", &fail), STATUS_ABSENT);   /* leads nowhere */
  unlink("link");
  put_file("f", "kept", 4);
  assert_int_equal(chmod("f", 0444), 0);
  if (geteuid() != 0) assert_int_equal(write_file("f", "4", &fail), STATUS_ABSENT);   /* root may write to all */
  unlink("f");
  char name[250];
  memset(name, 'n', 249);
  name[249] = '\0';
  assert_int_equal(write_file(name, "long name", &fail), STATUS_OK);
  unlink(name);
  assert_int_equal(files_here(), 0);
  assert_int_equal(fail.in_use, 0);
}

static void failures_to_write_are_typed(void **state) {
  (void)state;
  Fail fail = {0};
  assert_int_equal(write_file("none/f", "x", &fail), STATUS_ABSENT);
  assert_int_equal(errno, ENOENT);
  assert_int_equal(write_file("", "x", &fail), STATUS_ABSENT);
  assert_int_equal(write_file(".", "x", &fail), STATUS_IO);
  assert_int_equal(errno, EISDIR);
  assert_int_equal(write_file("/dev/full", "x", &fail), STATUS_IO);
  assert_int_equal(errno, ENOSPC);
  assert_int_equal(write_file("/dev/null", "x", &fail), STATUS_OK);
  Memory memory = fail_memory(&fail);
  FileWriter writer;
  assert_int_equal(file_create(&writer, &memory, "f"), STATUS_OK);
  assert_int_equal(mkdir("f", 0700), 0);   /* in the way of the rename */
  assert_int_equal(file_commit(&writer), STATUS_IO);
  rmdir("f");
  assert_int_equal(files_here(), 0);
  assert_int_equal(fail.in_use, 0);
}

static void standard_output_stays_open(void **state) {
  (void)state;
  Fail fail = {0};
  int ends[2], output;
  fflush(stdout);
  output = dup(1);
  assert_int_equal(pipe(ends), 0);
  dup2(ends[1], 1);
  close(ends[1]);
  Status first = write_file("-", "one ", &fail), second = write_file("-", "two", &fail);
  char bytes[16] = {0};
  ssize_t got = read(ends[0], bytes, sizeof bytes);
  close(ends[0]);
  Status broken = write_file("-", "x", &fail);
  int error = errno;
  dup2(output, 1);
  close(output);
  assert_int_equal(first, STATUS_OK);
  assert_int_equal(second, STATUS_OK);
  assert_int_equal(got, 7);
  assert_string_equal(bytes, "one two");
  assert_int_equal(broken, STATUS_IO);
  assert_int_equal(error, EPIPE);
}

static void a_fifo_is_written_to_directly(void **state) {
  (void)state;
  Fail fail = {0};
  assert_int_equal(mkfifo("fifo", 0600), 0);
  int reader = open("fifo", O_RDONLY | O_NONBLOCK);
  assert_int_equal(write_file("fifo", "through", &fail), STATUS_OK);
  char bytes[16] = {0};
  assert_int_equal(read(reader, bytes, sizeof bytes), 7);
  close(reader);
  struct stat info;
  assert_int_equal(stat("fifo", &info), 0);
  assert_true(S_ISFIFO(info.st_mode));
  unlink("fifo");
  assert_int_equal(fail.in_use, 0);
}

static void files_without_memory_leave_nothing(void **state) {
  (void)state;
  put_file("f", "old", 3);
  for (size_t k = 1;; k++) {
    Fail fail = {.fail_at = k};
    Status status = write_file("f", "new", &fail);
    assert_int_equal(fail.in_use, 0);
    assert_int_equal(files_here(), 1);
    assert_int_equal(check_read("f", 10, status == STATUS_OK ? "new" : "old", 3), STATUS_OK);
    if (status == STATUS_OK) break;
    assert_int_equal(status, STATUS_MEMORY);
  }
  Fail fail = {.fail_at = 1};
  Memory memory = fail_memory(&fail);
  char *bytes = NULL;
  size_t size = 7, capacity = 7;
  assert_int_equal(file_read(&memory, "f", 10, &bytes, &size, &capacity), STATUS_MEMORY);
  assert_true(bytes == NULL && size == 7 && capacity == 7);
  unlink("f");
}

/*
** folders, maps
*/

static void folders_are_made_and_listed(void **state) {
  (void)state;
  char path[] = "deep/er/est", again[] = "deep/er", blocked[] = "deep/file/under";
  Folder list;
  assert_int_equal(folder_make(path), STATUS_OK);
  assert_string_equal(path, "deep/er/est");
  assert_int_equal(folder_make(again), STATUS_OK);
  put_file("deep/file", "x", 1);
  put_file("deep/.hidden", "x", 1);
  assert_int_equal(folder_make(blocked), STATUS_IO);
  assert_true(errno == ENOTDIR);
  assert_string_equal(blocked, "deep/file/under");

  unsigned seen = 0, count = 0;
  assert_int_equal(folder_open(&list, "deep"), STATUS_OK);
  for (const char *name; (name = folder_next(&list)) != NULL; count++) {
    seen |= strcmp(name, "er") == 0 ? 1 : strcmp(name, "file") == 0 ? 2 : strcmp(name, ".hidden") == 0 ? 4 : 8;
  }
  assert_true(count == 3 && seen == 7);
  folder_close(&list);
  folder_close(&list);
  assert_int_equal(folder_open(&list, "deep/none"), STATUS_ABSENT);
  assert_true(errno == ENOENT);
  folder_close(&list);
  unlink("deep/file");
  unlink("deep/.hidden");
  rmdir("deep/er/est");
  rmdir("deep/er");
  rmdir("deep");
}

static void regular_files_are_mapped_within_the_cap(void **state) {
  (void)state;
  FileMap map = {0};
  put_file("m", "12345", 5);
  put_file("empty", "", 0);
  assert_int_equal(file_map("m", 5, &map), STATUS_OK);
  assert_int_equal(map.size, 5);
  unlink("m");
  assert_memory_equal(map.bytes, "12345", 5);      /* the mapping outlives the name */
  file_unmap(map.bytes, map.size);
  put_file("m", "12345", 5);
  assert_int_equal(file_map("m", 4, &map), STATUS_LIMIT);
  assert_int_equal(file_map("empty", 5, &map), STATUS_SHAPE);
  assert_int_equal(file_map(".", 5, &map), STATUS_SHAPE);
  assert_int_equal(mkfifo("fifo", 0600), 0);
  assert_int_equal(file_map("fifo", 5, &map), STATUS_SHAPE);      /* and does not wait for a writer */
  assert_int_equal(file_map("none", 5, &map), STATUS_ABSENT);
  assert_true(errno == ENOENT);
  unlink("m");
  unlink("empty");
  unlink("fifo");
}

static void durations_grow(void **state) {
  (void)state;
  int64_t us = clock_monotonic_us(), ms = clock_monotonic_ms();   /* before the others: they last longer */
  uint64_t elapsed = clock_monotonic_ns();
  uint64_t spent = clock_thread_ns();
  while (clock_thread_ns() - spent < 2000000) continue;
  assert_true(clock_monotonic_ns() - elapsed >= 2000000);
  assert_true(clock_monotonic_us() - us >= 2000 && clock_monotonic_ms() - ms >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(codes_are_what_users_see),
    cmocka_unit_test(memory_passes_true_sizes_and_checks_products),
    cmocka_unit_test(the_system_clock_is_in_this_century),
    cmocka_unit_test(buffers_grow_and_reset),
    cmocka_unit_test(a_buffer_without_memory_stays_as_it_was),
    cmocka_unit_test(every_code_point_goes_there_and_back),
    cmocka_unit_test(nothing_else_is_utf8),
    cmocka_unit_test(utf8_check_finds_the_first_bad_byte),
    cmocka_unit_test(utf8_copy_mends_and_cuts_at_characters),
    cmocka_unit_test(escaped_and_plain_spellings_are_one_text),
    cmocka_unit_test(different_texts_are_not_equal),
    cmocka_unit_test(escaping_writes_json),
    cmocka_unit_test(random_edits_agree_with_an_array),
    cmocka_unit_test(the_ends_of_the_key_range_are_keys),
    cmocka_unit_test(a_map_without_memory_stays_as_it_was),
    cmocka_unit_test(files_are_read_whole_within_the_cap),
    cmocka_unit_test(pipes_are_read_whole_within_the_cap),
    cmocka_unit_test(files_appear_whole_or_not_at_all),
    cmocka_unit_test(modes_and_links_stay),
    cmocka_unit_test(failures_to_write_are_typed),
    cmocka_unit_test(standard_output_stays_open),
    cmocka_unit_test(a_fifo_is_written_to_directly),
    cmocka_unit_test(files_without_memory_leave_nothing),
    cmocka_unit_test(folders_are_made_and_listed),
    cmocka_unit_test(regular_files_are_mapped_within_the_cap),
    cmocka_unit_test(durations_grow),
  };
  return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
