/*
** What each bound function costs a sandboxed script. Elsewhere nothing is charged
** and nothing stands between a caller and the function.
**
** One table says it for all; a function that is not in it cannot be opened in a
** sandbox, so that none is free by oversight. The allocator charges for what is
** made; here stands what is only read or walked over.
*/
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "bind/bind.h"
#include "sandbox/guard.h"
#include "sandbox/sandbox.h"

typedef enum Charge {
  CHARGE_STEP,               /* looks something up */
  CHARGE_PATH,               /* one or some paths of the tree: O(log n) */
  CHARGE_LIST,               /* walks over the messages of its owner */
  CHARGE_TEXT,               /* reads its texts: tokens, JSON */
  CHARGE_NEVER               /* files and the like: refused to sandboxed scripts */
} Charge;

static const char *const CHARGE_NAMES[] = {"step", "path", "list", "text", "never"};

#define NAME_ROOM      64
#define STEP_UNITS     20
#define PATH_UNITS     200
#define MESSAGE_UNITS  10    /* of a list, each */

/* "Type:method" and "owner.function", sorted as strcmp sorts. */
static const struct {
  const char *name;
  Charge charge;
} CHARGES[] = {
  {"Batch:active", CHARGE_PATH}, {"Batch:check", CHARGE_LIST}, {"Batch:count", CHARGE_STEP},
  {"Batch:dialect", CHARGE_STEP}, {"Batch:marked", CHARGE_LIST}, {"Batch:range", CHARGE_LIST},
  {"Batch:recent", CHARGE_LIST}, {"Batch:tokens", CHARGE_STEP}, {"Batch:trust", CHARGE_STEP},
  {"Batch:where", CHARGE_LIST},
  {"Conversation:active", CHARGE_PATH}, {"Conversation:all", CHARGE_LIST}, {"Conversation:append", CHARGE_LIST},
  {"Conversation:batch", CHARGE_STEP}, {"Conversation:batches", CHARGE_LIST},
  {"Conversation:calibration", CHARGE_STEP}, {"Conversation:check", CHARGE_LIST},
  {"Conversation:checkpoint", CHARGE_PATH}, {"Conversation:clear", CHARGE_PATH}, {"Conversation:count", CHARGE_STEP},
  {"Conversation:dialect", CHARGE_STEP}, {"Conversation:diff", CHARGE_LIST},
  {"Conversation:draft", CHARGE_PATH}, {"Conversation:encoding", CHARGE_STEP},
  {"Conversation:explain", CHARGE_LIST}, {"Conversation:filter", CHARGE_LIST}, {"Conversation:forget", CHARGE_LIST},
  {"Conversation:fork", CHARGE_PATH}, {"Conversation:insert", CHARGE_LIST}, {"Conversation:json", CHARGE_LIST},
  {"Conversation:ledger", CHARGE_LIST}, {"Conversation:mark", CHARGE_PATH},
  {"Conversation:marked", CHARGE_LIST}, 
  {"Conversation:over_limit", CHARGE_STEP}, {"Conversation:prune", CHARGE_LIST}, {"Conversation:range", CHARGE_LIST},
  {"Conversation:recent", CHARGE_LIST}, {"Conversation:replace", CHARGE_LIST},
  {"Conversation:report_usage", CHARGE_STEP}, {"Conversation:rollback", CHARGE_PATH},
  {"Conversation:save", CHARGE_NEVER}, {"Conversation:stats", CHARGE_STEP},
  {"Conversation:tokens", CHARGE_STEP},
  {"Conversation:truncate", CHARGE_PATH}, {"Conversation:trust", CHARGE_STEP}, {"Conversation:unmark", CHARGE_PATH},
  {"Conversation:warnings", CHARGE_LIST}, {"Conversation:where", CHARGE_LIST}, {"Draft:active", CHARGE_PATH},
  {"Draft:check", CHARGE_LIST}, {"Draft:cost", CHARGE_STEP}, {"Draft:count", CHARGE_STEP},
  {"Draft:dialect", CHARGE_STEP}, {"Draft:drop", CHARGE_PATH}, {"Draft:drop_oldest", CHARGE_LIST},
  {"Draft:insert", CHARGE_PATH}, {"Draft:keep", CHARGE_PATH}, {"Draft:last", CHARGE_STEP},
  {"Draft:marked", CHARGE_LIST}, {"Draft:messages", CHARGE_LIST}, {"Draft:note", CHARGE_STEP},
  {"Draft:range", CHARGE_LIST}, {"Draft:recent", CHARGE_LIST}, {"Draft:replace", CHARGE_PATH},
  {"Draft:tokens", CHARGE_STEP}, {"Draft:trust", CHARGE_STEP},
  {"Draft:turns", CHARGE_LIST}, {"Draft:units", CHARGE_LIST},
  {"Draft:where", CHARGE_LIST}, {"Ledger:json", CHARGE_LIST}, {"Ledger:keeps", CHARGE_STEP},
  {"Ledger:notes", CHARGE_LIST}, {"Ledger:runs", CHARGE_LIST}, {"Message:totable", CHARGE_PATH},
  {"Message:without", CHARGE_PATH}, {"Regex:matches", CHARGE_NEVER}, {"RegexSet:add", CHARGE_NEVER},
  {"RegexSet:apply", CHARGE_NEVER}, {"RegexSet:begin", CHARGE_NEVER}, {"RegexSet:count", CHARGE_NEVER},
  {"Root:close", CHARGE_NEVER}, {"Root:read", CHARGE_NEVER}, {"Selection:count", CHARGE_STEP},
  {"Selection:first", CHARGE_STEP}, {"Selection:last", CHARGE_STEP}, {"Selection:positions", CHARGE_LIST},
  {"Selection:slice", CHARGE_LIST}, {"Selection:tokens", CHARGE_LIST}, {"Tokenizer:count", CHARGE_TEXT},
  {"Tokenizer:count_up_to", CHARGE_TEXT}, {"Tokenizer:decode", CHARGE_TEXT}, {"Tokenizer:encode", CHARGE_TEXT},
  {"core.base64.decode", CHARGE_TEXT}, {"core.base64.encode", CHARGE_TEXT}, {"core.common", CHARGE_LIST},
  {"core.counter.calibrated", CHARGE_STEP}, {"core.counter.count", CHARGE_LIST}, {"core.counter.plain", CHARGE_STEP},
  {"core.counter.recount", CHARGE_LIST}, {"core.counter.text", CHARGE_TEXT}, {"core.data_uri", CHARGE_TEXT},
  {"core.draft.by", CHARGE_STEP}, {"core.draft.commit", CHARGE_LIST}, {"core.draft.discard", CHARGE_PATH},
  {"core.draft.info", CHARGE_STEP}, {"core.draft.insert_all", CHARGE_LIST}, {"core.draft.ledger", CHARGE_LIST},
  {"core.draft.recall", CHARGE_PATH}, {"core.draft.refusals", CHARGE_STEP}, {"core.draft.remembered", CHARGE_LIST},
  {"core.like", CHARGE_LIST}, {"core.regex.compile", CHARGE_NEVER}, {"core.regex.set", CHARGE_NEVER},
  {"core.repair", CHARGE_LIST}, {"core.root", CHARGE_NEVER}, {"core.sandbox.box_of", CHARGE_NEVER},
  {"core.sandbox.enter", CHARGE_NEVER}, {"core.sandbox.limit", CHARGE_NEVER}, {"core.sandbox.new", CHARGE_NEVER},
  {"core.sandbox.set_hint", CHARGE_NEVER}, {"core.sha256", CHARGE_TEXT}, {"core.tonumber", CHARGE_TEXT},
  {"core.tostring", CHARGE_TEXT}, {"core.vocab.build", CHARGE_NEVER}, {"core.vocab.describe", CHARGE_NEVER},
  {"core.vocab.home", CHARGE_NEVER}, {"core.vocab.verify", CHARGE_NEVER}, {"core.window.call", CHARGE_STEP},
  {"core.window.count", CHARGE_STEP}, {"core.window.escape", CHARGE_STEP}, {"core.window.get", CHARGE_STEP},
  {"core.window.ids", CHARGE_PATH}, {"core.window.items", CHARGE_LIST}, {"core.window.messages", CHARGE_LIST},
  {"core.window.owner", CHARGE_STEP},
  {"core.window.put", CHARGE_PATH}, {"core.window.sent", CHARGE_LIST}, {"core.window.shown", CHARGE_LIST},
  {"core.window.weigh", CHARGE_LIST}, {"core.working.copies", CHARGE_NEVER}, {"core.working.text", CHARGE_NEVER},
  {"ebb.body_model", CHARGE_STEP}, {"ebb.conversation", CHARGE_STEP}, {"ebb.json.array", CHARGE_STEP}, {"ebb.json.decode", CHARGE_TEXT},
  {"ebb.json.decode_at", CHARGE_TEXT},
  {"ebb.json.encode", CHARGE_TEXT}, {"ebb.json.raw", CHARGE_STEP}, {"ebb.list_folder", CHARGE_NEVER},
  {"ebb.load", CHARGE_NEVER}, {"ebb.make_folder", CHARGE_NEVER}, {"ebb.parse", CHARGE_TEXT},
  {"ebb.read_file", CHARGE_NEVER}, {"ebb.state", CHARGE_STEP},
  {"ebb.tokenizer", CHARGE_NEVER}, {"ebb.transaction", CHARGE_LIST},
  {"ebb.write_file", CHARGE_NEVER},
};

/* NULL: nobody has said what it costs. */
static const char *charge_of(const char *name, Charge *charge) {
  size_t low = 0, high = sizeof CHARGES / sizeof *CHARGES;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(CHARGES[middle].name, name);
    assert(middle == 0 || strcmp(CHARGES[middle - 1].name, CHARGES[middle].name) < 0);
    if (order == 0) {
      *charge = CHARGES[middle].charge;
      return CHARGE_NAMES[*charge];
    }
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

const char *bind_charge_name(const char *name) {
  Charge charge;
  return charge_of(name, &charge);
}

/* The messages that the arguments stand for: of the first view among them, or of
   the owner of a selection or unit, which may be as many. */
static uint64_t messages_of(lua_State *L) {
  int top = lua_gettop(L);
  uint64_t count = 0;
  for (int i = 1; i <= top && i <= 3; i++) {
    const Selection *selection = bind_test(L, i, &BIND_SELECTION);
    if (bind_is_view(L, i)) count += sequence_count(conversation_list(bind_look(L, i).conversation));
    else if (selection != NULL) count += selection->count;
    else if (lua_type(L, i) == LUA_TUSERDATA || lua_type(L, i) == LUA_TTABLE) count += lua_rawlen(L, i) / 8;
  }
  return count;
}

static uint64_t bytes_of(lua_State *L) {
  int top = lua_gettop(L);
  uint64_t bytes = 0;
  for (int i = 1; i <= top; i++) {
    if (lua_type(L, i) == LUA_TSTRING || lua_type(L, i) == LUA_TTABLE) bytes += lua_rawlen(L, i);
  }
  return bytes;
}

/* Upvalues: the function, its charge; the name of one that is never available. */
static int call_charged(lua_State *L) {
  lua_CFunction function = lua_tocfunction(L, lua_upvalueindex(1));
  switch ((Charge)lua_tointeger(L, lua_upvalueindex(2))) {
    case CHARGE_STEP: guard_charge(L, STEP_UNITS); break;
    case CHARGE_PATH: guard_charge(L, PATH_UNITS); break;
    case CHARGE_LIST: guard_charge(L, PATH_UNITS + MESSAGE_UNITS * messages_of(L)); break;
    case CHARGE_TEXT: guard_charge(L, STEP_UNITS + bytes_of(L)); break;
    case CHARGE_NEVER:
      return bind_raise(L, "sandbox", NULL, "%s is not available to sandboxed scripts",
                        lua_tostring(L, lua_upvalueindex(3)));
  }
  return function(L);
}

void bind_push_charged(lua_State *L, const char *owner, const char *separator, const BindMethod *method) {
  Charge charge = CHARGE_NEVER;
  char name[NAME_ROOM];
  lua_pushcfunction(L, method->function);
  if (sandbox_of(L) == NULL) return;
  int size = snprintf(name, sizeof name, "%s%s%s", owner, separator, method->name);
  assert(size > 0 && (size_t)size < sizeof name);
  if (charge_of(name, &charge) == NULL) luaL_error(L, "%s has no charge", name);
  lua_pushinteger(L, charge);
  if (charge == CHARGE_NEVER) lua_pushlstring(L, name, (size_t)size);
  lua_pushcclosure(L, call_charged, charge == CHARGE_NEVER ? 3 : 2);
}
