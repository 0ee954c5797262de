/*
** What many chats in one runtime cost through libebb: to free them in any order, a step of 1 ms beside them, and a
** list of batches beside many messages.
**
** CHATS  that are freed (16000)
*/
#define _DEFAULT_SOURCE
#include "host_kit.h"

enum { BESIDE = 5000, SLICES = 2000, SLICE_US = 1000 };

static ebb_chat **make_chats(uint32_t count) {
  ebb_chat **chats = calloc(count, sizeof *chats);
  if (chats == NULL) abort();
  for (uint32_t i = 0; i < count; i++) must(ebb_chat_new(runtime, NULL, 0, &chats[i]), "chat");
  return chats;
}

static void measure_frees(const char *order, uint32_t count, uint32_t from, uint32_t step) {
  ebb_chat **chats = make_chats(count);
  double start = cpu_us();
  for (uint32_t i = 0, at = from; i < count; i++, at = (at + step) % count) ebb_chat_free(chats[at]);
  printf("  %u chats freed, %-28s %8.1f ms (to reach: 50)\n", (unsigned)count, order, (cpu_us() - start) / 1e3);
  free(chats);
}

static int rising(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static void measure_steps(void) {
  static const char source[] = "local t = {} while true do t = { #t, tostring(#t) } end";
  static double slices[SLICES];
  ebb_task *task;
  ebb_chat **chats = make_chats(BESIDE);
  must(ebb_task_script(chats[0], "works", source, sizeof source - 1, NULL, 0, &task), "task");
  must(ebb_task_limit(task, EBB_NO_LIMIT, EBB_NO_LIMIT), "limit");
  for (int i = 0; i < SLICES; i++) {
    double start = cpu_us();
    ebb_status status = ebb_step(runtime, SLICE_US, EBB_NO_LIMIT);
    if (status != EBB_MORE) must(status != EBB_OK ? status : EBB_CANCELLED, "step");
    slices[i] = cpu_us() - start;
  }
  qsort(slices, SLICES, sizeof *slices, rising);
  printf("  a step of 1 ms beside %d chats       median %.2f, 99 %% %.2f, longest %.2f ms (to reach: 1.2)\n", BESIDE,
         slices[SLICES / 2] / 1e3, slices[SLICES / 100 * 99] / 1e3, slices[SLICES - 1] / 1e3);
  ebb_task_cancel(task);
  for (int i = 0; i < BESIDE; i++) ebb_chat_free(chats[i]);
  free(chats);
}

/* Microseconds of a list of ten batches, the least of several. */
static double batches_cost(int messages) {
  static const char one[] = "{\"role\":\"user\",\"content\":\"some words of a message\"}";
  static const char shorter[] = "{\"operation\":\"truncate\",\"removeFirst\":1}";
  double cost = 1e12;
  ebb_chat *chat;
  ebb_text json;
  must(ebb_chat_new(runtime, NULL, 0, &chat), "chat");
  for (int batch = 0; batch < 10; batch++) {
    for (int i = 0; i < messages / 10; i++) must(ebb_chat_append(chat, one, sizeof one - 1), "append");
    must(ebb_chat_apply(chat, shorter, sizeof shorter - 1, NULL), "truncate");
  }
  for (int i = 0; i < 20; i++) {
    double start = cpu_us();
    must(ebb_chat_batches(chat, &json), "batches");
    if (cpu_us() - start < cost) cost = cpu_us() - start;
  }
  ebb_chat_free(chat);
  return cost;
}

int main(void) {
  int wanted = getenv("CHATS") != NULL ? atoi(getenv("CHATS")) : 16000;
  uint32_t count = wanted > 0 ? (uint32_t)wanted : 1;
  must(ebb_runtime_new(NULL, &runtime), "runtime");
  printf("libebb, many chats in one runtime, CPU\n");
  measure_steps();                           /* first: malloc tidies up behind many frees, some 20 ms at once */
  measure_frees("oldest first", count, 0, 1);
  measure_frees("newest first", count, count - 1, count - 1);
  uint32_t stride = 7919 % count;
  while (stride > 1 && count % stride == 0) stride--;
  measure_frees("this way and that", count, 0, stride > 0 ? stride : 1);
  double few = batches_cost(100), many = batches_cost(100000);
  printf("  ebb_chat_batches of 10 batches        100 messages %.1f us, 100,000 messages %.1f us\n", few, many);
  ebb_runtime_free(runtime);
  return 0;
}
