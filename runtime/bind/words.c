/*
** Words of texts: for measures of what texts say.
*/
#include <assert.h>
#include <string.h>

#include "bind/argument.h"
#include "bind/open.h"
#include "bind/type.h"
#include "tokens/pretoken/class.h"

typedef struct Run {
  const char *start, *past;
  bool has_number;
} Run;

static bool is_letter_or_number(Class class) {
  return class == CLASS_UPPER || class == CLASS_LOWER || class == CLASS_LETTER || class == CLASS_NUMBER;
}

/* The next run at or behind `at` of letters, numbers and the ASCII characters in `more`; empty at the end. */
static Run next_run(const char *at, const char *end, const char *more) {
  assert(at <= end);
  Run run = {.start = NULL, .past = end};
  for (size_t size; at < end; at += size) {
    Class class = class_at(at, end, &size);
    bool is_part = is_letter_or_number(class) || (*at != '\0' && strchr(more, *at) != NULL);
    if (is_part && run.start == NULL) run.start = at;
    if (is_part && class == CLASS_NUMBER) run.has_number = true;
    if (is_part || run.start == NULL) continue;
    run.past = at;
    break;
  }
  if (run.start == NULL) run.start = end;
  assert(run.start < run.past || run.start == end);
  return run;
}

static void add_integer(lua_State *L, int list, lua_Integer place, size_t integer) {
  lua_pushinteger(L, (lua_Integer)integer);
  lua_rawseti(L, list, place);
}

/* runs(text, more) -> starts, pasts, numbers: the maximal runs of letters, numbers and the ASCII characters in `more`,
   by their first bytes and the bytes behind them; numbers[i]: whether a number is in it */
static int l_runs(lua_State *L) {
  Text text = bind_text(L, 1);
  const char *more = bind_string(L, 2, "more"), *end = text.bytes + text.size;
  lua_settop(L, 2);
  for (int list = 3; list <= 5; list++) lua_newtable(L);
  Run run = next_run(text.bytes, end, more);
  for (lua_Integer place = 1; run.start < end; place++, run = next_run(run.past, end, more)) {
    add_integer(L, 3, place, (size_t)(run.start - text.bytes) + 1);
    add_integer(L, 4, place, (size_t)(run.past - text.bytes) + 1);
    lua_pushboolean(L, run.has_number);
    lua_rawseti(L, 5, place);
  }
  return 3;
}

void bind_open_words(lua_State *L) {
  static const BindMethod functions[] = {
    {"runs", l_runs, "text more", CHARGE_TEXT},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
