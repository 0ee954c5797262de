/*
** Convert: writes messages of any dialect as messages of one dialect.
**
** Messages that are in the target's form already are written byte for byte, or without
** the members that a request may not have; others are taken apart (pieces.h) and written
** anew. What the target cannot say is reported, message by message.
**
**     Convert convert;
**     convert_init(&convert, &options, memory, &out, &report);
**     convert_system(&convert, raw) ..     each message while none is written: false if it is no system message
**     convert_message(&convert, raw) ..    all others, in the order of the request
**     convert_finish(&convert);
**     status = convert_end(&convert);
**
** The caller sets `index` before each message, and opens and closes the lists in `out`.
** Everything is borrowed until convert_end.
*/
#ifndef EBB_DIALECT_CONVERT_H
#define EBB_DIALECT_CONVERT_H

#include "base/map.h"
#include "dialect/read/calls.h"
#include "dialect/pairing.h"
#include "dialect/thought_signature.h"
#include "json/json_out.h"

typedef enum LossKind {
  LOSS_REASONING,            /* another provider's reasoning is left out */
  LOSS_BOUND_REASONING,      /* reasoning that is bound to what stood before it is left out */
  LOSS_MEDIA,                /* a kind of media, or its source, has no form: left out */
  LOSS_PART,                 /* a part of another dialect is left out */
  LOSS_CACHE,                /* a cache mark is left out */
  LOSS_NAME,                 /* a participant's name is left out */
  LOSS_ERROR,                /* a result is no longer marked as failed */
  LOSS_SIGNATURE,            /* a thought signature of Gemini is left out */
  LOSS_MEMBER,               /* a member that requests do not have is left out */
  LOSS_EMPTY,                /* a message of which nothing is left is left out */
  LOSS_CALL,                 /* a repair leaves a call without a result out */
  LOSS_RESULT,               /* the same of a result, where another one, which differs, answers its call */
  LOSS_ORPHAN,               /* the same of one that answers no call */
  CHANGE_SYSTEM,             /* a system message in the middle becomes a user's */
  CHANGE_PLACE,              /* a system message of a body that was edited goes to its system texts */
  CHANGE_ID,                 /* a call's id becomes a valid one */
  CHANGE_ARGUMENTS,          /* arguments that are not an object become one */
  CHANGE_REFUSAL,            /* a refusal becomes text */
  CHANGE_RESULT_MEDIA,       /* media of a result move to a user message behind it */
  CHANGE_SIGNATURE,          /* a signature of another dialect is left out, its part stays */
  CHANGE_TYPE,               /* an image's type becomes that of its bytes */
  CHANGE_REFUSED_TYPE,       /* an image is written in a type that the target takes not */
  CHANGE_PART,               /* a part of another dialect becomes text */
  CHANGE_FIRST               /* a user's turn is put before calls at the beginning */
} LossKind;
#define LOSS_KIND_COUNT 24

const char *loss_name(LossKind kind);      /* "lost_reasoning", ..., "changed_id"; static */
bool        loss_is_change(LossKind kind); /* true if the meaning stays: nothing is left out */

typedef struct Loss {
  LossKind kind;
  uint32_t index;            /* Convert.index of its message */
  uint32_t at, size;         /* its subject, in ConvertReport.subjects */
} Loss;

/* The messages of the list of which a message of the output is made, by Convert.index; CONVERT_NEVER: none. */
typedef struct ConvertOrigin {
  uint32_t first, last;
} ConvertOrigin;

typedef struct ConvertReport {
  Memory memory;
  Loss *list;                /* in the order of the messages */
  uint32_t count, room;
  Buffer subjects;           /* plain text: ids, types, names of members */
  bool with_origins;         /* set by the caller */
  bool with_ranges;          /* beside it: a message that is still open when others come in is made of these, too */
  ConvertOrigin *origins;    /* of each message of the output */
  uint32_t origin_count, origin_room;
} ConvertReport;

void   convert_report_init(ConvertReport *report, Memory memory);
void   convert_report_free(ConvertReport *report);
/* Notes a loss of the message at an index. STATUS_MEMORY, STATUS_LIMIT. */
Status convert_report_add(ConvertReport *report, LossKind kind, uint32_t index, Text subject);
/* What a loss concerns, plain; size 0: nothing that has a name. Valid until the next loss is noted. */
Text   loss_subject(const ConvertReport *report, uint32_t index);
/* Adds a description of a loss to `out`. STATUS_MEMORY. */
Status loss_describe(const ConvertReport *report, uint32_t index, Buffer *out);

#define CONVERT_NEVER UINT32_MAX

/* Brackets around a message in a body, and around a call's arguments in any form: what would stand deeper than
   JSON_DEPTH_MAX there could not be read again. Such arguments count as no object. */
enum { CONVERT_DEPTH = 2, CONVERT_DEPTH_OF_ARGUMENTS = 8 };

/* Characters of the ids that are made, and the fewest that tell enough of them apart. */
enum { CALL_ID_MADE = 16, CALL_ID_LEAST = 8 };

typedef struct ConvertOptions {
  Dialect target;
  bool is_foreign;           /* the conversation is of another dialect than the target */
  bool keep_extra;           /* members that requests do not have stay in messages of the target's form; of others
                                they are reported as lost */
  bool keep_ids;             /* ids of calls stay as they are in messages of the target's form, valid or not */
  bool developer;            /* openai: system messages have the role developer */
  bool late_system;          /* anthropic: the model takes system messages in the middle */
  bool reasoning_text;       /* openai: reasoning goes into reasoning_content */
  bool keeps_references;     /* openai: parts that refer to files stay, in results too, for a pipeline to resolve */
  SignaturePlace signatures; /* openai: where thought signatures stand; SIGNATURE_NOWHERE: they are left out */
  bool unsigned_thinking;    /* anthropic: the server takes thinking without a signature; keep_extra and keep_ids keep
                                it, too */
  bool signs_calls;          /* gemini: the model wants a signature on the first call of a step */
  bool lines;                /* one message per line, in place of a JSON list */
  bool skips_extra;          /* the caller sees to members that no request has, of messages that are written anew */
  uint32_t unbound_from;     /* index of the first message whose bound reasoning cannot be sent; CONVERT_NEVER */
  uint32_t unbound_end;      /* of the first behind it whose reasoning can be sent again */
  const Text *members;       /* further members that the server takes in a message or part */
  uint32_t member_count;
  size_t id_min, id_max;     /* characters of a call's id; 0: the dialect's own rule. id_min is CALL_ID_MADE at most,
                                id_max CALL_ID_LEAST or more */
  bool alphanumeric_ids;     /* an id has letters and digits only */
} ConvertOptions;

/* What a result must know of its call. */
typedef struct CallNames {
  Text name;                 /* borrowed from its message: converted messages stay until convert_end; size 0: no call is
                                known */
  bool is_custom;            /* of a tool that takes free text */
  uint32_t at, size;         /* the id as it is written, in Convert.ids */
} CallNames;

/* A system message that waits for its place among the others. */
typedef struct LateSystem {
  Text raw;
  uint32_t index;            /* Convert.index of it */
} LateSystem;

typedef struct Convert {
  const ConvertOptions *options;
  const struct DialectWriter *writer;
  JsonOut *out;
  ConvertReport *report;
  Status status;             /* the first failure; nothing is written from then on */
  Pieces pieces;
  uint32_t index;            /* of the current message, for reports and unbound_from; set by the caller */
  uint32_t written;          /* messages or items in `out` */
  bool changed;              /* some message was not written as it is */
  /* The message that is open in `out`; ROLE_NONE: none. For the dialect's file. */
  Role open;
  bool closing;              /* the open message is being ended: what is written has the held pieces */
  bool has_others;           /* the open message has more than results */
  bool only_thinks;          /* gemini: it has thoughts and nothing else */
  Role side;                 /* of the last message that was written, user or assistant; ROLE_NONE: there is none. Only
                                for dialects with system texts apart */
  bool step_calls;           /* a message of the assistant called since the last one of the user */
  LateSystem *late;          /* in the order in which they came */
  uint32_t late_count, late_room;
  bool is_late_inside;       /* the system message that is being written may stay one */
  Piece *held;               /* pieces that are written when the open message ends */
  uint32_t held_count, held_room;
  Buffer scratch;
  /* The calls of the current step, and how they are written. */
  Calls calls;
  CallNames *names;
  uint32_t names_room;
  bool answered;             /* a result came: the next call begins another step */
  Buffer ids;
  /* The calls and results of the whole list, for results that do not stand behind their calls or have no ids; NULL:
     only the current step is known. Those of a message are counted as they are written. Set by the caller. */
  const Pairing *pairing;
  CallNames *known;          /* by call of the pairing: how it is written; at UINT32_MAX: it is not yet. The caller's */
  uint32_t counted;          /* the message whose calls and results are counted */
  uint32_t calls_seen, results_seen;
  Map last;                  /* hash of an id -> the number in the pairing of the last call that has it */
  Map used;                  /* hash of an id -> calls that had it, or 1 for one that was made */
} Convert;

/* STATUS_MEMORY sticks in convert_end. */
void   convert_init(Convert *convert, const ConvertOptions *options, Memory memory, JsonOut *out,
                    ConvertReport *report);
/* Writes a message's texts into the target's list of system texts. False, and nothing is
   written, if it is not a system message or the target keeps system messages among the others. */
bool   convert_system(Convert *convert, Text raw);
/* True if the target has a list of system texts apart from the messages. */
bool   convert_has_system(Dialect target);
void   convert_message(Convert *convert, Text raw);
/* The same of a message that is a role of user, assistant or system beside a text (message_is_bare); false, and nothing
   is written, where that is not in the target's form as it stands. */
bool   convert_bare(Convert *convert, Text raw);
/* Notes the calls and results of the message that was taken apart last, which stays as it is between those that are
   written. */
void   convert_keep(Convert *convert);
/* Finds the next member that no request in one of these `dialects` (bits) has, of a message of this `type` (size 0:
   none). The cursor is in the message. */
bool   convert_next_extra(unsigned dialects, Text type, Json *json, Text *key, JsonValue *value);
/* Adds the members of a message that no request in a form of its pieces has to `out`, behind those of `element`, or
   reports them where that is NULL, or where they would mean something there. STATUS_MEMORY. */
Status convert_put_extra(Convert *convert, Text raw, const Text *element, Buffer *out);
/* Reports the members of a message that is written anew, and of its parts and calls, which no request has. Those of the
   message itself are the caller's with skips_extra. */
void   convert_lose_members(Convert *convert, Text raw);
/* Ends the open message, if there is one. */
void   convert_close(Convert *convert);
/* As above, behind the last message and behind the system messages that wait. */
void   convert_finish(Convert *convert);
/* Frees all but the report. Returns the first failure: STATUS_MEMORY, STATUS_LIMIT, or what convert_fail was told. */
Status convert_end(Convert *convert);

/* ---- for the dialects' files ---- */

typedef struct DialectWriter {
  /* Writes the pieces of a system message into the list of system texts; NULL: there is none. */
  void (*system)(Convert *convert, const Pieces *pieces);
  /* Writes a message's pieces. The message may stay open for the next ones. */
  void (*message)(Convert *convert, const Pieces *pieces);
  /* Ends the open message. */
  void (*close)(Convert *convert);
  size_t id_max;             /* characters of a call's id */
  bool any_character;        /* an id may have any; else letters, digits, _ and - */
  bool signs_reasoning;      /* reasoning without a signature is refused */
  bool signs_thoughts;       /* parts have thought signatures */
  bool marks_cache;          /* parts have cache marks */
  bool unique_ids;           /* no id may occur in two calls of a request */
  const char *const *more_images; /* types of images that are taken beside PNG, JPEG, GIF and WebP; NULL behind the
                                last */
  const char *unsigned_call; /* with signs_calls: the JSON member of a first call without a signature; NULL: none */
} DialectWriter;

/* Writes a message of the target's form. */
void   convert_native(Convert *convert, Text raw);

/* Notes the first failure. */
static inline void convert_fail(Convert *convert, Status status) {
  if (convert->status == STATUS_OK) convert->status = status;
}

/* True if reasoning of the current message that is bound to others cannot be sent. */
static inline bool convert_is_unbound(const Convert *convert) {
  return convert->index >= convert->options->unbound_from && convert->index < convert->options->unbound_end;
}

/* Notes whose message was written last. */
static inline void convert_note_side(Convert *convert, Role role) {
  if (role == ROLE_SYSTEM) return;
  convert->side = role == ROLE_ASSISTANT ? ROLE_ASSISTANT : ROLE_USER;
  convert->step_calls = convert->step_calls && role == ROLE_ASSISTANT;
}

/* Begins a value of the list: a message or an item. */
void   convert_begin(Convert *convert);
void   convert_lose(Convert *convert, LossKind kind, Text subject);
/* Reports a member of an element of a list of the message, "content[0].x". */
void   convert_lose_at(Convert *convert, Text list, uint32_t index, Text key);
/* Notes a call or a result that keeps its id. */
void   convert_note(Convert *convert, const Piece *piece);
/* Notes a call and returns its id as written; stays valid until the next call is noted. */
Text   convert_call(Convert *convert, const Piece *call);
/* The id, as written, of the call that was noted `back` calls ago; 1: the last one. */
Text   convert_last_id(const Convert *convert, uint32_t back);
/* The same for a result; *call: the call that it answers. */
Text   convert_result(Convert *convert, const Piece *result, CallNames *call);
/* The arguments of a call as a JSON object; valid until scratch is used again. */
Text   convert_arguments_object(Convert *convert, const Piece *call);
/* True if a text is a JSON object; an escaped one is decoded into scratch. */
bool   convert_is_object(Convert *convert, Text *text);
/* Writes the arguments as a string with JSON inside. */
void   convert_arguments_text(Convert *convert, const Piece *call);
/* A result's own text as a plain text or a string's inside; nested texts are joined in scratch. */
Text   convert_result_text(Convert *convert, const Pieces *pieces, uint32_t result);
/* True if a result has nested media. */
bool   convert_has_media(const Pieces *pieces, uint32_t result);
/* The name of a file, which a request must give beside its data: its own, or one with the ending of its type. */
Text   convert_file_name(const Media *media);
/* A data URI of media, in scratch. */
Text   convert_data_uri(Convert *convert, const Media *media);
/* Holds back the media of a result, those that `has_form` knows, for a message behind the results; reports them. */
void   convert_hold_media(Convert *convert, const Pieces *pieces, uint32_t result,
                          bool (*has_form)(const Piece *piece));
/* Reports the parts of a result that are neither texts nor media. */
void   convert_lose_nested(Convert *convert, const Pieces *pieces, uint32_t result);
/* Holds a piece back until the open message ends. */
void   convert_hold(Convert *convert, const Piece *piece);
/* A held piece, number < held_count; what is reported from now on is its message's. */
const Piece *convert_held(Convert *convert, uint32_t number);
/* Reports that a piece has no form in the target. */
void   convert_lose_piece(Convert *convert, const Piece *piece);
/* Reports the name and the detail of media that are written, where their form in the target has none. */
void   convert_lose_names(Convert *convert, const Media *media, bool keeps_name, bool keeps_detail);
/* Reports what dialects without a participant's name lose. */
void   convert_lose_name(Convert *convert, const Pieces *pieces);

#endif
