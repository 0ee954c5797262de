/*
** HTTP: one request to a provider, through libcurl.
**
** libcurl is loaded by the first request, so that a start of the command costs what it did, and a machine without it
** runs everything else. The functions and numbers below are of its binary interface, libcurl.so.4, which has not
** changed since 2006; a build needs none of its headers.
**
** libcurl adds to two buffers; Lua is called between its steps, never from inside it, so that an error of Lua passes
** through none of its frames. Whatever ends the call, the return or the collector frees the transfer.
*/
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "bind/argument.h"
#include "host/host.h"
#include "os/os.h"

#define HEADER_BYTES_MAX (256u * 1024)    /* of an answer's head */
#define HEADERS_MAX      64               /* of a request */
#define WAIT_MS          50               /* between looks for Ctrl-C */

enum {
  OPT_WRITEDATA = 10001, OPT_URL = 10002, OPT_ERRORBUFFER = 10010, OPT_POSTFIELDS = 10015, OPT_USERAGENT = 10018,
  OPT_LOW_SPEED_LIMIT = 19, OPT_LOW_SPEED_TIME = 20, OPT_HTTPHEADER = 10023, OPT_HEADERDATA = 10029,
  OPT_NOSIGNAL = 99, OPT_ACCEPT_ENCODING = 10102, OPT_TIMEOUT_MS = 155, OPT_CONNECTTIMEOUT_MS = 156,
  OPT_PROTOCOLS = 181, OPT_WRITEFUNCTION = 20011, OPT_HEADERFUNCTION = 20079, OPT_POSTFIELDSIZE_LARGE = 30120,
  INFO_RESPONSE_CODE = 0x200002,
  PROTOCOLS_HTTP = 3,                     /* http and https: a provider's redirect leads nowhere else */
  GLOBAL_ALL = 3, ERROR_BYTES = 256,
};

#define HEAD_TOO_LONG "the head of its answer is longer than 256 KiB"
#define LINE_TOO_LONG "a line in the head of its answer is longer than libcurl takes (100 KiB)"

/* CURLcode: what kinds of failures are told apart. NO_MEMORY and TOO_LARGE are also libcurl's words for a line of a
   head that is too long. */
enum {
  RESOLVE_PROXY = 5, RESOLVE = 6, CONNECT = 7, TIMED_OUT = 28, WRITE_ERROR = 23, NO_MEMORY = 27, TOO_LARGE = 100,
};

typedef struct Message { int kind; void *easy; union { void *other; int result; } data; } Message;

static struct {
  int (*global_init)(long flags);
  void *(*easy_init)(void);
  int (*setopt)(void *easy, int option, ...);
  int (*getinfo)(void *easy, int info, ...);
  const char *(*strerror)(int code);
  void (*easy_cleanup)(void *easy);
  void *(*list_add)(void *list, const char *line);
  void (*list_free)(void *list);
  void *(*multi_init)(void);
  int (*multi_add)(void *multi, void *easy);
  int (*multi_remove)(void *multi, void *easy);
  int (*perform)(void *multi, int *running);
  int (*wait)(void *multi, void *extra, unsigned count, int milliseconds, int *ready);
  Message *(*read)(void *multi, int *left);
  int (*multi_cleanup)(void *multi);
} curl;

static bool begin_curl(void) { return curl.global_init(GLOBAL_ALL) == 0; }

/* Loads the library, by the name of each of its builds; false where none can be used. */
static bool load(void) {
  static const char *const names[] = {
    "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4", "libcurl.4.dylib", NULL};
  static const char *const functions[] = {
    "curl_global_init", "curl_easy_init", "curl_easy_setopt", "curl_easy_getinfo", "curl_easy_strerror",
    "curl_easy_cleanup", "curl_slist_append", "curl_slist_free_all", "curl_multi_init", "curl_multi_add_handle",
    "curl_multi_remove_handle", "curl_multi_perform", "curl_multi_wait", "curl_multi_info_read", "curl_multi_cleanup",
    NULL};
  static SharedLibrary library = {.names = names, .functions = functions, .table = &curl, .begin = begin_curl};
  return shared_library_load(&library, NULL);
}

typedef struct Transfer {
  void *multi, *easy, *headers;
  Buffer *head, *body;
  size_t limit;                /* of the body, in bytes */
  const char *too_long;        /* what is longer than it may be, or NULL */
  bool has_no_memory;
  char error[ERROR_BYTES];
} Transfer;

static int end_transfer(lua_State *L) {
  Transfer *transfer = lua_touserdata(L, 1);
  if (transfer->easy != NULL) {
    if (transfer->multi != NULL) curl.multi_remove(transfer->multi, transfer->easy);
    curl.easy_cleanup(transfer->easy);
  }
  if (transfer->multi != NULL) curl.multi_cleanup(transfer->multi);
  if (transfer->headers != NULL) curl.list_free(transfer->headers);
  transfer->easy = transfer->multi = transfer->headers = NULL;
  return 0;
}

static Transfer *push_transfer(lua_State *L) {
  Transfer *transfer = lua_newuserdatauv(L, sizeof *transfer, 0);
  *transfer = (Transfer){.limit = ANSWER_BYTES_MAX};
  if (luaL_newmetatable(L, "ebb.host.transfer")) {
    lua_pushcfunction(L, end_transfer);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, end_transfer);
    lua_setfield(L, -2, "__close");
  }
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  transfer->head = bind_buffer(L);
  transfer->body = bind_buffer(L);
  return transfer;
}

/* A number other than `size` ends the transfer. */
static size_t keep(Transfer *transfer, Buffer *buffer, size_t limit, const char *bytes, size_t size) {
  if (size > limit - buffer->size) {
    transfer->too_long = buffer == transfer->body ? ANSWER_TOO_LONG : HEAD_TOO_LONG;
    return 0;
  }
  transfer->has_no_memory = buffer_add(buffer, bytes, size) != STATUS_OK;
  return transfer->has_no_memory ? 0 : size;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *user) {
  Transfer *transfer = user;
  return keep(transfer, transfer->body, transfer->limit, bytes, one * size);
}

/* The head of "100 Continue" and the like gives way to that of the answer. */
static size_t on_header(char *bytes, size_t one, size_t size, void *user) {
  Transfer *transfer = user;
  if (one * size > 5 && memcmp(bytes, "HTTP/", 5) == 0) buffer_reset(transfer->head);
  return keep(transfer, transfer->head, HEADER_BYTES_MAX, bytes, one * size);
}

static long milliseconds(lua_State *L, const char *field, double usual) {
  double seconds = lua_getfield(L, 1, field) == LUA_TNIL ? usual : luaL_checknumber(L, -1);
  lua_pop(L, 1);
  luaL_argcheck(L, seconds > 0 && seconds <= 86400, 1, field);
  return seconds < 0.001 ? 1 : (long)(seconds * 1000);
}

/* The lines of `headers`; the texts are copied. */
static void add_headers(lua_State *L, Transfer *transfer) {
  luaL_checktype(L, (lua_getfield(L, 1, "headers"), -1), LUA_TTABLE);
  lua_Integer count = luaL_len(L, -1);
  luaL_argcheck(L, count <= HEADERS_MAX, 1, "headers");
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(L, -1, i);
    void *longer = curl.list_add(transfer->headers, luaL_checkstring(L, -1));
    if (longer == NULL) luaL_error(L, "not enough memory");
    transfer->headers = longer;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Texts stay in the request's table, at 1, until the call ends. */
static const char *text_field(lua_State *L, const char *field, size_t *size) {
  lua_getfield(L, 1, field);
  const char *text = luaL_checklstring(L, -1, size);
  lua_pop(L, 1);
  return text;
}

static void prepare(lua_State *L, Transfer *transfer) {
  size_t size;
  const char *body = text_field(L, "body", &size);
  transfer->easy = curl.easy_init();
  transfer->multi = curl.multi_init();
  if (transfer->easy == NULL || transfer->multi == NULL) luaL_error(L, "not enough memory");
  add_headers(L, transfer);
  void *easy = transfer->easy;
  curl.setopt(easy, OPT_URL, text_field(L, "url", NULL));
  curl.setopt(easy, OPT_HTTPHEADER, transfer->headers);
  curl.setopt(easy, OPT_POSTFIELDSIZE_LARGE, (int64_t)size);
  curl.setopt(easy, OPT_POSTFIELDS, body);
  curl.setopt(easy, OPT_USERAGENT, "ebb");
  curl.setopt(easy, OPT_ACCEPT_ENCODING, "");
  curl.setopt(easy, OPT_PROTOCOLS, (long)PROTOCOLS_HTTP);
  curl.setopt(easy, OPT_NOSIGNAL, 1L);
  curl.setopt(easy, OPT_ERRORBUFFER, transfer->error);
  curl.setopt(easy, OPT_CONNECTTIMEOUT_MS, milliseconds(L, "connect_seconds", 20));
  curl.setopt(easy, OPT_TIMEOUT_MS, milliseconds(L, "seconds", 600));
  long idle = milliseconds(L, "idle_seconds", 120);
  curl.setopt(easy, OPT_LOW_SPEED_LIMIT, 1L);
  curl.setopt(easy, OPT_LOW_SPEED_TIME, idle < 1000 ? 1L : idle / 1000);
  curl.setopt(easy, OPT_WRITEFUNCTION, on_body);
  curl.setopt(easy, OPT_WRITEDATA, transfer);
  curl.setopt(easy, OPT_HEADERFUNCTION, on_header);
  curl.setopt(easy, OPT_HEADERDATA, transfer);
  if (curl.multi_add(transfer->multi, easy) != 0) luaL_error(L, "not enough memory");
}

static long status_of(const Transfer *transfer) {
  long status = 0;
  curl.getinfo(transfer->easy, INFO_RESPONSE_CODE, &status);
  return status;
}

/* Calls hear(status, head, bytes) with what has come since the last call; answers how much has come. */
static size_t tell(lua_State *L, const Transfer *transfer, size_t before) {
  size_t size = transfer->body->size;
  if (size == before || lua_isnoneornil(L, 2)) return size;
  lua_pushvalue(L, 2);
  lua_pushinteger(L, status_of(transfer));
  lua_pushlstring(L, transfer->head->bytes, transfer->head->size);
  lua_pushlstring(L, transfer->body->bytes + before, size - before);
  lua_call(L, 3, 0);
  return size;
}

/* The CURLcode of the transfer when it is over. */
static int run(lua_State *L, Transfer *transfer) {
  size_t heard = 0;
  for (int running = 1, ready, left;;) {
    if (curl.perform(transfer->multi, &running) != 0) return WRITE_ERROR;
    heard = tell(L, transfer, heard);
    if (host_interrupted()) host_raise_interrupt(L);
    Message *message = running == 0 ? curl.read(transfer->multi, &left) : NULL;
    if (running == 0) return message == NULL ? WRITE_ERROR : message->data.result;
    if (curl.wait(transfer->multi, NULL, 0, WAIT_MS, &ready) != 0) return WRITE_ERROR;
  }
}

static const char *kind_of(int code) {
  if (code == RESOLVE || code == RESOLVE_PROXY || code == CONNECT) return "connect";
  return code == TIMED_OUT ? "timeout" : "cut";
}

static int push_failure(lua_State *L, const Transfer *transfer, int code) {
  const char *why = transfer->error[0] != '\0' ? transfer->error : curl.strerror(code);
  const char *too_long = transfer->too_long;
  bool is_line = (code == NO_MEMORY || code == TOO_LARGE) && transfer->body->size == 0;
  if (too_long == NULL && is_line) too_long = LINE_TOO_LONG;
  if (transfer->has_no_memory) luaL_error(L, "not enough memory");
  lua_pushnil(L);
  lua_pushstring(L, too_long != NULL ? too_long : why);
  lua_pushstring(L, too_long != NULL ? "limit" : kind_of(code));
  return 3;
}

int host_http(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  if (!load()) {
    lua_pushnil(L);
    lua_pushliteral(L, "libcurl is not installed (Debian: libcurl4)");
    lua_pushliteral(L, "absent");
    return 3;
  }
  Transfer *transfer = push_transfer(L);
  prepare(L, transfer);
  int code = run(L, transfer);
  if (code != 0) return push_failure(L, transfer, code);
  lua_pushinteger(L, status_of(transfer));
  lua_pushlstring(L, transfer->head->size > 0 ? transfer->head->bytes : "", transfer->head->size);
  lua_pushlstring(L, transfer->body->size > 0 ? transfer->body->bytes : "", transfer->body->size);
  return 3;
}
