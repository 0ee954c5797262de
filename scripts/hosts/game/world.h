/*
** The world: fifty characters at an inn, each with a chat and a policy of its own.
**
**     a visitor speaks     append; a task runs TALK on the chat
**       the task asks      the host asks the model, which takes its time
**       the model answers  the task goes on, and appends the answer
**     over its budget      a task trims the chat, by the character's policy
**
** All tasks share one slice of time per frame. A policy that fails is replaced by
** keep_recent until its text changes, so that nobody's chat grows for ever.
*/
#ifndef WORLD_H
#define WORLD_H

#include <ebb.h>

#include "journal.h"

enum { CHARACTERS = 50, TRADES = 5, NAME_ROOM = 32, MESSAGE_ROOM = 240 };

typedef enum Doing { IDLE, TALKING, TRIMMING } Doing;

typedef struct Character {
  char name[NAME_ROOM];
  char policy[NAME_ROOM];    /* the name of its policy, in the world's runtime */
  bool failed;               /* it did; keep_recent stands in */
  ebb_chat *chat;
  ebb_task *task;            /* NULL: idle */
  Doing doing;
  uint64_t began;            /* frame in which the task began */
} Character;

typedef struct World {
  ebb_runtime *runtime;
  Character characters[CHARACTERS];
  uint64_t frame;
  bool deterministic;
  /* Called when a character's task waits for the model. The answer is an input. */
  void (*ask)(void *user, const Character *character, uint64_t frame);
  void *user;

  size_t idle, idle_chat;    /* bytes of the runtime and of a chat, before anything was said */
  uint64_t talks, trims, failures;
  uint64_t longest;          /* frames that one trim took */
  char longest_name[NAME_ROOM];
  char problem[MESSAGE_ROOM];   /* what went wrong last; "" */
} World;

/* The characters, in a runtime without policies yet. World's own memory, and that
   of the runtime, is freed by world_close, also after a failure. */
ebb_status world_open(World *world, uint64_t seed, bool deterministic);
void       world_close(World *world);

Character *world_find(World *world, const char *name);

/* False: refused, and `problem` says why; nothing has changed. */
bool world_take(World *world, const Input *input);

/* One frame: all scripts together run for about so many microseconds. */
void world_frame(World *world, uint64_t microseconds);

unsigned world_count(const World *world, Doing doing);

/* One number over the digests of all chats: equal worlds, equal numbers. */
bool world_digest(World *world, char digest[17]);
/* All chats, as inputs. */
bool world_save(World *world, FILE *file);

#endif
