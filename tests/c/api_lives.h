/*
** For tests of what outlives a chat: random edits of every kind, by a seed.
*/
#ifndef EBB_TESTS_API_LIVES_H
#define EBB_TESTS_API_LIVES_H

#include "api_kit.h"

static uint32_t seed = 1;

static uint32_t any(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)seed * below >> 32);
}

static void must_apply(ebb_chat *chat, const char *format, unsigned a, unsigned b) {
  char text[400];
  snprintf(text, sizeof text, format, a, b);
  ebb_status status = apply(chat, text);
  assert_true(status == EBB_OK || status == EBB_ARGUMENT || status == EBB_RANGE);
}

/* Its memory grows, stays, shrinks and goes again. */
static const char *const REMEMBERS =
    "return function(draft, budget)\n"
    "  local m, n = draft.memory, #draft % 5\n"
    "  if n == 0 then draft.memory = {} elseif n == 1 then m.gone = nil else m.n, m.gone = n, { '\\\\ä', 1.5 } end\n"
    "  if n ~= 2 then draft:drop_oldest { to = budget } end\n"
    "end";

/* One edit of any kind; refusals are as good. */
static void edit(ebb_runtime *runtime, ebb_chat *chat) {
  uint32_t count = ebb_chat_count(chat);
  char name[20];
  snprintf(name, sizeof name, "n\"%u", (unsigned)any(3));
  switch (any(12)) {
  case 0:
    must(append(chat, "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\","
                      "\"function\":{\"name\":\"rooms\",\"arguments\":\"{}\"}}]}"));
    break;
  case 1:
    must(append(chat, "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"a result that is rather long\"}"));
    break;
  case 2:
    must(append(chat,
                "[{\"role\":\"user\",\"content\":\"eins \\u00e4\"},\n {\"role\":\"assistant\",\"content\":\"zwei\"}]"));
    break;
  case 3:
    must_apply(chat,
               "{\"operation\":\"insert\",\"position\":%u,\"messages\":[{\"role\":\"user\",\"content\":\"put\"}]}",
               any(count + 1), 0);
    break;
  case 4:
    must_apply(chat, "{\"operation\":\"replace\",\"index\":%u,\"message\":{\"role\":\"user\",\"content\":\"new %u\"}}",
               any(count + 1), any(9));
    break;
  case 5: must_apply(chat, "{\"operation\":\"truncate\",\"keepFirst\":%u,\"removeFirst\":%u}", count, any(4)); break;
  case 6: must_apply(chat, "{\"operation\":\"filter\",\"roles\":[\"user\",\"system\"]}", 0, 0); break;
  case 7: {
    ebb_status status = ebb_chat_rollback(chat, any(ebb_chat_batch_count(chat)));
    assert_true(status == EBB_OK || status == EBB_OUT_OF_RANGE);      /* pruned */
    break;
  }
  case 8:
    if (count > 0) must(ebb_chat_mark(chat, any(count), any(2) ? "pinned" : name));
    break;
  case 9:
    if (count > 0) must(ebb_chat_unmark(chat, any(count), "pinned"));
    break;
  case 10: must(ebb_chat_checkpoint(chat, name)); break;
  case 11: {
    char options[60];
    snprintf(options, sizeof options, "{\"budget\":%u}", (unsigned)(ebb_chat_tokens(chat) * (5 + any(5)) / 10));
    trim(chat, any(2) ? "remembers" : NULL, options, NULL);
    }
  }
}

#endif
