/*
** Salvage of files of SQLite: the input lays out pages, writes rows, sessions, chains and frames of the log with right
** checksums, damages them, and all that is found is read in every way. Nothing is read outside of the file, all memory
** comes back, and work is bounded (the sanitizers and -timeout see to that).
*/
#undef NDEBUG
#define _DEFAULT_SOURCE 1     /* P_tmpdir */
#include "check.h"
#include "salvage_kit.h"

#define PAGES_MAX 12
#define FRAMES_MAX 8
#define FRAME (STORE_PAGE + 24)
#define SESSIONS 4

typedef struct Input {
  const uint8_t *bytes;
  size_t size;
} Input;

typedef struct Layout {
  unsigned char bytes[PAGES_MAX * STORE_PAGE], log[32 + FRAMES_MAX * FRAME];
  KitFile file;
  uint32_t frames;
  size_t size;               /* of the file in the end */
  RowTally tallies[SESSIONS];
} Layout;

static Layout layout;
static char path[64], log_path[72];

static uint32_t take(Input *input, uint32_t limit) {
  uint32_t number = 0;
  for (int i = 0; i < (limit > 256 ? 2 : 1) && input->size > 0; i++, input->size--) {
    number = number << 8 | *input->bytes++;
  }
  return number % limit;
}

static uint32_t take_page(Input *input) { return 1 + take(input, layout.file.pages); }

static void write_row(Input *input) {
  static const char text[KIT_LOCAL_MOST] = "[{\"role\":\"user\",\"content\":\"the ferry leaves at nine\"}]";
  uint64_t session = take(input, SESSIONS), sum;
  StateRow row = {.kind = (StateRowKind)take(input, STATE_ROW_KINDS), .number = take(input, 20)};
  bool is_long = take(input, 3) == 0;
  char *body = NULL;
  size_t size = is_long ? take(input, 65536) : take(input, 60);
  uint32_t page = take_page(input), chain = take_page(input);
  body = calloc(1, size + sizeof text);
  memcpy(body, text, sizeof text);
  row.bytes = text_plain(body, size);
  if (kit_row(&layout.file, page, take(input, STORE_PAGE), session + 1, row, chain, &sum) > 0) {
    layout.tallies[session].count++;
    layout.tallies[session].sum += sum;
  }
  free(body);
}

static void write_session(Input *input) {
  static const char name[] = "support \xc3\xa4 a b c";
  uint64_t id = 1 + take(input, SESSIONS);
  SessionInfo info = {.id = id, .name = text_plain(name, take(input, sizeof name)), .version = take(input, 5),
                      .messages = take(input, 20), .stored = take(input, 20), .batches = take(input, 5),
                      .origin = take(input, SESSIONS + 1), .shared = take(input, 20), .tally = layout.tallies[id - 1]};
  if (info.origin == 0) info.shared = 0;
  if (take(input, 8) == 0) info.shared = UINT64_MAX;
  uint32_t page = take_page(input);
  kit_session(&layout.file, page, take(input, STORE_PAGE), &info);
}

static void write_bytes(Input *input) {
  uint32_t page = take_page(input), offset = take(input, STORE_PAGE), count = 1 + take(input, 64);
  for (uint32_t i = 0; i < count && offset + i < STORE_PAGE; i++) {
    kit_page(&layout.file, page)[offset + i] = (unsigned char)take(input, 256);
  }
}

/* Copies a page to a frame of the log, mostly under its own number; the file then may have zeros in its place. */
static void write_frame(Input *input) {
  uint32_t page = take_page(input), number = take(input, 4) > 0 ? page : take(input, 40);
  if (layout.frames == FRAMES_MAX) return;
  unsigned char *frame = layout.log + 32 + (size_t)layout.frames++ * FRAME;
  kit_put_32(frame, number);
  kit_put_32(frame + 4, take(input, 3));       /* above 0: a commit */
  memcpy(frame + 24, kit_page(&layout.file, page), STORE_PAGE);
  if (take(input, 2) > 0) memset(kit_page(&layout.file, page), 0, STORE_PAGE);
}

static void add_sums(const unsigned char *words, size_t size, uint32_t sums[2]) {
  for (size_t i = 0; i < size; i += 8) {
    sums[0] += kit_get_32(words + i) + sums[1];
    sums[1] += kit_get_32(words + i + 4) + sums[0];
  }
}

static void seal_log(void) {
  uint32_t sums[2] = {0, 0};
  kit_put_32(layout.log, 0x377f0683);
  kit_put_32(layout.log + 8, STORE_PAGE);
  kit_put_64(layout.log + 16, UINT64_C(0x1122334455667788));
  add_sums(layout.log, 24, sums);
  kit_put_32(layout.log + 24, sums[0]);
  kit_put_32(layout.log + 28, sums[1]);
  for (uint32_t i = 0; i < layout.frames; i++) {
    unsigned char *frame = layout.log + 32 + (size_t)i * FRAME;
    memcpy(frame + 8, layout.log + 16, 8);
    add_sums(frame, 8, sums);
    add_sums(frame + 24, STORE_PAGE, sums);
    kit_put_32(frame + 16, sums[0]);
    kit_put_32(frame + 20, sums[1]);
  }
}

static void fill_page(Input *input) {
  uint32_t page = take_page(input);
  memset(kit_page(&layout.file, page) + 4, (int)take(input, 256), STORE_PAGE - 4);
}

static void lay_out(Input *input) {
  memset(&layout, 0, sizeof layout);
  layout.file = (KitFile){layout.bytes, 1 + take(input, PAGES_MAX)};
  while (input->size > 0) {
    uint32_t act = take(input, 8), page;
    switch (act) {
      case 0: case 1: write_row(input); break;
      case 2: write_session(input); break;
      case 3: write_bytes(input); break;
      case 4: page = take_page(input); kit_put_32(kit_page(&layout.file, page), take(input, 16)); break;
      case 5: write_frame(input); break;
      case 6: fill_page(input); break;
      default: layout.size = take(input, STORE_PAGE); break;       /* so much is missing at the end */
    }
  }
  layout.size = layout.file.pages * STORE_PAGE - layout.size;
  seal_log();
}

typedef struct Found {
  SessionInfo infos[64];
  char names[64][32];
  uint32_t count;
  uint64_t rows, last;
} Found;

static Status add_info(void *user, const SessionInfo *info) {
  Found *found = user;
  if (found->count == 64) return STATUS_OK;
  assert(info->name.size < 32 && info->id >= 1);
  SessionInfo *copy = &found->infos[found->count];
  *copy = *info;
  memcpy(found->names[found->count], info->name.bytes, info->name.size);
  copy->name = text_plain(found->names[found->count++], info->name.size);
  return STATUS_OK;
}

/* Rows come in order, and their bytes are there. */
static Status put_row(void *user, const StateRow *row) {
  Found *found = user;
  uint64_t key = (uint64_t)row->kind << ROW_KIND_SHIFT | row->number;
  assert(row->kind < STATE_ROW_KINDS && (found->rows == 0 || key > found->last));
  found->last = key;
  found->rows++;
  (void)storage_checksum(0, row);
  return STATUS_OK;
}

static Status look(void *user, const SessionInfo *info, StateRowSource rows) {
  Found *found = user;
  Status status = STATUS_OK;
  (void)info;
  for (StateRowKind kind = 0; kind < STATE_ROW_KINDS && status == STATUS_OK; kind++) {
    found->rows = 0;
    status = rows.read(rows.user, kind, 0, UINT64_MAX, (StateRowSink){.put = put_row, .user = found});
  }
  return status;
}

static void read_sessions(Storage *storage) {
  static Found found;
  StorageError error;
  SessionInfo info;
  found.count = 0;
  assert(storage_list(storage, (SessionSink){.add = add_info, .user = &found}, &error) == STATUS_OK);
  for (uint32_t i = 0; i < found.count; i++) {
    uint64_t id = found.infos[i].id;
    assert(storage_find(storage, found.infos[i].name, &info, &error) == STATUS_OK);
    assert(text_equal(info.name, found.infos[i].name));
    found.rows = 0;
    Status status = storage_read(storage, id, (StateRowSink){.put = put_row, .user = &found}, &info, &error);
    assert(status == STATUS_OK || (status == STATUS_SHAPE && error.text[0] != '\0'));
    assert(storage_look(storage, id, (StorageLook){.run = look, .user = &found}, &error) == STATUS_OK);
  }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir;
  snprintf(path, sizeof path, "%s/fuzz_salvage.%ld", folder, (long)getpid());
  snprintf(log_path, sizeof log_path, "%s-wal", path);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Input input = {data, size};
  Fail fail = {0};
  StorageConfig config = {.memory = fail_memory(&fail), .salvages = true};
  Storage *storage = NULL;
  StorageError error;
  lay_out(&input);
  kit_write(path, layout.bytes, layout.size);
  if (layout.frames > 0) kit_write(log_path, layout.log, 32 + (size_t)layout.frames * FRAME);
  assert(storage_open(path, &config, &storage, &error) == STATUS_OK);
  read_sessions(storage);
  storage_close(storage);
  assert(fail.in_use == 0);
  unlink(path);
  if (layout.frames > 0) unlink(log_path);
  return 0;
}
