/*
** What the files of this layer share: types of userdata, errors, arguments.
**
** One file per type; none decides anything. Rules that hold everywhere:
**   - A userdata is made, empty, before anything that can raise; its __gc frees
**     what it holds. So a raised error leaks nothing.
**   - Metatables are found by the address of their BindType, never by a name
**     that another library might use, and are locked (__metatable = false).
**   - A message, unit, turn or selection holds its owner (a conversation, batch
**     or draft) as its first user value, and names messages by seq.
*/
#ifndef EBB_BIND_BIND_H
#define EBB_BIND_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "base/utf8.h"
#include "bind/argument.h"
#include "core/draft.h"
#include "core/operation.h"
#include "core/request_order.h"
#include "format/document.h"
#include "json/json_edit.h"
#include "json/json_out.h"
#include "os/file.h"
#include "sandbox/sandbox.h"
#include "tokens/tokenizer.h"

#define EBB_VERSION "0.1.0"

extern const BindType BIND_CONVERSATION, BIND_BATCH, BIND_DRAFT, BIND_MESSAGE, BIND_SELECTION, BIND_UNIT, BIND_TURN,
  BIND_LEDGER, BIND_TOKENIZER, BIND_SANDBOX, BIND_WINDOWS;

void  bind_push_digest(lua_State *L, const uint8_t digest[32]);         /* as hexadecimal digits (encoding.c) */

/* ---- numbers (number.c) ---- */

enum { BIND_NUMBER = 48 };   /* bytes of any number as a text, and its NUL */

/* strtod and printf, whatever the program's locale: JSON and Lua have a point in numbers. */
double bind_read_float(const char *text);
/* As Lua's tostring; exact: with as many digits as it takes to read the same number again. */
size_t bind_write_float(double number, bool exact, char text[BIND_NUMBER]);
void   bind_open_number(lua_State *L);       /* sets functions in the table on top */

/* ---- JSON (json.c) ---- */

void  bind_push_json(lua_State *L, const char *bytes, size_t size);     /* valid JSON, as Lua values */
/* Adds the value at index as JSON; raises {code = "argument"} for what has none. */
void  bind_encode(lua_State *L, int index, Buffer *out);
/* The same for what will stand below `depth` other values; raises {code = "limit"} beyond `most` bytes
   or JSON_DEPTH_MAX levels. */
void  bind_encode_within(lua_State *L, int index, int depth, size_t most, Buffer *out);
void  bind_encode_message(lua_State *L, int index, Buffer *out);        /* keys in a message's usual order */
bool  bind_is_json_list(lua_State *L, int index);                       /* a table that is marked as a list */
/* 0: a plain table, or no table; else how it is marked (a list, raw). Needs no memory. */
int   bind_json_mark(lua_State *L, int index);
void  bind_set_json_mark(lua_State *L, int mark);    /* of the table on top */
void  bind_open_json(lua_State *L);          /* pushes the table ebb.json */

/* ---- owners and views (view.c) ---- */

/* What the conversations of one store share: where callbacks run, and their time. */
typedef struct Callbacks {
  lua_State *L;
  int self;                  /* stack index of the conversation whose call this is */
  int64_t now;
  bool has_clock, has_counter;
  bool busy;                 /* a callback runs: edits are refused */
  lua_Integer sources;       /* tables of windows' functions that were ever noted (window.c) */
  int failed;                /* after STATUS_HOST: stack index of what a callback raised */
  Conversation *sole;        /* while a transaction runs: its branch, which alone may be edited */
} Callbacks;

typedef struct ConversationHandle ConversationHandle;

/* How a sandbox edits a conversation that it borrows: callbacks run in the state that
   owns all of the conversation. */
typedef struct Borrowing {
  ConversationHandle *(*enter)(lua_State *L, ConversationHandle *handle);   /* as bind_enter */
  int (*raise)(lua_State *L, ConversationHandle *handle);                   /* what a callback raised there */
} Borrowing;

struct ConversationHandle {
  Conversation *conversation;
  const Borrowing *borrowing;   /* NULL: this state owns it */
  Document document;
  Envelope *envelope;        /* holds its texts; NULL: they are static. Forks share it */
  DocumentWarnings warnings;
  Callbacks *callbacks;      /* user value 2; functions in user value 1 */
  uint64_t limit;
  bool has_limit, told;      /* told: on_limit was called and it is over still */
};

typedef struct BatchHandle {
  Sequence *list;
  Units *units;
} BatchHandle;

typedef struct DraftHandle {
  Draft *draft;
  bool borrowed;             /* as its conversation */
  uint32_t refused;          /* edits that it answered with false */
} DraftHandle;

/* The list behind a conversation, batch or draft. */
typedef struct View {
  int owner;                 /* absolute stack index */
  ConversationHandle *handle;
  Conversation *conversation;
  const Sequence *list;
  Draft *draft;              /* NULL: not a draft */
  BatchHandle *batch;        /* NULL: not a batch */
} View;

View  bind_view(lua_State *L, int index);                  /* raises for anything else */
/* The same without the list of a draft, which costs O(slots) after an edit: a
   policy that edits and looks in turns needs the slots only. */
View  bind_look(lua_State *L, int index);
void  bind_view_list(lua_State *L, View *view);            /* fetches what bind_look left out */
bool  bind_is_view(lua_State *L, int index);
const Units *bind_view_units(lua_State *L, View *view);    /* of the list, or of the draft's slots */
/* Where a message stands in the units' numbering, or UNIT_NONE. */
uint32_t bind_view_slot(lua_State *L, View *view, MessageId id, uint32_t hint);
MessageId bind_view_slot_message(const View *view, uint32_t slot);
bool  bind_view_slot_is_gone(const View *view, uint32_t slot);
uint64_t bind_view_tokens(const View *view);
/* What a message weighs there; of any message of the store. */
uint32_t bind_view_weight(const View *view, MessageId id);
/* For __index with a number at 2, and for __len. */
int   bind_view_get(lua_State *L);
int   bind_view_length(lua_State *L);

/* ---- conversations (conversation.c) ---- */

/* A host's memory for the conversations that are made from now on; it outlives
   them. allocate NULL: the state's own again. May raise, but not to go back. */
void  bind_set_conversation_memory(lua_State *L, const Memory *memory);
Memory bind_conversation_memory(lua_State *L);
ConversationHandle *bind_check_conversation(lua_State *L, int index);
/* Before an edit: refuses during callbacks, asks the clock. The conversation
   stays at its place of the stack until the edit is done: callbacks find it there. */
ConversationHandle *bind_enter(lua_State *L, int index);
/* The user value of a conversation that is a table of the caller's functions. */
#define BIND_FUNCTIONS 1
ConversationHandle *bind_push_fork(lua_State *L);          /* of the conversation at 1 */
int   bind_transaction(lua_State *L);      /* (conversation, run): transaction.c */
ConversationHandle *bind_new_conversation(lua_State *L);                /* pushed, empty */
/* Options at index (may be none): fills in a pushed conversation; raises. */
void  bind_configure(lua_State *L, int conversation, int options);     /* options.c */
/* Asks the caller's clock before anything has happened, so that it may raise. */
void  bind_ask_clock(lua_State *L, int conversation, Callbacks *callbacks);
Clock bind_clock(Callbacks *callbacks);      /* the caller's, or the system's */
/* What a request with the present messages counts for: calibrated. */
uint64_t bind_request_tokens(const Conversation *conversation);
/* The counter that a table of options asks for (counter.c). What it borrows is
   kept alive by the conversation at `conversation` and its forks. */
Counter bind_counter(lua_State *L, int conversation, int options);
/* What the request of a loaded body carries besides its messages; raises. */
Cost  bind_overhead(lua_State *L, const ConversationHandle *handle, const Counter *counter);
Status bind_count_by_caller(void *user, MessageId id, uint32_t *tokens);      /* user: the Callbacks */
void  bind_open_counter(lua_State *L);       /* methods of conversations; and pushes the table core.counter */
/* Calls a C function that runs a callback, with `arguments` from the stack; 1
   result. The core stands below and nothing may jump over it, not even Lua's own
   error that memory ran out: so all of it is protected, and what makes the
   arguments belongs into the function. false: answer STATUS_HOST to the core. */
bool  bind_call_back(lua_State *L, Callbacks *callbacks, lua_CFunction function, int arguments);
/* After an edit that failed: raises its status, or the callback's own error. */
int   bind_raise_edit(lua_State *L, int conversation, Status status, const char *what);
void  bind_check_limit(lua_State *L, int conversation);
/* The message at index as a handle or a position of the owner's list; raises. */
MessageId bind_message_argument(lua_State *L, View *view, int index);
/* A batch by number or by checkpoint name. */
uint32_t bind_batch_argument(lua_State *L, ConversationHandle *handle, int index, bool *has_length, uint32_t *length);

/* Messages from Lua: a table, ebb.json.raw or a list of these at index, as a
   source; its bytes live in a buffer left on the stack. */
typedef struct LuaSource {
  Json json;
  Reader reader;
} LuaSource;

MessageSource bind_source(lua_State *L, int index);
/* After an edit with a source failed: says what was wrong with which message. */
int   bind_raise_source(lua_State *L, int conversation, const MessageSource *source, Status status, const char *what);

/* ---- vocabularies and tokenizers (vocab.c, tokenizer.c) ---- */

typedef struct TokenizerHandle {
  Tokenizer *tokenizer;
} TokenizerHandle;

/* Pushes a place for a vocabulary, which the collector releases. */
Vocab **bind_hold_vocab(lua_State *L);
/* nil and an error object for a vocabulary that could not be opened. */
int   bind_refuse_vocab(lua_State *L, Status status, const char *path);

/* ---- sandboxes (sandbox.c, marshal.c) ----
**
**     state of the program                  state of the sandbox
**     proxy(draft, options, function)  ->   script's function(borrowed draft, copy, callback)
**                                      <-   results: copies
**
** Only one of the two states is written to at a time, within a protected call of
** its own; what is read of the other needs no memory there and cannot raise.
*/

#define DRAFT_REFUSAL 3      /* user value of a draft: the first refusal as text */

/* One call into a sandbox, and what the sandbox may use of the program until it ends. */
typedef struct SandboxCall {
  Borrowing borrowing;       /* first: the borrowed conversation's handle points here */
  lua_State *program;        /* runs a C function of ours, whose frame stays as it is */
  int base;                  /* top of that frame */
  int conversation;          /* where the draft's conversation stands there; 0: there is no draft */
  DraftHandle *draft;        /* the program's; NULL: there is none among the arguments */
  DraftHandle *borrowed_draft;              /* the sandbox's, and that of its conversation; NULL: it has not entered */
  ConversationHandle *borrowed_conversation;
  lua_Integer callbacks;     /* so many have entered */
  uint64_t number;           /* of the call: callbacks of earlier ones have ended */
} SandboxCall;

typedef struct SandboxHandle SandboxHandle;

struct SandboxHandle {
  Sandbox *sandbox;
  SandboxCall *call;         /* NULL: nothing runs in it */
  /* Runs the entry or proxy at 2 in the sandbox at 1, with the arguments behind it. */
  int (*enter)(lua_State *L, SandboxHandle *sandbox);
  uint64_t calls;
  SandboxLimits limits;
  bool goes_on;              /* the next call counts toward the limits of the last one */
  lua_Hook program_hook;     /* as the call found it */
};

typedef struct Marshal {
  lua_State *from, *to;
  SandboxHandle *sandbox;    /* NULL: no borrowed draft, no callbacks, no proxies */
  bool inward;               /* `to` is the sandbox's */
  bool arguments;            /* inward: of a call, whose functions are listed */
  uint32_t values;           /* so far */
  size_t bytes, bytes_max;
} Marshal;

/* Key of the sandbox's registry: {function = place, function, function ...}, the
   script's functions that may leave. */
extern const char BIND_SCRIPT_FUNCTIONS;

/* Pushes on `to` what the value at `index` of `from` is there: marshal.c has the table.
   Raises in `to` for what cannot enter or leave. */
void  bind_marshal(Marshal *marshal, int index);
/* Raises in L what lies on top of the other state; it stays there. */
int   bind_raise_from(lua_State *L, lua_State *other);
bool  bind_is_proxy(lua_State *L, int index);
/* Pushes host(what, word): the function that the sandbox was made with, valid in every call. */
void  bind_push_host(lua_State *L, SandboxHandle *sandbox);
/* Begins a call of the sandbox at 1 with the arguments from `first` to the top. May
   raise; then no call has begun. */
void  bind_begin_call(lua_State *L, SandboxCall *call, SandboxHandle *sandbox, int first);
/* Copies the first results on the sandbox's stack to L's and ends the call.
   LUA_OK, or a status with the error on top of L. */
int   bind_end_call(lua_State *L, SandboxHandle *sandbox, int results);
void  bind_open_sandbox(lua_State *L);       /* pushes the table core.sandbox */

/* ---- the other types ---- */

void  bind_push_message(lua_State *L, int owner, MessageId id, uint32_t hint);
void  bind_set_message(lua_State *L, int index, MessageId id);   /* gives a pushed message its id */
MessageId bind_check_message(lua_State *L, int index);
PartKind bind_part_kind(lua_State *L, int index);           /* by name; raises */
void  bind_push_call(lua_State *L, const Message *message, uint32_t call);

typedef struct Selected {
  MessageId id;
  uint32_t position;         /* when it was selected, from 0 */
} Selected;

/* Names its messages one by one, or holds a list and says which are left out. */
typedef struct Selection {
  uint32_t count;
  Selected *items;           /* NULL: of the list all but the gaps */
  Sequence *list;
  uint32_t *gaps;            /* positions, which rise */
  uint32_t gap_count;
  SequenceWalk run;          /* of the list, where it was looked at last */
} Selection;

/* Pushes an empty selection with room for items; the caller fills it. */
Selection *bind_new_selection(lua_State *L, int owner, uint32_t room);
/* Pushes a selection of a whole list; the caller puts up to `room` gaps. */
Selection *bind_new_rest(lua_State *L, int owner, const Sequence *list, uint32_t room);
/* i < count; O(1), of a rest O(log n) or, one after another, O(log gaps). */
Selected bind_selected(Selection *selection, uint32_t i);

void  bind_push_unit(lua_State *L, int owner, MessageId first);
/* The messages of the unit at index that are there; the ids live in a block
   left on the stack. */
uint32_t bind_unit_messages(lua_State *L, int index, MessageId **ids);

typedef struct Turn {
  uint32_t count, age;       /* messages; turns after it */
  MessageId ids[];
} Turn;

/* Pushes a turn without messages yet: the caller adds up to `room` of them. */
Turn *bind_push_turn(lua_State *L, int owner, uint32_t room, uint32_t age);
/* NULL: the value is no ledger. */
const Ledger *bind_test_ledger(lua_State *L, int index);
/* Writes the entries of the ledger at index: [{action, by, reason, replacement?, role, seq, tokens}].
   Raises nothing. */
void  bind_write_ledger(lua_State *L, int index, JsonOut *out);
void  bind_push_ledger(lua_State *L, int conversation, Ledger *ledger);      /* shares it */

/* Does a message pass the conditions of where{} or a walk? The table stands at
   `conditions`. */
typedef struct Conditions {
  int table;
  unsigned roles;
  bool has_since, has_before;
  int64_t since, before;
  bool has_marked, has_matches, has_kind, has_calls, has_obsolete, has_important;
  bool windows, has_window, obsolete, important;   /* windows: items of windows only, */
  Text window;                                     /* or only of this one */
  Text marked, calls;
  PartKind kind;
  TextList names, ids;
} Conditions;

Conditions bind_conditions(lua_State *L, int index, const char *const *names);
bool  bind_passes(lua_State *L, const View *view, const Conditions *conditions, MessageId id);

/* string.find is kept in the registry under this address. */
extern const char BIND_FIND;
void  bind_open_list(lua_State *L, const BindType *type);  /* adds the queries to a type */
void  bind_open_conversation(lua_State *L);
void  bind_open_edit(lua_State *L);
void  bind_open_batch(lua_State *L);
int   bind_free_draft(lua_State *L);       /* the draft at 1 ends */
void  bind_open_draft(lua_State *L);       /* and pushes the table core.draft */
void  bind_open_walk(lua_State *L);
/* Pushes the table of what the library keeps beside a conversation. */
void  bind_push_state(lua_State *L, int conversation);
/* Pushes the number of the current batch, which edits answer; returns 1. */
int   bind_push_batch(lua_State *L, const ConversationHandle *handle);
int   bind_push_windows(lua_State *L);     /* pushes the Windows of the conversation at 1, always the same; returns 1 */
void  bind_open_window(lua_State *L);      /* pushes the table core.window */
int   bind_active(lua_State *L);           /* list:active() */
/* Is the message an item of a window in the view's list, and obsolete there? O(k log n) for k items. */
bool  bind_is_obsolete(lua_State *L, const View *view, MessageId id);
/* The view's messages in the order in which they are sent, in a block left on the stack; of the
   list that core.window.shown was asked about if its items stand at `found` (0: nowhere). */
const RequestOrder *bind_push_sent(lua_State *L, const View *view, bool obsolete, int found);

/* call(f, limit, argument, memory) -> true, result, instructions left | false, error, left
   (limited_call.c); memory: bytes that it may hold at once; in a sandbox that one's limit holds */
int   bind_limited_call(lua_State *L);

/* Tokens of a plain text. STATUS_LIMIT: the vocabulary's expression takes too long; STATUS_MEMORY. */
Status bind_count_text(const Counter *counter, Text text, uint64_t *tokens);

/* ---- files and texts (load.c) ---- */

/* As core.parse, of a text that need not be a string of Lua's; the options stand at 2. */
int   bind_parse(lua_State *L, Text text);
/* Writes the list at index 1 by a document, with the table of windows' texts at index 2
   (nil: it shows none) in the place of items; leaves blocks on the stack. STATUS_LIMIT: a
   message would stand too deep. */
Status bind_write_list(lua_State *L, const Document *document, Sink sink);
extern const char *const BIND_TOO_DEEP;

/* ---- markup.c ---- */

int   bind_escape_markup(lua_State *L);                    /* core.window.escape */

/* Of the positions, which rise, keeps those of items that are obsolete, or of those that are not; says how many. */
uint32_t bind_keep_obsolete(lua_State *L, const View *view, bool obsolete, uint32_t *positions, uint32_t count);
void  bind_open_message(lua_State *L);
void  bind_open_selection(lua_State *L);
void  bind_open_unit(lua_State *L);
void  bind_open_ledger(lua_State *L);
void  bind_open_vocab(lua_State *L);       /* pushes the table core.vocab */
void  bind_open_tokenizer(lua_State *L);   /* and core.tokenizer into the table on top */
void  bind_open_encoding(lua_State *L);    /* base64, data_uri, sha256 into the table on top */
void  bind_open_root(lua_State *L);        /* root into the table on top: for trusted code only */
void  bind_open_regex(lua_State *L);        /* pushes the table core.regex */
void  bind_open_folder(lua_State *L);      /* list_folder, make_folder into the table on top */
void  bind_open_check(lua_State *L);       /* and repair into the table on top */
void  bind_open_replay(lua_State *L);      /* like, common into the table on top */
void  bind_open_working(lua_State *L);     /* pushes the table core.working */
void  bind_open_load(lua_State *L);        /* load, parse, read_file, write_file into the table on top */

int   luaopen_ebb_core(lua_State *L);

#endif
