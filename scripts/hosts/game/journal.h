/*
** Journal: the inputs of the world, in order.
**
** Inputs are the only way in: what visitors say, what the model answers or refuses, the
** texts of policies, chats that were saved. So a list of inputs is a game: recorded while
** it is played, it can be played again; a saved game is one whose inputs are chats.
**
**     120 said Mara-innkeeper 49      the frame, the kind, who, how many bytes
**     {"role":"user","content":"Is there a free room?"}
*/
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum InputKind {
  INPUT_SAID,                /* a message for a character, who answers it */
  INPUT_WONDERED,            /* the same as a "what if": the character's own chat never sees it */
  INPUT_LEFT,                /* the visitor who was being answered has left */
  INPUT_ANSWERED,            /* the answer of the model, a JSON string */
  INPUT_REFUSED,             /* the reason why the model gives no answer */
  INPUT_POLICY,
  INPUT_CHAT,
  INPUT_DIGEST,
  INPUT_KINDS
} InputKind;

typedef struct Input {
  uint64_t frame;
  InputKind kind;
  char name[32];             /* name of a character or a policy */
  const char *text;          /* `size` bytes, and a NUL behind them */
  size_t size;
} Input;

typedef enum Reading { READ_INPUT, READ_END, READ_DAMAGED } Reading;

/* A recording begins with the seed of its world. False: it cannot be written, or is not a recording. */
bool    journal_begin(FILE *file, uint64_t seed);
bool    journal_open(FILE *file, uint64_t *seed);

/* The text lives until the next call with the same buffer, which the caller frees. */
Reading journal_read(FILE *file, Input *input, char **buffer);
bool    journal_write(FILE *file, const Input *input);

/* A whole file, with a NUL behind it; the caller frees it. NULL when it cannot be read. */
char   *file_read(const char *path, size_t *size);
/* Replaces a file by what `write` writes: atomically, also when the machine stops. */
bool    file_replace(const char *path, bool (*write)(void *user, FILE *file), void *user);

#endif
