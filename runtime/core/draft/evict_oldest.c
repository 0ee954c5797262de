#include "core/draft/evict_oldest.h"

#include <assert.h>

#include "base/bitset.h"
#include "base/minmax.h"
#include "core/list/call_links.h"

/* With results farther from their calls, or with more inserted or pinned messages, the search
   would cost more than it saves. */
#define SPAN_MAX 256
#define INSERTIONS_MAX 512
#define PINNED_MAX 4096

typedef struct Search {
  const Store *store;
  const Sequence *list;
  CallLinks links;
  Memory memory;
  uint32_t count;
  uint32_t last_user;        /* position of the last message that starts a turn */
  uint64_t need, freed;
  uint64_t *dropped;            /* a bit per position */
  uint64_t *guarded;         /* a bit per position of a pinned unit; NULL: no pins */
} Search;

static const Message *message_at(const Search *search, uint32_t position) {
  return store_message(search->store, sequence_at(search->list, position));
}

static uint32_t weight_at(const Search *search, uint32_t position) {
  return sequence_weight(search->list, sequence_at(search->list, position));
}

static uint32_t anchor_at(const Search *search, uint32_t position) {
  return sequence_rank(search->list, position).anchor;
}

static bool is_guarded(const Search *search, uint32_t position) {
  return search->guarded != NULL && bitset_has(search->guarded, position);
}

static void drop(Search *search, uint32_t position) {
  assert(position < search->count && !bitset_has(search->dropped, position));
  bitset_add(search->dropped, position);
  search->freed += weight_at(search, position);
}

static Search search_start(const Conversation *conversation, const Sequence *list) {
  const Store *store = conversation_store(conversation);
  uint32_t turns = sequence_sum(list).turns;
  return (Search){.store = store, .list = list, .memory = *conversation_memory(conversation),
                  .links = call_links_of(store, list), .count = sequence_count(list),
                  .last_user = turns == 0 ? 0 : sequence_find(list, MEASURE_TURNS, turns - 1)};
}

bool evict_oldest_can_search(const Conversation *conversation, const Sequence *list) {
  if (!sequence_is_ranked(list) || sequence_sum(list).turns == 0 || sequence_sum(list).windows > 0) return false;
  if (store_fragments(conversation_store(conversation)) > 0) return false;
  if (marks_size(conversation_marks(conversation), text_of(MARK_PINNED)) > PINNED_MAX) return false;
  uint32_t insertions = store_insertions(conversation_store(conversation));
  if (min_u32(insertions, sequence_sum(list).moved) > INSERTIONS_MAX) return false;
  Search search = search_start(conversation, list);
  return search.links.span <= SPAN_MAX && message_result_count(message_at(&search, search.last_user)) == 0;
}

/* ---- units ---- */

/* Calls `act` for every message of the unit that starts at `position`. */
static void for_unit(Search *search, uint32_t position, void (*act)(Search *search, uint32_t position)) {
  act(search, position);
  if (message_call_count(message_at(search, position)) == 0) return;
  const CallLinks *links = &search->links;
  for (uint32_t at = position; (at = call_links_next_result(links, position, at)) < search->count;) act(search, at);
}

/* True if a unit starts here and has no hold. */
static bool may_go(const Search *search, uint32_t position) {
  if (position == search->last_user || is_guarded(search, position)) return false;
  if (bitset_has(search->dropped, position)) return false;
  if (message_role(message_at(search, position)) == ROLE_SYSTEM) return false;
  if (call_links_caller(&search->links, position) < search->count) return false;
  return position < search->last_user || !call_links_is_open(&search->links, position);
}

/* ---- pins ---- */

static void hold(Search *search, uint32_t position) { bitset_add(search->guarded, position); }

static Status hold_none(Search *search) {
  search->guarded = bitset_new(&search->memory, search->count);
  return search->guarded == NULL ? STATUS_MEMORY : STATUS_OK;
}

static void hold_pinned(Search *search, const Marks *marks) {
  MessageId origin;
  for (size_t at = 0; marks_next(marks, text_of(MARK_PINNED), &at, &origin);) {
    uint32_t position = sequence_index_of_origin(search->list, origin);
    if (position == search->count) continue;
    uint32_t caller = call_links_caller(&search->links, position);
    for_unit(search, caller < search->count ? caller : position, hold);
  }
}

static void search_end(Search *search) {
  bitset_free(&search->memory, search->guarded, search->count);
}

/* ---- the cut ---- */

/* Tokens before `end` that are not of system messages. */
static uint64_t tokens_before(const Search *search, uint32_t end) {
  Sum sum = sequence_prefix(search->list, end);
  return sum_measure(&sum, MEASURE_TOKENS) - sum.tokens[ROLE_SYSTEM];
}

/* The first position with `need` such tokens before it, or the count. */
static uint32_t find_need(const Search *search) {
  uint32_t low = 0, high = search->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (tokens_before(search, middle) < search->need) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The position where the newest `keep` units start. */
static uint32_t find_kept(const Search *search, uint32_t keep) {
  uint32_t position = search->count;
  while (position > 0 && keep > 0) keep -= call_links_caller(&search->links, --position) == search->count;
  return position;
}

static void set_range(uint64_t *bits, uint32_t end) {
  for (uint32_t word = 0; word < end / 64; word++) bits[word] = UINT64_MAX;
  if (end % 64 > 0) bits[end / 64] |= ((uint64_t)1 << (end % 64)) - 1;
}

/* Takes the guarded messages before `end` out of `dropped`. */
static void spare_guarded(Search *search, uint32_t end) {
  for (uint32_t word = 0; search->guarded != NULL && word <= end / 64; word++) {
    assert(word < bitset_words(search->count));
    for (uint64_t spared = search->guarded[word] & search->dropped[word]; spared != 0; spared &= spared - 1) {
      search->freed -= weight_at(search, word * 64 + (uint32_t)__builtin_ctzll(spared));
    }
    search->dropped[word] &= ~search->guarded[word];
  }
}

/* Drops every unit without a hold that starts before `end`. */
static void drop_before(Search *search, uint32_t end) {
  if (end == 0) return;
  Sum sum = sequence_prefix(search->list, end);
  set_range(search->dropped, end);
  for (uint32_t i = 0; i < sum.count[ROLE_SYSTEM]; i++) {
    uint32_t at = sequence_find(search->list, MEASURE_ROLE_COUNT + ROLE_SYSTEM, i);
    bitset_remove(search->dropped, at);
  }
  search->freed += tokens_before(search, end);
  spare_guarded(search, end);
  if (end == search->count) return;
  uint32_t border = anchor_at(search, end);
  for (uint32_t at = end; at < search->count && anchor_at(search, at) - border <= search->links.span; at++) {
    if (call_links_caller(&search->links, at) < end && !is_guarded(search, at)) drop(search, at);
  }
}

/* A position such that every unit that starts before it is needed: it is more than the
   longest distance of a result from its call before the position where the tokens suffice. */
static uint32_t find_sure(const Search *search) {
  uint32_t place = find_need(search), anchor = place == 0 ? 0 : anchor_at(search, place - 1);
  if (anchor <= search->links.span) return 0;
  return sequence_find_rank(search->list, (Rank){.anchor = anchor - search->links.span, .step = 0});
}

Status evict_oldest_choose(const Conversation *conversation, const Sequence *list, uint64_t need, uint32_t keep,
                           uint64_t *dropped) {
  Search search = search_start(conversation, list);
  search.need = need;
  search.dropped = dropped;
  const Marks *marks = conversation_marks(conversation);
  if (marks_size(marks, text_of(MARK_PINNED)) > 0) {
    Status status = hold_none(&search);
    if (status != STATUS_OK) return status;
    hold_pinned(&search, marks);
  }
  uint32_t kept = find_kept(&search, keep);
  uint32_t at = min_u32(min_u32(find_sure(&search), kept), search.last_user);
  drop_before(&search, at);
  for (; at < kept && search.freed < need; at++) {
    if (may_go(&search, at)) for_unit(&search, at, drop);
  }
  assert(search.freed >= need || at >= kept);
  search_end(&search);
  return STATUS_OK;
}

static GuardedSum sum_guarded(const Search *search) {
  GuardedSum sum = {0};
  for (uint32_t word = 0; word < bitset_words(search->count); word++) {
    for (uint64_t guarded = search->guarded[word]; guarded != 0; guarded &= guarded - 1) {
      sum.tokens += weight_at(search, word * 64 + (uint32_t)__builtin_ctzll(guarded));
      sum.messages++;
    }
  }
  return sum;
}

Status evict_oldest_guarded(const Conversation *conversation, const Sequence *list, GuardedSum *guarded) {
  Search search = search_start(conversation, list);
  Status status = hold_none(&search);
  if (status != STATUS_OK) return status;
  hold_pinned(&search, conversation_marks(conversation));
  for (uint32_t i = 0; i < sequence_sum(list).count[ROLE_SYSTEM]; i++) {
    hold(&search, sequence_find(list, MEASURE_ROLE_COUNT + ROLE_SYSTEM, i));
  }
  uint64_t lasting = sum_guarded(&search).tokens;
  hold(&search, search.last_user);
  for (uint32_t at = search.last_user + 1; at < search.count; at++) {
    if (message_call_count(message_at(&search, at)) > 0 && call_links_is_open(&search.links, at))
      for_unit(&search, at, hold);
  }
  *guarded = sum_guarded(&search);
  guarded->lasting = lasting;
  search_end(&search);
  return STATUS_OK;
}
