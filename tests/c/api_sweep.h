/*
** For tests of memory that runs out: calls of the C API, each while the k-th allocation of the host fails, for every
** k, once and from then on; Lua's own allocations are among them. A call that fails says so, has changed nothing, and
** succeeds when it is made again; one that succeeds has answered the same as with all memory. At the end nothing is
** left. CALL=name runs one, SAMPLE=n makes every n-th allocation fail.
*/
#ifndef EBB_TESTS_API_SWEEP_H
#define EBB_TESTS_API_SWEEP_H

#include "api_kit.h"

typedef struct World {
  Host host;
  ebb_runtime *runtime;
  ebb_chat *chat;            /* fresh for each k */
  ebb_chat *other;           /* what the call made */
  ebb_task *task;
  ebb_pipeline *pipeline;
  ebb_policy *policy;
  uint64_t told;             /* of all that the call has answered: FNV-1a */
  char *saved;
  char *read;                /* a save of a chat that was read; NULL until one is */
  size_t saved_size;
} World;

typedef struct Call {
  const char *name;
  ebb_status (*run)(World *w);
  void (*prepare)(World *w);
  size_t stride;                 /* one of so many allocations fails; 0: each. DENSER=n makes it n times as many */
  void (*check)(World *w);       /* what else must be true after it; may be NULL */
} Call;

#define SWEPT(call, before) {.name = #call, .run = call_##call, .prepare = before}

/* Adds bytes to what the call has answered. */
static UNUSED void tell_bytes(World *w, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < size; i++) w->told = (w->told ^ at[i]) * UINT64_C(0x100000001B3);
}

static UNUSED void tell_text(World *w, ebb_text text) { tell_bytes(w, text.bytes, text.size + 1); }

/* For functions that write: `user` is the World. */
static UNUSED ebb_status tell_piece(void *user, const void *bytes, size_t size) {
  tell_bytes(user, bytes, size);
  return EBB_OK;
}

/* ---- a world ---- */

static void must_be(World *w, ebb_status status, const char *what) {
  if (status != EBB_OK) fail_msg("%s: %s: %s", what, ebb_status_name(status), ebb_last_error(w->runtime)->message);
}

static void open_world(World *w) {
  ebb_runtime *runtime;
  ebb_text saved;
  *w = (World){0};
  host_open(&w->host, &runtime);
  w->runtime = runtime;
  w->host.still = true;
  must(load_policy(
      runtime, "remembers",
      "return function(draft, budget) draft.memory.runs = (draft.memory.runs or 0) + 1\n"
      "draft:note 'seen' draft:insert(2, { role = 'user', content = 'put' }) draft:drop_oldest { to = budget } end"));
  must(ebb_chat_new(runtime, NULL, 0, &w->chat));
  talk(runtime, w->chat, 5);
  must(trim(w->chat, "remembers", "{\"budget\":250}", NULL));
  must(append(w->chat, "{\"role\":\"user\",\"content\":\"And breakfast?\"}"));
  must(ebb_chat_save(w->chat, &saved));
  w->saved = malloc(saved.size);
  w->saved_size = saved.size;
  memcpy(w->saved, saved.bytes, saved.size);
  ebb_chat_free(w->chat);
  w->chat = NULL;
}

static void close_world(World *w) {
  ebb_policy_free(w->policy);
  free(w->saved);
  free(w->read);
  host_close(&w->host, w->runtime);
}

static void make_subject(World *w) {
  ebb_task_free(w->task);
  ebb_pipeline_free(w->pipeline);
  ebb_policy_free(w->policy);
  ebb_chat_free(w->other);
  ebb_chat_free(w->chat);
  w->task = NULL;
  w->pipeline = NULL;
  w->policy = NULL;
  w->other = w->chat = NULL;
  must_be(w, ebb_chat_load(w->runtime, w->saved, w->saved_size, &w->chat), "load");
}

static void digest_of(World *w, char digest[65]) { must_be(w, ebb_chat_digest(w->chat, digest), "digest"); }

/* ---- the sweep ---- */

static ebb_status run_call(World *w, const Call *call) {
  w->told = 0;
  return call->run(w);
}

/* What a call answered and made, when all memory was there. */
typedef struct Outcome {
  char digest[65];
  uint64_t told;
} Outcome;

static void compare_outcome(World *w, const Call *call, size_t k, const Outcome *wanted) {
  char now[65];
  digest_of(w, now);
  if (strcmp(now, wanted->digest) != 0)
    fail_msg("%s: allocation %zu: it ended otherwise than by itself", call->name, k);
  if (w->told != wanted->told) fail_msg("%s: allocation %zu: it answered otherwise than by itself", call->name, k);
  if (call->check != NULL) call->check(w);
}

/* False: nothing was left to fail. */
static bool sweep_step(World *w, const Call *call, size_t k, bool once, const Outcome *wanted) {
  char before[65], now[65];
  make_subject(w);
  if (call->prepare != NULL) call->prepare(w);
  digest_of(w, before);
  w->host.heap.calls = w->host.heap.failed = 0;
  w->host.heap.once = once;
  w->host.heap.fail_at = k;
  ebb_status status = run_call(w, call);
  w->host.heap.fail_at = 0;
  bool hit = w->host.heap.failed > 0;
  if (status != EBB_OK) {
    if (status != EBB_MEMORY) {
      fail_msg("%s: allocation %zu failed %s: %s: %s", call->name, k, once ? "once" : "and all after it",
               ebb_status_name(status), ebb_last_error(w->runtime)->message);
    }
    digest_of(w, now);
    if (strcmp(before, now) != 0) fail_msg("%s: allocation %zu failed, and the chat has changed", call->name, k);
    must_be(w, run_call(w, call), call->name);
  }
  compare_outcome(w, call, k, wanted);
  return hit;
}

static void sweep(World *w, const Call *call, bool once) {
  Outcome wanted = {.told = 0};
  for (int warm = 0; warm <= 1; warm++) {       /* the first call may load what stays */
    make_subject(w);
    if (call->prepare != NULL) call->prepare(w);
    must_be(w, run_call(w, call), call->name);
  }
  digest_of(w, wanted.digest);
  wanted.told = w->told;
  size_t count = 0, stride = test_stride(call->stride > 0 ? call->stride : 1);
  for (size_t k = test_start(stride); sweep_step(w, call, k, once, &wanted); k += stride) count++;
  print_message("swept: %s, %zu allocations %s\n", call->name, count, once ? "once" : "for good");
}

static void sweep_calls(const Call *calls, size_t count) {
  const char *only = getenv("CALL");
  for (size_t i = 0; i < count; i++) {
    if (only != NULL && strcmp(only, calls[i].name) != 0) continue;
    for (int once = 0; once <= 1; once++) {
      World world;
      open_world(&world);
      sweep(&world, &calls[i], once);
      close_world(&world);
    }
  }
}

#endif
