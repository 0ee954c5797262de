/*
** Message: one entry of a conversation, immutable.
**
** A message keeps the JSON it came as. What readers found in it is kept as
** spans of those bytes, so that nothing is copied and nothing can disagree:
**
**     {"role":"tool","tool_call_id":"c1","content":"42 \u00b0C"}
**                                   ^^           ^^^^^^^^^^^^
**                                   result 0     content (escaped)
**
** A `MessageShape` is what a reader (format/) found; the store turns it into a
** Message (store.h) and links its results to the calls that they answer.
*/
#ifndef EBB_CORE_MESSAGE_H
#define EBB_CORE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* The seq of a message: 1, 2, 3 ... in its store. 0 is none. */
typedef uint32_t MessageId;

typedef enum Role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL, ROLE_NONE } Role;
#define ROLE_COUNT 4     /* ROLE_NONE, of an item that names a window, is none */
/* Sets of roles are bits, 1 << Role; ROLE_NONE has one too. */
#define ROLES_ALL ((1u << (ROLE_COUNT + 1)) - 1)

/* "system", "user", "assistant", "tool", "window"; static. */
const char *role_name(Role role);

/* Reads a role by any of its spellings (`developer` is system, `function` is
   tool); false if it is none. */
bool role_parse(Text text, Role *role);

/* CONTENT_WINDOW: no message of anybody's, but an item that names a window
   (core/window.h); the content is the window's id. */
typedef enum ContentKind { CONTENT_NONE, CONTENT_STRING, CONTENT_PARTS, CONTENT_WINDOW } ContentKind;

typedef enum PartKind {
  PART_TEXT, PART_IMAGE, PART_FILE, PART_AUDIO, PART_ASSET,
  PART_TOOL_USE, PART_TOOL_RESULT, PART_REASONING, PART_OTHER
} PartKind;

/* "text", "image", "file", "audio", "asset", "tool_use", "tool_result",
   "reasoning", "other"; static. */
const char *part_kind_name(PartKind kind);

/* A piece of a message's bytes. No value can start at the message's first
   byte, so `at` 0 says that there is none. */
typedef struct Span {
  uint32_t at;
  uint32_t size : 31;
  uint32_t escaped : 1;
} Span;

/* One content part. A tool result whose content is itself a list is followed by
   the parts of that list, marked nested. */
typedef struct Part {
  Span value;          /* the whole part, as JSON */
  Span text;           /* text, reasoning, refusal, a tool result's string; an image's URL or base64 */
  uint8_t kind;        /* PartKind */
  bool nested;
  bool low;            /* an image of detail "low" */
} Part;

/* A tool call: of `tool_calls`, `function_call` or a tool use part. */
typedef struct Call {
  Span id;             /* absent for function_call */
  Span name;
  Span arguments;      /* the string's inside, or the input object as JSON */
} Call;

/* What a message answers: its call's id as it stands there; for the legacy
   function role, the function's name. */
typedef struct Result {
  Span id;
} Result;

/* Fields that most messages do not have. */
typedef enum MessageField {
  FIELD_ID, FIELD_NAME, FIELD_METADATA, FIELD_REASONING, FIELD_REFUSAL,
  FIELD_SPELLING     /* of a role that was mapped */
} MessageField;
#define FIELD_COUNT 6

typedef struct MessageShape {
  Role role;
  Span role_text;
  ContentKind content_kind;
  Span content;                  /* a string's inside, or the list as JSON */
  Span fields[FIELD_COUNT];      /* metadata as JSON, all others strings' insides */
  int64_t timestamp;             /* ms since 1970; only if has_timestamp */
  bool has_timestamp;
  const Part *parts;     uint32_t part_count;
  const Call *calls;     uint32_t call_count;
  const Result *results; uint32_t result_count;
} MessageShape;

typedef struct Message Message;

/* More is refused as STATUS_LIMIT: a quarter of a billion, in one message. */
#define MESSAGE_TOKENS_MAX ((1u << 28) - 1)

Role        message_role(const Message *message);
Text        message_raw(const Message *message);          /* its JSON, as it came */
uint32_t    message_tokens(const Message *message);       /* as counted when it entered */
Text        message_role_text(const Message *message);    /* as it is spelled there */
ContentKind message_content_kind(const Message *message);
Text        message_content(const Message *message);      /* size 0 if none */
bool        message_is_window(const Message *message);    /* an item whose content is a window's id */
bool        message_field(const Message *message, MessageField field, Text *value);
bool        message_timestamp(const Message *message, int64_t *milliseconds);

/* The bytes that a span of this message's names. */
Text        message_text(const Message *message, Span span);

uint32_t    message_part_count(const Message *message);
Part        message_part(const Message *message, uint32_t index);     /* index < count */
uint32_t    message_call_count(const Message *message);
Call        message_call(const Message *message, uint32_t index);
/* What results name a call by: its id, or the name of a legacy function call. */
Text        message_call_key(const Message *message, uint32_t index);
uint32_t    message_result_count(const Message *message);
Result      message_result(const Message *message, uint32_t index);

/* Does it begin a turn: a user message that is not only tool results? */
bool        message_starts_turn(const Message *message);

/* All that a reader of the conversation would read, one piece after the other:
   string content, text parts, tool arguments. Start with *at = 0. */
bool        message_next_text(const Message *message, uint32_t *at, Text *text);

/* Does any of those texts contain the plain `needle`? STATUS_MEMORY possible:
   escaped texts are decoded into `scratch`, which is reset first. */
Status      message_contains(const Message *message, Text needle, Buffer *scratch, bool *contains);

#endif
