/*
** Shared by the rules of all dialects. A new dialect is a file with one function that
** walks a Checker's messages, named in the dialect's form (dialect.h).
*/
#ifndef EBB_DIALECT_CHECK_RULES_H
#define EBB_DIALECT_CHECK_RULES_H

#include "dialect/read/calls.h"
#include "dialect/check/check.h"
#include "dialect/read/message_form.h"
#include "json/json.h"

/* True if a text is a JSON object and nothing else; *is_object. Escaped ones are decoded in scratch. STATUS_MEMORY. */
Status text_reads_object(Text text, Buffer *scratch, bool *is_object);

struct Media;                /* pieces.h */

typedef struct Checker {
  const CheckTarget *target;
  const Store *store;
  const MessageId *ids;      /* of the messages of the list */
  uint32_t count;
  bool is_empty;             /* the list has neither messages nor items of windows */
  uint8_t severities[CHECK_CODE_COUNT];
  uint32_t bound_first, bound_end;     /* the messages whose thinking is bound to others */
  Calls calls;               /* of the current assistant message */
  Map seen;                  /* hashes of ids so far */
  uint64_t bytes;            /* of the messages so far */
  uint32_t images, image_count;        /* so far; of the list, where the profile limits many */
  uint32_t cache_marks, body_marks;    /* cache marks so far; those beside the messages */
  bool has_short_mark;       /* a cache mark of 5 minutes was seen */
  bool has_late_body_mark;   /* beside the messages, one of an hour follows one of 5 minutes */
  bool thinks;               /* the body turns thinking on by hand */
  Buffer scratch;
  CheckReport *report;
} Checker;

/* The rules of a dialect: add the violations of all messages. STATUS_MEMORY, as all below. */
Status check_openai(Checker *checker);
Status check_anthropic(Checker *checker);
Status check_responses(Checker *checker);
Status check_gemini(Checker *checker);

/* The rules for the other members of a request (CheckTarget.body): first those that messages depend on,
   which adds none, then all. */
Status check_body_begin(Checker *checker);
Status check_body(Checker *checker);
/* The rules for a message that all dialects have: members, images, sizes. Each dialect calls it once for
   each message, before its own. */
Status check_common(Checker *checker, uint32_t index);
/* Its images, sounds and files: part of the rules above. */
Status check_media(Checker *checker, uint32_t index);
/* Counts the images of the list, where the target's limit for a side depends on that. */
void   check_media_begin(Checker *checker);
/* The thought signature of a part of Gemini's; size 0: none. */
Text   part_signature(const Message *message, Part part);
/* True for what stands in for a lost signature. */
bool   signature_stands_in(Text signature);
/* True if Anthropic's model may go on behind the last part: of a server's tool, or a fallback. */
bool   message_may_go_on(const Message *message);
/* True if the parts of a system message are texts, or of types that are not known. */
bool   message_is_text(const Message *message);
/* True if a part of the message is an image, a sound or a file. */
bool   message_has_media(const Message *message);
/* The type of an image's bytes, static, if the dialect takes it and the image says another one; else NULL. */
const char *media_wrong_type(Dialect dialect, const struct Media *media);
/* True for a file with data and without a name. */
bool   media_lacks_name(const struct Media *media);

const Message *checker_message(const Checker *checker, uint32_t index);
/* True if violations of the code are to be reported. */
bool   checker_wants(const Checker *checker, CheckCode code);
/* Adds a violation, if its severity is wanted; call it in the order of the list. */
Status checker_add(Checker *checker, CheckCode code, uint32_t index, Text subject);
/* The same if `broken`. */
static inline Status checker_add_if(Checker *checker, bool broken, CheckCode code, uint32_t index, Text subject) {
  return broken ? checker_add(checker, code, index, subject) : STATUS_OK;
}
/* Notes an id; *again: it was noted before. */
Status checker_see(Checker *checker, Text id, bool *again);
/* Notes a cache mark, the member `cache_control` of an object; false if it has none. */
bool   checker_see_mark(Checker *checker, Text object, bool *is_late);

/* True if a text is a JSON object and nothing else; *is_object. STATUS_MEMORY. */
static inline Status checker_reads_object(Checker *checker, Text text, bool *is_object) {
  return text_reads_object(text, &checker->scratch, is_object);
}

/* ---- forms of messages, also for repairs ---- */

/* True if its call is a function_call, which has no id. */
bool   message_is_legacy_call(const Message *message);
/* Opens the calls of a message's tool_calls or function_call, in their order. STATUS_MEMORY. */
Status openai_open_calls(Calls *calls, const Message *message);
/* The id that a tool message answers: its tool_call_id, or its name; false if it has neither. */
bool   tool_answers(const Message *message, Text *id);
/* True if a part of the message's own list has a type of another dialect, or none; *code: the violation. */
bool   part_is_foreign(Dialect dialect, const Message *message, Part part, CheckCode *code, Text *type);
/* The same for a part of a result's list; parts that tools write and no provider reads are foreign, too: those of the
   Model Context Protocol. */
bool   result_part_is_foreign(Dialect dialect, const Message *message, Part part, CheckCode *code, Text *type);
/* True if a call's arguments are the inside of a string, false for another JSON value and without any. */
bool   arguments_are_string(const Message *message, Call call);
/* True if the server requires reasoning_content of a message that has none. */
bool   message_lacks_reasoning(const CheckTarget *target, const Message *message);
/* True if the `response` of a part of Gemini's is no object, or has a key that the API reads itself; *code: the
   violation, *response: its value. */
bool   response_is_refused(const Message *message, Part part, CheckCode *code, JsonValue *response);
/* True if the text has only white space, or is empty; true if its last character is white space. */
bool   text_is_blank(Text text);
bool   text_ends_in_space(Text text);
/* True for 1 to 64 letters, digits, _ and -. */
bool   id_is_valid(Text id);
/* True if the text has as many characters, of those, as the rule wants. */
bool   id_fits(const IdRule *rule, Text id);
/* The same for the name of a tool. */
bool   tool_name_fits(const CheckTarget *target, Text name);
/* The member of a part that is written as an object; false if it has none of this kind. */
bool   part_find(const Message *message, Part part, const char *name, JsonKind kind, JsonValue *value);
bool   part_has(const Message *message, Part part, const char *name);      /* a member of any kind but null */

#endif
