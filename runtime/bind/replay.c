/*
** For replays: an empty conversation that counts as another does, what two states
** of one have in common, and the best plan of cuts.
*/
#include "base/minmax.h"
#include "bind/argument.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "core/list/sequence_diff.h"
#include "core/draft/cut_plan.h"
#include "os/os.h"
#include "sandbox/guard.h"

/* like(conversation) -> an empty one with the same counter, overhead and functions,
   but with a store of its own and no limit */
static int l_like(lua_State *L) {
  lua_settop(L, 1);
  ConversationHandle *handle = bind_enter(L, 1), *copy = bind_new(L, &BIND_CONVERSATION, sizeof *copy, 3);
  copy->warnings.memory = bind_memory(L);
  copy->document = document_new(DOCUMENT_ARRAY);
  copy->callbacks = handle->callbacks;
  for (int value = 1; value <= 2; value++) {
    lua_getiuservalue(L, 1, value);
    lua_setiuservalue(L, 2, value);
  }
  ConversationConfig config = {.memory = bind_memory(L), .clock = clock_system(), .hash_key = entropy_hash_key(),
                               .counter = *conversation_counter(handle->conversation)};
  Status status = conversation_new(&config, &copy->conversation);
  if (status != STATUS_OK) return bind_raise_status(L, status, "like");
  conversation_charge_as(copy->conversation, handle->conversation);
  return 1;
}

/* common(conversation, batch, length, other, other_length, most?) -> messages, tokens: of
   the beginning that both states have, or of its first `most` messages */
static int l_common(lua_State *L) {
  Conversation *conversation = bind_check_conversation(L, 1)->conversation;
  Memory memory = bind_memory(L);
  uint32_t messages;
  lua_settop(L, 6);
  uint32_t most = lua_isnil(L, 6) ? UINT32_MAX : (uint32_t)bind_integer(L, 6, "most", 0, UINT32_MAX);
  uint32_t length = (uint32_t)bind_integer(L, 3, "length", 0, UINT32_MAX);
  uint32_t other_length = (uint32_t)bind_integer(L, 5, "other_length", 0, UINT32_MAX);
  const Sequence *before = bind_push_batch_list(L, 2, true, length);
  const Sequence *after = bind_push_batch_list(L, 4, true, other_length);
  Status status = common_prefix_count(&memory, conversation_store(conversation), before, after, &messages);
  if (status != STATUS_OK) return bind_raise_status(L, status, "common");
  messages = min_u32(messages, most);
  Sum sum = sequence_prefix(after, messages);
  lua_pushinteger(L, messages);
  lua_pushinteger(L, (lua_Integer)sum_measure(&sum, MEASURE_TOKENS));
  return 2;
}

/* The integer, 0 or more, at place 1 to 3 of an entry of a flat list; entries count from 0. */
static uint64_t read_number(lua_State *L, int list, uint32_t entry, int place) {
  lua_rawgeti(L, list, (lua_Integer)entry * 3 + place);
  lua_Integer value = bind_integer(L, -1, "number", 0, INT64_MAX / 4);
  lua_pop(L, 1);
  return (uint64_t)value;
}

static void require(lua_State *L, bool holds, const char *problem) {
  if (!holds) bind_raise_argument(L, "argument", NULL, "%s", problem);
}

/* Entries of a flat list of three integers each. */
static uint32_t count_entries(lua_State *L, int list) {
  bind_expect(L, list, NULL, LUA_TTABLE);
  return (uint32_t)(lua_rawlen(L, list) / 3);
}

/* The first argument: gone, before and user of each number of units from 0. Leaves the array on the stack. */
static void read_units(lua_State *L, CutProblem *problem) {
  uint32_t count = count_entries(L, 1);
  require(L, count > 0, "the entry of no unit is missing");
  CutUnit *units = lua_newuserdatauv(L, count * sizeof *units, 0);
  for (uint32_t i = 0; i < count; i++) {
    units[i] = (CutUnit){read_number(L, 1, i, 1), read_number(L, 1, i, 2), (uint32_t)read_number(L, 1, i, 3)};
    bool in_order = units[i].user <= i && (i == 0 || (units[i].gone >= units[i - 1].gone &&
        units[i].before >= units[i - 1].before && (units[i].user == i || units[i].user == units[i - 1].user)));
    require(L, in_order, "units are not in order");
  }
  problem->units = units;
  problem->unit_count = count - 1;
}

/* The second argument: total, units and last user of each request. Leaves the array on the stack. */
static void read_requests(lua_State *L, CutProblem *problem) {
  uint32_t count = count_entries(L, 2);
  CutRequest *requests = lua_newuserdatauv(L, count * sizeof *requests + 1, 0);
  for (uint32_t i = 0; i < count; i++) {
    requests[i] = (CutRequest){read_number(L, 2, i, 1), (uint32_t)read_number(L, 2, i, 2),
                               (uint32_t)read_number(L, 2, i, 3)};
    bool in_order = i == 0 || requests[i].units >= requests[i - 1].units;
    require(L, in_order && requests[i].units <= problem->unit_count, "requests are not in order");
    uint64_t gone = problem->units[requests[i].units].gone;
    require(L, requests[i].total >= problem->base + gone, "less than its units");
  }
  problem->requests = requests;
  problem->request_count = count;
}

/* best_cuts(units, requests, base, budget, weight) -> shared, total: as cut_plan.h says; both lists are flat */
static int l_best_cuts(lua_State *L) {
  lua_settop(L, 5);
  CutProblem problem = {.base = (uint64_t)bind_integer(L, 3, NULL, 0, INT64_MAX / 4),
                        .budget = (uint64_t)bind_integer(L, 4, NULL, 0, INT64_MAX)};
  if (lua_type(L, 5) != LUA_TNUMBER) return bind_raise_type(L, 5, NULL, "a number");
  double weight = lua_tonumber(L, 5);
  read_units(L, &problem);
  read_requests(L, &problem);
  guard_charge(L, problem.unit_count + (uint64_t)problem.request_count * (problem.unit_count + 4) / 4);
  Memory memory = bind_memory(L);
  CutPlan best;
  Status status = cut_plan_best(&problem, weight, &memory, &best);
  if (status != STATUS_OK) return bind_raise_status(L, status, "best_cuts");
  lua_pushinteger(L, (lua_Integer)best.shared);
  lua_pushinteger(L, (lua_Integer)best.total);
  return 2;
}

void bind_open_replay(lua_State *L) {
  static const BindMethod functions[] = {
    {"like", l_like, "conversation", CHARGE_LIST},
    {"common", l_common, "conversation batch length other other_length most", CHARGE_LIST},
    {"best_cuts", l_best_cuts, "units requests base budget weight", CHARGE_STEP},
    BIND_END,
  };
  bind_functions(L, "core", functions);
}
