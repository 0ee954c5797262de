#define _DEFAULT_SOURCE 1
#include "model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REFUSES = 32 };       /* one question in 32 is refused */

typedef struct Question {
  uint64_t number;
  int character;
  char trade[32];
  char *messages;            /* a copy, NUL-terminated; owned by the queue until the thread takes it */
  size_t size;
} Question;

/*
** Invariant: answers_taken <= answered <= taken <= asked <= answers_taken + MODEL_QUEUE,
** and taken - answered <= 1. Slots are counts modulo MODEL_QUEUE, so no answer lacks room.
*/
struct Model {
  pthread_t thread;
  pthread_mutex_t lock;      /* guards everything below */
  pthread_cond_t changed;
  bool stopping;
  uint64_t asked, taken, answered, answers_taken;
  Question questions[MODEL_QUEUE];
  Answer answers[MODEL_QUEUE];
  const Line *lines;         /* never changes: needs no lock */
  int line_count;
};

/* ---- the thread ---- */

/* The same messages get the same answer, whatever came before. FNV-1a, with its high bits mixed in. */
static uint64_t sum_of(const Question *question) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < question->size; i++)
    sum = (sum ^ (unsigned char)question->messages[i]) * UINT64_C(0x100000001b3);
  return sum ^ sum >> 32;
}

/* The number that the model was told: the first free room, as the window said when the messages were rendered
   ("Free: 2 4"), or what a bard's lorebook says ("Verses: 9"). The last one counts; '?' without any. */
static char number_told(const char *messages) {
  static const char *const labels[] = {"Free: ", "Verses: "};
  const char *last = NULL;
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    for (const char *at = messages; (at = strstr(at, labels[i])) != NULL;) {
      at += strlen(labels[i]);
      if (last == NULL || at > last) last = at;
    }
  }
  return last == NULL ? '?' : *last;
}

/* A real game sends the messages to a provider here, however long that takes. */
static void find_answer(const Model *model, const Question *question, Answer *answer) {
  uint64_t sum = sum_of(question), count = 0;
  const char *text = "...";
  for (int i = 0; i < model->line_count; i++) count += strcmp(model->lines[i].who, question->trade) == 0;
  uint64_t wanted = count > 0 ? sum / REFUSES % count : 0;
  for (int i = 0; i < model->line_count; i++) {
    if (strcmp(model->lines[i].who, question->trade) == 0 && wanted-- == 0) text = model->lines[i].text;
  }
  *answer = (Answer){.number = question->number, .character = question->character, .refused = sum % REFUSES == 0};
  snprintf(answer->text, sizeof answer->text, "%s", answer->refused ? "the model is overloaded" : text);
  char *blank = strchr(answer->text, '#');
  if (blank != NULL) *blank = number_told(question->messages);
}

static void *answer_all(void *user) {
  Model *model = user;
  pthread_mutex_lock(&model->lock);
  for (;;) {
    while (model->taken == model->asked && !model->stopping) pthread_cond_wait(&model->changed, &model->lock);
    if (model->stopping) break;
    Question question = model->questions[model->taken++ % MODEL_QUEUE];
    Answer answer;
    pthread_mutex_unlock(&model->lock);       /* the game goes on asking meanwhile */
    find_answer(model, &question, &answer);
    free(question.messages);
    pthread_mutex_lock(&model->lock);
    model->answers[model->answered++ % MODEL_QUEUE] = answer;
    pthread_cond_broadcast(&model->changed);
  }
  pthread_mutex_unlock(&model->lock);
  return NULL;
}

/* ---- the game's side ---- */

Model *model_open(const Line *lines, int line_count) {
  Model *model = calloc(1, sizeof *model);
  if (model == NULL) return NULL;
  model->lines = lines;
  model->line_count = line_count;
  pthread_mutex_init(&model->lock, NULL);
  pthread_cond_init(&model->changed, NULL);
  if (pthread_create(&model->thread, NULL, answer_all, model) == 0) return model;
  free(model);
  return NULL;
}

void model_close(Model *model) {
  if (model == NULL) return;
  pthread_mutex_lock(&model->lock);
  model->stopping = true;
  pthread_cond_broadcast(&model->changed);
  pthread_mutex_unlock(&model->lock);
  pthread_join(model->thread, NULL);
  while (model->taken < model->asked) free(model->questions[model->taken++ % MODEL_QUEUE].messages);
  pthread_cond_destroy(&model->changed);
  pthread_mutex_destroy(&model->lock);
  free(model);
}

uint64_t model_ask(Model *model, int character, const char *trade, const char *messages, size_t size) {
  Question question = {.character = character, .messages = malloc(size + 1), .size = size};
  if (question.messages == NULL) return 0;
  memcpy(question.messages, messages, size);
  question.messages[size] = '\0';
  snprintf(question.trade, sizeof question.trade, "%s", trade);
  pthread_mutex_lock(&model->lock);
  if (model->asked - model->answers_taken < MODEL_QUEUE) {
    question.number = model->asked + 1;
    model->questions[model->asked++ % MODEL_QUEUE] = question;
    pthread_cond_broadcast(&model->changed);
  }
  pthread_mutex_unlock(&model->lock);
  if (question.number == 0) free(question.messages);
  return question.number;
}

bool model_next(Model *model, bool wait, Answer *answer) {
  pthread_mutex_lock(&model->lock);
  while (wait && model->answers_taken == model->answered && model->answers_taken < model->asked)
    pthread_cond_wait(&model->changed, &model->lock);
  bool found = model->answers_taken < model->answered;
  if (found) *answer = model->answers[model->answers_taken++ % MODEL_QUEUE];
  pthread_mutex_unlock(&model->lock);
  return found;
}
