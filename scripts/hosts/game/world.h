/*
** The world: fifty characters at an inn, each with a chat and a policy of its own.
**
**     a visitor speaks     append; a task runs TALK on the chat
**       the task asks      the host renders the chat and asks the model, which takes its time;
**                          of a bard's chat a pipeline makes the request, in a task of its own
**       the model answers  the task goes on, and appends the answer
**       ... or refuses     the task catches that, and the character shrugs
**       the visitor left   the task is cancelled, without a trace
**     ... only wonders     the same on a fork of the chat, which is freed then
**     over its budget      a task trims the chat, by the character's policy
**
** All tasks share one slice of time per frame. A policy that fails is replaced by
** keep_recent until its text changes, so that no chat grows without bound.
**
** Innkeepers have a window, "rooms": the model reads which rooms are free now, and
** not which were. Policies ask the same by inn.free(room).
*/
#ifndef WORLD_H
#define WORLD_H

#include <ebb.h>

#include "journal.h"

enum { CHARACTERS = 50, TRADES = 5, NAME_ROOM = 32, MESSAGE_ROOM = 240, ROOMS = 9 };

typedef enum Doing { IDLE, TALKING, WONDERING, TRIMMING } Doing;

typedef struct Character {
  char name[NAME_ROOM];
  char policy[NAME_ROOM];    /* the name of its policy, in the world's runtime */
  bool failed;               /* the policy failed; keep_recent stands in */
  ebb_chat *chat;
  ebb_chat *fork;            /* WONDERING: what the task works for; else NULL */
  ebb_task *task;            /* NULL: idle */
  ebb_task *request;         /* of a bard: makes what the model is to read; else NULL */
  Doing doing;
  bool waits;                /* for the model's answer: what comes later, after a cancel, is not let in */
  uint64_t began;            /* frame in which the task began */
} Character;

typedef struct World {
  ebb_runtime *runtime;
  ebb_pipeline *bard;
  Character characters[CHARACTERS];
  uint64_t frame;
  bool deterministic;
  /* Called when a character's task waits for the model, which is to read these messages; they
     are valid for the call. The answer is an input. */
  void (*ask)(void *user, const Character *character, ebb_text messages);
  void *user;

  size_t idle, idle_chat;    /* bytes of the runtime and of a chat, before anything was said */
  uint64_t talks, trims, failures, refusals, left, wonders;
  char wondered[MESSAGE_ROOM];  /* what would have been said last */
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

/* A frame begins with what the last one's scripts have ended or ask for; then come inputs. */
void world_events(World *world);
/* Ends it: all scripts together run for about so many microseconds. */
void world_frame(World *world, uint64_t microseconds);

unsigned world_count(const World *world, Doing doing);

/* One number over the digests of all chats: equal worlds, equal numbers. */
bool world_digest(World *world, char digest[17]);
/* All chats, as inputs; `world` is a World. Forks and tasks are not saved. */
bool world_save(void *world, FILE *file);

#endif
