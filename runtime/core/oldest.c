#include "core/oldest.h"


/* Beyond this distance of results from their calls walking would cost more than
   it saves. */
#define SPAN_MAX 256

typedef struct Search {
  const Store *store;
  const Sequence *list;
  uint32_t count, span;
  uint32_t last_user;        /* position of the last message that starts a turn */
  uint64_t need, freed;
  uint64_t *gone;
} Search;

static const Message *message_at(const Search *search, uint32_t position) {
  return store_message(search->store, sequence_at(search->list, position));
}

static bool is_gone(const Search *search, uint32_t position) { return search->gone[position / 64] >> (position % 64) & 1; }

static void drop(Search *search, uint32_t position) {
  search->gone[position / 64] |= (uint64_t)1 << (position % 64);
  search->freed += message_tokens(message_at(search, position));
}

static Search search_start(const Conversation *conversation, const Sequence *list) {
  const Store *store = conversation_store(conversation);
  uint32_t turns = sequence_sum(list).turns;
  return (Search){.store = store, .list = list, .count = sequence_count(list), .span = store_span(store),
                  .last_user = turns == 0 ? 0 : sequence_find(list, MEASURE_TURNS, turns - 1)};
}

bool oldest_can_search(const Conversation *conversation, const Sequence *list) {
  if (!sequence_is_ascending(list) || sequence_sum(list).turns == 0) return false;
  if (marks_size(conversation_marks(conversation), text_of(MARK_PINNED)) > 0) return false;
  Search search = search_start(conversation, list);
  return search.span <= SPAN_MAX && message_result_count(message_at(&search, search.last_user)) == 0;
}

/* ---- units about a place ---- */

/* The message with the call that the one at `position` answers; 0: none is visible. */
static MessageId visible_caller(const Search *search, uint32_t position) {
  MessageId id = sequence_at(search->list, position);
  if (message_result_count(store_message(search->store, id)) == 0) return 0;
  MessageId caller = store_answers(search->store, id, 0).message;
  bool visible = caller != 0 && sequence_index_of(search->list, caller, UINT32_MAX) < search->count;
  return visible ? caller : 0;
}

/* The next position after `from` whose message answers `caller`, or the count. */
static uint32_t next_result(const Search *search, MessageId caller, uint32_t from) {
  MessageId origin = store_origin(search->store, caller);
  for (uint32_t at = from + 1; at < search->count; at++) {
    MessageId id = sequence_at(search->list, at);
    if (id - caller > search->span) break;
    if (message_result_count(store_message(search->store, id)) == 0) continue;
    MessageId answered = store_answers(search->store, id, 0).message;
    if (answered != 0 && store_origin(search->store, answered) == origin) return at;
  }
  return search->count;
}

/* Has one of the calls at `position` no visible result? */
static bool is_open(const Search *search, uint32_t position) {
  MessageId caller = sequence_at(search->list, position);
  uint32_t calls = message_call_count(store_message(search->store, caller));
  for (uint32_t call = 0; call < calls; call++) {
    bool answered = false;
    for (uint32_t at = position; !answered && (at = next_result(search, caller, at)) < search->count;) {
      MessageId id = sequence_at(search->list, at);
      uint32_t results = message_result_count(store_message(search->store, id));
      for (uint32_t i = 0; i < results && !answered; i++) answered = store_answers(search->store, id, i).call == call;
    }
    if (!answered) return true;
  }
  return false;
}

static void drop_unit(Search *search, uint32_t position) {
  MessageId caller = sequence_at(search->list, position);
  drop(search, position);
  if (message_call_count(store_message(search->store, caller)) == 0) return;
  for (uint32_t at = position; (at = next_result(search, caller, at)) < search->count;) drop(search, at);
}

/* Does a unit begin here that may go? */
static bool may_go(const Search *search, uint32_t position) {
  const Message *message = message_at(search, position);
  if (message_role(message) == ROLE_SYSTEM || position == search->last_user || is_gone(search, position)) return false;
  if (visible_caller(search, position) != 0) return false;
  return position < search->last_user || !is_open(search, position);
}

/* ---- the cut ---- */

/* Tokens before `end` that are not of system messages. */
static uint64_t tokens_before(const Search *search, uint32_t end) {
  Sum sum = sequence_prefix(search->list, end);
  return sum_measure(&sum, MEASURE_TOKENS) - sum.tokens[ROLE_SYSTEM];
}

/* The first position before which there are `need` such tokens, or the count. */
static uint32_t find_need(const Search *search) {
  uint32_t low = 0, high = search->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (tokens_before(search, middle) < search->need) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Where the newest `keep` units begin. */
static uint32_t find_kept(const Search *search, uint32_t keep) {
  uint32_t position = search->count;
  while (position > 0 && keep > 0) keep -= visible_caller(search, --position) == 0;
  return position;
}

static void set_range(uint64_t *bits, uint32_t end) {
  for (uint32_t word = 0; word < end / 64; word++) bits[word] = UINT64_MAX;
  if (end % 64 > 0) bits[end / 64] |= ((uint64_t)1 << (end % 64)) - 1;
}

/* Drops every unit that begins before `end`: all of them are wanted. */
static void drop_before(Search *search, uint32_t end) {
  Sum sum = sequence_prefix(search->list, end);
  if (end == 0) return;
  set_range(search->gone, end);
  for (uint32_t i = 0; i < sum.count[ROLE_SYSTEM]; i++) {
    uint32_t at = sequence_find(search->list, MEASURE_ROLE_COUNT + ROLE_SYSTEM, i);
    search->gone[at / 64] &= ~((uint64_t)1 << (at % 64));
  }
  search->freed += tokens_before(search, end);
  if (end == search->count) return;
  MessageId border = sequence_at(search->list, end);
  for (uint32_t at = end; at < search->count && sequence_at(search->list, at) - border <= search->span; at++) {
    MessageId caller = visible_caller(search, at);
    if (caller != 0 && caller < border) drop(search, at);
  }
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

void oldest_choose(const Conversation *conversation, const Sequence *list, uint64_t need, uint32_t keep, uint64_t *gone) {
  Search search = search_start(conversation, list);
  search.need = need;
  search.gone = gone;
  uint32_t kept = find_kept(&search, keep), place = find_need(&search);
  /* Before this place lie fewer tokens than are needed even with all results
     that stand behind it. */
  uint32_t sure = place > search.span + 1 ? place - search.span - 1 : 0;
  uint32_t at = smaller(smaller(sure, kept), search.last_user);
  drop_before(&search, at);
  for (; at < kept && search.freed < need; at++) {
    if (may_go(&search, at)) drop_unit(&search, at);
  }
}

uint64_t oldest_guarded(const Conversation *conversation, const Sequence *list) {
  Search search = search_start(conversation, list);
  uint64_t tokens = sequence_sum(list).tokens[ROLE_SYSTEM] + message_tokens(message_at(&search, search.last_user));
  for (uint32_t at = search.last_user + 1; at < search.count; at++) {
    MessageId caller = sequence_at(list, at);
    if (message_call_count(store_message(search.store, caller)) == 0 || !is_open(&search, at)) continue;
    tokens += message_tokens(message_at(&search, at));
    for (uint32_t result = at; (result = next_result(&search, caller, result)) < search.count;) {
      tokens += message_tokens(message_at(&search, result));
    }
  }
  return tokens;
}
