/*
** Waiting: the pieces of a text that are no tokens and that no memo knows, on their
** way through merging.
**
**     begun      a few, while the words between their walls come from memory (bpe_parts.h)
**     groups     by width, until one is full and merged at once (bpe_lanes.h)
**     recents    where each was put, and what came of it: in programs new names come
**                again at once, and are merged no second time
**
** It is empty between texts; pieces are those of one text, which stays until waiting_end.
*/
#ifndef EBB_TOKENS_WAITING_H
#define EBB_TOKENS_WAITING_H

#include "tokens/bpe.h"
#include "tokens/bpe_lanes.h"
#include "tokens/memo.h"

enum {
  WAITING_BEGUN = 4,         /* 8 gain nothing more */
  WAITING_RING = LANES_WIDTHS,         /* stands for the ring where a width does for a group */
  WAITING_RECENT_BITS = 9,
  WAITING_RECENTS = 1 << WAITING_RECENT_BITS
};

typedef struct WaitingGroup {
  uint32_t used;                       /* rows */
  const char *at[LANES_ROWS];
  uint8_t sizes[LANES_ROWS];
  uint16_t recents[LANES_ROWS];
  uint32_t times[LANES_ROWS];          /* that the piece came up */
} WaitingGroup;

typedef struct WaitingRecent {
  const char *at;
  uint8_t size;                        /* 0: none */
  uint8_t tokens;                      /* 0: waits in */
  uint8_t width, row;                  /* where it waits */
} WaitingRecent;

typedef struct WaitingBegun {
  const char *at;
  uint32_t recent;
  uint32_t times;                      /* that the piece came up */
  Parts parts;
} WaitingBegun;

typedef struct Waiting {
  uint32_t begun, ended;               /* how many pieces were */
  uint64_t pieces;                     /* that are still to be counted, each as often as it came up */
  WaitingRecent recents[WAITING_RECENTS];
  WaitingBegun ring[WAITING_BEGUN];
  WaitingGroup groups[LANES_WIDTHS];
  uint32_t rows[LANES_ALL_WORDS];      /* LANES_ROWS of each width */
} Waiting;

/* What merging goes by: the memo may be NULL. */
typedef struct WaitingTools {
  const Vocab *vocab;
  Memo *memo;
  Bpe *bpe;
} WaitingTools;

void   waiting_init(Waiting *waiting);
/* Counts a piece that is no token, at once or later. MEMO_READS bytes from its start can be read. STATUS_MEMORY. */
Status waiting_add(Waiting *waiting, const WaitingTools *tools, const char *at, size_t size, uint64_t *tokens);
/* Counts what is left. After a failure of waiting_add too, whose counts then mean nothing. */
void   waiting_end(Waiting *waiting, const WaitingTools *tools, uint64_t *tokens);

#endif
