/*
** load and require: text only, capped (text_cost.c), from the host's loader only.
*/
#include <string.h>

#include "sandbox/sandbox_state.h"

#define UNITS_PER_BYTE  8      /* reading twice: 40 ns */
#define PIECE           64     /* bytes that the parser gets at once: where it is quadratic, some ms */
#define SOURCE_SMALL    1024   /* bytes that need no slice of their own */
#define LOOKS_PER_UNIT  4
#define TOO_DEEP        "C stack overflow"   /* the parser's whole message */

/* Pushes a message for a text that the parser would choke on; charges for what grows faster than its bytes. */
static bool is_too_much(lua_State *L, const char *text, size_t size, const char *name) {
  if (size > SANDBOX_SOURCE) {
    lua_pushfstring(L, "%s: the source is longer than %d bytes", name, (int)SANDBOX_SOURCE);
    return true;
  }
  guard_charge(L, (uint64_t)size * UNITS_PER_BYTE / 2);
  if (!holds(sandbox_of(L), GUARD_PARSE)) return false;
  ParseCost cost = parse_cost(text, size);
  if (cost.jumps > PARSE_JUMPS_MAX) {
    lua_pushfstring(L, "%s: more than %d times and, or, elseif, break, goto or :: in one source", name,
                    PARSE_JUMPS_MAX);
    return true;
  }
  if (cost.looks > PARSE_LOOKS_MAX) {
    lua_pushfstring(L, "%s: too many names within functions within functions", name);
    return true;
  }
  guard_charge(L, cost.jumps * cost.jumps / 4 + cost.looks / LOOKS_PER_UNIT);
  return false;
}

typedef struct Reading {
  const char *at, *end;
  const char *name, *mode;   /* of lua_load */
  int status, line;          /* the line that the parser has begun */
  bool begins_line;
} Reading;

/* Hands the parser a piece of a line. It may not be left by a jump, for it holds memory; a script that is stopped
   meanwhile leaves it by an error. */
static const char *read_piece(lua_State *L, void *user, size_t *size) {
  Reading *reading = user;
  const char *piece = reading->at;
  size_t left = (size_t)(reading->end - piece);
  *size = left < PIECE ? left : PIECE;
  const char *newline = memchr(piece, '\n', *size);
  if (newline != NULL) *size = (size_t)(newline - piece) + 1;
  reading->line += reading->begins_line;
  reading->begins_line = newline != NULL;
  if (guard_meter(L, *size * UNITS_PER_BYTE / 2)) luaL_error(L, "stopped");
  reading->at += *size;
  return *size > 0 ? piece : NULL;
}

/* (reading) -> the chunk, or a message. That of parts too deep in one another has no place: it gets one. */
static int read_chunk(lua_State *L) {
  Reading *reading = lua_touserdata(L, 1);
  reading->status = lua_load(L, read_piece, reading, reading->name, reading->mode);
  const char *name = reading->name + (*reading->name == '@' || *reading->name == '=');
  if (reading->status == LUA_ERRRUN && strcmp(lua_tostring(L, -1), TOO_DEEP) == 0) {
    lua_pushfstring(L, "%s:%d: too many parts in one another (" TOO_DEEP ")", name, reading->line);
  }
  return 1;
}

/* Within lua_pcall, so that no handler of the script's sees an error of the parser: for Lua calls it before the parser
   has freed its memory, and the handler may be left by a jump. */
static int parse(lua_State *L, const char *text, size_t size, const char *name, const char *mode) {
  Reading reading = {.at = text, .end = text + size, .name = name, .mode = mode, .begins_line = true};
  if (!holds(sandbox_of(L), GUARD_TEXT)) reading.mode = "bt";
  lua_pushcfunction(L, read_chunk);
  lua_pushlightuserdata(L, &reading);
  int failed = lua_pcall(L, 1, 1, 0), status = failed != LUA_OK ? failed : reading.status;
  if (status != LUA_OK) guard_charge(L, 0);  /* stops here */
  return status;
}

int load_text(lua_State *L, const char *text, size_t size, const char *name, const char *mode) {
  return is_too_much(L, text, size, name) ? LUA_ERRSYNTAX : parse(L, text, size, name, mode);
}

/* Of the chunk on top. */
static void set_globals(lua_State *L, int index) {
  lua_pushvalue(L, index);
  if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
}

#define SOURCE 5   /* stack index of the source, before that of the pieces that the reader has answered */
#define TOTAL  6   /* of their bytes */

/* The arguments of load: 1 chunk 2 name 3 mode 4 environment, and the text at SOURCE. */
static int finish_load(lua_State *L, int status, lua_KContext is_good) {
  size_t size;
  const char *text = lua_tolstring(L, SOURCE, &size), *mode = luaL_optstring(L, 3, "bt");
  const char *name = luaL_optstring(L, 2, lua_type(L, 1) == LUA_TSTRING && size < 200 ? text : "=(load)");
  (void)status;
  if (!is_good || parse(L, text, size, name, strchr(mode, 't') != NULL ? "t" : "b") != LUA_OK) {
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
  }
  set_globals(L, 4);
  return 1;
}

/* Compiles the text; in a slice of its own, as nothing interrupts the parser. */
static int compile(lua_State *L) {
  size_t size;
  const char *text = lua_tolstring(L, SOURCE, &size);
  const char *name = luaL_optstring(L, 2, lua_type(L, 1) == LUA_TSTRING && size < 200 ? text : "=(load)");
  bool is_good = !is_too_much(L, text, size, name);
  if (is_good && size > SOURCE_SMALL && guard_pause(L, 0)) return guard_yield(L, true, finish_load);
  return finish_load(L, LUA_OK, is_good);
}

/* Puts the pieces together in their place. */
static void join_pieces(lua_State *L) {
  luaL_Buffer b;
  lua_Integer count = (lua_Integer)lua_rawlen(L, SOURCE);
  luaL_buffinitsize(L, &b, (size_t)lua_tointeger(L, TOTAL));
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, SOURCE, i);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  lua_replace(L, SOURCE);
  lua_settop(L, SOURCE);
}

/* Keeps the piece on top; false at the end. */
static bool take_piece(lua_State *L) {
  if (lua_isnil(L, -1)) return false;
  if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "reader function must return a string");
  size_t size = lua_rawlen(L, -1);
  if (size == 0) return false;
  size += (size_t)lua_tointeger(L, TOTAL);
  if (size > SANDBOX_SOURCE) luaL_error(L, "the source is longer than %d bytes", (int)SANDBOX_SOURCE);
  lua_rawseti(L, SOURCE, (lua_Integer)lua_rawlen(L, SOURCE) + 1);
  lua_pushinteger(L, (lua_Integer)size);
  lua_replace(L, TOTAL);
  return true;
}

static int go_on_load(lua_State *L, int status, lua_KContext context);

/* Asks the function at 1 for the next pieces. */
static int read_pieces(lua_State *L) {
  do {
    guard_charge(L, 4);
    lua_settop(L, TOTAL);
    lua_pushvalue(L, 1);
    lua_callk(L, 0, 1, 0, go_on_load);
  } while (take_piece(L));
  join_pieces(L);
  return compile(L);
}

static int go_on_load(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  if (take_piece(L)) return read_pieces(L);
  join_pieces(L);
  return compile(L);
}

/* load(chunk [, name [, mode [, env]]]): mode "b" refuses all, others mean "t".
   Upvalue 1: the caller's globals, which the chunk gets without env. */
static int l_load(lua_State *L) {
  bool has_environment = !lua_isnone(L, 4);
  luaL_optstring(L, 3, "bt");
  lua_settop(L, has_environment ? 4 : 3);
  if (!has_environment) lua_pushvalue(L, lua_upvalueindex(1));
  if (lua_type(L, 1) == LUA_TSTRING) {
    lua_pushvalue(L, 1);
    return compile(L);
  }
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_newtable(L);
  lua_pushinteger(L, 0);
  return read_pieces(L);
}

/* ---- require ---- */

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Letters, digits, _ and -, with single dots within: no path can be said. */
static bool is_module_name(const char *name, size_t size) {
  if (size == 0 || size > MODULE_NAME_MAX) return false;
  for (size_t i = 0; i < size; i++) {
    char c = name[i];
    bool plain = is_word(c) || c == '-';
    bool dot = c == '.' && i > 0 && i + 1 < size && name[i - 1] != '.';
    if (!plain && !dot) return false;
  }
  return true;
}

/* Raises {code, message}, which callers can tell from errors of scripts. */
static int raise_memory(lua_State *L, const char *name) {
  lua_createtable(L, 0, 2);
  lua_pushstring(L, status_code(STATUS_MEMORY));
  lua_setfield(L, -2, "code");
  lua_pushfstring(L, "module '%s': not enough memory", name);
  lua_setfield(L, -2, "message");
  return lua_error(L);
}

/* Loads the module named at 1 from the host; pushes its chunk. */
static void load_module(lua_State *L, const char *name) {
  const SandboxConfig *config = &sandbox_of(L)->config;
  const char *text = NULL;
  size_t size = 0;
  Status status = config->module != NULL ? config->module(config->user, name, &text, &size) : STATUS_ABSENT;
  if (status == STATUS_MEMORY) raise_memory(L, name);
  if (status == STATUS_ABSENT) luaL_error(L, "module '%s' not found: the host has none of this name", name);
  if (status != STATUS_OK) luaL_error(L, "module '%s' cannot be read: %s", name, status_code(status));
  lua_pushfstring(L, "@%s", name);
  if (load_text(L, text, size, lua_tostring(L, -1), "t") != LUA_OK) lua_error(L);
  lua_remove(L, -2);
}

/* Upvalue 1: what was loaded, by name; false while a module runs. 2: the globals of
   the caller, which modules get too. */
static int l_require(lua_State *L) {
  size_t size;
  const char *name = luaL_checklstring(L, 1, &size);
  if (!is_module_name(name, size)) return luaL_error(L, "'%s' is not a module name (words separated by dots)", name);
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
    if (lua_toboolean(L, -1)) return 1;
    return luaL_error(L, "module '%s' requires itself, or failed before", name);
  }
  load_module(L, name);
  set_globals(L, lua_upvalueindex(2));
  lua_pushvalue(L, 1);
  lua_pushboolean(L, 0);
  lua_rawset(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
  }
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, lua_upvalueindex(1));
  return 1;
}

/* Pushes the libraries of the globals on top, by name: they can be required too. */
static void push_loaded(lua_State *L) {
  static const char *const names[] = {"string", "table", "math", "utf8", "coroutine"};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_getfield(L, -2, names[i]);
    lua_setfield(L, -2, names[i]);
  }
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "_G");
}

/* Adds the fields of the table at `modules` to the one on top. */
static void add_modules(lua_State *L, int modules) {
  for (lua_pushnil(L); lua_next(L, modules) != 0;) {       /* loaded name module */
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
}

void library_load(lua_State *L, int modules) {
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, l_load, 1);
  lua_setfield(L, -2, "load");
  push_loaded(L);
  if (modules != 0) add_modules(L, modules);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, l_require, 2);
  lua_setfield(L, -2, "require");
}

/* Lua's own functions for libraries (luaL_requiref) look for this table. */
void library_loaded(lua_State *L) {
  push_loaded(L);
  lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}
