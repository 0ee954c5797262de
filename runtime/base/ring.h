/*
** Ring: a list whose members carry their links, so that a member goes in O(1) from
** any place, and neither coming nor going needs memory.
**
**     head <-> a <-> b <-> c <-> head        an empty ring's head stands alone
**
** A ring does not own its members. A member is in one ring per Ring that it carries.
*/
#ifndef EBB_BASE_RING_H
#define EBB_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Ring {
  struct Ring *before, *behind;
} Ring;

/* The struct of which `link` is the member `field`. */
#define RING_OWNER(link, type, field) ((type *)(void *)((char *)(link) - offsetof(type, field)))

/* A head of an empty ring, or a link that is in no ring. */
static inline void ring_init(Ring *ring) { ring->before = ring->behind = ring; }

static inline bool ring_is_alone(const Ring *ring) { return ring->behind == ring; }

/* Puts a link that is in no ring at the end. */
static inline void ring_add(Ring *head, Ring *link) {
  link->before = head->before;
  link->behind = head;
  head->before->behind = link;
  head->before = link;
}

/* Also of a link that is in no ring. */
static inline void ring_remove(Ring *link) {
  link->before->behind = link->behind;
  link->behind->before = link->before;
  ring_init(link);
}

/* Puts a link at the end, wherever it was. */
static inline void ring_move(Ring *head, Ring *link) {
  ring_remove(link);
  ring_add(head, link);
}

#endif
