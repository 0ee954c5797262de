/*
** Message: one entry of a conversation, immutable.
**
** A message keeps its original JSON. Its contents are spans of those bytes: nothing is
** copied, and nothing can disagree with the JSON:
**
**     {"role":"tool","tool_call_id":"c1","content":"42 \u00b0C"}
**                                   ^^           ^^^^^^^^^^^^
**                                   result 0     content (escaped)
**
** A `MessageShape` is the result of a reader (dialect/read); the store turns it into a Message
** (store.h) and links its results to the calls that they answer.
*/
#ifndef EBB_CORE_MESSAGE_H
#define EBB_CORE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* The seq of a message: 1, 2, 3 ... in its store; 0: no message. */
typedef uint32_t MessageId;

typedef enum Role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL, ROLE_NONE } Role;
#define ROLE_COUNT 4     /* without ROLE_NONE, which window items have */
/* Sets of roles are bits, 1 << Role, including ROLE_NONE. */
#define ROLES_ALL ((1u << (ROLE_COUNT + 1)) - 1)

/* "system", "user", "assistant", "tool", "window"; static. */
const char *role_name(Role role);

/* Parses a role by any of its spellings (`developer` is system, `function` is tool);
   false for other texts. */
bool role_parse(Text text, Role *role);

/* CONTENT_WINDOW: a window item, a placeholder that renders a window (core/list/window.h); it
   has no role, and its content is the window's id. */
typedef enum ContentKind { CONTENT_NONE, CONTENT_STRING, CONTENT_PARTS, CONTENT_WINDOW } ContentKind;

/* Where the contents of a message are: under "content" beside a role; under "parts"; or the
   message is an item, which has no role and whose type says what it is. */
typedef enum MessageForm { FORM_CONTENT, FORM_PARTS, FORM_ITEM } MessageForm;

typedef enum PartKind {
  PART_TEXT, PART_IMAGE, PART_FILE, PART_AUDIO, PART_ASSET,
  PART_TOOL_USE, PART_TOOL_RESULT, PART_REASONING, PART_OTHER
} PartKind;

/* "text", "image", "file", "audio", "asset", "tool_use", "tool_result",
   "reasoning", "other"; static. */
const char *part_kind_name(PartKind kind);

/* A range of a message's bytes. `at` 0 means absent: only the message itself starts there. */
typedef struct Span {
  uint32_t at;
  uint32_t size : 31;
  uint32_t escaped : 1;
} Span;

/* One content part. A tool result whose content is itself a list is followed by
   the parts of that list, marked nested. */
typedef struct Part {
  Span value;          /* the whole part, as JSON; at 0: the whole message, an item */
  Span text;           /* text, reasoning, refusal, a tool result's string; an image's URL or base64 */
  uint8_t kind;        /* PartKind */
  bool nested;
  bool low : 1;        /* an image of detail "low" */
  bool unknown : 1;    /* the reader does not know its type; PART_OTHER */
  bool wrapped : 1;    /* a call, a result or an image in a form of the message array that no provider takes */
  bool sealed : 1;     /* reasoning that the model reads, but nobody else: its tokens are a guess */
} Part;

/* A tool call: of `tool_calls`, `function_call` or a tool use part. */
typedef struct Call {
  Span id;             /* absent for function_call */
  Span name;
  Span arguments;      /* the string's inside, or the input object as JSON */
} Call;

/* A tool result: the id of the call that it answers, or the name of the call's function, or
   both. */
typedef struct Result {
  Span id;             /* absent if the result has only a name */
  Span name;           /* absent if calls are found by their ids alone */
} Result;

/* Fields that most messages lack. */
typedef enum MessageField {
  FIELD_ID, FIELD_NAME, FIELD_METADATA, FIELD_REASONING, FIELD_REFUSAL,
  FIELD_SPELLING     /* the original spelling of a mapped role */
} MessageField;
#define FIELD_COUNT 6

typedef struct MessageShape {
  Role role;
  MessageForm form;
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

/* The most tokens of one message, a quarter of a billion; more is STATUS_LIMIT. */
#define MESSAGE_TOKENS_MAX ((1u << 28) - 1)

Role        message_role(const Message *message);
Text        message_raw(const Message *message);          /* its original JSON */
uint32_t    message_tokens(const Message *message);       /* counted with the conversation's first counter */
Text        message_role_text(const Message *message);    /* the role in its original spelling */
MessageForm message_form(const Message *message);
ContentKind message_content_kind(const Message *message);
/* No more levels of JSON than these fit into its bytes. Reads none of them. */
uint32_t    message_levels_most(const Message *message);
Text        message_content(const Message *message);      /* size 0 if absent */
bool        message_is_window(const Message *message);    /* true for a window item */
/* True if its JSON is {"role":"..","content":".."} and nothing else, as most are written. */
bool        message_is_bare(const Message *message);
bool        message_field(const Message *message, MessageField field, Text *value);     /* false if absent */
bool        message_timestamp(const Message *message, int64_t *milliseconds);           /* false if absent */

/* The bytes of a span of this message. */
Text        message_text(const Message *message, Span span);

uint32_t    message_part_count(const Message *message);
Part        message_part(const Message *message, uint32_t index);     /* index < count */
uint32_t    message_call_count(const Message *message);
Call        message_call(const Message *message, uint32_t index);     /* index < count */
/* The key by which results name a call: its id, or the name of a legacy function call. */
Text        message_call_key(const Message *message, uint32_t index);
uint32_t    message_result_count(const Message *message);
Result      message_result(const Message *message, uint32_t index);   /* index < count */
/* The key by which a result names its call: its id, or its name. */
Text        message_result_key(const Message *message, uint32_t index);
/* True if a result of `message` may answer a call of `caller`: both have the same key; or the
   same name, and one of them has no id. */
bool        message_may_answer(const Message *message, uint32_t result, const Message *caller, uint32_t call);

/* True for an item that is part of a model's reply, such as a call: it belongs with the
   assistant messages beside it. */
bool        message_is_fragment(const Message *message);
/* True for a user message that is more than tool results: it starts a turn. */
bool        message_starts_turn(const Message *message);

/* Gives the readable texts one by one: string content, text parts, tool arguments; false
   at the end. Start with *at = 0. */
bool        message_next_text(const Message *message, uint32_t *at, Text *text);

/* Sets *contains if one of those texts contains the plain `needle`. Escaped texts are
   decoded into `scratch`. STATUS_MEMORY. */
Status      message_contains(const Message *message, Text needle, Buffer *scratch, bool *contains);

#endif
