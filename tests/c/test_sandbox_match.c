/*
** The matcher against Lua's own: random patterns and subjects through find,
** match, gmatch and gsub in both, answers and errors compared. SEED=n repeats a
** run, ROUNDS says how many.
*/
#include <string.h>

#include <lualib.h>

#include "check.h"

#include "sandbox/sandbox_state.h"

/* One text for all that a call answers, or for its error. */
static const char COMPARE[] =
  "local f, s, p, r, n = ...\n"
  "local out = {}\n"
  "local function add(ok, ...)\n"
  "  out[#out + 1] = tostring(ok)\n"
  "  for i = 1, select('#', ...) do\n"
  "    local v = select(i, ...)\n"
  "    out[#out + 1] = math.type(v) or type(v)\n"
  "    out[#out + 1] = tostring(v)\n"
  "  end\n"
  "end\n"
  "if f == 'gmatch' then\n"
  "  add(pcall(function()\n"
  "    for a, b, c in string.gmatch(s, p, n) do add('each', a, b, c) if #out > 300 then break end end\n"
  "  end))\n"
  "elseif f == 'gsub' then\n"
  "  add(pcall(string.gsub, s, p, r))\n"
  "  add(pcall(string.gsub, s, p, function(...) add('call', ...) return select(2, ...) end))\n"
  "  add(pcall(string.gsub, s, p, { a = 'x', b = false, ab = 1 }, n < 0 and 2 or nil))\n"
  "else\n"
  "  add(pcall(string[f], s, p, n))\n"
  "end\n"
  "return table.concat(out, '|')\n";

static size_t random_subject(char *out) {
  static const char letters[] = "aaaabbbcAB1 .%()[]-\n\0\xe4";
  size_t size = below(4) == 0 ? below(40) : below(12);
  for (size_t i = 0; i < size; i++) out[i] = letters[below(sizeof letters - 1)];
  return size;
}

static size_t random_pattern(char *out) {
  static const char *const parts[] = {
    "a", "b", "ab", ".", "%a", "%d", "%s", "%w", "%W", "%p", "%x", "%u", "%l", "%c", "%g", "%z", "%.", "%%", "[ab]",
    "[^ab]",
    "[a-c]", "[%a1]", "[]]", "[^]]", "[a-]", "[%-a]", "[^%s]", "[a%-z]", "*", "+", "-", "?", "*", "+", "-", "?",
    "(", ")",
    "(", ")", "(a)", "(.-)", "()", "(.)", "%1", "%2", "%0", "%b()", "%bab", "%f[a]", "%f[%w]", "%f[^b]", "^", "$", "$",
    "%", "[", "[^", "[a", "]", "%b", "%bx", "%f", "%fa", "a-", "b*", ".-", "(()", "[%", "[a-%]", "\xe4", "[\xe4-\xff]"};
  size_t size = 0;
  unsigned count = below(8);
  if (below(5) == 0) out[size++] = '^';
  for (unsigned i = 0; i <= count; i++) {
    const char *part = parts[below(sizeof parts / sizeof *parts)];
    size_t length = strlen(part);
    memcpy(out + size, part, length);
    size += length;
    if (below(60) == 0) out[size++] = '\0';
  }
  return size;
}

static size_t random_template(char *out) {
  static const char *const parts[] = {"x", "%0", "%1", "%2", "%%", "%", "yy", "%a", "%3"};
  size_t size = 0;
  for (unsigned i = below(4) + (below(3) != 0); i > 0; i--) {
    const char *part = parts[below(below(3) == 0 ? 9 : 5)];
    memcpy(out + size, part, strlen(part));
    size += strlen(part);
  }
  return size;
}

typedef struct Case {
  const char *function;
  char subject[256], pattern[64], template[16];
  size_t subject_size, pattern_size, template_size;
  lua_Integer init;
} Case;

static void random_case(Case *c) {
  static const char *const functions[] = {"find", "match", "gmatch", "gsub"};
  c->function = functions[below(4)];
  c->subject_size = random_subject(c->subject);
  c->pattern_size = random_pattern(c->pattern);
  c->template_size = random_template(c->template);
  c->init = (lua_Integer)below(below(3) == 0 ? 30 : 1) - 10 * (lua_Integer)below(2);
}

/* The function is at 1 of L: pushes it and its five arguments. */
static void push_call(lua_State *L, const Case *c) {
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  lua_pushstring(L, c->function);
  lua_pushlstring(L, c->subject, c->subject_size);
  lua_pushlstring(L, c->pattern, c->pattern_size);
  lua_pushlstring(L, c->template, c->template_size);
  lua_pushinteger(L, c->init);
}

static const char *answer(lua_State *L, const Case *c, size_t *size) {
  push_call(L, c);
  if (lua_pcall(L, 5, 1, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  return lua_tolstring(L, -1, size);
}

static void agrees_on_random_patterns(void **state) {
  (void)state;
  uint64_t rounds = test_setting("ROUNDS", 100000);
  chance = test_seed();
  lua_State *stock = luaL_newstate();
  luaL_openlibs(stock);
  SandboxConfig config = {.memory_limit = 0};
  Sandbox *sandbox = sandbox_new(&config);
  lua_State *own = sandbox_state(sandbox);
  assert_int_equal(luaL_loadbuffer(stock, COMPARE, sizeof COMPARE - 1, "=compare"), LUA_OK);
  assert_int_equal(luaL_loadbuffer(own, COMPARE, sizeof COMPARE - 1, "=compare"), LUA_OK);
  for (uint64_t round = 0; round < rounds; round++) {
    Case c;
    random_case(&c);
    size_t expected_size, size;
    const char *expected = answer(stock, &c, &expected_size);
    const char *actual = answer(own, &c, &size);
    if (size == expected_size && memcmp(actual, expected, size) == 0) continue;
    fail_msg("round %lu: %s(\"%.*s\", \"%.*s\", \"%.*s\", %d):\n  %s\nstock Lua:\n  %s", (unsigned long)round,
             c.function, (int)c.subject_size, c.subject, (int)c.pattern_size, c.pattern, (int)c.template_size,
             c.template, (int)c.init,
             actual, expected);
  }
  lua_close(stock);
  sandbox_free(sandbox);
}

/* A subject that is long enough for slices to end within a match. */
static void random_long_case(Case *c) {
  random_case(c);
  while (c->subject_size < 150) {
    size_t more = c->subject_size + 1 < 150 - c->subject_size ? c->subject_size + 1 : 150 - c->subject_size;
    c->subject[c->subject_size] = 'a';
    memmove(c->subject + c->subject_size + 1, c->subject, more - 1);
    c->subject_size += more;
  }
}

/* The same in a task whose slices end as soon as they can; adds how many it took. */
static const char *answer_in_slices(Sandbox *sandbox, const Case *c, size_t *size, uint64_t *slices) {
  lua_State *L = sandbox_state(sandbox);
  Task *task;
  int results;
  TaskState state;
  push_call(L, c);
  assert_int_equal(task_start(sandbox, 5, &(SandboxLimits){0}, &task), SANDBOX_OK);
  while ((state = task_step(task, 0, 1, &results)) == TASK_READY) ++*slices;
  if (state != TASK_DONE) fail_msg("%s", sandbox_message(sandbox));
  assert_int_equal(results, 1);
  task_free(task);
  return lua_tolstring(L, -1, size);
}

static void agrees_when_slices_end_within_a_match(void **state) {
  (void)state;
  uint64_t rounds = test_setting("ROUNDS", 100000) / 50, slices = 0;
  chance = test_seed();
  lua_State *stock = luaL_newstate();
  luaL_openlibs(stock);
  SandboxConfig config = {.memory_limit = 0};
  Sandbox *sandbox = sandbox_new(&config);
  assert_int_equal(luaL_loadbuffer(stock, COMPARE, sizeof COMPARE - 1, "=compare"), LUA_OK);
  assert_int_equal(sandbox_load(sandbox, COMPARE, sizeof COMPARE - 1, "=compare"), SANDBOX_OK);
  for (uint64_t round = 0; round < rounds; round++) {
    Case c;
    random_long_case(&c);
    size_t expected_size, size;
    const char *expected = answer(stock, &c, &expected_size);
    const char *actual = answer_in_slices(sandbox, &c, &size, &slices);
    if (size == expected_size && memcmp(actual, expected, size) == 0) continue;
    fail_msg("round %lu: %s(\"%.*s\", \"%.*s\", \"%.*s\", %d):\n  %s\nstock Lua:\n  %s", (unsigned long)round,
             c.function, (int)c.subject_size, c.subject, (int)c.pattern_size, c.pattern, (int)c.template_size,
             c.template, (int)c.init, actual, expected);
  }
  assert_true(slices > 2 * rounds);
  if (getenv("SHOW") != NULL) printf("%lu slices\n", (unsigned long)slices);
  lua_close(stock);
  sandbox_free(sandbox);
}

/* A match that goes on for long in each of its ways, over and over: its answers are those of one slice. */
static void long_matches_are_interrupted(void **state) {
  (void)state;
  static const char script[] =
    "local a = ('a'):rep(60) local out = {}\n"
    "local function add(...) for _, v in ipairs { ... } do out[#out + 1] = tostring(v) end end\n"
    "add((a .. 'xb'):find '(.-)(.-)(.-)xb') add((a .. a):match '(a*)(a*)(a*)b') add((a .. 'b'):match '(a?a*)(a*a*)b()')\n"
    "add((('('):rep(90000) .. (')'):rep(90000)):find '%b()') add((('a'):rep(300000) .. 'b'):find '[^b]*b')\n"
    "add((('x'):rep(300000)):find('[ab]')) add((('ab'):rep(50000) .. 'aa'):find('aa', 1, true))\n"
    "for x, y in (a .. 'c' .. a .. 'c'):gmatch '(.-.-)a(c)' do add(x, y) end\n"
    "add(((a .. 'c'):rep(3):gsub('(.-)(.-)(.-)c', '%3%1')))\n"
    "return table.concat(out, ' ')";
  char answers[2][2000];
  for (int i = 0; i < 2; i++) {
    Sandbox *sandbox = sandbox_new(&(SandboxConfig){.seed = 1});
    assert_int_equal(sandbox_load(sandbox, script, sizeof script - 1, "=long"), SANDBOX_OK);
    Task *task;
    int results = 0, slices = 1;
    assert_int_equal(task_start(sandbox, 0, &(SandboxLimits){0}, &task), SANDBOX_OK);
    while (task_step(task, 0, i == 0 ? 0 : 1, &results) == TASK_READY) slices++;
    if (results != 1) fail_msg("%s", sandbox_message(sandbox));
    assert_true(i == 0 ? slices == 1 : slices > 300);
    snprintf(answers[i], sizeof answers[i], "%s", lua_tostring(sandbox_state(sandbox), -1));
    sandbox_free(sandbox);
  }
  assert_string_equal(answers[1], answers[0]);
  assert_non_null(strstr(answers[0], "1 180000 1 300001"));
}

/* ---- cases from the reference manual's words (6.4.1) ---- */

static const char MANUAL[] =
  "local function is(expected, ...) local got = table.pack(...) for i = 1, got.n do got[i] = tostring(got[i]) end\n"
  "  got = table.concat(got, ' ') assert(got == expected, ('%s, not %s'):format(got, expected)) end\n"
  "is('1 1', ('a'):find 'a') is('nil', ('a'):find 'b') is('2 1', ('ab'):find('', 2)) is('nil', ('ab'):find('', 9))\n"
  "is('3 3', ('a.b.'):gsub('%.', ''):len() + 1, 3) is('x', ('-x-'):match '%-(.)%-') is('4', ('abc'):match '()$')\n"
  "is('THE (quick) fox', (('THE (quick) fox')))\n"
  "is('1 3', ('THE (quick)'):find '%f[%a]%a+%f[%A]') is('(a(b)c)', ('x(a(b)c)d'):match '%b()')\n"
  "is('ll', ('hello'):match '(l)%1' .. 'l') is('hello', ('  hello  '):match '^%s*(.-)%s*$')\n"
  "is('key val', ('key=val'):match '^(%w+)=(%w*)$') is('-a-b- 3', ('ab'):gsub('', '-'))\n"
  "is('hello hello world world 2', ('hello world'):gsub('%w+', '%0 %0'))\n"
  "is('world hello 1', ('hello world'):gsub('(%w+)%s*(%w+)', '%2 %1')) is('a.b', ('a.b'):match '[%w.]+')\n"
  "is(']', (']'):match '[]]') is('^', ('^'):match '[%^]') is('a^', ('a^'):match 'a^') is('$a', ('$a'):match '$a')\n"
  "is('nil', ('a\\0b'):match 'c') is('2 2', ('a\\0b'):find '%z') is('2 2', ('a\\0b'):find '\\0')\n"
  "local n = 0 for a in ('one two'):gmatch '%a+' do n = n + #a end is('6', n)\n"
  "for _, p in ipairs { '%', '[a', '(a', 'a)', '%1', '%bx', '%fa', '(%1)', ('('):rep(33) .. (')'):rep(33) } do\n"
  "  assert(not pcall(string.match, 'a', p), p) end\n"
  "is('nil', ('b'):match 'a[') assert(not pcall(string.match, 'a', ('a?'):rep(250) .. 'b') == false)\n"
  "assert(not pcall(string.match, ('a'):rep(300), ('a?'):rep(300)))\n";

static void agrees_with_the_manual(void **state) {
  (void)state;
  lua_State *stock = luaL_newstate();
  luaL_openlibs(stock);
  if (luaL_dostring(stock, MANUAL) != LUA_OK) fail_msg("stock Lua: %s", lua_tostring(stock, -1));
  lua_close(stock);
  SandboxConfig config = {.memory_limit = 0};
  Sandbox *sandbox = sandbox_new(&config);
  if (sandbox_load(sandbox, MANUAL, sizeof MANUAL - 1, "=manual") != SANDBOX_OK ||
      sandbox_call(sandbox, 0, 0, NULL) != SANDBOX_OK) {
    fail_msg("%s", sandbox_message(sandbox));
  }
  sandbox_free(sandbox);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_the_manual),
    cmocka_unit_test(agrees_on_random_patterns), cmocka_unit_test(agrees_when_slices_end_within_a_match),
    cmocka_unit_test(long_matches_are_interrupted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
