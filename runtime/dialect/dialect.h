/*
** Dialects: the forms in which providers take conversations.
**
** What all forms have is a field of their DialectForm: a file for each (dialect_NAME.c), and a line in dialect.c. What
** one dialect alone has, its checks, repairs and conversions, names it in other files; docs/internals/
** where-does-a-change-go.md lists those that a new dialect needs.
**
** A message stays in the form in which it was read. Many messages have a form of several
** dialects: {"role":"user","content":"Hi"} is right in three of them.
*/
#ifndef EBB_DIALECT_DIALECT_H
#define EBB_DIALECT_DIALECT_H

#include "core/list/sequence.h"

typedef enum Dialect { DIALECT_OPENAI, DIALECT_RESPONSES, DIALECT_ANTHROPIC, DIALECT_GEMINI } Dialect;
#define DIALECT_COUNT 4
/* Sets of dialects are bits, 1 << Dialect. */
#define DIALECTS_ALL ((1u << DIALECT_COUNT) - 1)

/* What the member of a body with the messages may be besides a list of messages. */
typedef enum DialectTrait {
  TRAIT_STRING = 1,          /* the text of the one message, a user's */
  TRAIT_OBJECT = 2,          /* the one message */
  TRAIT_ITEMS = 4            /* a list of items (FORM_ITEM), also of unknown types */
} DialectTrait;

struct Checker;              /* check_rules.h */
struct Plan;                 /* repair_plan.h */
struct DialectWriter;        /* convert.h */
struct PieceReader;          /* pieces.h */

typedef struct DialectForm {
  const char *name;          /* "openai" */
  const char *title;         /* of the provider's interface, for people */
  const char *messages;      /* the member of a request body that has the messages */
  const char *system;        /* the member of a body that has the system text; NULL: it is a message */
  unsigned traits;           /* of its bodies: bits of DialectTrait */
  bool takes_texts;          /* {"role", "content"} with a string is a message of it */
  const char *part_types[20];/* the types of its content parts; NULL behind the last */
  const char *type_endings[3];/* types with these endings are its, too; NULL behind the last */
  const char *models;        /* how names of models begin that are served in its form; NULL: names tell nothing */
  bool (*fits)(const Message *message);            /* true if a message has its form */
  Status (*check)(struct Checker *checker);        /* its rules (check_rules.h); NULL: there are no rules yet */
  Status (*repair)(struct Plan *plan);             /* plans a repair (repair_plan.h); NULL: there is none */
  const struct PieceReader *pieces;                /* how conversions read its messages */
  const struct DialectWriter *writer;              /* and how they write them */
} DialectForm;

const DialectForm *dialect_form(Dialect dialect);

const char *dialect_name(Dialect dialect);      /* its form's; static */
bool        dialect_parse(Text name, Dialect *dialect);
/* The dialects whose bodies have their messages in the member `key`, as bits; 0 for other keys. */
unsigned    dialects_of_member(Text key);

/* The traits that any of these dialects has. */
unsigned    dialects_traits(unsigned dialects);

/* The dialects whose form a message has, as bits; 0 if it mixes forms, DIALECTS_ALL for an item of a
   window. Members that no dialect has do not count. O(parts). */
unsigned    message_dialects(const Message *message);
/* True if a call, a result or an image of the message stands in the form of the message array, which nests it in a
   member of its own and which no dialect has. O(parts). */
bool        message_is_wrapped(const Message *message);
/* Detects the dialect of the messages: the first in the order of the enum that is the only one
   whose form some message has (but system messages of text, which stand between the messages of two dialects); else
   the first whose form all messages have, else openai. O(messages and their parts). */
Dialect     dialect_detect(const Store *store, const Sequence *list);

/* What a body tells besides its messages. */
typedef struct DialectHints {
  unsigned possible;         /* the dialects that have the member of its messages, as bits; not 0 */
  unsigned likely;           /* those of them that its other members tell; 0: they tell nothing */
  unsigned model;            /* those of them that its model tells; 0: it tells nothing */
  MessageId first;           /* its messages when it was read: first, first + 1, ...; others were added. 0: it is not
                                known which these were, and all count as read */
  uint32_t count;
} DialectHints;

/* The same for messages of a body. What was read goes before what was added. Messages of one form only tell
   it; where they tell none, or several, the members around them do, then the model. */
Dialect     dialect_detect_within(const Store *store, const Sequence *list, const DialectHints *hints);
/* The dialects in whose form a model of this name is served, as bits; 0: its name tells nothing. */
unsigned    dialects_of_model(Text name);

/* True if content parts of this type are the dialect's. */
bool        dialect_has_part(Dialect dialect, Text type);
/* True if each part of the message's own list has a type of the dialect, or one that no dialect
   has: providers keep adding new ones. */
bool        parts_fit(Dialect dialect, const Message *message);

/* The forms, each in a file of its own. */
extern const DialectForm dialect_openai, dialect_responses, dialect_anthropic, dialect_gemini;
extern const struct PieceReader openai_pieces, responses_pieces, anthropic_pieces, gemini_pieces;
extern const struct DialectWriter openai_writer, responses_writer, anthropic_writer, gemini_writer;

#endif
