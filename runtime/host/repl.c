/*
** Repl: the terminal's side of `ebb repl`, a line editor.
**
** The editor is libedit. Linked, it would cost every command a quarter of its
** start, so it is loaded when a prompt is first wanted; where it is missing the
** prompt does without it.
**
** The prompt and all that is typed is drawn on standard error: standard output
** has the results only. While a line is edited, signals are noted, and the wait
** for the next key sees to them:
**
**     SIGINT    the line is thrown away        SIGWINCH   it is drawn anew
**     SIGCONT   the terminal may have been given back in another mode
*/
#define _GNU_SOURCE 1   /* wcwidth */
#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "host/host.h"
#include "os/os.h"

#include "lauxlib.h"

enum { PROMPT_MAX = 32, COMPLETE_VALUE = 1 };

static const char EDITOR[] = "ebb.host.Editor";

/* ---- libedit ---- */

#define LIBRARY(with) \
  with(el_init) with(el_end) with(el_set) with(el_wset) with(el_get) with(el_gets) with(el_line) with(el_insertstr) \
  with(el_resize) with(el_source) with(history_init) with(history_end) with(history)

static struct {
#define POINTER(name) __typeof__(name) *name;
  LIBRARY(POINTER)
#undef POINTER
} libedit;

typedef struct Editor {
  EditLine *edit;
  History *past;
  char *path;                /* of the history's file, or NULL: it is not kept; owned */
  char prompt[PROMPT_MAX];
  lua_State *L;              /* while a line is read */
} Editor;

static bool load_libedit(void) {
#define NAME(name) #name,
  static const char *const names[] = {"libedit.so.2", NULL}, *const functions[] = {LIBRARY(NAME) NULL};
#undef NAME
  static SharedLibrary library = {.names = names, .functions = functions, .table = &libedit};
  return shared_library_load(&library, NULL);
}

static Editor *editor_of(EditLine *edit) {
  void *editor = NULL;
  libedit.el_get(edit, EL_CLIENTDATA, &editor);
  return editor;
}

/* ---- signals ---- */

static volatile sig_atomic_t interrupted, resized, continued;

static void note(int signal_number) {
  if (signal_number == SIGINT) interrupted = 1;
  else if (signal_number == SIGWINCH) resized = 1;
  else continued = 1;
}

static const int NOTED[] = {SIGINT, SIGWINCH, SIGCONT};
enum { NOTED_COUNT = sizeof NOTED / sizeof *NOTED };

static void watch(struct sigaction before[NOTED_COUNT]) {
  struct sigaction action = {.sa_handler = note};   /* no SA_RESTART: a key's read is to end */
  sigemptyset(&action.sa_mask);
  interrupted = resized = continued = 0;
  for (int i = 0; i < NOTED_COUNT; i++) sigaction(NOTED[i], &action, &before[i]);
}

static void unwatch(const struct sigaction before[NOTED_COUNT]) {
  for (int i = 0; i < NOTED_COUNT; i++) sigaction(NOTED[i], &before[i], NULL);
}

static void redraw(Editor *editor) {
  if (resized) libedit.el_resize(editor->edit);
  if (continued) {
    libedit.el_set(editor->edit, EL_PREP_TERM, 1);
    libedit.el_set(editor->edit, EL_REFRESH);
  }
  resized = continued = 0;
}

/* The next character; 0 at the end of input, -1 when the line is to be thrown away. NUL is left
   out: after it libedit takes Ctrl-D no longer. */
static int read_key(EditLine *edit, wchar_t *key) {
  Editor *editor = editor_of(edit);
  mbstate_t state;
  memset(&state, 0, sizeof state);
  while (!interrupted) {
    char byte;
    ssize_t size = read(STDIN_FILENO, &byte, 1);
    if (size == 0) return 0;
    if (size < 0 && errno != EINTR) return -1;
    if (size < 0) {
      redraw(editor);
      continue;
    }
    size_t used = mbrtowc(key, &byte, 1, &state);
    if (used == 1) return 1;
    if (used == (size_t)-1) memset(&state, 0, sizeof state);   /* no character: left out */
  }
  return -1;
}

/* True if Ctrl-D alone was typed while a script ran. The terminal reads by lines then and keeps
   it as an end without bytes before it; in the editor's mode that would be a NUL. */
static bool ended_ahead(void) {
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  int size = 0;
  char byte;
  if (poll(&input, 1, 0) != 1 || (input.revents & POLLIN) == 0) return false;
  return ioctl(STDIN_FILENO, FIONREAD, &size) == 0 && size == 0 && read(STDIN_FILENO, &byte, 1) == 0;
}

/* ---- the line ---- */

static char *prompt_of(EditLine *edit) { return editor_of(edit)->prompt; }

/* Asks complete(text before the cursor) -> what to insert, what to list. */
static unsigned char complete(EditLine *edit, int key) {
  (void)key;
  Editor *editor = editor_of(edit);
  lua_State *L = editor->L;
  const LineInfo *line = libedit.el_line(edit);
  unsigned char answer = CC_ERROR;
  int top = lua_gettop(L);
  if (!lua_checkstack(L, 4)) return answer;
  lua_getiuservalue(L, 1, COMPLETE_VALUE);
  lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
  if (lua_pcall(L, 1, 2, 0) == LUA_OK) {
    const char *more = lua_tostring(L, top + 1), *list = lua_tostring(L, top + 2);
    if (more != NULL && *more != '\0' && libedit.el_insertstr(edit, more) == 0) {
      answer = CC_REFRESH;
    } else if (list != NULL && *list != '\0') {
      fprintf(stderr, "\n%s\n", list);
      answer = CC_REDISPLAY;
    }
  }
  lua_settop(L, top);
  return answer;
}

/* Ids and texts are UTF-8, whatever the locale says. */
static void use_utf8(void) {
  if (setlocale(LC_CTYPE, "") == NULL || MB_CUR_MAX == 1) setlocale(LC_CTYPE, "C.UTF-8");
}

static void set_up(Editor *editor) {
  EditLine *edit = editor->edit;
  libedit.el_set(edit, EL_CLIENTDATA, editor);
  libedit.el_set(edit, EL_PROMPT, prompt_of);
  libedit.el_set(edit, EL_EDITOR, "emacs");
  libedit.el_set(edit, EL_HIST, libedit.history, editor->past);
  libedit.el_set(edit, EL_GETCFN, read_key);
  libedit.el_wset(edit, EL_ADDFN, L"ebb-complete", L"Complete a name", complete);   /* el_set would leak the names */
  libedit.el_set(edit, EL_BIND, "^I", "ebb-complete", NULL);
  libedit.el_set(edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
  libedit.el_source(edit, NULL);   /* the user's own ~/.editrc */
}

/* ---- history ---- */

/* Makes the folders of a path, readable by the user only. */
static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
}

static void open_history(Editor *editor) {
  HistEvent event;
  libedit.history(editor->past, &event, H_SETSIZE, HISTORY_MAX);
  libedit.history(editor->past, &event, H_SETUNIQUE, 1);
  if (editor->path == NULL) return;
  make_folders(editor->path);
  libedit.history(editor->past, &event, H_LOAD, editor->path);
}

/* After each line, so that nothing is lost with the process. */
static void remember(Editor *editor, const char *line) {
  HistEvent event;
  if (line[strspn(line, " \t\n")] == '\0') return;
  libedit.history(editor->past, &event, H_ENTER, line);
  if (editor->path != NULL) libedit.history(editor->past, &event, H_SAVE, editor->path);
}

/* ---- for Lua ---- */

/* editor:read(prompt) -> line | false when it was thrown away | nil at the end */
static int l_read(lua_State *L) {
  Editor *editor = luaL_checkudata(L, 1, EDITOR);
  luaL_argcheck(L, editor->edit != NULL, 1, "the editor is closed");
  size_t size;
  const char *prompt = luaL_checklstring(L, 2, &size);
  luaL_argcheck(L, size < PROMPT_MAX, 2, "too long");
  memcpy(editor->prompt, prompt, size + 1);

  struct sigaction before[NOTED_COUNT];
  int count = 0;
  editor->L = L;
  fflush(stdout);            /* results stand above the prompt */
  watch(before);
  const char *line = ended_ahead() ? NULL : libedit.el_gets(editor->edit, &count);
  unwatch(before);
  editor->L = NULL;

  if (interrupted || line == NULL || count <= 0) {
    fputc('\n', stderr);
    if (interrupted) lua_pushboolean(L, 0);
    else lua_pushnil(L);
    return 1;
  }
  remember(editor, line);
  size = strlen(line);
  lua_pushlstring(L, line, size > 0 && line[size - 1] == '\n' ? size - 1 : size);
  return 1;
}

/* The library itself stays: what its own libraries hold is held for good. */
static int l_close(lua_State *L) {
  Editor *editor = luaL_checkudata(L, 1, EDITOR);
  if (editor->edit != NULL) libedit.el_end(editor->edit);
  if (editor->past != NULL) libedit.history_end(editor->past);
  free(editor->path);
  *editor = (Editor){0};
  return 0;
}

static void push_metatable(lua_State *L) {
  static const luaL_Reg methods[] = {{"read", l_read}, {"__gc", l_close}, {NULL, NULL}};
  if (!luaL_newmetatable(L, EDITOR)) return;
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
}

/* editor(history_path | nil, complete) -> Editor, or nil without a terminal or editor library */
int host_editor(lua_State *L) {
  const char *path = luaL_optstring(L, 1, NULL);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  Editor *editor = lua_newuserdatauv(L, sizeof *editor, COMPLETE_VALUE);
  *editor = (Editor){0};     /* before the next call that may raise */
  push_metatable(L);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, COMPLETE_VALUE);

  if (!load_libedit()) return 0;
  use_utf8();
  editor->past = libedit.history_init();
  editor->edit = libedit.el_init("ebb", stdin, stderr, stderr);
  if (path != NULL) editor->path = strdup(path);
  if (editor->past == NULL || editor->edit == NULL || (path != NULL && editor->path == NULL)) return 0;
  set_up(editor);
  open_history(editor);
  signal(SIGINT, SIG_IGN);   /* between a line and its script there is nothing to stop */
  return 1;
}

/* ---- cells: how wide a terminal draws a character ----
**
** libc has Unicode's table behind wcwidth, and keeps it up to date, but answers
** by the locale of the process, which is "C". So a UTF-8 locale of its own is
** opened for the question. */

/* The cells of a code point by the C library's tables for UTF-8; -1 if it is not printable, or if the system has no
   UTF-8 locale. The locale is opened once and kept. */
static int width_in_utf8(lua_Integer point) {
  static locale_t locale;
  static bool opened;
  if (!opened) {
    opened = true;
    locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (locale == (locale_t)0) locale = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
  }
  if (locale == (locale_t)0) return -1;
  locale_t before = uselocale(locale);
  int width = wcwidth((wchar_t)point);
  uselocale(before);
  return width;
}

/* What libc does not know counts 2: a row may end too early, but never wraps. */
int host_cells(lua_State *L) {
  lua_Integer point = luaL_checkinteger(L, 1);
  luaL_argcheck(L, point >= 0 && point <= 0x10FFFF, 1, "a code point is expected");
  int width = width_in_utf8(point);
  lua_pushinteger(L, width < 0 ? 2 : width);
  return 1;
}
