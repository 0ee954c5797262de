/*
** A dynamic program over (request, cut). A state is the best way to reach a cut, without the user
** message that the cut passed (`free`) or with it (`kept`). From one request to the next
** a state stays, or a cut follows any lower one; the best of those is carried along in `Move`.
**
** Invariants:
**   1. States below `first` of a layer, and those at `end` and above, are unreachable.
**   2. A kept state's unit is units[cut].user, so the cut says which one it is.
*/
#include "core/draft/cut_plan.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "base/minmax.h"

typedef struct {
  double value;       /* shared + weight * total; -INFINITY: unreachable */
  CutPlan plan;
} State;

typedef struct {
  State free, kept;
} Cut;

typedef struct {
  Cut *cuts;
  uint32_t first, end;
} Layer;

/* The best states from which a higher cut may come, `shared` of that request counted. */
typedef struct {
  State any;          /* to every state */
  State same;         /* to a kept state with the same user message */
  uint32_t user;      /* that message's unit */
} Move;

static const State UNREACHABLE = {.value = -INFINITY};

static State after(State state, uint64_t shared) {
  state.value += (double)shared;
  state.plan.shared += shared;
  return state;
}

static void take_better(State *state, State other) {
  if (other.value > state->value) *state = other;
}

static State send(State state, uint64_t tokens, double weight) {
  state.value += weight * (double)tokens;
  state.plan.total += tokens;
  return state;
}

static bool is_reachable(const Cut *cut) {
  return cut->free.value > -INFINITY || cut->kept.value > -INFINITY;
}

static uint64_t unit_tokens(const CutProblem *problem, uint32_t unit) {
  return problem->units[unit].gone - problem->units[unit - 1].gone;
}

/* Tokens of a request at a cut; `kept`: with the user message that it passed. */
static uint64_t size_at(const CutProblem *problem, const CutRequest *request, uint32_t cut, bool kept) {
  const CutUnit *unit = &problem->units[cut];
  return request->total - unit->gone + (kept ? unit_tokens(problem, unit->user) : 0);
}

/* Tokens of fixed messages before the first unit of a request at a cut. */
static uint64_t head_at(const CutProblem *problem, const CutRequest *request, uint32_t cut) {
  return min_u64(problem->units[cut].before, size_at(problem, request, cut, false) - problem->base);
}

/* Adds the states of a cut in the last request to those from which higher cuts may come. */
static void add_to_move(const CutProblem *problem, const CutRequest *last, uint32_t cut, const Cut *from, Move *move) {
  if (!is_reachable(from)) return;
  uint32_t user = problem->units[cut].user;
  uint64_t head = head_at(problem, last, cut);
  take_better(&move->any, after(from->free, head));
  if (user == 0) return;
  take_better(&move->any, after(from->kept, head_at(problem, last, user - 1)));
  take_better(&move->same, after(from->kept, head + unit_tokens(problem, user)));
}

/* Starts anew if the cut passes another user message. That of the cut one lower is still in its place there. */
static void pass_user(const CutProblem *problem, const CutRequest *last, uint32_t cut, const Layer *from, Move *move) {
  uint32_t user = problem->units[cut].user;
  if (user == move->user) return;
  move->user = user;
  move->same = UNREACHABLE;
  if (cut > from->first && cut - 1 < from->end) {
    assert(user == cut);
    uint64_t whole = size_at(problem, last, cut - 1, false) - problem->base;
    uint64_t shared = problem->units[cut].before + unit_tokens(problem, user);
    move->same = after(from->cuts[cut - 1].free, min_u64(whole, shared));
  }
}

/* The states at a cut in one request, from those at the same and at lower cuts in the last request. */
static Cut arrive(const CutProblem *problem, const CutRequest *request, const CutRequest *last, uint32_t cut,
                  const Cut *from, const Move *move) {
  const CutUnit *unit = &problem->units[cut];
  bool guarded = unit->user > 0 && unit->user == request->last_user;
  State start = last == NULL ? (State){.value = 0} : move->any;
  Cut to = {guarded ? UNREACHABLE : start, guarded ? start : UNREACHABLE};
  if (guarded) take_better(&to.kept, move->same);
  if (last == NULL || !is_reachable(from)) return to;
  if (!guarded) {
    take_better(&to.free, after(from->free, size_at(problem, last, cut, false) - problem->base));
    if (unit->user > 0) take_better(&to.free, after(from->kept, head_at(problem, last, unit->user - 1)));
  }
  if (unit->user > 0) {
    take_better(&to.kept, after(from->kept, size_at(problem, last, cut, true) - problem->base));
  }
  return to;
}
/* Leaves out states that are over the budget, and sends the others. */
static void send_at(const CutProblem *problem, const CutRequest *request, uint32_t cut, double weight, Cut *to) {
  uint64_t tokens = size_at(problem, request, cut, false);
  to->free = tokens <= problem->budget ? send(to->free, tokens, weight) : UNREACHABLE;
  if (to->kept.value == -INFINITY) return;
  tokens = size_at(problem, request, cut, true);
  to->kept = tokens <= problem->budget ? send(to->kept, tokens, weight) : UNREACHABLE;
}

/* Writes the layer of a request; false if no cut fits. */
static bool advance(const CutProblem *problem, const CutRequest *request, const CutRequest *last, double weight,
                    const Layer *from, Layer *to) {
  static const Cut NONE = {{.value = -INFINITY}, {.value = -INFINITY}};
  Move move = {UNREACHABLE, UNREACHABLE, 0};
  assert(request->units <= problem->unit_count && from->end <= request->units + 1);
  to->first = to->end = request->units + 1;
  for (uint32_t cut = from->first; cut <= request->units; cut++) {
    const Cut *before = cut < from->end ? &from->cuts[cut] : &NONE;
    pass_user(problem, last, cut, from, &move);
    to->cuts[cut] = arrive(problem, request, last, cut, before, &move);
    send_at(problem, request, cut, weight, &to->cuts[cut]);
    if (to->first == to->end && is_reachable(&to->cuts[cut])) to->first = cut;
    add_to_move(problem, last, cut, before, &move);
  }
  return to->first < to->end;
}

/* The best state of a layer; without states, that of no request. */
static CutPlan best_of(const Layer *layer) {
  State best = UNREACHABLE;
  for (uint32_t cut = layer->first; cut < layer->end; cut++) {
    take_better(&best, layer->cuts[cut].free);
    take_better(&best, layer->cuts[cut].kept);
  }
  return best.plan;
}

Status cut_plan_best(const CutProblem *problem, double weight, const Memory *memory, CutPlan *best) {
  size_t room = (size_t)problem->unit_count + 1;
  Cut *cuts = memory_new_array(memory, 2 * room, sizeof *cuts);
  if (cuts == NULL) return STATUS_MEMORY;
  Layer now = {.cuts = cuts}, next = {.cuts = cuts + room};
  const CutRequest *last = NULL;
  for (uint32_t i = 0; i < problem->request_count; i++) {
    const CutRequest *request = &problem->requests[i];
    if (!advance(problem, request, last, weight, &now, &next)) continue;
    Layer layer = now;
    now = next;
    next = layer;
    last = request;
  }
  *best = best_of(&now);
  assert(best->shared <= best->total);
  memory_free(memory, cuts, 2 * room * sizeof *cuts);
  return STATUS_OK;
}
