/*
** Cut plan: which of the oldest units are gone in each request of a recording, chosen
** so that requests share as much as possible of the request before.
**
**     cut 0          fixed | 1  2  3  4  5
**     cut 3          fixed |          4  5      in common with cut 0: fixed
**     cut 3, kept    fixed |    2     4  5      unit 2 was the last user message when it was cut
**
** Fixed messages stay for ever. The unit of the last user message stays when a cut passes it,
** and may go once there is a later one. Cuts never go back. A request with the cut of the
** request before shares all of that, any other one what stands before the first unit that is gone.
*/
#ifndef EBB_CORE_CUT_PLAN_H
#define EBB_CORE_CUT_PLAN_H

#include "base/memory.h"
#include "base/status.h"

typedef struct {
  uint64_t total;       /* tokens of the whole history */
  uint32_t units;       /* units that may be cut */
  uint32_t last_user;   /* the unit of the last user message, from 1; 0: no cut passes it */
} CutRequest;

typedef struct {
  uint64_t gone;        /* tokens of the first units up to this one */
  uint64_t before;      /* tokens of fixed messages before the next unit */
  uint32_t user;        /* the last of these units that is a user message; 0: none is */
} CutUnit;

typedef struct {
  const CutUnit *units;         /* by number of units, from 0 */
  const CutRequest *requests;
  uint32_t unit_count, request_count;
  uint64_t base;                /* tokens of a request without messages; never shared */
  uint64_t budget;
} CutProblem;

typedef struct {
  uint64_t shared, total;       /* tokens of all requests */
} CutPlan;

/* The plan for which shared + weight * total is greatest, of those within the budget. A request that no cut fits
   is not sent. O(requests * cuts that fit). STATUS_MEMORY. */
Status cut_plan_best(const CutProblem *problem, double weight, const Memory *memory, CutPlan *best);

#endif
