/*
** What each bound function costs a sandboxed script. Elsewhere nothing is charged
** and nothing stands between a caller and the function.
**
** One table says it for all; a function that is not in it cannot be opened in a
** sandbox, so that none is free by oversight. The allocator charges for what is
** made; here stands what is only read or walked over.
*/
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

#define STEP_UNITS     20
#define PATH_UNITS     200
#define MESSAGE_UNITS  10    /* of a list, each */

static const struct {
  Charge charge;
  const char *names;         /* "Type:method" and "owner.function", separated by spaces */
} CHARGES[] = {
  {CHARGE_STEP,
   "Batch:count Batch:dialect Batch:tokens Conversation:batch Conversation:calibration Conversation:count "
   "Conversation:dialect Conversation:encoding Conversation:limit Conversation:model Conversation:over_limit "
   "Conversation:report_usage Conversation:stats Conversation:tokens Draft:cost Draft:count Draft:dialect "
   "Draft:last Draft:note Draft:tokens Ledger:keeps Selection:count Selection:first Selection:last "
   "core.counter.calibrated core.counter.plain core.window.call core.window.count core.window.escape core.window.get "
    "Conversation:current_seq core.draft.by core.draft.info core.draft.refusals "
   "ebb.conversation ebb.json.array ebb.json.raw "},
  {CHARGE_PATH,
   "Batch:active Conversation:active Conversation:checkpoint Conversation:clear Conversation:draft Conversation:fork "
   "Conversation:mark Draft:active "
   "Conversation:rollback Conversation:truncate Conversation:unmark Draft:drop Draft:insert Draft:keep "
   "core.window.put core.window.ids Draft:replace Message:totable Message:without core.draft.discard "
   "core.draft.recall "},
  {CHARGE_LIST,
   "core.window.items core.window.messages core.window.sent core.window.shown "
   "core.window.weigh Batch:check Batch:marked Batch:range Batch:recent Batch:where Conversation:all "
   "Conversation:append "
   "Conversation:batches Conversation:check Conversation:diff Conversation:explain Conversation:filter "
   "Conversation:forget Conversation:insert Conversation:json Conversation:ledger Conversation:marked "
   "Conversation:prune Conversation:range Conversation:recent Conversation:replace Conversation:shape "
   "Conversation:warnings Conversation:where Draft:check Draft:drop_oldest Draft:marked Draft:messages "
   "Draft:range Draft:recent Draft:turns Draft:units Draft:where Ledger:json Ledger:notes Ledger:runs "
   "Selection:positions Selection:slice Selection:tokens core.common core.counter.count "
   "core.counter.recount core.draft.commit core.draft.insert_all core.draft.ledger core.draft.remembered core.like "
   "core.repair "
   "ebb.transaction "},
  {CHARGE_TEXT,
   "Tokenizer:count Tokenizer:count_up_to Tokenizer:decode Tokenizer:encode core.base64.decode core.base64.encode "
   "core.counter.text core.data_uri core.sha256 core.tonumber core.tostring ebb.json.decode ebb.json.encode "
   "ebb.parse "},
  {CHARGE_NEVER, "core.working.copies core.working.text "},
  {CHARGE_NEVER,
   "Conversation:save Regex:matches RegexSet:add RegexSet:apply RegexSet:begin RegexSet:count Root:close Root:read "
   "core.regex.compile core.regex.set core.root core.sandbox.box_of core.sandbox.enter core.sandbox.limit "
   "core.sandbox.new core.sandbox.set_hint core.vocab.build core.vocab.describe core.vocab.home core.vocab.verify "
   "ebb.list_folder ebb.load ebb.make_folder ebb.read_file ebb.tokenizer ebb.write_file "},
};

/* Is the word one of the names? */
static bool is_listed(const char *names, const char *word) {
  size_t size = strlen(word);
  if (size == 0) return false;
  for (const char *at = names; (at = strstr(at, word)) != NULL; at += size) {
    if ((at == names || at[-1] == ' ') && at[size] == ' ') return true;
  }
  return false;
}

/* NULL: nobody has said what it costs. */
static const char *charge_of(const char *name, Charge *charge) {
  for (size_t i = 0; i < sizeof CHARGES / sizeof *CHARGES; i++) {
    if (!is_listed(CHARGES[i].names, name)) continue;
    *charge = CHARGES[i].charge;
    return CHARGE_NAMES[*charge];
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

/* Upvalues: the function, its charge, its name. */
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
  lua_pushcfunction(L, method->function);
  if (sandbox_of(L) == NULL) return;
  const char *name = lua_pushfstring(L, "%s%s%s", owner, separator, method->name);
  if (charge_of(name, &charge) == NULL) luaL_error(L, "%s has no charge", name);
  lua_pushinteger(L, charge);
  lua_insert(L, -2);
  lua_pushcclosure(L, call_charged, 3);
}
