/*
** Ring: an intrusive doubly linked list. Members carry their links, so that adding and
** removing take O(1) and no memory.
**
**     head <-> a <-> b <-> c <-> head        an empty ring is its head alone
**
** A ring does not own its members. A member can be in one ring per Ring that it carries.
*/
#ifndef EBB_BASE_RING_H
#define EBB_BASE_RING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Ring {
  struct Ring *before, *behind;
} Ring;

/* The struct whose member `field` is `link`. */
#define RING_OWNER(link, type, field) ((type *)(void *)((char *)(link) - offsetof(type, field)))

/* Makes the head of an empty ring, or a link that is in no ring. */
static inline void ring_init(Ring *ring) { ring->before = ring->behind = ring; }

static inline bool ring_is_alone(const Ring *ring) { return ring->behind == ring; }

/* Adds a link, which is in no ring, at the end. */
static inline void ring_add(Ring *head, Ring *link) {
  link->before = head->before;
  link->behind = head;
  head->before->behind = link;
  head->before = link;
}

/* Removes a link from its ring, if it is in one. */
static inline void ring_remove(Ring *link) {
  link->before->behind = link->behind;
  link->behind->before = link->before;
  ring_init(link);
}

/* Moves a link to the end of a ring, out of the ring that it was in. */
static inline void ring_move(Ring *head, Ring *link) {
  ring_remove(link);
  ring_add(head, link);
}

#endif
