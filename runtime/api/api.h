/*
** What the files of libebb share. Each public function does three things: it
** enters its runtime (which refuses calls from callbacks), works, and leaves with a status.
**
**     host --> ebb_* --> api_enter --> core, for what needs no Lua (append, read)
**                                 \--> sandbox_run -> lua/ebb/libebb      trusted, unlimited
**                                 \--> sandbox_call, task_step         scripts, within limits
**
** Memory: host's allocator <- runtime (counts, limits) <- Lua, and for each chat a
** quota <- conversation. The Lua values of a chat or a task lie in the
** registry under the address of the chat or task.
**
** Functions that return an ebb_status note the error, so that ebb_last_error has its words
** (api_fail). "In sandbox_run" marks functions that may raise: they are called only in
** functions that sandbox_run protects.
*/
#ifndef EBB_API_API_H
#define EBB_API_API_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/ring.h"
#include "base/sink.h"
#include "bind/argument.h"
#include "bind/conversation.h"
#include "bind/counter.h"
#include "bind/error.h"
#include "bind/handle.h"
#include "bind/ledger.h"
#include "bind/load.h"
#include "bind/open.h"
#include "bind/type.h"
#include "bind/view.h"
#include "bind/vocab.h"
#include "bind/window.h"
#include "core/merge_branch.h"
#include "state/state.h"
#include "include/ebb.h"
#include "include/ebb_lua.h"
#include "sandbox/sandbox.h"

typedef struct MemoryQuota MemoryQuota;
typedef struct ChatJournal ChatJournal;
typedef struct VocabEntry VocabEntry;

/* What the files above library.c do for the Lua library; each function has the runtime as upvalue 1. */
typedef struct LibraryHooks {
  lua_CFunction tokenizer, vocabularies;     /* in the place of core.tokenizer and core.vocab.list */
  const luaL_Reg *functions;                 /* of lua/ebb/libebb */
} LibraryHooks;

enum {
  ANSWERS = 2,               /* texts that one call returns, at most */
  ANSWER_KEPT = 64 * 1024,   /* bytes; a larger buffer of which an answer needs less than a quarter is trimmed */
  API_POLICY_NAME = 63       /* bytes of a policy's name */
};

/* What calls do for chats with a journal (journal.c). */
typedef struct JournalHooks {
  ebb_status (*begin)(ebb_runtime *runtime);      /* a call: makes each chat ready for undoing it */
  ebb_status (*end)(ebb_runtime *runtime);        /* a call: writes what it changed, or undoes it */
  ebb_status (*ready)(ebb_runtime *runtime);      /* makes the records of `end`, which needs no memory then */
  ebb_status (*note)(ebb_chat *chat);             /* the same for one chat, before the call goes on */
  void (*free)(ebb_chat *chat);
} JournalHooks;

/* The state of a chat that its listener knows, to be compared after each call. */
typedef struct ChatState {
  uint64_t window_edits;
  uint32_t count, batch, batch_count;
  bool over;                 /* the chat was over its limit */
} ChatState;

struct ebb_runtime {
  ebb_config config;         /* filled up with defaults */
  Memory host, memory;       /* the host's allocator; the runtime's, which counts bytes and asks the host's */
  size_t used;               /* bytes, this struct included */
  Sandbox *sandbox;
  lua_State *L;              /* the sandbox's main thread */
  Ring chats;
  Ring pipelines;
  Ring listening;            /* chats with a listener */
  Ring ready;                /* tasks that can run; the first has the next turn */
  uint32_t ready_count;
  Ring events;               /* tasks with an event to be fetched, in order */
  Ring sleepers;             /* tasks that wait for a timer, in the order in which they wake */
  atomic_bool stopped;       /* ebb_task_stop was called since the last step; set by any thread */
  const LibraryHooks *hooks;
  Ring journals;             /* of chats that have one */
  const JournalHooks *journal_hooks;    /* set by journal.c for the first one, else NULL */
  void (*tell)(ebb_runtime *runtime);   /* calls the listeners; set by journal.c for the first one, else NULL */
  VocabEntry *vocabs;        /* of the host, or read from files; a list */
  bool busy;                 /* a call of the host is running */
  bool reading;              /* and in it a callback is reading a chat */
  bool allocating;           /* the host's allocator is running; then no call may enter */
  Buffer answers[ANSWERS], read_answers[ANSWERS];   /* texts returned by calls, and by calls from callbacks */
  Buffer module;             /* text of the module that is being loaded */
  const Sink *out;           /* of write_document; NULL outside of calls that use it */
  ebb_error error;
  char code[64], message[1024];
};

struct ebb_chat {
  ebb_runtime *runtime;
  ConversationHandle *handle;   /* the registry has the userdata */
  MemoryQuota *quota;
  char *options;                /* of its creation: JSON, options_size bytes */
  uint64_t options_edits;       /* how often they were replaced */
  size_t options_size, options_document;       /* options_document: see document.c; 0: it was not read from a file */
  Ring link;                    /* in the runtime's chats */
  Ring listening;               /* in the runtime's; alone in it: the chat has no listener */
  ebb_listener listener;
  void *listener_user;
  ChatState listener_state;              /* to the listener */
  Ring tasks;                   /* its tasks, until they are freed */
  void (*end_stream)(ebb_chat *chat);   /* set by stream.c and task.c with the first stream, the first task */
  void (*end_task)(ebb_task *task);
  ChatJournal *journal;         /* NULL: none */
  struct Stream *stream;        /* in the quota's memory; NULL: no open stream */
  void *user;
};

struct ebb_sink {
  Buffer *buffer;
  size_t cap;
  bool over;                 /* more bytes came than `cap` */
};

/* A fork of a chat's conversation, whose edits come back together. The registry has the fork under the
   branch's address. */
typedef struct Branch {
  ebb_chat *chat;
  ConversationHandle *fork;     /* NULL before branch_push_fork and after the end */
} Branch;

typedef enum TaskPhase { PHASE_READY, PHASE_WAITING, PHASE_SLEEPING, PHASE_ENDED } TaskPhase;

struct ebb_task {
  ebb_runtime *runtime;
  Task *task;
  Branch branch;
  TaskPhase phase;
  atomic_bool stopped;          /* by ebb_task_stop, from any thread */
  Ring chat_tasks, ready, event, sleeping;   /* links in the rings of its chat and runtime */
  int64_t wake;                 /* of a sleeping task: ms since 1970 */
  ebb_event_kind kind;          /* of the event to be fetched; `event` is alone if there is no event */
  ebb_status status;            /* of a failure, and its texts */
  char *code, *message;         /* both in `texts` */
  char texts[320];
  Buffer json;                  /* of the event */
  void *user;
};

/* Collects all garbage: after a failure for want of memory, or one that left a draft to the collector. */
static inline void api_collect_all(ebb_runtime *runtime) { lua_gc(runtime->L, LUA_GCCOLLECT); }

static inline ebb_runtime *chat_runtime(const ebb_chat *chat) { return chat == NULL ? NULL : chat->runtime; }

/* ---- call.c: errors ---- */

/* Notes that a handle or a place for a result is NULL; returns EBB_ARGUMENT. `runtime` may be NULL, too. */
ebb_status api_missing(ebb_runtime *runtime);
/* Notes an error; returns its status. code NULL: the status's name. */
ebb_status api_fail(ebb_runtime *runtime, ebb_status status, const char *code, const char *format, ...);
ebb_status api_fail_status(ebb_runtime *runtime, Status status, const char *what);
/* Notes the sandbox's last failure, by which a call ended; EBB_OK for SANDBOX_OK. */
ebb_status api_fail_end(ebb_runtime *runtime, SandboxEnd end);
ebb_status api_status_of_code(const char *code);
/* Passes a line to the host's log, as UTF-8. Called while a sandbox runs. */
void       api_log(ebb_runtime *runtime, ebb_log_level level, const char *line, size_t size);

/* ---- call.c: structs of other versions ---- */

/* Sizes in bytes of the first versions of the public structs; no host has smaller ones. */
enum { CONFIG_FIRST = 104, MESSAGE_FIRST = 72, EVENT_FIRST = 56 };

/* EBB_UNKNOWN_VERSION if no version of the struct `name` has this size. */
ebb_status abi_check(ebb_runtime *runtime, size_t size, size_t first, const char *name);
/* Copies a result into the caller's struct, whose `size` was checked; sets members unknown here to 0. */
void       abi_write(void *target, const void *full, size_t full_size);
/* The config as this library knows it: members that an older caller does not have are 0. Reports
   errors by api_fail_config. EBB_UNKNOWN_VERSION, EBB_ARGUMENT. */
ebb_status api_read_config(const ebb_config *config, ebb_config *full);
/* Writes the text to the config's place for errors; returns the status. */
ebb_status api_fail_config(const ebb_config *config, ebb_status status, const char *format, ...);

Memory     api_host_memory(const ebb_config *config);

/* ---- call.c: entering, answers, writers ---- */

/* Makes the runtime busy until api_leave. EBB_ARGUMENT for NULL; EBB_BUSY within another call. */
ebb_status api_enter(ebb_runtime *runtime);
/* The same for calls that only read chats and run no Lua: they are allowed in callbacks, too, because
   scripts work on copies of chats and change them only after the last callback. */
ebb_status api_enter_read(ebb_runtime *runtime);
ebb_status api_leave(ebb_runtime *runtime, ebb_status status);       /* ends a call; returns its status */
/* Writes what the call has changed to the chat's journal, if it has one, before the call goes on to what the journal
   cannot undo. On failure the conversation is what it was at the last record. */
ebb_status api_note(ebb_chat *chat);
int64_t    api_now(ebb_runtime *runtime);
size_t     api_message_limit(const ebb_runtime *runtime);       /* bytes of one message's JSON */
/* Empties answer `number` and those after it, to be filled. */
Buffer    *api_answer_buffer(ebb_runtime *runtime, int number);
/* Gives an answer to the host: *text is valid until the next call. */
ebb_status api_answer(ebb_runtime *runtime, int number, ebb_text *text);
void       api_free_answers(ebb_runtime *runtime);

/* A text on its way to the host's writer. */
typedef struct Writing {
  ebb_write write;
  void *user;
  ebb_status failed;         /* the writer's first status other than EBB_OK */
  lua_State *inside;         /* not NULL: the writer is called while this thread runs a script */
} Writing;

Sink       api_writer(Writing *writing);               /* a sink that calls the writer */
/* The status of a call that ended with `status`: the writer's failure if it failed. */
ebb_status api_end_writing(ebb_runtime *runtime, const Writing *writing, ebb_status status);

/* ---- library.c ---- */

/* Appends what the host's `read` has under a name, at most `cap` bytes. STATUS_ABSENT, STATUS_IO,
   STATUS_LIMIT, STATUS_MEMORY. */
Status     api_read(ebb_runtime *runtime, const char *name, size_t cap, Buffer *out);
/* Prepares a new state for the functions below. */
ebb_status api_begin_library(ebb_runtime *runtime, const LibraryHooks *hooks);
/* Opens the Lua library beside the guarded globals, unless it is open. In sandbox_run. */
void       api_need_library(lua_State *L);
/* Pushes a function of lua/ebb/libebb; opens the library first. In sandbox_run. */
void       api_push_function(lua_State *L, const char *name);
/* Runs a C function by sandbox_run; its argument is `data`. */
ebb_status api_run(ebb_runtime *runtime, lua_CFunction function, void *data);
/* Moves the value on top to the registry, as the next function to call. In sandbox_run. */
void       api_hold(lua_State *L);
bool       api_push_held(ebb_runtime *runtime);        /* pushes it; false if the stack has no room */
/* Calls it within the runtime's limits and at most `fuel` units (UINT64_MAX: the runtime's);
   its result goes to `out` (NULL: it is dropped). */
ebb_status api_call_held(ebb_runtime *runtime, uint64_t fuel, const Sink *out);
/* Writes a result, the two values on top, and pops them: a JSON text; and nil, or the ledger of the
   trim whose report the text is. The sink's status; STATUS_MEMORY. */
Status     api_write_result(lua_State *L, Sink out);
SandboxLimits api_limits(const ebb_runtime *runtime);

/* ---- chat.c: memory of a chat and its forks, which is counted ---- */

Memory   quota_memory(MemoryQuota *quota);
size_t   quota_used(const MemoryQuota *quota);         /* bytes */
/* Notes that a message was overwritten in one of the chats: the others may show it, too. */
void     quota_note_redaction(MemoryQuota *quota);
uint64_t quota_redactions(const MemoryQuota *quota);   /* how often */
/* Allows an eighth more than the limit, or ends that: around an edit that may free messages, so that
   a full chat can be trimmed and compacted. */
void     quota_allow_excess(MemoryQuota *quota, bool allows_excess);

/* ---- chat.c: values that Lua keeps for a chat, branch, task or pipeline, under its address ---- */

void       holder_push(lua_State *L, const void *holder);         /* nil if there is none */
void       holder_set(lua_State *L, const void *holder);          /* takes the value on top; may raise "memory" */
void       holder_clear(lua_State *L, const void *holder);        /* needs no memory, and raises nothing */

/* ---- chat.c: chats ---- */

/* A chat without a conversation, in no list yet. */
ebb_status chat_new(ebb_runtime *runtime, MemoryQuota *quota, const char *options, size_t size, ebb_chat **chat);
ebb_status chat_make(ebb_chat *chat);                  /* creates its conversation, by its options */
/* The same by a C function with the argument `data`, which calls chat_hold. */
ebb_status chat_make_by(ebb_chat *chat, lua_CFunction run, void *data);
void       chat_hold(lua_State *L, ebb_chat *chat);    /* takes the conversation on top */
void       chat_push_options(lua_State *L, const ebb_chat *chat);      /* the host's JSON text */
/* A chat of the same quota and options, without a conversation. */
ebb_status chat_new_like(ebb_chat *chat, ebb_chat **copy);
void       chat_discard(ebb_chat *chat);               /* frees a chat that is in no list */
void       chat_enlist(ebb_chat *chat);                /* adds it to the runtime's chats */
Conversation *chat_conversation(const ebb_chat *chat);
/* Sets the time of the edits of this call, by the host's clock. */
void       chat_tick(ebb_chat *chat);
/* keep_conversation(conversation, target) for lua/ebb/libebb: gives the target chat its conversation. */
int        chat_keep(lua_State *L);

/* ---- chat.c: branches ---- */

Branch     branch_of(ebb_chat *chat);                  /* without a fork yet */
/* Creates the fork and pushes it. In sandbox_run. */
void       branch_push_fork(lua_State *L, Branch *branch);
/* Merges the edits of the fork into the chat; on failure nothing has changed. EBB_CONFLICT if both
   changed; EBB_MEMORY, EBB_LIMIT. */
ebb_status branch_commit(Branch *branch);
/* Drops the fork with the edits that were not merged; allowed without a fork. */
void       branch_end(Branch *branch);

/* ---- chat.c: asking the library ---- */

/* A call of a function of the Lua library, and its arguments. */
typedef struct Asking {
  const char *function;      /* of lua/ebb/libebb */
  ebb_chat *chat;            /* the first argument is its conversation, */
  Branch *branch;            /* or a fork of it, which the caller ends; both NULL: neither */
  Text texts[3];             /* the next ones; bytes NULL: nil */
  int text_count;
  const void *held;          /* not NULL: the next one is the registry's value of a handle */
  void *target;              /* not NULL: the last one, a handle for keep_conversation or keep_pipeline */
} Asking;

/* Calls the function; it returns a function, which runs within the limits and whose result goes to
   `out`, as that of api_call_held. */
ebb_status api_ask(ebb_runtime *runtime, const Asking *asking, const Sink *out);
/* Calls a function as api_ask does; *answer gets the text that it writes, in the runtime's first answer buffer. */
ebb_status api_ask_text(ebb_runtime *runtime, const Asking *asking, ebb_text *answer);
/* A whole public call of a function without arguments, which writes its answer. */
ebb_status api_list(ebb_runtime *runtime, const char *function, ebb_text *json);
Text       api_text(const char *string);               /* NULL: nil */
Text       api_options(const char *options, size_t size);         /* NULL: "" */

/* ---- edit.c ---- */

/* Appends a message or a list of them; `what` names it in errors. */
ebb_status chat_append(ebb_chat *chat, const char *what, Text json);
/* Notes the error at which reading `text` stopped, with its place. */
ebb_status api_fail_json(ebb_runtime *runtime, const Json *json, const char *what, Text text);
/* Reads one message as for appending, and calls `use` with it; appends nothing. */
typedef Status ShapeUser(void *user, Text raw, const MessageShape *shape);
ebb_status chat_read_shape(ebb_chat *chat, const char *what, Text json, ShapeUser *use, void *user);

/* ---- stream.c ---- */

/* An answer that grows. Its message up to now is head, text, tail. */
typedef struct Stream {
  Buffer head, tail;         /* JSON, up to the inside of the content and from its end on */
  Buffer text;
  size_t whole;              /* bytes of the text up to its last whole character */
  Buffer id, name;
  Role role;
  bool has_timestamp;
  int64_t timestamp;
} Stream;

/* Appends the message as JSON, its text up to the last whole character. STATUS_MEMORY. */
Status     stream_write(const Stream *stream, Buffer *out);

/* ---- read.c ---- */

/* A whole public call of a function of lua/ebb/libebb that writes about the chat, as JSON. */
ebb_status chat_list(ebb_chat *chat, const char *function, ebb_text *json);

/* write_list(list) and write_message(message) for lua/ebb/libebb, upvalue 1 is the runtime: add the bytes of messages
   to the first answer, of several as a JSON list. */
int        api_write_list(lua_State *L);
int        api_write_message(lua_State *L);

/* ---- window.c ---- */

/* write_messages and write for lua/ebb/libebb, upvalue 1 is the runtime: add to the first answer. */
int        api_write_messages(lua_State *L);
int        api_write_text(lua_State *L);

/* ---- document.c ---- */

/* A chat from the text of a state. */
ebb_status chat_load(ebb_runtime *runtime, const char *saved, size_t size, StateTrust trust, ebb_chat **chat);

/* write_document(list, texts, shape) for lua/ebb/libebb, upvalue 1 is the runtime: writes the list to
   runtime->out; shape nil: as it was read. */
int        api_write_document(lua_State *L);
/* write_body(text), the same: writes the text to runtime->out. */
int        api_write_body(lua_State *L);

/* ---- counting.c ---- */

/* The runtime's core.tokenizer and core.vocab.list for Lua; upvalue 1 is the runtime. */
int        api_tokenizer(lua_State *L);
int        api_vocabularies(lua_State *L);
/* Frees the list of vocabularies. Called after the Lua state is closed, whose tokenizers have shares. */
void       api_free_vocabs(ebb_runtime *runtime);

/* ---- policy.c ---- */

/* keep_chunk(chunk) for lua/ebb/libebb: keeps a compiled chunk for ebb_policy_new; upvalue 1 is the runtime. */
int        api_keep_chunk(lua_State *L);

/* keep_pipeline(pipeline, target) for lua/ebb/libebb: gives the handle `target` its value. */
int        api_keep_pipeline(lua_State *L);
/* EBB_ARGUMENT if the two belong to different runtimes. */
ebb_status pipeline_check(const ebb_pipeline *pipeline, const ebb_chat *chat);
void       api_free_pipelines(ebb_runtime *runtime);

/* ---- function.c ---- */

/* The fuel of a call of a host's function, by the cost that the host gave; 0: COST_MIN. */
uint64_t   api_cost(uint64_t cost);

/* ---- task.c ---- */

/* Sets the phase; a task that becomes ready comes last of the ready ones. */
void       task_enter(ebb_task *task, TaskPhase phase);
/* Notes an event to be fetched, and sets the phase by its kind. */
void       task_note_event(ebb_task *task, ebb_event_kind kind);
/* Ends the task with the runtime's last error, whose status is `status`. */
void       task_fail(ebb_task *task, ebb_status status);
/* Ends the tasks for which ebb_task_stop was called. */
void       task_end_stopped(ebb_runtime *runtime);
/* Answers the open request with a JSON value, and makes the task ready. */
ebb_status task_give_answer(ebb_task *task, Text json);

#endif
