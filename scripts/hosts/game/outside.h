/*
** Outside: the source of inputs in a live game.
**
**     visitors     speak at random, lines of talk.txt
**                  or walk away while they are being answered
**     the model    answers from its own thread; what it says is let in one or two
**                  seconds after it was asked, as if the network had taken so long
**     policies     files, looked at twice a second: a new text is an input
*/
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <time.h>

#include "model.h"
#include "world.h"

enum { LINES_MAX = 400, FILES_MAX = 16 };

typedef struct PolicyFile {
  char name[NAME_ROOM];
  char path[256];
  struct timespec changed;   /* modification time of the text that was read */
  long long bytes;
} PolicyFile;

typedef struct Outside {
  uint64_t random;
  char *talk;                /* text of the file; lines point into it */
  Line lines[LINES_MAX];
  int line_count;
  Model *model;
  bool patient;              /* waits for an answer that is due: nothing depends on the thread's speed */
  uint64_t asked[CHARACTERS];     /* the number of the question that is open; 0: none */
  uint64_t due[CHARACTERS];       /* frame from which on its answer is let in */
  Answer answers[CHARACTERS];     /* the newest of each */
  PolicyFile files[FILES_MAX];
  int file_count;
  void (*take)(void *user, const Input *input);
  void *user;
} Outside;

/* False: talk.txt cannot be read, or there is no thread for the model. */
bool outside_open(Outside *outside, const char *folder, uint64_t seed);
void outside_close(Outside *outside);

/* A policy file that is watched from now on. False: there are too many. */
bool outside_watch(Outside *outside, const char *name, const char *path);
/* Hands out policies whose files changed; `all`: every one, else at most one. */
void outside_look(Outside *outside, uint64_t frame, bool all);

/* Hands out the inputs of this frame. */
void outside_frame(Outside *outside, World *world);
void outside_ask(Outside *outside, const World *world, const Character *character, ebb_text messages);

#endif
