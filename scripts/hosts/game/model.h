/*
** Model: a thread that answers questions, as a program has that asks one over the
** network. It never touches the runtime, which stays on the game's thread: questions
** and answers are copied, and wait in two queues under one lock.
**
**     game     model_ask -->  questions  --> thread
**              model_next <-- answers    <--
*/
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_QUEUE = 128, MODEL_TEXT = 600 };

typedef struct Model Model;

typedef struct Line {
  const char *who;           /* "visitor", or a trade */
  const char *text;
} Line;

typedef struct Answer {
  uint64_t number;           /* number of the question */
  int character;
  bool refused;              /* no answer; the text gives the reason */
  char text[MODEL_TEXT];
} Answer;

/* Answers from lines, which must live as long as the model. NULL: no thread, or no memory. */
Model *model_open(const Line *lines, int line_count);
/* Ends the thread; questions that wait are dropped. NULL is allowed. */
void   model_close(Model *model);

/* Copies the question: what `trade` answers to these messages. Its number, from 1 on; 0: too
   many wait, or no memory. */
uint64_t model_ask(Model *model, int character, const char *trade, const char *messages, size_t size);
/* The next answer, in the order of questions. False: there is none yet, and, with `wait`, no
   question that one could come to. */
bool     model_next(Model *model, bool wait, Answer *answer);

#endif
