/*
** How a call of the host's ended: the message and code that it reads, and the locale
** that it had.
*/
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "sandbox/sandbox_state.h"

/* ---- the host's locale ---- */

Locale sandbox_enter_locale(Sandbox *sandbox) {
  Locale before = sandbox->outside;
  sandbox->outside = locale_plain();
  return before;
}

void sandbox_leave_locale(Sandbox *sandbox, Locale before) {
  locale_set(sandbox->outside);
  sandbox->outside = before;
}

/* ---- failures ---- */

const char *sandbox_end_code(SandboxEnd end) {
  switch (end) {
    case SANDBOX_OK: break;
    case SANDBOX_SYNTAX: return "syntax";
    case SANDBOX_ERROR: return "error";
    case SANDBOX_FUEL_OUT: return "fuel";
    case SANDBOX_DEADLINE_OVER: return "deadline";
    case SANDBOX_MEMORY_OUT: return "memory";
    case SANDBOX_CANCELLED: return "cancelled";
    case SANDBOX_BUSY: return "busy";
  }
  return NULL;
}

SandboxEnd outcome_note_text(Sandbox *sandbox, SandboxEnd end, const char *code, const char *text) {
  if (code == NULL) code = sandbox_end_code(end);
  utf8_copy(sandbox->code, sizeof sandbox->code, code, strlen(code));
  utf8_copy(sandbox->message, sizeof sandbox->message, text, strlen(text));
  return end;
}

/* (sandbox, error): notes a table {code, message}, its fields read raw. */
static int note_table(lua_State *L) {
  Sandbox *sandbox = lua_touserdata(L, 1);
  static const char *const names[] = {"code", "message"};
  char *const out[] = {sandbox->code, sandbox->message};
  const size_t room[] = {sizeof sandbox->code, sizeof sandbox->message};
  for (int i = 0; i < 2; i++) {
    size_t size;
    lua_pushstring(L, names[i]);
    if (lua_rawget(L, 2) != LUA_TSTRING) continue;
    const char *text = lua_tolstring(L, -1, &size);
    utf8_copy(out[i], room[i], text, size);
  }
  return 0;
}

/* (sandbox, error): what a careless host would do, which runs the script's __tostring; for tests. */
static int note_converted(lua_State *L) {
  lua_sethook(L, NULL, 0, 0);
  outcome_note_text(lua_touserdata(L, 1), SANDBOX_ERROR, NULL, luaL_tolstring(L, 2, NULL));
  return 0;
}

/* Bytes of the place that Lua names for code without debug information, libebb's own. */
static size_t nowhere(const char *message) {
  static const char place[] = "?:-1: ";
  return strncmp(message, place, sizeof place - 1) == 0 ? sizeof place - 1 : 0;
}

/* Only texts and tables of our kind are shown: to ask the value itself for a
   text would run the script's code. */
static void note_value(Sandbox *sandbox, lua_State *L) {
  char text[64];
  int kind = lua_type(L, -1);
  if (kind == LUA_TSTRING) {
    outcome_note_text(sandbox, SANDBOX_ERROR, NULL, "");
    size_t size;
    const char *message = lua_tolstring(L, -1, &size);
    size_t place = nowhere(message);
    utf8_copy(sandbox->message, sizeof sandbox->message, message + place, size - place);
    return;
  }
  snprintf(text, sizeof text, "(error object is a %s value)", lua_typename(L, kind));
  outcome_note_text(sandbox, SANDBOX_ERROR, NULL, text);
  if (kind != LUA_TTABLE || !lua_checkstack(L, 4)) return;
  lua_pushcfunction(L, holds(sandbox, GUARD_CONVERT) ? note_table : note_converted);
  lua_pushlightuserdata(L, sandbox);
  lua_pushvalue(L, -3);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1);
}

/* ---- scripts that are stopped ---- */

#define LIBRARY "@ebb/"   /* sources of the library that stands beside scripts begin so */

/* Where in the script: chunk:line of its innermost function, or nothing. The library beside it is not meant. */
static void where(lua_State *L, char *out, size_t size) {
  lua_Debug ar;
  out[0] = '\0';
  for (int level = 0; lua_getstack(L, level, &ar) && level < 64; level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline <= 0 || strncmp(ar.source, LIBRARY, sizeof LIBRARY - 1) == 0) continue;
    snprintf(out, size, "%s:%d: ", ar.short_src, ar.currentline);
    return;
  }
}

/* The C function on the stack that does not yield, for a message: "'sort'" or "a C function". */
static void name_function(lua_State *L, char *out, size_t size) {
  lua_Debug ar;
  snprintf(out, size, "a C function");
  for (int level = 0; lua_getstack(L, level, &ar) && level < 64; level++) {
    lua_getinfo(L, "Sn", &ar);
    if (*ar.what != 'C' || ar.name == NULL) continue;
    snprintf(out, size, "'%s'", ar.name);
    return;
  }
}

void outcome_note_kill(Sandbox *sandbox, lua_State *L, int late) {
  char place[LUA_IDSIZE + 16], text[MESSAGE_MAX], function[64];
  const SandboxLimits *limits = &sandbox->limits;
  where(L, place, sizeof place);
  if (late != 0) {
    name_function(L, function, sizeof function);
    snprintf(text, sizeof text, "%sstopped: %s cannot be interrupted, and went on for %d ms after its slice", place,
             function, late);
  } else if (sandbox->killed == SANDBOX_FUEL_OUT) {
    snprintf(text, sizeof text, "%sstopped: it used up its fuel of %llu", place, (unsigned long long)limits->fuel);
  } else if (sandbox->killed == SANDBOX_DEADLINE_OVER) {
    snprintf(text, sizeof text, "%sstopped: it ran longer than %.1f ms", place, (double)limits->microseconds / 1000);
  } else {
    snprintf(text, sizeof text, "%sstopped: it was cancelled", place);
  }
  outcome_note_text(sandbox, sandbox->killed, NULL, text);
}

void sandbox_describe_memory(const Sandbox *sandbox, char *text, size_t size) {
  if (!sandbox->reached_memory) {
    snprintf(text, size, "not enough memory");
  } else if (sandbox->refused_growth) {
    snprintf(text, size, "a table needs more keys than its %s allows",
             sandbox->limits.microseconds != 0 ? "deadline" : "fuel");
  } else if (sandbox->refused_deep) {
    snprintf(text, size, "its calls are nested too deeply: does a function call itself without end?");
  } else if (sandbox->refused_size > sandbox->block_limit) {
    snprintf(text, size, "it needs a string or table of %zu bytes; %zu are allowed", sandbox->refused_size,
             sandbox->block_limit);
  } else {
    snprintf(text, size, "it needs more memory than the %zu KiB that are allowed", sandbox->memory_limit >> 10);
  }
}

SandboxEnd outcome_note(Sandbox *sandbox, lua_State *L, int status) {
  char text[96];
  SandboxEnd end = sandbox->killed;
  sandbox->current = NULL;                   /* from here on the host has the word */
  if (status == LANDING_STOPPED) return end;
  if (end == SANDBOX_OK && status == LUA_ERRMEM) {
    sandbox_describe_memory(sandbox, text, sizeof text);
    bool by_memory = !sandbox->reached_memory || !sandbox->refused_growth;
    end = by_memory ? SANDBOX_MEMORY_OUT : sandbox->limits.microseconds != 0 ? SANDBOX_DEADLINE_OVER : SANDBOX_FUEL_OUT;
    outcome_note_text(sandbox, end, NULL, text);
  } else if (end == SANDBOX_OK) {
    note_value(sandbox, L);
    end = SANDBOX_ERROR;
  }
  lua_pop(L, 1);
  return end;
}
