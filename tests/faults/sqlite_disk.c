/*
** A disk for SQLite in memory, as a Lua module: it records each write, cut and sync, makes what a crash at any of
** them may leave, and fails calls. For tests/faults/storage.lua.
**
**     disk.use(true)                         new connections use it; false: the system's files again
**     disk.format()                          an empty disk, which records from here on
**     disk.events()                          how much is recorded
**     disk.crash(k, "subset", seed, lies)    the disk as a crash before event k leaves it; records no more
**     disk.save(), disk.restore()            keeps all files, and brings them back
**     disk.fail("write", k, sticky, code)    the k-th call of a kind from here on fails, once or for ever
**     disk.struck()                          how many calls did
**     disk.bytes(name), disk.put(name, bytes)
**
** What was written before a sync of its file stays. What was written since stays wholly ("all": the process died,
** not the system), not at all ("none"), or in part: some writes ("subset"), some in another order ("reorder"), some
** blocks of some writes ("torn512", "torn4096"). The names of new and removed files stay from the sync of a new log
** or journal on, which syncs the folder. With `lies` the disk ignores syncs: the control, which must lose something.
*/
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 8, NAME_MAX_SIZE = 600, REGIONS = 16, LOCKS = 8 };

typedef struct Handle Handle;

/* A file without its name: it lives as long as a name or a handle refers to it. */
typedef struct Node {
  int number;
  int owners;
  unsigned char *bytes;
  size_t size, room;
  Handle *handles;
  void *regions[REGIONS];        /* shared memory of the log's index */
} Node;

struct Handle {
  sqlite3_file base;
  Node *node;
  Handle *next;
  int lock;                      /* SQLITE_LOCK_NONE ... */
  unsigned shared, exclusive;    /* locks of shared memory, as bits */
  bool maps;
  bool is_temporary;             /* not recorded */
  bool syncs_folder;
};

typedef enum EventKind { WRITE, CUT, SYNC, SYNC_FOLDER, CREATE, REMOVE } EventKind;

typedef struct Event {
  EventKind kind;
  int node;
  size_t at, size;
  unsigned char *bytes;          /* of WRITE */
  char *name;                    /* of CREATE and REMOVE */
} Event;

typedef struct Name {
  char text[NAME_MAX_SIZE];      /* "": free */
  Node *node;
} Name;

static Name names[NAMES], saved[NAMES];
static Event *events;
static size_t event_count, event_room;
static bool records;
static int nodes_begun;
static sqlite3_vfs *below;       /* the system's */

static sqlite3_vfs *(*find_vfs)(const char *);
static int (*register_vfs)(sqlite3_vfs *, int);

static void *must(void *block) {
  if (block == NULL) abort();
  return block;
}

/* ---- nodes and names ---- */

static Node *node_new(void) {
  Node *node = must(calloc(1, sizeof *node));
  node->number = nodes_begun++;
  node->owners = 1;
  return node;
}

static void node_release(Node *node) {
  if (--node->owners > 0) return;
  for (int i = 0; i < REGIONS; i++) free(node->regions[i]);
  free(node->bytes);
  free(node);
}

static void node_resize(Node *node, size_t size) {
  if (size > node->room) {
    node->room = size * 2;
    node->bytes = must(realloc(node->bytes, node->room));
  }
  if (size > node->size) memset(node->bytes + node->size, 0, size - node->size);
  node->size = size;
}

static void node_write(Node *node, size_t at, const unsigned char *bytes, size_t size) {
  if (at + size > node->size) node_resize(node, at + size);
  memcpy(node->bytes + at, bytes, size);
}

static Name *name_find(Name *list, const char *text) {
  for (int i = 0; i < NAMES; i++) {
    if (strcmp(list[i].text, text) == 0) return &list[i];
  }
  return NULL;
}

static void name_set(Name *list, const char *text, Node *node) {
  Name *name = name_find(list, text);
  if (name == NULL) name = must(name_find(list, ""));
  else node_release(name->node);
  strncpy(name->text, text, NAME_MAX_SIZE - 1);
  name->node = node;
}

static void name_remove(Name *list, const char *text) {
  Name *name = name_find(list, text);
  if (name == NULL) return;
  node_release(name->node);
  name->text[0] = '\0';
}

static void names_clear(Name *list) {
  for (int i = 0; i < NAMES; i++) {
    if (list[i].text[0] != '\0') name_remove(list, list[i].text);
  }
}

static void names_copy(Name *to, Name *from) {
  names_clear(to);
  for (int i = 0; i < NAMES; i++) {
    if (from[i].text[0] == '\0') continue;
    Node *copy = node_new();
    node_write(copy, 0, from[i].node->bytes == NULL ? (const unsigned char *)"" : from[i].node->bytes,
               from[i].node->size);
    name_set(to, from[i].text, copy);
  }
}

/* ---- the record ---- */

static void record(EventKind kind, int node, size_t at, const void *bytes, size_t size, const char *name) {
  if (!records) return;
  if (event_count == event_room) {
    event_room = event_room == 0 ? 256 : event_room * 2;
    events = must(realloc(events, event_room * sizeof *events));
  }
  Event *event = &events[event_count++];
  *event = (Event){.kind = kind, .node = node, .at = at, .size = size};
  if (kind == WRITE) memcpy(event->bytes = must(malloc(size + 1)), bytes, size);
  if (name != NULL) event->name = must(strdup(name));
}

/* ---- calls that fail ---- */

static const char *const KINDS[] = {"open", "read", "write", "sync", "truncate", "delete", "lock", "shm", "any", NULL};
typedef enum Call { OPEN, READ, WRITES, SYNCS, TRUNCATE, DELETE, LOCK, SHM, ANY } Call;

static struct {
  Call call;
  long at, calls, struck;      /* at 0: none */
  bool sticky;
  int code;
} fault;

static int strike(Call call) {
  if (fault.at == 0 || (fault.call != call && fault.call != ANY)) return SQLITE_OK;
  long number = ++fault.calls;
  if (fault.sticky ? number < fault.at : number != fault.at) return SQLITE_OK;
  fault.struck++;
  static const int codes[] = {SQLITE_CANTOPEN,      SQLITE_IOERR_READ,     SQLITE_IOERR_WRITE,
                              SQLITE_IOERR_FSYNC,   SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_DELETE,
                              SQLITE_IOERR_LOCK,    SQLITE_IOERR_SHMMAP};
  return fault.code != 0 ? fault.code : codes[call];
}

/* ---- files ---- */

static Handle *handle_of(sqlite3_file *file) { return (Handle *)file; }

static int disk_close(sqlite3_file *file) {
  Handle *h = handle_of(file), **at = &h->node->handles;
  while (*at != h) at = &(*at)->next;
  *at = h->next;
  node_release(h->node);
  return SQLITE_OK;
}

static int disk_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at) {
  Node *node = handle_of(file)->node;
  int code = strike(READ);
  if (code != SQLITE_OK) return code;
  size_t there = (size_t)at >= node->size ? 0 : node->size - (size_t)at;
  if (there > (size_t)size) there = (size_t)size;
  if (there > 0) memcpy(bytes, node->bytes + at, there);
  memset((char *)bytes + there, 0, (size_t)size - there);
  return there == (size_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

/* A write that fails is half done. */
static int disk_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at) {
  Handle *h = handle_of(file);
  int code = strike(WRITES);
  size_t part = code == SQLITE_OK ? (size_t)size : (size_t)size / 2;
  node_write(h->node, (size_t)at, bytes, part);
  if (!h->is_temporary) record(WRITE, h->node->number, (size_t)at, bytes, part, NULL);
  return code;
}

static int disk_truncate(sqlite3_file *file, sqlite3_int64 size) {
  Handle *h = handle_of(file);
  int code = strike(TRUNCATE);
  if (code != SQLITE_OK) return code;
  node_resize(h->node, (size_t)size);
  if (!h->is_temporary) record(CUT, h->node->number, (size_t)size, NULL, 0, NULL);
  return SQLITE_OK;
}

static int disk_sync(sqlite3_file *file, int flags) {
  Handle *h = handle_of(file);
  (void)flags;
  int code = strike(SYNCS);
  if (code != SQLITE_OK || h->is_temporary) return code;
  record(SYNC, h->node->number, 0, NULL, 0, NULL);
  if (h->syncs_folder) record(SYNC_FOLDER, 0, 0, NULL, 0, NULL);
  h->syncs_folder = false;
  return SQLITE_OK;
}

static int disk_size(sqlite3_file *file, sqlite3_int64 *size) {
  *size = (sqlite3_int64)handle_of(file)->node->size;
  return SQLITE_OK;
}

/* ---- locks ---- */

static int highest_of_others(const Handle *h) {
  int highest = SQLITE_LOCK_NONE;
  for (const Handle *other = h->node->handles; other != NULL; other = other->next) {
    if (other != h && other->lock > highest) highest = other->lock;
  }
  return highest;
}

static int disk_lock(sqlite3_file *file, int lock) {
  Handle *h = handle_of(file);
  int others = highest_of_others(h), code = strike(LOCK);
  if (code != SQLITE_OK) return code;
  if (h->lock >= lock) return SQLITE_OK;
  if (others >= (lock == SQLITE_LOCK_SHARED ? SQLITE_LOCK_PENDING : SQLITE_LOCK_RESERVED)) return SQLITE_BUSY;
  bool waits = lock == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED;
  h->lock = waits ? SQLITE_LOCK_PENDING : lock;
  return waits ? SQLITE_BUSY : SQLITE_OK;
}

static int disk_unlock(sqlite3_file *file, int lock) {
  handle_of(file)->lock = lock;
  return SQLITE_OK;
}

static int disk_check_lock(sqlite3_file *file, int *result) {
  Handle *h = handle_of(file);
  *result = h->lock >= SQLITE_LOCK_RESERVED || highest_of_others(h) >= SQLITE_LOCK_RESERVED;
  return SQLITE_OK;
}

static int disk_control(sqlite3_file *file, int operation, void *value) {
  (void)file, (void)operation, (void)value;
  return SQLITE_NOTFOUND;
}

static int disk_sector(sqlite3_file *file) {
  (void)file;
  return 4096;
}

static int disk_traits(sqlite3_file *file) {
  (void)file;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- shared memory ---- */

static int disk_shm_map(sqlite3_file *file, int index, int size, int extends, void volatile **memory) {
  Handle *h = handle_of(file);
  int code = strike(SHM);
  *memory = NULL;
  if (code != SQLITE_OK) return code;
  if (index >= REGIONS) return SQLITE_IOERR_SHMSIZE;
  h->maps = true;
  if (h->node->regions[index] == NULL && extends) h->node->regions[index] = must(calloc(1, (size_t)size));
  *memory = h->node->regions[index];
  return SQLITE_OK;
}

static int disk_shm_lock(sqlite3_file *file, int first, int count, int flags) {
  Handle *h = handle_of(file);
  unsigned mask = ((1u << count) - 1) << first, shared = 0, exclusive = 0;
  int code = flags & SQLITE_SHM_UNLOCK ? SQLITE_OK : strike(LOCK);
  if (code != SQLITE_OK) return code;
  for (const Handle *other = h->node->handles; other != NULL; other = other->next) {
    if (other != h) shared |= other->shared, exclusive |= other->exclusive;
  }
  if (flags & SQLITE_SHM_UNLOCK) {
    h->shared &= ~mask;
    h->exclusive &= ~mask;
    return SQLITE_OK;
  }
  if (mask & exclusive || (flags & SQLITE_SHM_EXCLUSIVE && mask & shared)) return SQLITE_BUSY;
  if (flags & SQLITE_SHM_EXCLUSIVE) h->exclusive |= mask;
  else h->shared |= mask;
  return SQLITE_OK;
}

static void disk_shm_barrier(sqlite3_file *file) { (void)file; }

static int disk_shm_unmap(sqlite3_file *file, int removes) {
  Handle *h = handle_of(file);
  (void)removes;
  h->maps = false;
  h->shared = h->exclusive = 0;
  for (const Handle *other = h->node->handles; other != NULL; other = other->next) {
    if (other->maps) return SQLITE_OK;
  }
  for (int i = 0; i < REGIONS; i++) {
    free(h->node->regions[i]);
    h->node->regions[i] = NULL;
  }
  return SQLITE_OK;
}

static const sqlite3_io_methods METHODS = {
  2,          disk_close,      disk_read,    disk_write,  disk_truncate, disk_sync,    disk_size,
  disk_lock,  disk_unlock,     disk_check_lock, disk_control, disk_sector, disk_traits, disk_shm_map,
  disk_shm_lock, disk_shm_barrier, disk_shm_unmap, NULL,     NULL,
};

/* ---- the file system ---- */

static int disk_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *flags_out) {
  Handle *h = handle_of(file);
  (void)vfs;
  memset(h, 0, sizeof *h);
  int code = strike(OPEN);
  if (code != SQLITE_OK) return code;
  Name *name = path == NULL ? NULL : name_find(names, path);
  bool creates = name == NULL;
  if (creates && !(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
  h->node = creates ? node_new() : name->node;
  if (path != NULL) h->node->owners++;
  if (creates && path != NULL) {
    name_set(names, path, h->node);
    record(CREATE, h->node->number, 0, NULL, 0, path);
  }
  h->is_temporary = path == NULL || flags & (SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_TRANSIENT_DB);
  h->syncs_folder = creates && flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL);
  h->base.pMethods = &METHODS;
  h->next = h->node->handles;
  h->node->handles = h;
  if (flags_out != NULL) *flags_out = flags;
  return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *path, int syncs) {
  (void)vfs;
  int code = strike(DELETE);
  if (code != SQLITE_OK) return code;
  if (name_find(names, path) == NULL) return SQLITE_IOERR_DELETE_NOENT;
  record(REMOVE, 0, 0, NULL, 0, path);
  name_remove(names, path);
  if (syncs) record(SYNC_FOLDER, 0, 0, NULL, 0, NULL);
  return SQLITE_OK;
}

static int disk_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  (void)vfs, (void)flags;
  Name *name = name_find(names, path);
  *result = name != NULL && (flags != SQLITE_ACCESS_EXISTS || name->node->size > 0);
  return SQLITE_OK;
}

static int disk_full_path(sqlite3_vfs *vfs, const char *path, int size, char *out) {
  (void)vfs;
  strncpy(out, path, (size_t)size - 1);
  out[size - 1] = '\0';
  return SQLITE_OK;
}

/* Salts of logs: the same in each run. */
static int disk_randomness(sqlite3_vfs *vfs, int size, char *bytes) {
  static uint64_t state = 1;
  (void)vfs;
  for (int i = 0; i < size; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    bytes[i] = (char)(state >> 56);
  }
  return size;
}

static int disk_sleep(sqlite3_vfs *vfs, int us) { (void)vfs; return us; }      /* there is only one process */
static int disk_time(sqlite3_vfs *vfs, double *now) { (void)vfs; return below->xCurrentTime(below, now); }
static int disk_last_error(sqlite3_vfs *vfs, int size, char *text) { (void)vfs, (void)size, (void)text; return 0; }
static int disk_time64(sqlite3_vfs *vfs, sqlite3_int64 *now) { (void)vfs; return below->xCurrentTimeInt64(below, now); }

static sqlite3_vfs disk = {
  .iVersion = 2, .szOsFile = sizeof(Handle), .mxPathname = NAME_MAX_SIZE - 20, .zName = "disk", .xOpen = disk_open,
  .xDelete = disk_delete, .xAccess = disk_access, .xFullPathname = disk_full_path, .xRandomness = disk_randomness,
  .xSleep = disk_sleep, .xCurrentTime = disk_time, .xGetLastError = disk_last_error,
  .xCurrentTimeInt64 = disk_time64,
};

/* ---- crashes ---- */

static uint64_t chance_state;

static uint32_t chance(uint32_t below_this) {
  chance_state = chance_state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(chance_state >> 33) % below_this;
}

typedef enum Mode { ALL, NONE, SUBSET, REORDER, TORN512, TORN4096 } Mode;
static const char *const MODES[] = {"all", "none", "subset", "reorder", "torn512", "torn4096", NULL};

static void apply_block(Node *node, const Event *event, size_t from, size_t size) {
  node_write(node, event->at + from, event->bytes + from, size);
}

static void apply(Node *node, const Event *event, Mode mode) {
  if (mode != ALL && chance(3) == 0) return;
  if (event->kind == CUT) {
    node_resize(node, event->at);
    return;
  }
  size_t block = mode == TORN512 ? 512 : mode == TORN4096 ? 4096 : event->size + 1;
  for (size_t from = 0; from < event->size;) {
    size_t size = block - (event->at + from) % block;      /* blocks of the disk, not of the write */
    if (block > event->size) size = event->size;
    if (size > event->size - from) size = event->size - from;
    if (block > event->size || chance(2) == 0) apply_block(node, event, from, size);
    from += size;
  }
}

/* Applies events of a node that no sync followed. */
static void apply_pending(Node *node, const size_t *pending, size_t count, Mode mode) {
  if (mode == NONE || count == 0) return;
  size_t *order = must(malloc(count * sizeof *order));
  memcpy(order, pending, count * sizeof *order);
  for (size_t i = count; mode == REORDER && i > 1; i--) {
    size_t other = chance((uint32_t)i), kept = order[i - 1];
    order[i - 1] = order[other];
    order[other] = kept;
  }
  for (size_t i = 0; i < count; i++) apply(node, &events[order[i]], mode);
  free(order);
}

/* The bytes of a node after a crash before event k. */
static void rebuild(Node *node, int number, size_t k, Mode mode, bool lies) {
  size_t *pending = must(malloc((k + 2) * sizeof *pending)), count = 0;
  bool half = mode >= TORN512 && k < event_count && events[k].kind == WRITE;      /* it is under way */
  for (size_t i = 0; i < k + half; i++) {
    if (events[i].node != number) continue;
    if (events[i].kind == WRITE || events[i].kind == CUT) pending[count++] = i;
    if (events[i].kind != SYNC || lies) continue;
    apply_pending(node, pending, count, ALL);
    count = 0;
  }
  apply_pending(node, pending, count, mode);
  free(pending);
}

/* The events of the folder that the crash leaves: all before its last sync, and some of those after it. */
static size_t folder_end(size_t k, Mode mode, bool lies) {
  size_t synced = 0, later = 0;
  for (size_t i = 0; i < k; i++) {
    if (events[i].kind == SYNC_FOLDER && !lies) synced = i, later = 0;
    if (events[i].kind == CREATE || events[i].kind == REMOVE) later++;
  }
  if (mode == ALL) return k;
  size_t kept = mode == NONE ? 0 : chance((uint32_t)later + 1), end = synced;
  for (; end < k && kept > 0; end++) kept -= events[end].kind == CREATE || events[end].kind == REMOVE;
  return end;
}

static void crash(size_t k, Mode mode, bool lies) {
  records = false;
  names_clear(names);
  size_t end = folder_end(k, mode, lies);
  for (size_t i = 0; i < end; i++) {
    if (events[i].kind == REMOVE) name_remove(names, events[i].name);
    if (events[i].kind != CREATE) continue;
    Node *node = node_new();
    node->number = events[i].node;
    name_set(names, events[i].name, node);
  }
  for (int i = 0; i < NAMES; i++) {
    if (names[i].text[0] != '\0') rebuild(names[i].node, names[i].node->number, k, mode, lies);
  }
}

/* ---- in Lua ---- */

static int l_use(lua_State *L) {
  register_vfs(lua_toboolean(L, 1) ? &disk : below, 1);
  return 0;
}

static int l_format(lua_State *L) {
  (void)L;
  names_clear(names);
  for (size_t i = 0; i < event_count; i++) {
    free(events[i].bytes);
    free(events[i].name);
  }
  event_count = 0;
  records = true;
  return 0;
}

static int l_events(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)event_count);
  return 1;
}

/* syncs() -> how many syncs of files are among the events */
static int l_syncs(lua_State *L) {
  lua_Integer count = 0;
  for (size_t i = 0; i < event_count; i++) count += events[i].kind == SYNC;
  lua_pushinteger(L, count);
  return 1;
}

static int l_crash(lua_State *L) {
  lua_Integer k = luaL_checkinteger(L, 1);
  Mode mode = (Mode)luaL_checkoption(L, 2, "all", MODES);
  luaL_argcheck(L, k >= 0 && (size_t)k <= event_count, 1, "no such event");
  chance_state = (uint64_t)luaL_checkinteger(L, 3);
  crash((size_t)k, mode, lua_toboolean(L, 4));
  return 0;
}

static int l_save(lua_State *L) {
  (void)L;
  names_copy(saved, names);
  return 0;
}

static int l_restore(lua_State *L) {
  (void)L;
  records = false;
  names_copy(names, saved);
  return 0;
}

static int l_fail(lua_State *L) {
  memset(&fault, 0, sizeof fault);
  if (lua_isnoneornil(L, 1)) return 0;
  fault.call = (Call)luaL_checkoption(L, 1, NULL, KINDS);
  fault.at = (long)luaL_checkinteger(L, 2);
  fault.sticky = lua_toboolean(L, 3);
  fault.code = (int)luaL_optinteger(L, 4, 0);
  return 0;
}

static int l_struck(lua_State *L) {
  lua_pushinteger(L, fault.struck);
  return 1;
}

static int l_bytes(lua_State *L) {
  Name *name = name_find(names, luaL_checkstring(L, 1));
  if (name == NULL) return 0;
  lua_pushlstring(L, name->node->bytes == NULL ? "" : (const char *)name->node->bytes, name->node->size);
  return 1;
}

static int l_put(lua_State *L) {
  size_t size;
  const char *path = luaL_checkstring(L, 1), *bytes = luaL_checklstring(L, 2, &size);
  Node *node = node_new();
  records = false;
  node_write(node, 0, (const unsigned char *)bytes, size);
  name_set(names, path, node);
  return 0;
}

static void load_symbol(lua_State *L, void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) luaL_error(L, "SQLite has no %s", name);
  memcpy(function, &symbol, sizeof symbol);
}

int luaopen_sqlite_disk(lua_State *L);

int luaopen_sqlite_disk(lua_State *L) {
  static const luaL_Reg functions[] = {
    {"use", l_use},     {"format", l_format}, {"events", l_events}, {"syncs", l_syncs}, {"crash", l_crash},
    {"save", l_save},   {"restore", l_restore}, {"fail", l_fail}, {"struck", l_struck}, {"bytes", l_bytes}, {"put", l_put}, {NULL, NULL}};
  void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return luaL_error(L, "%s", dlerror());
  load_symbol(L, library, "sqlite3_vfs_find", &find_vfs);
  load_symbol(L, library, "sqlite3_vfs_register", &register_vfs);
  below = find_vfs(NULL);
  luaL_newlib(L, functions);
  return 1;
}
