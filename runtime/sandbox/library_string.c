/*
** The rest of `string`, and the metatable of strings.
**
** What only reads its arguments once is Lua's own function behind a charge; what
** scripts call all the time is written out, for two calls take longer than one. The
** library in the metatable is the guarded one, so that `("x"):rep` means the
** same as string.rep; scripts get a copy of the table, and what they change in
** it is theirs.
*/
#include <string.h>

#include "sandbox/sandbox_state.h"

/* Lua's own function, its arguments charged by bytes: eight for each unit. */
static int l_by_bytes(lua_State *L) {
  uint64_t units = 2;
  int top = lua_gettop(L);
  for (int i = 1; i <= top; i++) {
    if (lua_type(L, i) == LUA_TSTRING) units += lua_rawlen(L, i) / 8;
  }
  guard_charge(L, units);
  return library_stock(L);
}

/* ---- parts of a string ---- */

typedef struct Range {
  lua_Integer from, to;      /* from 1; empty if to < from */
} Range;

/* As Lua counts: negative places from the end, and cut to what is there. */
static Range range_of(lua_Integer from, lua_Integer to, lua_Integer size) {
  if (from < 0) from = from < -size ? 1 : size + from + 1;
  if (to < 0) to = to < -size ? 0 : size + to + 1;
  return (Range){from < 1 ? 1 : from, to > size ? size : to};
}

static int l_len(lua_State *L) {
  size_t size;
  library_string_at(L, 1, &size);
  guard_charge(L, 2);
  lua_pushinteger(L, (lua_Integer)size);
  return 1;
}

/* The allocator charges the answer. */
static int l_sub(lua_State *L) {
  size_t size;
  const char *s = library_string_at(L, 1, &size);
  lua_Integer from = library_integer_at(L, 2);
  Range range = range_of(from, lua_gettop(L) > 2 ? library_integer_or(L, 3, -1) : -1, (lua_Integer)size);
  guard_charge(L, 2);
  if (range.to >= range.from) lua_pushlstring(L, s + range.from - 1, (size_t)(range.to - range.from + 1));
  else lua_pushliteral(L, "");
  return 1;
}

#define FEW_BYTES 8   /* for which the stack of a C function has room */

/* Many values may be the answer. */
static int l_byte(lua_State *L) {
  size_t size;
  int arguments = lua_gettop(L);
  const char *s = library_string_at(L, 1, &size);
  lua_Integer from = arguments > 1 ? library_integer_or(L, 2, 1) : 1;
  lua_Integer to = arguments > 2 ? library_integer_or(L, 3, from) : from;
  Range range = range_of(from, to, (lua_Integer)size);
  lua_Integer count = range.to >= range.from ? range.to - range.from + 1 : 0;
  if (count > VALUES_MAX) return luaL_error(L, "string slice too long");
  guard_charge(L, 2 + (uint64_t)count / 4);
  if (count > FEW_BYTES) guard_check_stack(L, (int)count, "string slice too long");
  for (lua_Integer i = 0; i < count; i++) lua_pushinteger(L, (unsigned char)s[range.from - 1 + i]);
  return (int)count;
}

#define ONES UINT64_C(0x0101010101010101)

/* Changes the case of those of eight bytes that are among the 26 letters from `first` on. */
static inline uint64_t change_eight(uint64_t bytes, unsigned char first) {
  uint64_t low = bytes & 0x7f * ONES;        /* sums below carry into the highest bit of their own byte only */
  uint64_t from_first = low + (0x80u - first) * ONES, beyond = low + (0x80u - first - 26) * ONES;
  return bytes ^ ((from_first & ~beyond & ~bytes & 0x80 * ONES) >> 2);
}

/* The bytes in the other case as the C locale has it; the last eight may overlap those before. */
static void change_bytes(char *out, const char *s, size_t size, unsigned char first) {
  uint64_t bytes = 0;
  if (size < sizeof bytes) {
    for (size_t i = 0; i < size; i++) ((char *)&bytes)[i] = s[i];
    bytes = change_eight(bytes, first);
    for (size_t i = 0; i < size; i++) out[i] = ((const char *)&bytes)[i];
    return;
  }
  for (size_t i = 0; i < size; i += sizeof bytes) {
    size_t at = i <= size - sizeof bytes ? i : size - sizeof bytes;
    memcpy(&bytes, s + at, sizeof bytes);
    bytes = change_eight(bytes, first);
    memcpy(out + at, &bytes, sizeof bytes);
  }
}

/* string.lower and upper. */
static int change_case(lua_State *L, unsigned char first) {
  size_t size;
  luaL_Buffer b;
  const char *s = library_string_at(L, 1, &size);
  guard_charge(L, 2 + size / 8);
  char *out = luaL_buffinitsize(L, &b, size);
  change_bytes(out, s, size, first);
  luaL_pushresultsize(&b, size);
  return 1;
}

static int l_upper(lua_State *L) { return change_case(L, 'a'); }
static int l_lower(lua_State *L) { return change_case(L, 'A'); }

/* ---- making strings ---- */

static int l_char(lua_State *L) {
  guard_charge(L, 2 + (uint64_t)lua_gettop(L) / 4);
  return library_stock(L);
}

/* Doubles what is there: as many copies as the size has bits. */
static void fill(char *out, size_t unit, size_t total) {
  for (size_t done = unit; done < total;) {
    size_t part = done < total - done ? done : total - done;
    memcpy(out + done, out, part);
    done += part;
  }
}

#define REP_SANE ((uint64_t)1 << 40)     /* bytes; what is longer is no matter of memory */

/* Fails as every other text over the limit of a block does: for want of memory. */
static int raise_too_long(lua_State *L, uint64_t times, size_t unit) {
  if (times > REP_SANE / unit) return luaL_error(L, "resulting string too large");
  lua_newuserdatauv(L, (size_t)times * unit, 0);
  return luaL_error(L, "resulting string too large");      /* where blocks have no limit, for tests */
}

/* string.rep: charges for the bytes, and refuses results over the limit of a block, before it builds any. */
static int l_rep(lua_State *L) {
  size_t size, gap_size;
  const char *s = luaL_checklstring(L, 1, &size);
  lua_Integer times = luaL_checkinteger(L, 2);
  const char *gap = luaL_optlstring(L, 3, "", &gap_size);
  size_t unit = size + gap_size;
  if (!holds(sandbox_of(L), GUARD_RANGE)) return library_stock(L);
  if (times <= 0 || unit == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  if ((uint64_t)times > sandbox_of(L)->block_limit / unit + 1) return raise_too_long(L, (uint64_t)times, unit);
  size_t total = unit * (size_t)times - gap_size;
  guard_charge_bytes(L, total);
  if (total == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  luaL_Buffer b;
  char *out = luaL_buffinitsize(L, &b, total + gap_size);
  memcpy(out, s, size);
  memcpy(out + size, gap, gap_size);
  fill(out, unit, total + gap_size);
  luaL_pushresultsize(&b, total);
  return 1;
}

#define DIGITS_SQUARE 64

/* What may stand between the % and the letter. */
static inline bool is_modifier(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == ' ' || c == '#';
}

/* The letter of the conversion at *at, behind its %; *at goes behind it. */
static char conversion(const char **at, const char *end) {
  const char *s = *at;
  while (s < end && is_modifier(*s)) s++;
  *at = s < end ? s + 1 : end;
  return s < end ? *s : '\0';
}

/* The answer of __tostring, on top, becomes the argument. */
static void take_text(lua_State *L, int argument) {
  if (!lua_isstring(L, -1)) luaL_error(L, "'__tostring' must return a string");
  lua_tolstring(L, -1, NULL);
  lua_replace(L, argument);
}

static int go_on_format(lua_State *L, int status, lua_KContext argument);

/* Makes the argument a text as tostring does. __tostring may yield; then go_on_format begins again. */
static void convert(lua_State *L, int argument) {
  int kind = lua_type(L, argument);
  if ((kind == LUA_TTABLE || kind == LUA_TUSERDATA) && luaL_getmetafield(L, argument, "__tostring") != LUA_TNIL) {
    guard_charge(L, 2);
    lua_pushvalue(L, argument);
    lua_callk(L, 1, 1, argument, go_on_format);
    take_text(L, argument);
  } else {
    library_text(L, argument, NULL);
    lua_replace(L, argument);
  }
}

/* The digits of a conversion, between its % and its letter: of "10.3" 13. */
static uint64_t digits_of(const char *at, const char *letter) {
  uint64_t digits = 0, number = 0;
  for (; at <= letter; at++) {
    if (*at >= '0' && *at <= '9' && number < 100) {
      number = number * 10 + (uint64_t)(*at - '0');
    } else {
      digits += number;
      number = 0;
    }
  }
  return digits;
}

/* What a number costs: up to 308 digits stand before the point, and to write them takes the square. */
static uint64_t cost_of_number(lua_State *L, int argument, char letter, uint64_t digits) {
  if (letter == 'f' && lua_type(L, argument) == LUA_TNUMBER) {
    lua_Number number = lua_tonumber(L, argument);
    if (number > 1e15 || number < -1e15) digits += 300;
  }
  return digits + digits * digits / DIGITS_SQUARE;
}

/* A text of more bytes is quoted here: Lua's own %q takes 30 ns for a NUL, and cannot be stopped. */
#define QUOTE_LONG    1024
#define QUOTE_PORTION 1024   /* of its bytes, paid at a time */

static void add_quoted(luaL_Buffer *b, unsigned char byte, bool before_digit) {
  if (byte == '"' || byte == '\\' || byte == '\n') {
    luaL_addchar(b, '\\');
    luaL_addchar(b, (char)byte);
  } else if (byte < 32 || byte == 127) {
    luaL_addchar(b, '\\');
    if (before_digit || byte >= 100) luaL_addchar(b, (char)('0' + byte / 100));
    if (before_digit || byte >= 10) luaL_addchar(b, (char)('0' + byte / 10 % 10));
    luaL_addchar(b, (char)('0' + byte % 10));
  } else {
    luaL_addchar(b, (char)byte);
  }
}

/* Makes the text at `argument` what %q writes of it, and the letter of its conversion in the format, at 1, an s. */
static const char *quote(lua_State *L, int argument, size_t letter) {
  luaL_Buffer b;
  size_t size, format_size;
  const char *s = lua_tolstring(L, argument, &size);
  luaL_buffinit(L, &b);
  luaL_addchar(&b, '"');
  for (size_t i = 0; i < size; i++) {
    if (i % QUOTE_PORTION == 0) guard_charge(L, QUOTE_PORTION / 2);
    add_quoted(&b, (unsigned char)s[i], i + 1 < size && s[i + 1] >= '0' && s[i + 1] <= '9');
  }
  luaL_addchar(&b, '"');
  luaL_pushresult(&b);
  lua_replace(L, argument);
  const char *format = lua_tolstring(L, 1, &format_size);
  memcpy(luaL_buffinitsize(L, &b, format_size), format, format_size);
  luaL_buffaddr(&b)[letter] = 's';
  luaL_pushresultsize(&b, format_size);
  lua_replace(L, 1);
  return lua_tostring(L, 1);
}

/* Arguments of %s become their guarded text: Lua's own would show addresses. All that a call asks of a script's
   __tostring comes first, so that it can be called again when one yields. */
static int l_format(lua_State *L) {
  size_t size;
  const char *format = library_string_at(L, 1, &size), *end = format + size;
  int top = lua_gettop(L), argument = 1;
  uint64_t units = 4 + size / 4;
  for (const char *at = format; at < end;) {
    if (*at++ != '%') continue;
    if (at < end && *at == '%') {
      at++;
      continue;
    }
    const char *from = at;
    char letter = conversion(&at, end);
    units += 8;
    if (letter == 'f' || at - from > 1) units += cost_of_number(L, argument + 1, letter, digits_of(from, at - 1));
    if (++argument > top) break;             /* Lua's own complains */
    if (letter == 'p') return luaL_error(L, "invalid conversion '%%p' to 'format'");
    bool is_text = lua_type(L, argument) == LUA_TSTRING;
    if (letter == 's' && !is_text) {
      convert(L, argument);
      is_text = true;
    }
    if (!is_text) continue;
    if (letter == 'q' && at - from == 1 && lua_rawlen(L, argument) > QUOTE_LONG) {
      size_t here = (size_t)(at - format);
      format = quote(L, argument, here - 1);
      at = format + here;
      end = format + size;
    }
    units += lua_rawlen(L, argument) / (letter == 'q' ? 2 : 16);
  }
  guard_charge(L, units);
  return library_stock(L);
}

static int go_on_format(lua_State *L, int status, lua_KContext argument) {
  (void)status;
  take_text(L, (int)argument);
  return l_format(L);
}

/* A format of pack: numbers in it are sizes, which cost. */
static uint64_t packed_size(const char *format) {
  uint64_t total = 0, number = 0;
  for (; *format != '\0'; format++) {
    if (*format >= '0' && *format <= '9') {
      number = number * 10 + (uint64_t)(*format - '0');
      if (number > UINT32_MAX) number = UINT32_MAX;
    } else {
      total += number + 1;
      number = 0;
    }
  }
  return total + number;
}

/* Lua's own function: a format of megabytes would take tens of milliseconds, and cannot be stopped. */
static int l_by_format(lua_State *L) {
  size_t size;
  luaL_checklstring(L, 1, &size);
  if (size > PACK_FORMAT_MAX && holds(sandbox_of(L), GUARD_RANGE)) return luaL_argerror(L, 1, "format too long");
  return l_by_bytes(L);
}

static int l_pack(lua_State *L) {
  uint64_t size = packed_size(luaL_checkstring(L, 1));
  if (size > sandbox_of(L)->block_limit) return luaL_argerror(L, 1, "format result too large");
  guard_charge(L, size);
  return l_by_format(L);
}

/* ---- arithmetic on strings that look like numbers ---- */

static bool to_number(lua_State *L, int index) {
  if (lua_type(L, index) == LUA_TNUMBER) {
    lua_pushvalue(L, index);
    return true;
  }
  size_t size;
  const char *s = lua_tolstring(L, index, &size);
  if (s == NULL) return false;
  guard_charge(L, 1 + size / 4);
  return lua_stringtonumber(L, s) == size + 1;
}

static int take_sum(lua_State *L, int status, lua_KContext context) {
  (void)L, (void)status, (void)context;
  return 1;
}

/* The other operand may know what to do; a string does not. */
static int ask_other(lua_State *L, const char *event) {
  lua_settop(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING || !luaL_getmetafield(L, 2, event)) {
    return luaL_error(L, "attempt to perform arithmetic on a %s value", luaL_typename(L, 1));
  }
  lua_insert(L, 1);
  lua_callk(L, 2, 1, 0, take_sum);
  return 1;
}

static int arithmetic(lua_State *L, int operator, const char *event) {
  if (!to_number(L, 1) || !to_number(L, 2)) return ask_other(L, event);
  lua_arith(L, operator);
  return 1;
}

static int on_add(lua_State *L) { return arithmetic(L, LUA_OPADD, "__add"); }
static int on_sub(lua_State *L) { return arithmetic(L, LUA_OPSUB, "__sub"); }
static int on_mul(lua_State *L) { return arithmetic(L, LUA_OPMUL, "__mul"); }
static int on_mod(lua_State *L) { return arithmetic(L, LUA_OPMOD, "__mod"); }
static int on_pow(lua_State *L) { return arithmetic(L, LUA_OPPOW, "__pow"); }
static int on_div(lua_State *L) { return arithmetic(L, LUA_OPDIV, "__div"); }
static int on_idiv(lua_State *L) { return arithmetic(L, LUA_OPIDIV, "__idiv"); }

static int on_unm(lua_State *L) {
  if (!to_number(L, 1)) return ask_other(L, "__unm");
  lua_arith(L, LUA_OPUNM);
  return 1;
}

static int stay(lua_State *L) {
  return luaL_error(L, "attempt to change a locked table");
}

void library_string(lua_State *L, int stock) {
  static const LibraryFunction wrapped[] = {
    {"char", l_char}, {"format", l_format}, {"pack", l_pack}, {"packsize", l_by_format}, {"rep", l_rep},
    {"reverse", l_by_bytes}, {"unpack", l_by_format}, {NULL, NULL}};
  static const LibraryFunction guarded[] = {
    {"byte", l_byte}, {"len", l_len}, {"lower", l_lower}, {"sub", l_sub}, {"upper", l_upper}, {NULL, NULL}};
  library_match(L);          /* first: nothing is in their way in the table then */
  library_set(L, guarded);
  library_wrap(L, stock, wrapped);
}

void library_string_meta(lua_State *L) {
  static const LibraryFunction events[] = {
    {"__add", on_add}, {"__sub", on_sub}, {"__mul", on_mul}, {"__mod", on_mod}, {"__pow", on_pow}, {"__div", on_div},
    {"__idiv", on_idiv}, {"__unm", on_unm}, {"__newindex", stay}, {NULL, NULL}};
  lua_createtable(L, 0, 12);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "__index");            /* the first key of a table is found at once: each s:find() asks for it */
  library_set(L, events);
  lua_pushboolean(L, 0);
  if (holds(sandbox_of(L), GUARD_META)) lua_setfield(L, -2, "__metatable");
  else lua_pop(L, 1);
}
